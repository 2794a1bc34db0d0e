/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.metadata;

import dev.hawser.agent.config.Secret;
import dev.hawser.agent.wire.ByteReader;
import dev.hawser.agent.wire.ByteWriter;
import dev.hawser.agent.wire.MalformedBytesException;
import dev.hawser.agent.wire.Seal;
import dev.hawser.engine.spi.RemoteRegion;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** An agent's metadata as one blob; {@code docs/metadata-blob.md} describes every byte. */
public final class MetadataBlob {
  /** The longest blob: what a metadata service takes unless told otherwise. */
  public static final int MAX_BYTES = 8 << 20;

  static final int MAX_ADDRESSES = 64;
  static final int MAX_ADDRESS_BYTES = 255;
  static final int MAX_TRANSPORTS = 32;
  static final int MAX_TRANSPORT_NAME = 32;
  static final int MAX_DESCRIPTION = 4096;
  static final int MAX_KEY = 1024;
  static final int MAX_HOST = 255;

  private static final Seal SEAL = new Seal("HAWSERMD", 1, "metadata blob", MAX_BYTES);
  private static final int IDENTITY = 1;
  private static final int ADDRESSES = 2;
  private static final int TRANSPORTS = 3;
  private static final int REGIONS = 4;
  private static final int COMPLETE = 1;
  private static final int CONNECTION = 2;

  private MetadataBlob() {}

  /**
   * Writes it.
   *
   * @param secret signs it, unless {@link Secret#NONE}
   * @throws IllegalArgumentException if a field is too long
   */
  public static byte[] encode(AgentMetadata metadata, Secret secret) {
    ByteWriter out = SEAL.begin();
    int identity = out.beginSection(IDENTITY);
    out.text(metadata.name(), Names.MAX_LENGTH, "name").i64(metadata.epoch()).i64(metadata.revision());
    out.u8((metadata.complete() ? COMPLETE : 0) | (metadata.connection() ? CONNECTION : 0));
    out.text(metadata.host(), MAX_HOST, "host").i64(metadata.pid()).endSection(identity);
    if (metadata.connection()) {
      writeConnection(out, metadata);
    }
    int regions = out.beginSection(REGIONS);
    RegionCodec.writeAll(out, metadata.regions());
    out.endSection(regions);
    return SEAL.end(out, secret);
  }

  private static void writeConnection(ByteWriter out, AgentMetadata metadata) {
    int addresses = out.beginSection(ADDRESSES);
    out.u16(metadata.addresses().size());
    for (String address : metadata.addresses()) {
      out.text(address, MAX_ADDRESS_BYTES, "address");
    }
    out.endSection(addresses);
    int transports = out.beginSection(TRANSPORTS);
    out.u16(metadata.transports().size());
    for (Map.Entry<String, byte[]> transport : metadata.transports().entrySet()) {
      out.text(transport.getKey(), MAX_TRANSPORT_NAME, "transport");
      out.shortBytes(transport.getValue(), MAX_DESCRIPTION, "description of " + transport.getKey());
    }
    out.endSection(transports);
  }

  /**
   * Reads blobs that were put one behind another: the first tells of everything, those behind it of what came later.
   *
   * @param source who gave it, for messages
   * @return in their order
   * @throws MalformedBytesException if one of them is damaged, forged, or of another version
   */
  public static List<AgentMetadata> decodeAll(byte[] blobs, Secret secret, String source) {
    List<AgentMetadata> all = new ArrayList<>();
    int from = 0;
    while (from < blobs.length) {
      int length = SEAL.lengthAt(blobs, from);
      all.add(
          decode(from == 0 && length == blobs.length ? blobs : Arrays.copyOfRange(blobs, from, from + length), secret,
              source));
      from += length;
    }
    return all;
  }

  /**
   * Reads a blob and checks all of it.
   *
   * @param secret must be the one that it was signed with
   * @param source who gave it, for messages
   * @throws MalformedBytesException with the reason if it is damaged, forged, of another version or against the format
   */
  public static AgentMetadata decode(byte[] blob, Secret secret, String source) {
    ByteReader in = SEAL.open(blob, secret, source);
    try {
      return new Reading().read(in);
    } catch (MalformedBytesException e) {
      throw SEAL.refuse(source, e.getMessage() == null ? "it is against the format" : e.getMessage());
    }
  }

  /** The sections seen so far. */
  private static final class Reading {
    private String name = "";
    private long epoch;
    private long revision;
    private int kind;
    private String host = "";
    private long pid;
    private List<String> addresses = List.of();
    private Map<String, byte[]> transports = Map.of();
    private List<PublishedRegion> regions = List.of();

    AgentMetadata read(ByteReader in) {
      Set<Integer> seen = new HashSet<>();
      while (in.remaining() > 0) {
        int type = in.u16("section type");
        if (in.u16("section padding") != 0) {
          throw new MalformedBytesException("section " + type + " has non-zero padding before byte " + in.position());
        }
        ByteReader section = in.slice(in.count("section length", 1), "section " + type);
        if (!seen.add(type)) {
          throw new MalformedBytesException("section " + type + " is there twice");
        }
        readSection(type, section);
      }
      if (!seen.contains(IDENTITY) || !seen.contains(REGIONS)) {
        throw new MalformedBytesException("the identity or the regions are missing");
      }
      boolean connection = (kind & CONNECTION) != 0;
      if (connection != seen.contains(ADDRESSES) || connection != seen.contains(TRANSPORTS)) {
        throw new MalformedBytesException("the connection sections are not those that the identity announces");
      }
      return new AgentMetadata(name, epoch, revision, (kind & COMPLETE) != 0, connection, host, pid, addresses,
          transports, regions);
    }

    private void readSection(int type, ByteReader in) {
      switch (type) {
        case IDENTITY -> readIdentity(in);
        case ADDRESSES -> readAddresses(in);
        case TRANSPORTS -> readTransports(in);
        case REGIONS -> regions = RegionCodec.readAll(in);
        default -> in.bytes(in.remaining(), "unknown section");
      }
      in.end("section " + type);
    }

    private void readIdentity(ByteReader in) {
      name = in.text(Names.MAX_LENGTH, "name");
      String problem = Names.problem(name);
      if (problem != null) {
        throw new MalformedBytesException("the agent's name is not valid: " + problem);
      }
      epoch = in.i64("epoch");
      revision = in.i64("revision");
      if (epoch == 0 || revision == 0) {
        throw new MalformedBytesException("epoch and revision must not be 0");
      }
      kind = in.u8("kind");
      if ((kind & ~(COMPLETE | CONNECTION)) != 0) {
        throw new MalformedBytesException("unknown kind " + kind);
      }
      host = in.text(MAX_HOST, "host");
      pid = in.i64("pid");
    }

    private void readAddresses(ByteReader in) {
      int count = in.u16("number of addresses");
      if (count > MAX_ADDRESSES) {
        throw new MalformedBytesException(count + " addresses; at most " + MAX_ADDRESSES + " are allowed");
      }
      List<String> read = new ArrayList<>(count);
      for (int i = 0; i < count; i++) {
        read.add(in.text(MAX_ADDRESS_BYTES, "address"));
      }
      addresses = read;
    }

    private void readTransports(ByteReader in) {
      int count = in.u16("number of transports");
      if (count > MAX_TRANSPORTS) {
        throw new MalformedBytesException(count + " transports; at most " + MAX_TRANSPORTS + " are allowed");
      }
      Map<String, byte[]> read = new LinkedHashMap<>();
      for (int i = 0; i < count; i++) {
        String transport = in.text(MAX_TRANSPORT_NAME, "transport");
        if (read.put(transport, in.shortBytes(MAX_DESCRIPTION, "description")) != null) {
          throw new MalformedBytesException("transport '" + transport + "' is described twice");
        }
      }
      transports = read;
    }
  }

  /** The names of transports that have keys in {@code regions}, in the order of their first use. */
  static List<String> transportsOf(Collection<PublishedRegion> regions) {
    Set<String> names = new LinkedHashSet<>();
    for (PublishedRegion published : regions) {
      RemoteRegion region = published.region();
      names.addAll(region.keys().keySet());
    }
    return List.copyOf(names);
  }
}
