/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.capi;

import dev.hawser.agent.Agent;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.CloseResult;
import dev.hawser.memory.Device;
import dev.hawser.memory.Region;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The functions about regions and block lists. */
@SuppressWarnings("unused") // all by method handles of the table
final class MemoryFunctions {
  private static final long TRIPLE_BYTES = 24;

  private final Handles handles;

  MemoryFunctions(Handles handles) {
    this.handles = handles;
  }

  long register(long agent, long name, long address, long length, long device, long access, long out) {
    Foreign.notNull(out, "the place for the handle");
    HeldAgent held = handles.get(agent, HeldAgent.class, "agent");
    Region region = registered(held.agent(), Foreign.textOrNull(name, "name"), address, length, device,
        Codes.access(access));
    Foreign.putHandle(out, handles.add(region, held));
    return 0;
  }

  private static Region registered(Agent agent, @Nullable String name, long address, long length, long device,
      Access access) {
    if (device == Codes.AUTO) {
      return name == null
          ? agent.registry().register(address, length, access)
          : agent.register(name, address, length, access);
    }
    Device where = Codes.device(device);
    return name == null
        ? agent.registry().register(address, length, where, access)
        : agent.register(name, address, length, where, access);
  }

  long allocate(long agent, long name, long length, long access, long out) {
    Foreign.notNull(out, "the place for the handle");
    HeldAgent held = handles.get(agent, HeldAgent.class, "agent");
    String label = Foreign.textOrNull(name, "name");
    Region region = label == null
        ? held.agent().registry().allocate(length, Codes.access(access))
        : held.agent().allocate(label, length, Codes.access(access));
    Foreign.putHandle(out, handles.add(region, held));
    return 0;
  }

  long describeRegion(long region, long out) {
    Structs.at(out, Structs.Region.BYTES, "hawser_region");
    Region described = handles.get(region, Region.class, "region");
    putRegion(out, described.address(), described.length(), described.device(), described.access(), described.id());
    return 0;
  }

  static void putRegion(long out, long address, long length, Device device, Access access, int id) {
    Foreign.putInt(out + Structs.Region.DEVICE, (int) Codes.device(device));
    Foreign.putLong(out + Structs.Region.ADDRESS, address);
    Foreign.putLong(out + Structs.Region.LENGTH, length);
    Foreign.putLong(out + Structs.Region.ID, Integer.toUnsignedLong(id));
    Foreign.putLong(out + Structs.Region.ACCESS, access.mask());
  }

  long keepRegion(long region) {
    return handles.get(region, Region.class, "region").keepMapped();
  }

  long closeRegion(long region, long timeout) {
    Region closed = handles.get(region, Region.class, "region");
    CloseResult result = closed.close(Duration.ofNanos(timeout));
    handles.remove(region);
    if (result.quarantined()) {
      closed.close(); // says so
    }
    return 0;
  }

  // -------------------------------------------------------------------------------------------- block lists

  long strided(long base, long axes, long shape, long strides, long length, long device, long out) {
    Foreign.notNull(out, "the place for the handle");
    BlockList list = BlockList.strided(base, Foreign.longs(shape, axes, "shape"),
        Foreign.longs(strides, axes, "strides"), length, Codes.device(device));
    Foreign.putHandle(out, handles.add(list, list));
    return 0;
  }

  long triples(long rows, long count, long kind, long out) {
    Foreign.notNull(out, "the place for the handle");
    if (Foreign.notNegative(count, "count") > Integer.MAX_VALUE) {
      throw new IllegalArgumentException("count: " + count + " rows; a list has less than 2^31");
    }
    if (count != 0) {
      Foreign.notNull(rows, "rows");
    }
    BlockList list =
        BlockList.fromTriples(Foreign.segment(rows, count * TRIPLE_BYTES), Codes.device(kind).kind());
    Foreign.putHandle(out, handles.add(list, list));
    return 0;
  }

  long concat(long lists, long count, long out) {
    Foreign.notNull(out, "the place for the handle");
    long[] given = Foreign.longs(lists, count, "lists");
    BlockList[] parts = new BlockList[given.length];
    for (int i = 0; i < parts.length; i++) {
      parts[i] = handles.get(given[i], BlockList.class, "lists[" + i + "]");
    }
    BlockList list = BlockList.concat(parts);
    Foreign.putHandle(out, handles.add(list, list));
    return 0;
  }

  long count(long blocks, long bytes) {
    BlockList list = handles.get(blocks, BlockList.class, "blocks");
    if (bytes != 0) {
      Foreign.putLong(bytes, list.totalBytes());
    }
    return list.count();
  }
}
