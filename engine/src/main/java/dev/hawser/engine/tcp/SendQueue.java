/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.engine.net.ForeignMemory;
import dev.hawser.engine.net.RawMemory;
import dev.hawser.memory.ffi.Errno;
import dev.hawser.memory.ffi.PageMappings;
import java.nio.ByteBuffer;

/**
 * What is to be sent, in order: places in registered memory, and headers and messages in a ring of its own. The list of
 * places is handed to the kernel as it stands. Owner thread only; allocates nothing.
 */
final class SendQueue {
  static final int PLACES = 8192;
  static final int CONTROL_BYTES = 1 << 19;

  /** Native memory that it needs. */
  static final long NATIVE_BYTES = (long) PLACES * Places.BYTES + CONTROL_BYTES;

  /**
   * One call passes at most about this much: the kernel looks at every place of the list each time, taken or not.
   */
  private static final long CALL_BYTES = 1 << 20;

  private static final int IOV_MAX = 1024;

  private static final long NOTHING_HELD = Long.MAX_VALUE;

  private final long places;
  private final long control;
  private final ByteBuffer controlView;

  // Counted on for ever; the low bits are the slot.
  private long head;
  private long tail;
  private long controlHead;
  private long controlTail;

  private long heldFrom = NOTHING_HELD; // place
  private boolean blocked;
  private long sent;
  private long appended;

  SendQueue(long places, long control, ByteBuffer controlView) {
    this.places = places;
    this.control = control;
    this.controlView = controlView;
  }

  private long place(long index) {
    return places + (index & (PLACES - 1)) * Places.BYTES;
  }

  int freePlaces() {
    return (int) (PLACES - (tail - head));
  }

  /** Control bytes that are free, in two pieces at most. */
  int freeControlInAll() {
    return (int) (CONTROL_BYTES - (controlHead - controlTail));
  }

  /** Contiguous control bytes that can be had for sure. */
  int freeControl() {
    int free = freeControlInAll();
    int untilEnd = CONTROL_BYTES - (int) (controlHead & (CONTROL_BYTES - 1));
    // What does not fit before the end of the ring starts again at its beginning, and the rest is lost.
    return free <= untilEnd ? free : Math.max(untilEnd, free - untilEnd);
  }

  /** Reserves control bytes; the caller fills them and then appends them. The room was checked before. */
  long control(int bytes) {
    int offset = (int) (controlHead & (CONTROL_BYTES - 1));
    if (offset + bytes > CONTROL_BYTES) {
      controlHead += CONTROL_BYTES - offset;
      offset = 0;
    }
    controlHead += bytes;
    return control + offset;
  }

  /** Copies a message behind a header that was reserved together with it. */
  void copy(ByteBuffer message, long to) {
    controlView.put((int) (to - control), message, message.position(), message.remaining());
  }

  /** Appends bytes, which stay where they are until they are sent. */
  void append(long address, long length) {
    appended += length;
    if (tail != head) {
      long last = place(tail - 1);
      if (Places.address(last) + Places.length(last) == address && isControl(address) && isControl(address - 1)) {
        Places.length(last, Places.length(last) + length);
        return;
      }
    }
    Places.set(place(tail), address, length);
    tail++;
  }

  private boolean isControl(long address) {
    return address >= control && address < control + CONTROL_BYTES;
  }

  /** Where the next place goes: with {@link #sentUpTo} it tells when something has left. */
  long tail() {
    return tail;
  }

  /** True if every place before {@code index} has been sent. */
  boolean sentUpTo(long index) {
    return head - index >= 0;
  }

  boolean isEmpty() {
    return head == tail;
  }

  /** Nothing is sent from a place on, for it is not filled yet. */
  void holdFrom(long place) {
    heldFrom = place;
  }

  /** Everything may be sent. */
  void openAll() {
    heldFrom = NOTHING_HELD;
  }

  /** True if the socket had no room for more. */
  boolean isBlocked() {
    return blocked;
  }

  /** Bytes that have not been sent. */
  long pendingBytes() {
    return appended - sent;
  }

  /**
   * Sends as much as the socket takes, but at most about {@code budget} bytes.
   *
   * @return bytes sent, or the negative error number if nothing was; {@code -EAGAIN} is told by {@link #isBlocked}
   *     instead
   */
  long send(Wire wire, long budget) {
    long total = 0;
    blocked = false;
    long end = Math.min(tail, heldFrom);
    while (head != end && total < budget) {
      int slot = (int) (head & (PLACES - 1));
      int limit = (int) Math.min(Math.min(end - head, PLACES - slot), IOV_MAX);
      long bytes = 0;
      int count = 0;
      while (count < limit && bytes < CALL_BYTES) {
        bytes += Places.length(places + (long) (slot + count) * Places.BYTES);
        count++;
      }
      long n = wire.write(places + (long) slot * Places.BYTES, count);
      if (n < 0) {
        blocked = n == -Errno.EAGAIN;
        sent += total;
        return total > 0 || blocked ? total : n;
      }
      total += n;
      remove(n);
      if (n < bytes) {
        blocked = true;
        break;
      }
    }
    sent += total;
    return total;
  }

  /**
   * The first place that cannot be read, of those that the next call would send: its memory was freed.
   *
   * @return −1 if there is none
   */
  long firstUnreadable() {
    long end = Math.min(Math.min(tail, heldFrom), head + IOV_MAX);
    for (long i = head; i - end < 0; i++) {
      long address = Places.address(place(i));
      if (!isControl(address) && ForeignMemory.firstUnreadable(address, Places.length(place(i))) != -1) {
        return i;
      }
    }
    return -1;
  }

  /** True if nothing has been sent from an address on, which is in this place. */
  boolean isWaiting(long place, long address) {
    return place - head > 0 || (place == head && Places.address(place(place)) - address <= 0);
  }

  /**
   * Takes out what has not begun to be sent: the places behind {@code first}, and the last control bytes in that one. They
   * stay as empty places.
   */
  void drop(long first, long end, int controlBytes) {
    long place = place(first);
    Places.length(place, Places.length(place) - controlBytes);
    appended -= controlBytes;
    for (long i = first + 1; i - end < 0; i++) {
      appended -= Places.length(place(i));
      Places.length(place(i), 0);
    }
  }

  /** The first byte of a place that has not been sent. */
  long address(long place) {
    return Places.address(place(place));
  }

  /** Sends zeros in the place of bytes that are not there any more: as many were promised. At most 1 MiB. */
  void blank(long place) {
    Places.set(place(place), Zeros.ADDRESS, Math.min(Places.length(place(place)), Zeros.BYTES));
  }

  /** Pages that nobody writes to and that take no memory. For the life of the process. */
  private static final class Zeros {
    static final long BYTES = 1 << 20;
    static final long ADDRESS =
        PageMappings.map(
            BYTES, PageMappings.PROT_READ, PageMappings.MAP_PRIVATE | PageMappings.MAP_ANONYMOUS, -1, 0);

    private Zeros() {}
  }

  private void remove(long bytes) {
    long left = bytes;
    while (left > 0 || (head != tail && Places.length(place(head)) == 0)) {
      long first = place(head);
      long length = Places.length(first);
      if (left < length) {
        Places.advance(first, left);
        return;
      }
      left -= length;
      freeControl(Places.address(first), length);
      head++;
    }
  }

  private void freeControl(long address, long length) {
    if (!isControl(address)) {
      return;
    }
    long position = (controlTail & -CONTROL_BYTES) + address + length - control;
    controlTail = position < controlTail ? position + CONTROL_BYTES : position;
  }

  /** For tests: what is queued, as one array. */
  byte[] queued() {
    long total = 0;
    for (long i = head; i < tail; i++) {
      total += Places.length(place(i));
    }
    byte[] bytes = new byte[Math.toIntExact(total)];
    int at = 0;
    for (long i = head; i < tail; i++) {
      for (long j = 0; j < Places.length(place(i)); j++) {
        bytes[at++] = (byte) RawMemory.u8(Places.address(place(i)) + j);
      }
    }
    return bytes;
  }
}
