/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.engine.net.ForeignMemory;
import dev.hawser.engine.net.RawMemory;
import dev.hawser.memory.ffi.Errno;
import java.nio.ByteBuffer;

/**
 * Takes bytes from the wire: headers and messages into a small buffer, payload straight into its places. Owner thread
 * only; allocates nothing.
 */
final class Receiver {
  static final int STAGING_BYTES = 64 * 1024;

  /** What is read in one call behind the bytes that are needed: it may have to be copied to its place afterwards. */
  private static final int READ_AHEAD_BYTES = 8 * 1024;

  /** One call passes at most about this much: the kernel looks at every place of the list each time. */
  private static final long CALL_BYTES = 1 << 20;

  private static final int IOV_MAX = 1024;

  /** Places of one request, and the staging buffer behind them. */
  private static final int PLACES = FrameLayout.MAX_SEGMENTS + 1;

  /** Native memory that it needs. */
  static final long NATIVE_BYTES = STAGING_BYTES + (long) PLACES * Places.BYTES + ForeignMemory.NATIVE_BYTES;

  private final long staging;
  private final long places;
  private final ByteBuffer view;
  private final ForeignMemory memory;

  private int start;
  private int end;
  private int next; // place
  private int count; // places
  private long remaining; // payload bytes that have not come
  private boolean discarding;
  private boolean foreign; // some place may have been freed by its owner
  private long lost; // the address of one that was; 0: none
  private boolean drained; // the last call emptied the socket

  Receiver(long staging, long places, ByteBuffer view) {
    this.staging = staging;
    this.places = places;
    this.view = view;
    this.memory = new ForeignMemory(places + (long) PLACES * Places.BYTES);
  }

  /** Bytes in the buffer. */
  int staged() {
    return end - start;
  }

  /** Address of the first byte in the buffer. */
  long at() {
    return staging + start;
  }

  /** A view of {@code bytes} bytes in the buffer from {@code offset} on. */
  ByteBuffer view(int offset, int bytes) {
    view.clear().position(start + offset).limit(start + offset + bytes);
    return view;
  }

  /** Drops the first bytes of the buffer. */
  void consume(int bytes) {
    start += bytes;
    if (start == end) {
      start = 0;
      end = 0;
    }
  }

  /** Begins a list of places. */
  void beginPlaces() {
    next = 0;
    count = 0;
    foreign = false;
    lost = 0;
  }

  /** The places are not all of memory that stays mapped. */
  void mayBeLost() {
    foreign = true;
  }

  /** Where the memory of the places turned out not to be there: their payload was dropped from there on; 0 if it is. */
  long lost() {
    return lost;
  }

  /** Adds one, which is not empty. */
  void addPlace(long address, long length) {
    if (count > 0) {
      long last = places + (long) (count - 1) * Places.BYTES;
      if (Places.address(last) + Places.length(last) == address) {
        Places.length(last, Places.length(last) + length);
        return;
      }
    }
    Places.set(places + (long) count * Places.BYTES, address, length);
    count++;
  }

  /** What follows is payload for the places, {@code bytes} in all; what of it is in the buffer already is copied. */
  void beginPayload(long bytes) {
    remaining = bytes;
    discarding = false;
    place();
  }

  /** What follows is payload that goes nowhere. */
  void beginDiscarding(long bytes) {
    remaining = bytes;
    discarding = true;
    place();
  }

  /** What has not come of the payload goes nowhere. */
  void discardRest() {
    discarding = true;
  }

  boolean payloadIsComplete() {
    return remaining == 0;
  }

  /** Nothing more is written to any place. */
  void forgetPlaces() {
    remaining = 0;
    count = 0;
    next = 0;
  }

  /** True if the last call took everything that the socket had. */
  boolean socketIsEmpty() {
    return drained;
  }

  /**
   * Reads once.
   *
   * @param need bytes that the buffer must be able to hold in all; used where no payload is expected
   * @return bytes, 0 at the end of the stream, or the negative error number
   */
  long read(Wire wire, int need) {
    if (remaining > 0) {
      long n = discarding || (foreign && !wire.readTellsLostPlaces()) ? readAway(wire) : readPayload(wire);
      if (n == -Errno.EFAULT && !discarding) {
        lose();
        n = readAway(wire); // the kernel has taken nothing
      }
      return n;
    }
    int wanted = Math.max(need - staged(), READ_AHEAD_BYTES);
    if (STAGING_BYTES - end < wanted) {
      RawMemory.copy(at(), staging, staged());
      end -= start;
      start = 0;
    }
    long n = readStaging(wire, Math.min(wanted, STAGING_BYTES - end));
    if (n > 0) {
      end += (int) n;
    }
    return n;
  }

  private long readStaging(Wire wire, int bytes) {
    long place = places + (long) (PLACES - 1) * Places.BYTES;
    Places.set(place, staging + end, bytes);
    long n = wire.read(place, 1);
    drained = n < bytes;
    return n;
  }

  /** By way of the buffer, to the places or nowhere. The buffer is empty here. */
  private long readAway(Wire wire) {
    long n = readStaging(wire, STAGING_BYTES);
    if (n > 0) {
      end = (int) n;
      place();
    }
    return n;
  }

  /** The buffer is empty here; it takes what comes behind the payload. */
  private long readPayload(Wire wire) {
    long bytes = 0;
    int n = 0;
    while (next + n < count && n < IOV_MAX && bytes < CALL_BYTES) {
      bytes += Places.length(places + (long) (next + n) * Places.BYTES);
      n++;
    }
    if (next + n == count && n < IOV_MAX) {
      Places.set(places + (long) count * Places.BYTES, staging, READ_AHEAD_BYTES);
      bytes += READ_AHEAD_BYTES;
      n++;
    }
    long read = wire.read(places + (long) next * Places.BYTES, n);
    drained = read < bytes;
    if (read > 0) {
      long payload = Math.min(read, remaining);
      advance(payload);
      if (wire.lost() != 0 && !discarding) {
        discarding = true;
        lost = wire.lost();
      }
      end = (int) (read - payload);
    }
    return read;
  }

  private void advance(long bytes) {
    remaining -= bytes;
    long left = bytes;
    while (left > 0) {
      long place = places + (long) next * Places.BYTES;
      long length = Places.length(place);
      if (left < length) {
        Places.advance(place, left);
        return;
      }
      left -= length;
      next++;
    }
  }

  /** One of the places is not there: the rest of the payload goes nowhere. */
  private void lose() {
    discarding = true;
    lost = Places.address(places + (long) next * Places.BYTES);
    for (int i = next; i < count; i++) {
      long place = places + (long) i * Places.BYTES;
      long unreadable = ForeignMemory.firstUnreadable(Places.address(place), Places.length(place));
      if (unreadable != -1) {
        lost = unreadable;
        return;
      }
    }
  }

  /** Moves what is in the buffer to its places, or away. */
  private void place() {
    while (remaining > 0 && start < end) {
      int n = (int) Math.min(remaining, end - start);
      if (!discarding) {
        long place = places + (long) next * Places.BYTES;
        n = (int) Math.min(n, Places.length(place));
        long to = Places.address(place);
        // Memory that stays mapped can only lose the file behind it: the kernel need not be asked.
        if (foreign ? !memory.copy(at(), to, n) : !RawMemory.tryCopy(at(), to, n)) {
          lose();
          continue;
        }
        advance(n);
      } else {
        remaining -= n;
      }
      consume(n);
    }
  }
}
