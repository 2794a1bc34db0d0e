/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.capi;

import dev.hawser.memory.MemoryRegistry;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.function.Supplier;

/**
 * The {@code hawser_api} of include/hawser.h in memory, for the life of the JVM. Every function is wrapped so that what it
 * throws becomes an error code.
 *
 * <p>All arguments and results are 64-bit integers: then there are only a few shapes of stubs, which is what makes the
 * start quick.
 */
final class FunctionTable {
  private static final int HEADER_BYTES = 16;
  private static final Linker LINKER = Linker.nativeLinker();
  private static final MethodHandles.Lookup LOOKUP = MethodHandles.lookup();

  private final List<Function> functions = new ArrayList<>();
  private final Handles handles = new Handles();
  private long address;

  /** A function: the name is that of its field in the header. */
  private record Function(String name, MethodHandle handle) {}

  private FunctionTable() {}

  /** Makes it. */
  static FunctionTable make() {
    FunctionTable table = withoutStubs(MemoryRegistry::create);
    table.write();
    return table;
  }

  /**
   * Makes it for callers in Java, who need no address.
   *
   * @param registries make that of each agent
   */
  static FunctionTable withoutStubs(Supplier<MemoryRegistry> registries) {
    LastError.requireJars();
    FunctionTable table = new FunctionTable();
    table.collect(registries);
    return table;
  }

  Handles handles() {
    return handles;
  }

  /** One function's handle: of (long…)long; what it throws is its result already. */
  MethodHandle handle(int number) {
    return functions.get(number).handle();
  }

  long address() {
    return address;
  }

  /** The names in the order of the header. */
  List<String> names() {
    return functions.stream().map(Function::name).toList();
  }

  /** How many arguments each takes, in the same order. */
  List<Integer> argumentCounts() {
    return functions.stream().map(function -> function.handle().type().parameterCount()).toList();
  }

  private void collect(Supplier<MemoryRegistry> registries) {
    MachineFunctions machine = new MachineFunctions();
    PeerFunctions peers = new PeerFunctions(handles);
    AgentFunctions agents = new AgentFunctions(handles, peers, registries);
    MemoryFunctions memory = new MemoryFunctions(handles);
    TransferFunctions transfers = new TransferFunctions(handles);
    GrantFunctions grants = new GrantFunctions(handles);

    add("last_error", machine, "lastError", 2);
    add("last_cause", machine, "lastCause", 0);
    add("release", agents, "release", 1);

    add("agent_start", agents, "start", 3);
    add("agent_close", agents, "close", 1);
    add("agent_describe", agents, "describe", 3);
    add("agent_metadata", agents, "metadata", 6);
    add("agent_poll", agents, "poll", 1);
    add("agent_await_published", agents, "awaitPublished", 2);
    add("agent_signal_to", agents, "signalTo", 2);
    add("agent_take_ended", agents, "takeEnded", 3);

    add("region_register", memory, "register", 7);
    add("region_allocate", memory, "allocate", 5);
    add("region_describe", memory, "describeRegion", 2);
    add("region_close", memory, "closeRegion", 2);
    add("blocks_strided", memory, "strided", 7);
    add("blocks_triples", memory, "triples", 4);
    add("blocks_concat", memory, "concat", 3);
    add("blocks_count", memory, "count", 2);

    add("peer_add", peers, "add", 4);
    add("peer_get", peers, "get", 4);
    add("peer_name", peers, "name", 3);
    add("peer_describe", peers, "describe", 2);
    add("peer_describe_json", peers, "describeJson", 3);
    add("peer_region", peers, "region", 3);
    add("peer_covers", peers, "covers", 3);
    add("peer_await_connected", peers, "awaitConnected", 2);
    add("peer_invalidate", peers, "invalidate", 2);
    add("peer_remove", peers, "remove", 2);

    add("transfer_prepare", transfers, "prepare", 4);
    add("transfer_start", transfers, "start", 4);
    add("transfer_post", transfers, "post", 2);
    add("transfer_poll", transfers, "poll", 1);
    add("transfers_poll", transfers, "pollMany", 4);
    add("transfer_wait", transfers, "await", 2);
    add("transfer_describe", transfers, "describe", 2);
    add("transfer_message", transfers, "message", 3);
    add("transfer_cancel", transfers, "cancel", 1);
    add("transfer_watch", transfers, "watch", 1);

    add("notification_next", agents, "nextNotification", 3);
    add("expect", agents, "expect", 4);
    add("expectation_poll", agents, "pollExpectation", 1);
    add("expectation_wait", agents, "waitExpectation", 2);
    add("expectation_cancel", agents, "cancelExpectation", 1);
    add("expectation_watch", agents, "watchExpectation", 1);

    add("grant_make", grants, "make", 5);
    add("grant_bytes", grants, "bytes", 3);
    add("grant_bump", grants, "bump", 1);
    add("grant_revoke", grants, "revoke", 2);
    add("grant_accept", grants, "accept", 4);
    add("lent_describe", grants, "describe", 2);

    add("collect_garbage", machine, "collectGarbage", 0);
    add("machine_describe", machine, "describe", 2);

    // Since 1.1.
    add("region_keep", memory, "keepRegion", 1);
  }

  private void add(String name, Object receiver, String method, int arguments) {
    MethodType type = MethodType.methodType(long.class, Collections.nCopies(arguments, long.class));
    try {
      MethodHandle handle = LOOKUP.findVirtual(receiver.getClass(), method, type).bindTo(receiver);
      functions.add(new Function(name, Guarded.of(handle)));
    } catch (ReflectiveOperationException e) {
      throw new LinkageError("the function " + name + " of the C ABI has no method " + method + type, e);
    }
  }

  @SuppressWarnings("restricted") // stubs are what this is for
  private void write() {
    Arena forever = Arena.global();
    int bytes = HEADER_BYTES + functions.size() * Long.BYTES;
    MemorySegment table = forever.allocate(bytes, Long.BYTES);
    table.set(ValueLayout.JAVA_INT, 0, CApi.ABI_MAJOR << 16 | CApi.ABI_MINOR);
    table.set(ValueLayout.JAVA_INT, 4, bytes);
    table.set(ValueLayout.ADDRESS, 8, forever.allocateFrom(version()));
    for (int i = 0; i < functions.size(); i++) {
      MethodHandle handle = functions.get(i).handle();
      MemoryLayout[] arguments = new MemoryLayout[handle.type().parameterCount()];
      Arrays.fill(arguments, ValueLayout.JAVA_LONG);
      MemorySegment stub =
          LINKER.upcallStub(handle, FunctionDescriptor.of(ValueLayout.JAVA_LONG, arguments), forever);
      table.set(ValueLayout.ADDRESS, HEADER_BYTES + (long) i * Long.BYTES, stub);
    }
    address = table.address();
  }

  static String version() {
    String version = FunctionTable.class.getPackage().getImplementationVersion();
    return version == null ? "unknown" : version;
  }
}
