/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.engine.text.WholeNumbers;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * The transport's settings.
 *
 * @param devices names of the devices to use ({@code verbs.devices}, {@code name} or {@code name:port}); empty: all
 * @param gidIndex which entry of the GID table ({@code verbs.gid-index}); −1: RoCE v2 with an IPv4 address before others
 * @param mtu the path MTU in bytes ({@code verbs.mtu}); 0: the lower of both ports'
 * @param pkey the partition key ({@code verbs.pkey}); −1: the first of the table
 * @param serviceLevel {@code verbs.service-level}
 * @param trafficClass {@code verbs.traffic-class}: DSCP × 4 on RoCE v2
 * @param timeout {@code verbs.timeout}: a packet is sent again after 4.096 µs × 2 to this power
 * @param retryCount {@code verbs.retry-count}: how often, before the path fails
 * @param rnrRetry {@code verbs.rnr-retry}: how often while the peer has no receive posted; 7: without end
 * @param minRnrTimer {@code verbs.min-rnr-timer}: how long a peer waits then, as the InfiniBand specification codes it
 * @param sendQueue {@code verbs.send-queue}: work requests of an initiator under way at most
 * @param receiveBuffers {@code verbs.receive-buffers}: messages that a rail takes before it must have processed one
 * @param inlineBytes {@code verbs.inline-bytes}: up to this length data travel in the work request, if the device can
 * @param maxReads {@code verbs.max-reads}: RDMA READs of one queue pair under way at most
 * @param relaxedOrdering {@code verbs.relaxed-ordering}: whether PCIe may reorder data writes among themselves
 * @param sliceBytes {@code verbs.slice-bytes}: longer regions are registered in slices of this length
 */
record VerbsSettings(
    DeviceChoice devices,
    int gidIndex,
    int mtu,
    int pkey,
    int serviceLevel,
    int trafficClass,
    int timeout,
    int retryCount,
    int rnrRetry,
    int minRnrTimer,
    int sendQueue,
    int receiveBuffers,
    int inlineBytes,
    int maxReads,
    boolean relaxedOrdering,
    long sliceBytes) {
  private static final String PREFIX = "verbs.";
  static final Set<String> KNOWN =
      new TreeSet<>(
          Set.of(
              "devices",
              "gid-index",
              "mtu",
              "pkey",
              "service-level",
              "traffic-class",
              "timeout",
              "retry-count",
              "rnr-retry",
              "min-rnr-timer",
              "send-queue",
              "receive-buffers",
              "inline-bytes",
              "max-reads",
              "relaxed-ordering",
              "slice-bytes"));

  /** Below what the 32 bits of some drivers' lengths hold, and whole huge pages. */
  private static final long SLICE_BYTES = 7L << 29;

  private static final long LEAST_SLICE_BYTES = 1 << 16;
  private static final long PAGE_BYTES = 4096;

  /**
   * Reads the settings, whose names have lost their {@code verbs.}.
   *
   * @throws IllegalArgumentException if one is unknown or cannot be; the message names it
   */
  static VerbsSettings of(Map<String, String> settings) {
    for (String name : settings.keySet()) {
      if (!KNOWN.contains(name)) {
        throw new IllegalArgumentException(
            "setting " + PREFIX + name + " is not known; there are " + PREFIX + String.join(", " + PREFIX, KNOWN));
      }
    }
    int mtu = number(settings, "mtu", 0, 0, 4096);
    if (mtu != 0 && !List.of(256, 512, 1024, 2048, 4096).contains(mtu)) {
      throw new IllegalArgumentException("setting verbs.mtu=" + mtu + " is none of 256, 512, 1024, 2048, 4096");
    }
    return new VerbsSettings(
        devices(settings),
        number(settings, "gid-index", -1, -1, 255),
        mtu,
        number(settings, "pkey", -1, -1, 0xffff),
        number(settings, "service-level", 0, 0, 15),
        number(settings, "traffic-class", 0, 0, 255),
        number(settings, "timeout", 14, 1, 31),
        number(settings, "retry-count", 7, 0, 7),
        number(settings, "rnr-retry", 7, 0, 7),
        number(settings, "min-rnr-timer", 12, 0, 31),
        number(settings, "send-queue", 1024, 256, 1 << 15),
        number(settings, "receive-buffers", 512, 128, 1 << 15),
        number(settings, "inline-bytes", 220, 0, 4096),
        number(settings, "max-reads", 16, 1, 255),
        flag(settings, "relaxed-ordering"),
        slice(settings));
  }

  private static DeviceChoice devices(Map<String, String> settings) {
    String text = settings.getOrDefault("devices", "");
    try {
      return DeviceChoice.of(text);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("setting verbs.devices=" + text + ": " + e.getMessage(), e);
    }
  }

  private static int number(Map<String, String> settings, String name, int otherwise, int least, int most) {
    String text = settings.get(name);
    return text == null ? otherwise : (int) WholeNumbers.of(PREFIX + name, text, least, most);
  }

  private static boolean flag(Map<String, String> settings, String name) {
    String text = settings.getOrDefault(name, "true");
    return switch (text) {
      case "true" -> true;
      case "false" -> false;
      default -> throw new IllegalArgumentException(
          "setting " + PREFIX + name + "=" + text + " is neither true nor false");
    };
  }

  private static long slice(Map<String, String> settings) {
    String text = settings.get("slice-bytes");
    if (text == null) {
      return SLICE_BYTES;
    }
    long bytes = WholeNumbers.of("verbs.slice-bytes", text, LEAST_SLICE_BYTES, Long.MAX_VALUE);
    if (bytes % PAGE_BYTES != 0) {
      throw new IllegalArgumentException("setting verbs.slice-bytes=" + text + " is not a multiple of " + PAGE_BYTES);
    }
    return bytes;
  }
}
