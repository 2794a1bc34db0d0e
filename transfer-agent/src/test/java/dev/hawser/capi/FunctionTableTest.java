/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.capi;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.memory.ffi.FileDescriptors;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What the functions of the table answer to arguments that are wrong: called as a foreign program calls them. */
class FunctionTableTest {
  private static final FunctionTable TABLE = FunctionTable.make();
  private static final int HEADER_BYTES = 16;
  private static final long SECOND = 1_000_000_000;

  private final Arena arena = Arena.ofShared();
  private final MemorySegment out = arena.allocate(ValueLayout.JAVA_LONG);
  private long agent;

  @BeforeEach
  void start() {
    agent = made("agent_start", text("here"), text("transports=shm\n[environment]\n"));
  }

  @AfterEach
  void close() {
    assertThat(call("agent_close", agent)).isZero();
    arena.close();
  }

  @SuppressWarnings("restricted") // the address is the table's own
  private static long call(String function, long... arguments) {
    MemorySegment table = MemorySegment.ofAddress(TABLE.address()).reinterpret(1 << 16);
    MemorySegment address =
        table.get(ValueLayout.ADDRESS, HEADER_BYTES + 8L * TABLE.names().indexOf(function));
    MemoryLayout[] longs =
        Collections.nCopies(arguments.length, ValueLayout.JAVA_LONG).toArray(new MemoryLayout[0]);
    try {
      return (long) Linker.nativeLinker().downcallHandle(address, FunctionDescriptor.of(ValueLayout.JAVA_LONG, longs))
          .asSpreader(long[].class, arguments.length).invoke(arguments);
    } catch (Throwable t) {
      throw new AssertionError(function, t);
    }
  }

  /** What a function that makes something has made. */
  private long made(String function, long... arguments) {
    long[] all = java.util.Arrays.copyOf(arguments, arguments.length + 1);
    all[arguments.length] = out.address();
    assertThat(call(function, all)).as(() -> function + ": " + error()).isZero();
    return out.get(ValueLayout.JAVA_LONG, 0);
  }

  private long text(String text) {
    return arena.allocateFrom(text).address();
  }

  private String error() {
    MemorySegment text = arena.allocate(1024);
    long bytes = call("last_error", text.address(), text.byteSize());
    assertThat(bytes).as("fits a small buffer").isBetween(1L, 1023L);
    return text.getString(0, StandardCharsets.UTF_8);
  }

  private long refused(int code, String function, long... arguments) {
    long rc = call(function, arguments);
    assertThat(rc).as(function).isEqualTo(code);
    return rc;
  }

  @Test
  void countsWithoutWhatTheyCountAreRefused() {
    long peerAgent = made("agent_start", text("there"), text("transports=shm\n[environment]\n"));
    try {
      long region = made("region_allocate", peerAgent, text("kv"), 8192, 3);
      assertThat(region).isPositive();
      long size = call("agent_metadata", peerAgent, 1, 0, 0, 0, 0);
      MemorySegment blob = arena.allocate(size);
      assertThat(call("agent_metadata", peerAgent, 1, 0, 0, blob.address(), size)).isEqualTo(size);
      long peer = made("peer_add", agent, blob.address(), size);
      MemorySegment remote = arena.allocate(Structs.Region.BYTES);
      remote.set(ValueLayout.JAVA_INT, 0, Structs.Region.BYTES);
      assertThat(call("peer_region", peer, text("kv"), remote.address())).isZero();
      long own = made("region_allocate", agent, 0, 8192, 0);
      MemorySegment facts = arena.allocate(Structs.Region.BYTES);
      facts.set(ValueLayout.JAVA_INT, 0, Structs.Region.BYTES);
      assertThat(call("region_describe", own, facts.address())).isZero();
      MemorySegment axis = arena.allocateFrom(ValueLayout.JAVA_LONG, 2);
      MemorySegment stride = arena.allocateFrom(ValueLayout.JAVA_LONG, 4096);
      MemorySegment request = arena.allocate(Structs.Request.BYTES);
      request.set(ValueLayout.JAVA_INT, 0, Structs.Request.BYTES);
      request.set(ValueLayout.JAVA_INT, Structs.Request.OPERATION, (int) Codes.WRITE);
      request.set(ValueLayout.JAVA_LONG, Structs.Request.PEER, peer);
      request.set(ValueLayout.JAVA_LONG, Structs.Request.LOCAL, made("blocks_strided",
          facts.get(ValueLayout.JAVA_LONG, Structs.Region.ADDRESS), 1, axis.address(), stride.address(), 4096, 0));
      request.set(ValueLayout.JAVA_LONG, Structs.Request.REMOTE, made("blocks_strided",
          remote.get(ValueLayout.JAVA_LONG, Structs.Region.ADDRESS), 1, axis.address(), stride.address(), 4096, 0));

      request.set(ValueLayout.JAVA_LONG, Structs.Request.LOCAL_COUNT, 2);
      refused(-1, "transfer_start", agent, request.address(), 0, out.address());
      assertThat(error()).contains("local_indices is NULL, but their count is 2");
      request.set(ValueLayout.JAVA_LONG, Structs.Request.LOCAL_COUNT, 0);
      request.set(ValueLayout.JAVA_LONG, Structs.Request.REMOTE_COUNT, 1);
      refused(-1, "transfer_start", agent, request.address(), 0, out.address());
      assertThat(error()).contains("remote_indices is NULL, but their count is 1");
      request.set(ValueLayout.JAVA_LONG, Structs.Request.REMOTE_COUNT, 0);

      MemorySegment options = arena.allocate(Structs.Options.BYTES);
      options.set(ValueLayout.JAVA_INT, 0, Structs.Options.BYTES);
      options.set(ValueLayout.JAVA_LONG, Structs.Options.NOTIFICATION_BYTES, 5);
      refused(-1, "transfer_start", agent, request.address(), options.address(), out.address());
      assertThat(error()).contains("hawser_options.notification is NULL, but notification_bytes is 5");
      options.set(ValueLayout.JAVA_LONG, Structs.Options.NOTIFICATION_BYTES, 0);

      long transfer = made("transfer_start", agent, request.address(), options.address());
      assertThat(call("transfer_wait", transfer, 20 * SECOND)).as(this::error).isEqualTo(Codes.DONE);
      assertThat(call("transfer_wait", transfer, -1)).isEqualTo(-1);
      assertThat(error()).contains("timeout: -1 is negative; give nanoseconds");
    } finally {
      assertThat(call("agent_close", peerAgent)).isZero();
    }
  }

  @Test
  void endsAreSignalledToOpenDescriptorsOnly() {
    int open = FileDescriptors.memfdCreate("hawser-test", FileDescriptors.MFD_CLOEXEC);
    try {
      assertThat(call("agent_signal_to", agent, open)).isZero();
    } finally {
      FileDescriptors.close(open);
    }
    for (long fd : new long[] {1 << 20, -2, 1L << 32}) {
      refused(-1, "agent_signal_to", agent, fd);
      assertThat(error()).contains("fd: " + fd + " is ", "give an eventfd", "-1 for none");
    }
    assertThat(call("agent_signal_to", agent, -1)).isZero();
  }

  @Test
  void memoryThatIsNotThereIsNotRegistered() {
    long mapped = arena.allocate(64).address();
    refused(-1, "region_register", agent, text("gone"), 8192, 4096, Codes.AUTO, 3, out.address());
    assertThat(error()).contains("4096 bytes at 0x2000", "no memory is mapped");
    refused(-1, "region_register", agent, 0, mapped, 1L << 60, 0, 3, out.address());
    assertThat(error()).contains((1L << 60) + " bytes at 0x", "at their end");
  }

  @Test
  void aCancelledExpectationIsCancelledAndNotLate() {
    long expectation = made("expect", agent, 7, 3);
    refused(-9, "expectation_wait", expectation, 1_000);
    assertThat(call("expectation_cancel", expectation)).isZero();
    refused(-10, "expectation_wait", expectation, SECOND);
    assertThat(call("last_cause")).isZero();
    assertThat(error()).contains("3 arrivals at counter 7 was cancelled");
    refused(-10, "expectation_poll", expectation);
  }

  @Test
  void whatWasWrongIsQuotedShortlySoThatTheCureIsRead() {
    String words = "x".repeat(100_000);
    refused(-1, "agent_start", text(words), 0, out.address());
    assertThat(error()).contains("100000 characters", "give 1 to 128");
    refused(-1, "agent_start", text("q"), text("link-lease=" + words + "\n"), out.address());
    assertThat(error()).contains("100000 characters", "500ms");
    refused(-1, "agent_start", text("q"), text(words + "\n"), out.address());
    assertThat(error()).contains("is not key=value");
    refused(-1, "region_allocate", agent, text(words), 4096, 0, out.address());
    assertThat(error()).contains("cannot name a region", "give 1 to 128");
  }
}
