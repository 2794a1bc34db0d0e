/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.verbs;

import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What lies between the devices of one library. Its monitor guards everything in this package: work is done by the thread
 * that posts it, and what cannot be done at once by whoever makes it possible, or by the clock.
 */
final class Fabric {
  /** As long as a number of a queue pair may be on the wire. */
  private static final int FIRST_NUMBER = 0x100;

  private final Arena arena = Arena.ofShared();
  private final List<FakeDevice> devices = new ArrayList<>();
  private final Handles<FakeQueuePair> queuePairs = new Handles<>();
  private final Set<FakeQueuePair> stalled = new LinkedHashSet<>();
  private final List<String> violations = new ArrayList<>();
  private long topology = 1;

  /** Memory for a struct, zeroed, for as long as the library lives, so that late use is seen and not fatal. */
  long struct(long bytes) {
    return arena.allocate(bytes, 64).address();
  }

  Handles<FakeQueuePair> queuePairs() {
    return queuePairs;
  }

  void add(FakeDevice device) {
    devices.add(device);
  }

  List<FakeDevice> devices() {
    return devices;
  }

  static int number(int handle) {
    return FIRST_NUMBER + handle;
  }

  @Nullable
  FakeQueuePair byNumber(int number) {
    return queuePairs.get(number - FIRST_NUMBER);
  }

  /** Which device has this address now; null if none that can be reached. */
  @Nullable
  FakeDevice byGid(byte[] gid) {
    for (FakeDevice device : devices) {
      if (device.hasGid(gid) && device.carries()) {
        return device;
      }
    }
    return null;
  }

  /** Grows when an answer of {@link #byGid} may change. */
  long topology() {
    return topology;
  }

  void changed() {
    topology++;
    progress();
  }

  void stalled(FakeQueuePair queuePair) {
    stalled.add(queuePair);
  }

  /** Tries again what could not be done. */
  void progress() {
    if (stalled.isEmpty()) {
      return;
    }
    for (FakeQueuePair queuePair : List.copyOf(stalled)) {
      if (queuePair.progress()) {
        stalled.remove(queuePair);
      }
    }
  }

  /** Something that no provider has to bear, or a fault of this package: a test looks at the end. */
  void violation(String what) {
    if (violations.size() < 100) {
      violations.add(what);
    }
  }

  List<String> violations() {
    return List.copyOf(violations);
  }

  void close() {
    arena.close();
  }
}
