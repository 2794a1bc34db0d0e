/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import dev.hawser.memory.ffi.FileDescriptors;
import dev.hawser.memory.ffi.NativeCallException;
import dev.hawser.memory.ffi.PageMappings;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/**
 * The memory that the two ends of one path share: a state word and a parked word of each side, and in each direction a
 * ring of commands (the transport's own) and a ring of records (the engine's messages and flushes).
 *
 * <pre>
 *     0  magic, version, record ring bytes, nonce              written once by the initiator
 *   256  initiator: state, record tail, command tail           a line written by the initiator only
 *   384  initiator: record head, command head                  how far it has read what the target wrote
 *   512  initiator: parked                                     set by it, cleared by whoever rings
 *   640  initiator: stores                                     counts what it moved
 *   768  target: state, record tail, command tail
 *   896  target: record head, command head
 *  1024  target: parked
 *  4096  commands to the target, {@value #COMMAND_RING_BYTES} bytes
 *  8192  commands to the initiator
 * 12288  records to the target, {@value #RECORD_RING_BYTES} bytes
 *     …  records to the initiator
 * </pre>
 *
 * Words that different sides write lie 128 bytes apart, for neighbouring cache lines are fetched in pairs. Everything is
 * in the host's byte order: both ends are on one host. The file is sealed against a change of its size, so that no access
 * to it can raise SIGBUS.
 */
public final class PathSegment {
  private static final long MAGIC = 0x4857_5352_5348_4d31L; // "HWSRSHM1"
  public static final int VERSION = 3;

  private static final long MAGIC_AT = 0;
  private static final long VERSION_AT = 8;
  private static final long RING_BYTES_AT = 12;
  private static final long NONCE_AT = 16;

  public static final int COMMAND_RING_BYTES = 4096;
  public static final int RECORD_RING_BYTES = 1 << 20;
  private static final long TO_TARGET_COMMANDS = 4096;
  private static final long TO_INITIATOR_COMMANDS = 8192;
  private static final long TO_TARGET_RECORDS = 12288;
  private static final long TO_INITIATOR_RECORDS = TO_TARGET_RECORDS + RECORD_RING_BYTES;
  public static final long BYTES = TO_INITIATOR_RECORDS + RECORD_RING_BYTES;

  private static final long STORES_AT = 640;

  private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();
  private static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();

  /** The states of a side. A side's state only grows. */
  public static final long ABSENT = 0;

  /** It takes part: the initiator may store, the target permits it. */
  public static final long OPEN = 1;

  /** The initiator will never store again; the target asks for that. */
  public static final long OVER = 2;

  private final long address;
  private final MemorySegment memory;

  private PathSegment(long address, MemorySegment memory) {
    this.address = address;
    this.memory = memory;
  }

  /** One end's words. */
  public enum Side {
    INITIATOR(256), TARGET(768);

    private final long state;

    Side(long state) {
      this.state = state;
    }

    public Side peer() {
      return this == INITIATOR ? TARGET : INITIATOR;
    }

    public long recordTail() {
      return state + 8;
    }

    public long commandTail() {
      return state + 16;
    }

    public long recordHead() {
      return state + 128;
    }

    public long commandHead() {
      return state + 136;
    }

    public long parked() {
      return state + 256;
    }

    /** Where the records begin that this side writes. */
    public long recordsFrom() {
      return this == INITIATOR ? TO_TARGET_RECORDS : TO_INITIATOR_RECORDS;
    }

    /** Where the commands begin that this side writes. */
    public long commandsFrom() {
      return this == INITIATOR ? TO_TARGET_COMMANDS : TO_INITIATOR_COMMANDS;
    }
  }

  /**
   * Makes the file and maps it: the initiator's half.
   *
   * @return the descriptor, to be closed when the target has opened it too
   * @throws NativeCallException if Linux refuses
   */
  public static int createFile() {
    return FileDescriptors.sealedMemory("hawser-path", 0, BYTES);
  }

  /**
   * Tries whether such files can be made here.
   *
   * @throws NativeCallException if not
   */
  public static void probe() {
    FileDescriptors.close(createFile());
  }

  /** Maps a new file and writes what never changes. */
  public static PathSegment initialise(int fd, long nonceHigh, long nonceLow) {
    PathSegment segment = map(fd);
    segment.memory.set(ValueLayout.JAVA_INT, VERSION_AT, VERSION);
    segment.memory.set(ValueLayout.JAVA_INT, RING_BYTES_AT, RECORD_RING_BYTES);
    segment.memory.set(ValueLayout.JAVA_LONG, NONCE_AT, nonceHigh);
    segment.memory.set(ValueLayout.JAVA_LONG, NONCE_AT + 8, nonceLow);
    segment.memory.set(ValueLayout.JAVA_LONG, MAGIC_AT, MAGIC);
    segment.state(Side.INITIATOR, OPEN);
    return segment;
  }

  /**
   * Maps a file that a peer made, after proving that it is what the peer offered: the target's half.
   *
   * @return the segment, or null if the file is another
   */
  public static @Nullable PathSegment join(int fd, long nonceHigh, long nonceLow) {
    if (FileDescriptors.identify(fd).size() != BYTES || !FileDescriptors.isSizeSealed(fd)) {
      return null;
    }
    PathSegment segment = map(fd);
    if (segment.memory.get(ValueLayout.JAVA_LONG, MAGIC_AT) == MAGIC
        && segment.memory.get(ValueLayout.JAVA_INT, VERSION_AT) == VERSION
        && segment.memory.get(ValueLayout.JAVA_INT, RING_BYTES_AT) == RECORD_RING_BYTES
        && segment.memory.get(ValueLayout.JAVA_LONG, NONCE_AT) == nonceHigh
        && segment.memory.get(ValueLayout.JAVA_LONG, NONCE_AT + 8) == nonceLow) {
      return segment;
    }
    segment.unmap();
    return null;
  }

  @SuppressWarnings("restricted") // the address comes from mmap and is unmapped by this object only
  private static PathSegment map(int fd) {
    long address =
        PageMappings.map(
            BYTES, PageMappings.PROT_READ | PageMappings.PROT_WRITE, PageMappings.MAP_SHARED, fd, 0);
    // Optional: a child that is being forked shall not keep the path alive.
    PageMappings.advise(address, BYTES, PeerMapping.MADV_DONTFORK);
    return new PathSegment(address, MemorySegment.ofAddress(address).reinterpret(BYTES));
  }

  /** Unmaps it; nothing of this object may be used afterwards. */
  public void unmap() {
    PageMappings.unmap(address, BYTES);
  }

  public long state(Side side) {
    return (long) LONG.getAcquire(memory, side.state);
  }

  /** Everything that was stored before is visible to whoever sees the new state. */
  public void state(Side side, long state) {
    LONG.setRelease(memory, side.state, state);
  }

  public long position(long at) {
    return (long) LONG.getAcquire(memory, at);
  }

  /** Publishes a head or a tail, and with it everything that was written or read before. */
  public void position(long at, long position) {
    LONG.setRelease(memory, at, position);
  }

  public int parked(Side side) {
    return (int) INT.getOpaque(memory, side.parked());
  }

  public void park(Side side, int how) {
    INT.setOpaque(memory, side.parked(), how);
  }

  /** Clears the parked word; returns what it was. */
  public int unpark(Side side) {
    return (int) INT.getAndSet(memory, side.parked(), 0);
  }

  public long stores() {
    return (long) LONG.getOpaque(memory, STORES_AT);
  }

  public void stores(long count) {
    LONG.setOpaque(memory, STORES_AT, count);
  }

  public int getInt(long at) {
    return memory.get(ValueLayout.JAVA_INT, at);
  }

  public void putInt(long at, int value) {
    memory.set(ValueLayout.JAVA_INT, at, value);
  }

  public long getLong(long at) {
    return memory.get(ValueLayout.JAVA_LONG, at);
  }

  public void putLong(long at, long value) {
    memory.set(ValueLayout.JAVA_LONG, at, value);
  }

  /** The whole segment, for bulk copies of bytes at absolute positions. */
  public ByteBuffer buffer() {
    return memory.asByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
  }
}
