/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.sidecar;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The arguments of one call as a C program would have them, and what the function writes. */
final class Arguments {
  // sizeof the structs of include/hawser.h, by the letter of Signature
  private static final Map<Character, Integer> STRUCTS = Map.of('R', 40, 'P', 24, 'T', 72, 'N', 4336, 'L', 160);
  /** Functions whose bytes are counted by the argument behind them: other texts end with a NUL. */
  private static final Set<String> COUNTED_BYTES = Set.of("peer_add", "grant_accept");
  private static final int ROW_BYTES = 24;
  private static final int REGION_DEVICE = 4;
  private static final int REGION_ADDRESS = 8;
  private static final int REQUEST_BYTES = 72;
  private static final int REQUEST_LOCAL = 16;
  private static final int REQUEST_LOCAL_INDICES = 32;
  private static final int REQUEST_REMOTE_INDICES = 48;
  private static final int OPTIONS_BYTES = 56;
  private static final int OPTIONS_NOTIFICATION = 8;
  private static final int OPTIONS_REQUEST_ID = 24;

  /** A place that the function writes to. */
  private record Out(char letter, MemorySegment memory) {}

  private final Arena arena;
  private final Reader reader;
  private final long[] values;
  private final long[] lengths;
  private final List<Out> outs = new ArrayList<>();
  private @Nullable MemorySegment request;
  private final int blocks; // which of the values has the handle of this side's blocks; -1 if none, or the request has it

  /**
   * Reads them.
   *
   * @param arena of the memory that they point to: as long as the call
   * @throws SidecarException if they are not those of such a function
   */
  Arguments(Signature signature, MemorySegment body, Arena arena) {
    this.arena = arena;
    reader = new Reader(body);
    String letters = signature.letters();
    blocks = signature.function().equals("grant_make") ? 1 : -1;
    values = new long[letters.length()];
    lengths = new long[letters.length()];
    for (int i = 0; i < values.length; i++) {
      switch (letters.charAt(i)) {
        case 'i' -> values[i] = reader.number();
        case 's', 'a', 'b' -> {
          MemorySegment content = reader.content();
          lengths[i] = content == null ? Long.MAX_VALUE : content.byteSize(); // NULL is the function's to judge
          values[i] = address(content);
        }
        case 'h' -> values[i] = out('h', Long.BYTES);
        case 'o', 'u' -> {
          long capacity = capacity(reader.number());
          values[i] = out(letters.charAt(i), letters.charAt(i) == 'u' ? capacity * Long.BYTES : capacity);
          i++;
          values[i] = capacity;
        }
        case 't' -> values[i] = out('t', capacity(values[i - 1]));
        case 'Q' -> values[i] = request();
        case 'O' -> values[i] = options();
        default -> values[i] = filled(letters.charAt(i));
      }
    }
    checkCounts(signature);
  }

  /** A function believes what it is told of the lengths of its arguments: more than came must not be read. */
  private void checkCounts(Signature signature) {
    for (int i = 0; i < values.length; i++) {
      switch (signature.letters().charAt(i)) {
        case 'a' -> check(i, signature.letters().startsWith("iiaa") ? values[1] : values[i + 1], Long.BYTES);
        case 'b' -> check(i, values[i + 1], ROW_BYTES);
        case 's' -> {
          if (COUNTED_BYTES.contains(signature.function())) {
            check(i, values[i + 1], 1);
          }
        }
        default -> {}
      }
    }
  }

  private void check(int argument, long count, long bytesOfEach) {
    // Those of less than none are refused by the function.
    if (count > lengths[argument] / bytesOfEach) {
      throw new SidecarException("an argument of a worker has fewer bytes than it says");
    }
  }

  private static long capacity(long number) {
    if (number < 0 || number > Message.MOST_BYTES / Long.BYTES) {
      throw new SidecarException("a buffer of " + number + " is not to be had");
    }
    return number;
  }

  private long out(char letter, long bytes) {
    MemorySegment memory = arena.allocate(Math.max(1, bytes), Long.BYTES);
    outs.add(new Out(letter, memory));
    return memory.address();
  }

  private long filled(char letter) {
    MemorySegment memory = struct(STRUCTS.getOrDefault(letter, 0));
    outs.add(new Out(letter, memory));
    return memory.address();
  }

  /** A struct with the fields that came: the rest is zero. */
  private MemorySegment struct(int bytes) {
    MemorySegment memory = arena.allocate(bytes, Long.BYTES);
    MemorySegment content = reader.content();
    if (content != null) {
      MemorySegment.copy(content, 0, memory, 0, Math.min(bytes, content.byteSize()));
    }
    return memory;
  }

  /** Bytes with a final NUL behind them, for those that are texts; 0 for none. */
  private long address(@Nullable MemorySegment content) {
    if (content == null) {
      return 0;
    }
    MemorySegment memory = arena.allocate(content.byteSize() + 1, Long.BYTES);
    MemorySegment.copy(content, 0, memory, 0, content.byteSize());
    return memory.address();
  }

  private long request() {
    MemorySegment read = struct(REQUEST_BYTES);
    read.set(ValueLayout.JAVA_LONG, REQUEST_LOCAL_INDICES, indices(read, REQUEST_LOCAL_INDICES, 64));
    read.set(ValueLayout.JAVA_LONG, REQUEST_REMOTE_INDICES, indices(read, REQUEST_REMOTE_INDICES, 68));
    request = read;
    return read.address();
  }

  /** Indices, after a look that there are as many as the request says. */
  private long indices(MemorySegment of, int field, int widthField) {
    long count = of.get(ValueLayout.JAVA_LONG, field + Long.BYTES);
    long width = Integer.toUnsignedLong(of.get(ValueLayout.JAVA_INT, widthField));
    MemorySegment content = reader.content();
    if (content != null && (count < 0 || width > Long.BYTES || count > Message.MOST_BYTES
        || count * width > content.byteSize())) {
      throw new SidecarException("a request of a worker has fewer indices than it says");
    }
    return address(content);
  }

  private long options() {
    MemorySegment content = reader.content();
    if (content == null) {
      return 0;
    }
    MemorySegment options = arena.allocate(OPTIONS_BYTES, Long.BYTES);
    MemorySegment.copy(content, 0, options, 0, Math.min(OPTIONS_BYTES, content.byteSize()));
    MemorySegment notification = reader.content();
    long bytes = options.get(ValueLayout.JAVA_LONG, OPTIONS_NOTIFICATION + Long.BYTES);
    if (notification != null && bytes > notification.byteSize()) {
      throw new SidecarException("a notification of a worker has fewer bytes than it says");
    }
    options.set(ValueLayout.JAVA_LONG, OPTIONS_NOTIFICATION, address(notification));
    options.set(ValueLayout.JAVA_LONG, OPTIONS_REQUEST_ID, address(reader.content()));
    return options.address();
  }

  /** Of the function, in its order. */
  long[] values() {
    return values;
  }

  /** The handle of the blocks of this side; 0 if it takes none. */
  long localBlocks() {
    MemorySegment in = request;
    return in != null ? in.get(ValueLayout.JAVA_LONG, REQUEST_LOCAL) : blocks < 0 ? 0 : values[blocks];
  }

  /** Has it take other blocks of this side. */
  void localBlocks(long handle) {
    MemorySegment in = request;
    if (in != null) {
      in.set(ValueLayout.JAVA_LONG, REQUEST_LOCAL, handle);
    } else {
      values[blocks] = handle;
    }
  }

  /** Has the region that it told of be told of as the worker knows it. */
  void tellRegionAs(long address, long device) {
    MemorySegment region = outs.getFirst().memory();
    region.set(ValueLayout.JAVA_LONG, REGION_ADDRESS, address);
    region.set(ValueLayout.JAVA_INT, REGION_DEVICE, (int) device);
  }

  /** What was written to the first place for a handle. */
  long made() {
    return outs.getFirst().memory().get(ValueLayout.JAVA_LONG, 0);
  }

  /** Tells what the function has written. */
  void answer(Writer answer, long result) {
    for (Out out : outs) {
      MemorySegment memory = out.memory();
      switch (out.letter()) {
        case 'h' -> answer.number(memory.get(ValueLayout.JAVA_LONG, 0));
        case 'u' -> answer.content(memory.asSlice(0, Math.min(memory.byteSize(), Long.BYTES * result)));
        // A text has a final NUL beyond its bytes; more than the capacity was not written.
        case 'o' -> answer.content(
            memory.asSlice(0, result <= memory.byteSize() ? Math.min(memory.byteSize(), result + 1) : 0));
        default -> answer.content(memory);
      }
    }
  }
}
