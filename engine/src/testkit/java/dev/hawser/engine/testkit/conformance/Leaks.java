/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/**
 * What this process holds of the kinds that engines use: descriptors, shared mappings, threads.
 *
 * @param counts how many, by kind
 * @param descriptors of those kinds, by what they refer to
 */
record Leaks(Map<String, Integer> counts, Map<String, String> descriptors) {
  private static final List<String> KINDS =
      List.of(
          "socket:",
          "/memfd:",
          "[eventfd]",
          "[eventpoll]",
          "[pidfd]",
          "[timerfd]",
          "/dev/infiniband",
          "/dev/nvidia");

  /** Streams and tables of a fake driver, and pinned memory, which are kept for the next path. */
  private static final List<String> KEPT = List.of("/memfd:fake-", "/memfd:hawser-kept-");

  private static final long STILL_NANOS = 100_000_000;

  static Leaks now() {
    Map<String, Integer> counts = new TreeMap<>();
    Map<String, String> descriptors = new TreeMap<>();
    try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
      for (Path descriptor : all.toList()) {
        String target = target(descriptor);
        for (String kind : KINDS) {
          if (target.contains(kind) && !isKept(target)) {
            counts.merge("descriptor " + kind, 1, Integer::sum);
            descriptors.put(descriptor.getFileName() + " " + target, target);
          }
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    try (Stream<String> mappings = Files.lines(Path.of("/proc/self/maps"))) {
      mappings
          .filter(line -> line.contains("/memfd:") && !isKept(line))
          .forEach(line -> counts.merge("mapping of a memfd", 1, Integer::sum));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    for (Thread thread : Thread.getAllStackTraces().keySet()) {
      if (thread.getName().startsWith("hawser-")) {
        counts.merge("thread " + thread.getName(), 1, Integer::sum);
      }
    }
    return new Leaks(counts, descriptors);
  }

  private static boolean isKept(String line) {
    return KEPT.stream().anyMatch(line::contains);
  }

  private static String target(Path descriptor) {
    try {
      return Files.readSymbolicLink(descriptor).toString();
    } catch (IOException gone) {
      return ""; // closed since it was listed
    }
  }

  /** What is here when no engine is, and nothing is on its way out. */
  static Leaks atRest() {
    Leaks[] last = {now()};
    Waits.until(
        "the engines before have gone",
        () -> {
          LockSupport.parkNanos(STILL_NANOS);
          Leaks before = last[0];
          last[0] = now();
          return last[0].counts.keySet().stream().noneMatch(kind -> kind.startsWith("thread "))
              && last[0].counts.equals(before.counts);
        });
    return last[0];
  }

  /** What is here and was not in {@code before}. */
  Map<String, Integer> since(Leaks before) {
    Map<String, Integer> more = new TreeMap<>();
    counts.forEach(
        (kind, count) -> {
          int difference = count - before.counts.getOrDefault(kind, 0);
          if (difference > 0) {
            more.put(kind, difference);
          }
        });
    return more;
  }

  static void assertNoneSince(Leaks before) {
    Waits.until(
        Waits.PATIENCE,
        () -> {
          Leaks now = now();
          return "everything is released; left: " + now.since(before) + now.details(before);
        },
        () -> now().since(before).isEmpty());
  }

  /** Of each new descriptor what the kernel says of it. */
  private String details(Leaks before) {
    StringBuilder details = new StringBuilder();
    descriptors.forEach(
        (name, target) -> {
          if (!before.descriptors.containsKey(name)) {
            details.append("\n  ").append(name).append(' ').append(socket(target.replaceAll("[^0-9]", "")));
          }
        });
    return details.toString();
  }

  private static String socket(String inode) {
    for (String table : List.of("tcp", "tcp6", "unix")) {
      try (Stream<String> lines = Files.lines(Path.of("/proc/self/net", table))) {
        List<String> found = lines.filter(line -> line.contains(" " + inode + " ")).toList();
        if (!found.isEmpty()) {
          return table + " " + found.getFirst();
        }
      } catch (IOException e) {
        return e.toString();
      }
    }
    return "";
  }

  /** The proof that a leak would be seen: engines that run do hold something. */
  void assertSeesEngines(Leaks before) {
    assertThat(since(before).keySet())
        .as("what running engines hold")
        .anyMatch(kind -> kind.startsWith("thread hawser-"))
        .anyMatch(kind -> kind.startsWith("descriptor "));
  }
}
