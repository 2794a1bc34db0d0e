/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.engine.spi.WorkStatus;

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
  private final int[] segments = new int[Outstanding.DATA_SLOTS]; // of the frame: many may share one place, a slot
  private final long[] bytes = new long[Outstanding.DATA_SLOTS];
  private final boolean[] foreign = new boolean[Outstanding.DATA_SLOTS]; // may have been freed by their owner
  private final long[] transfers = new long[Outstanding.DATA_SLOTS];
  private final boolean[] withdrawn = new boolean[Outstanding.DATA_SLOTS]; // what comes of it goes nowhere
  private long head; // place
  private long tail;
  private int firstRead;
  private int reads;
  private int segmentsUnderWay;
  private boolean begun; // data of the first READ have come
  private long lost; // a place of the first READ that is not there; 0: none
  private long unwanted; // bytes that are to come of READs that were withdrawn

  ReadPlaces(long places) {
    this.places = places;
  }

  private long place(long index) {
    return places + (index & (PLACES - 1)) * Places.BYTES;
  }

  /**
   * Segments, with a place for each, that another READ may have. As many READs as a target takes, and as many segments, count
   * those that were withdrawn.
   */
  int free() {
    return reads == Outstanding.DATA_SLOTS
        ? 0
        : Math.min((int) (PLACES - (tail - head)), ReadService.SEGMENTS - segmentsUnderWay);
  }

  void add(long address, long length) {
    Places.set(place(tail++), address, length);
  }

  /** Undoes the last additions. */
  void remove(int count) {
    tail -= count;
  }

  /**
   * Takes one on.
   *
   * @param count of the places that were added for it
   * @param frameSegments that the target is told
   */
  void post(long sequence, long transfer, int count, int frameSegments, long length, boolean mayBeLost) {
    int slot = slot(reads);
    segments[slot] = frameSegments;
    segmentsUnderWay += frameSegments;
    transfers[slot] = transfer;
    withdrawn[slot] = false;
    sequences[slot] = sequence;
    counts[slot] = count;
    bytes[slot] = length;
    foreign[slot] = mayBeLost;
    reads++;
  }

  private int slot(int read) {
    return (firstRead + read) & (Outstanding.DATA_SLOTS - 1);
  }

  boolean isEmpty() {
    return reads == 0;
  }

  /**
   * What comes of a transfer's READs from now on goes nowhere, and they have ended.
   *
   * @return whether there was any
   */
  boolean withdraw(long transfer, Outstanding outstanding, Receiver receiver) {
    boolean any = false;
    for (int i = 0; i < reads; i++) {
      int slot = slot(i);
      if (transfers[slot] == transfer && !withdrawn[slot]) {
        any = true;
        withdrawn[slot] = true;
        unwanted += bytes[slot];
        outstanding.end(sequences[slot], WorkStatus.WITHDRAWN, 0);
        if (i == 0) {
          receiver.discardRest(); // payload comes for the first only
        }
      }
    }
    return any;
  }

  /** Bytes that are still to come, beside those that are coming now, and that nobody wants. */
  long unwanted() {
    return unwanted;
  }

  /** Whether it is the next READ, and was withdrawn. */
  boolean isWithdrawn(long sequence) {
    return reads > 0 && withdrawn[firstRead] && sequences[firstRead] == sequence;
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

  /** The next {@code length} bytes come: the receiver gets their places, or is to drop them. */
  void take(long length, Receiver receiver) {
    begun = true;
    bytes[firstRead] -= length;
    receiver.beginPlaces();
    if (withdrawn[firstRead]) {
      unwanted -= length;
      receiver.beginDiscarding(length);
      return;
    }
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
    receiver.beginPayload(length);
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
    unwanted -= withdrawn[firstRead] ? bytes[firstRead] : 0;
    head += counts[firstRead];
    segmentsUnderWay -= segments[firstRead];
    firstRead = (firstRead + 1) & (Outstanding.DATA_SLOTS - 1);
    reads--;
    begun = false;
    lost = 0;
  }
}
