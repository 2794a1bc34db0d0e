/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import dev.hawser.engine.PeerDescription;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.memory.Access;
import dev.hawser.memory.Device;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What one process tells the other so that it can be reached; one word of text.
 *
 * @param peer who it is
 * @param region its memory
 */
record Card(PeerDescription peer, RemoteRegion region) {

  String encode() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      out.writeUTF(peer.name());
      out.writeLong(peer.epoch());
      out.writeInt(peer.addresses().size());
      for (String address : peer.addresses()) {
        out.writeUTF(address);
      }
      write(out, peer.transports());
      out.writeInt(region.id());
      out.writeLong(region.address());
      out.writeLong(region.length());
      out.writeUTF(region.device().toString());
      out.writeInt(region.access().mask());
      write(out, region.keys());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return HexFormat.of().formatHex(bytes.toByteArray());
  }

  static Card decode(String word) {
    try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(HexFormat.of().parseHex(word)))) {
      String name = in.readUTF();
      long epoch = in.readLong();
      int count = in.readInt();
      List<String> addresses = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        addresses.add(in.readUTF());
      }
      PeerDescription peer = new PeerDescription(name, epoch, List.copyOf(addresses), read(in));
      return new Card(
          peer,
          new RemoteRegion(
              in.readInt(), in.readLong(), in.readLong(), Device.parse(in.readUTF()), new Access(in.readInt()),
              read(in)));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void write(DataOutputStream out, Map<String, byte[]> map) throws IOException {
    out.writeInt(map.size());
    for (Map.Entry<String, byte[]> entry : map.entrySet()) {
      out.writeUTF(entry.getKey());
      out.writeInt(entry.getValue().length);
      out.write(entry.getValue());
    }
  }

  private static Map<String, byte[]> read(DataInputStream in) throws IOException {
    Map<String, byte[]> map = new TreeMap<>();
    int count = in.readInt();
    for (int i = 0; i < count; i++) {
      String key = in.readUTF();
      map.put(key, in.readNBytes(in.readInt()));
    }
    return map;
  }
}
