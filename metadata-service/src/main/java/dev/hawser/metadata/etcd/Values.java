/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.etcd;

import dev.hawser.metadata.store.Join;
import dev.hawser.metadata.store.Labels;
import dev.hawser.metadata.store.Meeting;
import dev.hawser.metadata.store.Publication;
import dev.hawser.metadata.store.StoreException;
import io.etcd.jetcd.ByteSequence;
import io.vertx.core.buffer.Buffer;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * What is under the keys; integers are little-endian.
 *
 * <pre>
 * agents/NAME   u8 version 1 | u64 epoch | u32 ttl, milliseconds | u16 length, address | u32 length, labels | blob
 * epochs/NAME   u8 version 1 | u64 epoch | u8 1 if its agent deleted the entry
 * v1-meet/…     u8 version 1 | u32 size of the meeting | u16 length, member | data
 * </pre>
 */
final class Values {
  private static final byte VERSION = 1;

  private Values() {}

  /** The greatest epoch, and whether the entry was deleted by its agent. */
  record Epoch(long epoch, boolean deleted) {}

  static ByteSequence agent(Publication publication) {
    byte[] address = publication.address().getBytes(StandardCharsets.US_ASCII);
    byte[] labels = publication.labels().text().getBytes(StandardCharsets.US_ASCII);
    byte[] blob = publication.blob().getBytes();
    byte[] bytes = new byte[1 + 8 + 4 + 2 + address.length + 4 + labels.length + blob.length];
    ByteBuffer out = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    out.put(VERSION);
    out.putLong(publication.epoch());
    out.putInt(Math.toIntExact(publication.ttlMillis()));
    out.putShort((short) address.length).put(address);
    out.putInt(labels.length).put(labels);
    out.put(blob);
    return ByteSequence.from(bytes);
  }

  static Publication agent(String name, ByteSequence value, String summary) {
    ByteBuffer in = read("the entry of " + name, value);
    try {
      long epoch = in.getLong();
      long ttlMillis = in.getInt();
      String address = text(in, in.getShort());
      Labels labels = Labels.parse(text(in, in.getInt()));
      byte[] blob = new byte[in.remaining()];
      in.get(blob);
      return new Publication(name, epoch, ttlMillis, address, labels, summary, Buffer.buffer(blob));
    } catch (BufferUnderflowException | NegativeArraySizeException damaged) {
      throw damaged("the entry of " + name, damaged);
    }
  }

  static ByteSequence epoch(long epoch, boolean deleted) {
    byte[] bytes = new byte[1 + 8 + 1];
    ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).put(VERSION).putLong(epoch).put((byte) (deleted ? 1 : 0));
    return ByteSequence.from(bytes);
  }

  static Epoch epoch(String name, ByteSequence value) {
    ByteBuffer in = read("the epoch of " + name, value);
    try {
      return new Epoch(in.getLong(), in.get() != 0);
    } catch (BufferUnderflowException damaged) {
      throw damaged("the epoch of " + name, damaged);
    }
  }

  /** A member, and the size of the meeting that it came for. */
  record Seat(int size, Meeting.Member member) {}

  static ByteSequence member(Join join) {
    byte[] name = join.member().getBytes(StandardCharsets.US_ASCII);
    byte[] data = join.data().getBytes();
    byte[] bytes = new byte[1 + 4 + 2 + name.length + data.length];
    ByteBuffer.wrap(bytes)
        .order(ByteOrder.LITTLE_ENDIAN)
        .put(VERSION)
        .putInt(join.size())
        .putShort((short) name.length)
        .put(name)
        .put(data);
    return ByteSequence.from(bytes);
  }

  static Seat member(ByteSequence value) {
    ByteBuffer in = read("a member of a meeting", value);
    try {
      int size = in.getInt();
      String name = text(in, in.getShort());
      byte[] data = new byte[in.remaining()];
      in.get(data);
      return new Seat(size, new Meeting.Member(name, Buffer.buffer(data)));
    } catch (BufferUnderflowException | NegativeArraySizeException damaged) {
      throw damaged("a member of a meeting", damaged);
    }
  }

  private static ByteBuffer read(String what, ByteSequence value) {
    ByteBuffer in = ByteBuffer.wrap(value.getBytes()).order(ByteOrder.LITTLE_ENDIAN);
    if (!in.hasRemaining() || in.get() != VERSION) {
      throw new StoreException(
          what + " in etcd is of another version of the service; run the same version everywhere, or delete the key",
          null);
    }
    return in;
  }

  private static String text(ByteBuffer in, int length) {
    byte[] bytes = new byte[length];
    in.get(bytes);
    return new String(bytes, StandardCharsets.US_ASCII);
  }

  private static StoreException damaged(String what, RuntimeException cause) {
    return new StoreException(what + " in etcd is damaged; delete the key, its agent publishes again", cause);
  }
}
