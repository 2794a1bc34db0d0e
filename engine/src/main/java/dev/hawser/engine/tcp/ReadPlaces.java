/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

/**
 * Where the data of the READs under way belong, in the order in which they will come. Owner thread only; allocates
 * nothing.
 */
final class ReadPlaces {
  static final int PLACES = 8192;

  /** Native memory that it needs. */
  static final long NATIVE_BYTES = (long) PLACES * Places.BYTES;

  private final long places;
  private final long[] sequences = new long[Outstanding.DATA_SLOTS];
  private final int[] counts = new int[Outstanding.DATA_SLOTS];
  private final long[] bytes = new long[Outstanding.DATA_SLOTS];
  private final boolean[] foreign = new boolean[Outstanding.DATA_SLOTS]; // may have been freed by their owner
  private long head; // place
  private long tail;
  private int firstRead;
  private int reads;
  private boolean begun; // data of the first READ have come
  private long lost; // a place of the first READ that is not there; 0: none

  ReadPlaces(long places) {
    this.places = places;
  }

  private long place(long index) {
    return places + (index & (PLACES - 1)) * Places.BYTES;
  }

  int free() {
    return (int) (PLACES - (tail - head));
  }

  void add(long address, long length) {
    Places.set(place(tail++), address, length);
  }

  /** Undoes the last additions. */
  void remove(int count) {
    tail -= count;
  }

  void post(long sequence, int count, long length, boolean mayBeLost) {
    int slot = (firstRead + reads) & (Outstanding.DATA_SLOTS - 1);
    sequences[slot] = sequence;
    counts[slot] = count;
    bytes[slot] = length;
    foreign[slot] = mayBeLost;
    reads++;
  }

  boolean isEmpty() {
    return reads == 0;
  }

  /** The READ whose data come next. */
  long sequence() {
    return sequences[firstRead];
  }

  /** Bytes that have not come for it. */
  long remaining() {
    return bytes[firstRead];
  }

  boolean hasBegun() {
    return begun;
  }

  /** Gives the places of the next {@code length} bytes to the receiver. */
  void take(long length, Receiver receiver) {
    begun = true;
    bytes[firstRead] -= length;
    receiver.beginPlaces();
    if (foreign[firstRead]) {
      receiver.mayBeLost();
    }
    long left = length;
    while (left > 0) {
      long first = place(head);
      long n = Math.min(left, Places.length(first));
      receiver.addPlace(Places.address(first), n);
      left -= n;
      if (n == Places.length(first)) {
        head++;
        counts[firstRead]--;
      } else {
        Places.advance(first, n);
      }
    }
  }

  /** Memory of the first READ is not there; 0 changes nothing. */
  void lose(long address) {
    lost = lost == 0 ? address : lost;
  }

  /** Where memory of the first READ turned out not to be there; 0 if it is. */
  long lost() {
    return lost;
  }

  /** The first READ has ended. */
  void end() {
    head += counts[firstRead];
    firstRead = (firstRead + 1) & (Outstanding.DATA_SLOTS - 1);
    reads--;
    begun = false;
    lost = 0;
  }
}
