/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * How much memory this process could still fill.
 *
 * <p>Source: proc_meminfo(5), and the kernel's {@code cgroup-v2.rst}.
 *
 * @param bytes the estimate
 * @param limit what sets it, for messages
 */
record AvailableMemory(long bytes, String limit) {
  private static final AvailableMemory UNKNOWN = new AvailableMemory(Long.MAX_VALUE, "no known limit");

  static AvailableMemory now() {
    return now(Path.of("/"));
  }

  /** As {@link #now()}, with {@code /proc} and {@code /sys} below {@code root}. */
  static AvailableMemory now(Path root) {
    AvailableMemory machine = machine(root.resolve("proc/meminfo"));
    AvailableMemory group = group(root);
    return group.bytes < machine.bytes ? group : machine;
  }

  private static AvailableMemory machine(Path meminfo) {
    for (String line : linesOf(meminfo)) {
      if (line.startsWith("MemAvailable:")) {
        return new AvailableMemory(number(line.replaceAll("[^0-9]", ""), Long.MAX_VALUE >> 10) << 10, "MemAvailable");
      }
    }
    return UNKNOWN;
  }

  /** The tightest of the control groups that this process is in, from its own up to the root. */
  private static AvailableMemory group(Path root) {
    Path mount = root.resolve("sys/fs/cgroup");
    AvailableMemory tightest = UNKNOWN;
    for (String line : linesOf(root.resolve("proc/self/cgroup"))) {
      if (line.startsWith("0::/")) {
        Path group = mount.resolve(line.substring("0::/".length())).normalize();
        while (group != null && group.startsWith(mount)) {
          long left = left(group);
          if (left < tightest.bytes) {
            tightest = new AvailableMemory(left, "the control group's memory.max in " + group);
          }
          group = group.getParent();
        }
      }
    }
    return tightest;
  }

  private static long left(Path group) {
    List<String> max = linesOf(group.resolve("memory.max"));
    List<String> current = linesOf(group.resolve("memory.current"));
    if (max.isEmpty() || current.isEmpty() || max.getFirst().equals("max")) {
      return Long.MAX_VALUE;
    }
    long reclaimable = 0;
    for (String line : linesOf(group.resolve("memory.stat"))) {
      if (line.startsWith("inactive_file ")) {
        reclaimable = number(line.substring("inactive_file ".length()), 0);
      }
    }
    long limit = number(max.getFirst(), Long.MAX_VALUE);
    return Math.max(0, limit - number(current.getFirst(), 0) + reclaimable);
  }

  private static List<String> linesOf(Path file) {
    try {
      return Files.readAllLines(file);
    } catch (IOException e) {
      return List.of(); // not every kernel or container shows it: then it sets no limit
    }
  }

  private static long number(String digits, long otherwise) {
    try {
      return Long.parseLong(digits.strip());
    } catch (NumberFormatException e) {
      return otherwise;
    }
  }
}
