/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.metadata;

import dev.hawser.agent.wire.ByteReader;
import dev.hawser.agent.wire.ByteWriter;
import dev.hawser.agent.wire.MalformedBytesException;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.memory.Access;
import dev.hawser.memory.Device;
import dev.hawser.memory.DeviceKind;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Regions in bytes: a table of transport names, then each region with its keys. */
public final class RegionCodec {
  private static final int LEAST_REGION_BYTES = 27;

  private RegionCodec() {}

  /** Writes regions. */
  public static void writeAll(ByteWriter out, List<PublishedRegion> regions) {
    List<String> transports = MetadataBlob.transportsOf(regions);
    if (transports.size() > MetadataBlob.MAX_TRANSPORTS) {
      throw new IllegalArgumentException(
          "regions have keys of more than " + MetadataBlob.MAX_TRANSPORTS + " transports");
    }
    Map<String, Integer> numbers = new HashMap<>();
    out.u16(transports.size());
    for (String transport : transports) {
      numbers.put(transport, numbers.size());
      out.text(transport, MetadataBlob.MAX_TRANSPORT_NAME, "transport");
    }
    out.i32(regions.size());
    for (PublishedRegion published : regions) {
      RemoteRegion region = published.region();
      out.i32(region.id()).i64(region.address()).i64(region.length());
      out.u8(number(region.device().kind())).u16(region.device().ordinal()).u8(region.access().mask());
      out.text(published.name(), Names.MAX_LENGTH, "region name").u8(region.keys().size());
      for (Map.Entry<String, byte[]> key : region.keys().entrySet()) {
        out.u8(numbers.getOrDefault(key.getKey(), 0));
        out.shortBytes(key.getValue(), MetadataBlob.MAX_KEY, "key of " + key.getKey());
      }
    }
  }

  /**
   * Reads regions.
   *
   * @throws MalformedBytesException if any is against the format
   */
  public static List<PublishedRegion> readAll(ByteReader in) {
    int transportCount = in.u16("number of transports");
    if (transportCount > MetadataBlob.MAX_TRANSPORTS) {
      throw new MalformedBytesException(
          transportCount + " transports; at most " + MetadataBlob.MAX_TRANSPORTS + " are allowed");
    }
    List<String> transports = new ArrayList<>(transportCount);
    for (int i = 0; i < transportCount; i++) {
      transports.add(in.text(MetadataBlob.MAX_TRANSPORT_NAME, "transport"));
    }
    int count = in.count("number of regions", LEAST_REGION_BYTES);
    List<PublishedRegion> regions = new ArrayList<>(count);
    Set<Integer> ids = new HashSet<>();
    Set<String> names = new HashSet<>();
    for (int i = 0; i < count; i++) {
      PublishedRegion region = read(in, transports);
      if (!ids.add(region.region().id())) {
        throw new MalformedBytesException(
            "region " + Integer.toUnsignedString(region.region().id()) + " is there twice");
      }
      if (!region.name().isEmpty() && !names.add(region.name())) {
        throw new MalformedBytesException("two regions are named '" + region.name() + "'");
      }
      regions.add(region);
    }
    return regions;
  }

  private static PublishedRegion read(ByteReader in, List<String> transports) {
    int at = in.position();
    int id = in.i32("region id");
    long address = in.i64("region address");
    long length = in.i64("region length");
    if (id == 0 || length <= 0 || Long.compareUnsigned(address + (length - 1), address) < 0) {
      throw new MalformedBytesException("the region at byte " + at + " has id "
          + Integer.toUnsignedString(id) + " and range 0x" + Long.toHexString(address) + "+" + length
          + ", which cannot be");
    }
    Device device = device(in.u8("device kind"), in.u16("device ordinal"), at);
    int access = in.u8("region access");
    if ((access & ~3) != 0) {
      throw new MalformedBytesException("the region at byte " + at + " has unknown access bits " + access);
    }
    String name = in.text(Names.MAX_LENGTH, "region name");
    String problem = name.isEmpty() ? null : Names.problem(name);
    if (problem != null) {
      throw new MalformedBytesException("the region at byte " + at + " has no valid name: " + problem);
    }
    int keyCount = in.u8("number of keys");
    Map<String, byte[]> keys = HashMap.newHashMap(keyCount);
    for (int i = 0; i < keyCount; i++) {
      int transport = in.u8("key's transport");
      if (transport >= transports.size()) {
        throw new MalformedBytesException(
            "a key of the region at byte " + at + " is of transport " + transport + " of " + transports.size());
      }
      if (keys.put(transports.get(transport), in.shortBytes(MetadataBlob.MAX_KEY, "key")) != null) {
        throw new MalformedBytesException("the region at byte " + at + " has two keys of one transport");
      }
    }
    return new PublishedRegion(name, new RemoteRegion(id, address, length, device, new Access(access), keys));
  }

  private static int number(DeviceKind kind) {
    return switch (kind) {
      case HOST -> 0;
      case CUDA -> 1;
      case HIP -> 2;
    };
  }

  private static Device device(int kind, int ordinal, int at) {
    return switch (kind) {
      case 0 -> {
        if (ordinal != 0) {
          throw new MalformedBytesException(
              "the region at byte " + at + " is on host " + ordinal + ", which cannot be");
        }
        yield Device.HOST;
      }
      case 1 -> Device.cuda(ordinal);
      case 2 -> Device.hip(ordinal);
      default ->
        throw new MalformedBytesException("the region at byte " + at + " is on an unknown device kind " + kind);
    };
  }
}
