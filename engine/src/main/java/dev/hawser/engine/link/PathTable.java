/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import java.util.Arrays;

/**
 * The paths that a chunk may take now, as numbers: what a {@link ChunkPolicy} decides by. Columns in place of objects,
 * since a decision may look at hundreds of paths.
 */
final class PathTable {
  private int size;
  private double[] rate = new double[16];
  private long[] inFlight = new long[16];
  private long[] flight = new long[16];
  private boolean[] room = new boolean[16];
  private double[] nearness = new double[16];
  private double rateSum;
  private long inFlightSum;
  private int rooms;

  void clear() {
    size = 0;
    rateSum = 0;
    inFlightSum = 0;
    rooms = 0;
  }

  /**
   * Adds a path; its row is {@link #size()} before.
   *
   * @param pathRate bytes per second
   * @param bytes under way on it
   * @param mostBytes that may be under way on it
   * @param hasRoom whether its connection takes a chunk now
   */
  void add(double pathRate, long bytes, long mostBytes, boolean hasRoom) {
    if (size == rate.length) {
      rate = Arrays.copyOf(rate, 2 * size);
      inFlight = Arrays.copyOf(inFlight, 2 * size);
      flight = Arrays.copyOf(flight, 2 * size);
      room = Arrays.copyOf(room, 2 * size);
      nearness = Arrays.copyOf(nearness, 2 * size);
    }
    rate[size] = pathRate;
    nearness[size] = 1;
    inFlight[size] = bytes;
    flight[size] = mostBytes;
    room[size] = hasRoom && bytes < mostBytes;
    rateSum += pathRate;
    inFlightSum += bytes;
    rooms += room[size] ? 1 : 0;
    size++;
  }

  /** A chunk was posted; whether its connection takes another. */
  void posted(int path, long bytes, boolean hasRoom) {
    inFlight[path] += bytes;
    inFlightSum += bytes;
    if (!hasRoom || inFlight[path] >= flight[path]) {
      full(path);
    }
  }

  /**
   * How near a path's rail is to the memory of the transfers that are served next: 1 is next to it. It decides between
   * paths that have room; a far one is used all the same once the near ones have enough to do.
   */
  void nearness(int path, double weight) {
    nearness[path] = weight;
  }

  /** Nothing more goes on a path for now. */
  void full(int path) {
    rooms -= room[path] ? 1 : 0;
    room[path] = false;
  }

  int size() {
    return size;
  }

  boolean hasRoom(int path) {
    return room[path];
  }

  /** How many paths have room. */
  int rooms() {
    return rooms;
  }

  double rate(int path) {
    return rate[path];
  }

  long inFlight(int path) {
    return inFlight[path];
  }

  double rateSum() {
    return rateSum;
  }

  long inFlightSum() {
    return inFlightSum;
  }

  /** When a path is through with what is under way on it and so much more, in seconds from now. */
  double through(int path, long bytes) {
    return (inFlight[path] + bytes) / (rate[path] * nearness[path]);
  }
}
