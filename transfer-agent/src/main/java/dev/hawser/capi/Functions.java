/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.capi;

import dev.hawser.agent.PreparedTransfer;
import dev.hawser.memory.Backing;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.Device;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import dev.hawser.memory.ffi.NativeLibrary;
import java.lang.invoke.MethodHandle;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The functions of the C ABI for a caller in Java that serves processes without a JVM: by number, with arguments as a C
 * program gives them, addresses included. Handles are its own, no other table knows them. Thread-safe; errors are told to
 * the thread that called.
 */
public final class Functions {
  private final FunctionTable table;
  private final List<String> names;
  private final List<MethodHandle> handles;

  /** Makes them. */
  public Functions() {
    this(MemoryRegistry::create);
  }

  /** Makes them for agents whose registries are made so. */
  public Functions(Supplier<MemoryRegistry> registries) {
    table = FunctionTable.withoutStubs(registries);
    names = table.names();
    handles = IntStream.range(0, names.size())
        .mapToObj(number -> table.handle(number).asSpreader(long[].class, table.argumentCounts().get(number))).toList();
  }

  /** Of Hawser. */
  public static String version() {
    return FunctionTable.version();
  }

  /** In the order of the header: the place of a name is its number. */
  public List<String> names() {
    return names;
  }

  /** How many arguments each takes, in the same order. */
  public List<Integer> argumentCounts() {
    return table.argumentCounts();
  }

  /**
   * Calls one.
   *
   * @return its result; if negative, an error of which {@link #lastError} and {@link #lastCause} tell
   */
  public long call(int number, long... arguments) {
    try {
      return (long) handles.get(number).invokeExact(arguments);
    } catch (Throwable t) {
      throw NativeLibrary.unexpected(t);
    }
  }

  /** What failed last in this thread. */
  public String lastError() {
    return LastError.message();
  }

  /** The {@code HAWSER_CAUSE_} of what failed last in this thread. */
  public long lastCause() {
    return LastError.cause();
  }

  /**
   * A region as far as others who map it have to know it.
   *
   * @param address where it is
   * @param backing the file behind it, with the offset of its first byte; empty if this process did not allocate it
   */
  public record Allocated(long address, Optional<Backing> backing) {}

  /**
   * The memory of a region.
   *
   * @throws InvalidHandleException if there is no such region
   */
  public Allocated allocated(long region) {
    Region held = table.handles().get(region, Region.class, "region");
    return new Allocated(held.address(), held.backing());
  }

  /** Whether some memory was allocated by this process, and is a region of an agent. */
  public boolean isAllocated(long address, long length) {
    return table.handles().all(Region.class).stream()
        .anyMatch(region -> region.isAllocated() && region.contains(address, length));
  }

  /** A list of blocks; null if there is none of that handle. */
  public @Nullable BlockList blocks(long handle) {
    return table.handles().find(handle) instanceof BlockList list ? list : null;
  }

  /** The handle of a list of blocks, until it is released. */
  public long hold(BlockList blocks) {
    return table.handles().add(blocks, blocks);
  }

  /** Releases what was held. */
  public void letGo(long handle) {
    table.handles().remove(handle);
  }

  /** The number of a device, as the functions have it. */
  public static long number(Device device) {
    return Codes.device(device);
  }

  /** The transfers that have been posted and have not ended. */
  public List<PreparedTransfer> transfersUnderWay() {
    return table.handles().all(PreparedTransfer.class).stream()
        .filter(transfer -> transfer.id() != 0 && transfer.end() == null).toList();
  }
}
