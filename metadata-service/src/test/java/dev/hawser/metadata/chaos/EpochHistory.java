/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.chaos;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What clients did to names and saw of them, each with the time before it was asked and after it was answered, and
 * whether one atomic register per name, whose epoch only grows, can have given these answers. Since a register that only
 * grows has one order of values, it is enough to compare each answer with everything that was known before its question.
 */
final class EpochHistory {
  private final List<Operation> operations = new ArrayList<>();

  /** What an operation was, and how it ended. */
  enum Kind {
    /** Recorded. */
    PUBLISHED,
    /** Refused since {@code seen} is newer. */
    REFUSED,
    /** Nobody knows: it may have been recorded, or may be at any later time. */
    UNKNOWN,
    /** {@code seen} was there; 0 for nothing. */
    FETCHED
  }

  /**
   * One operation.
   *
   * @param epoch that was to be published; 0 for a fetch
   * @param seen the epoch in the answer, if there was one
   */
  record Operation(Kind kind, String name, long epoch, long seen, long asked, long answered) {}

  synchronized void add(Operation operation) {
    operations.add(operation);
  }

  synchronized long count(Kind kind) {
    return operations.stream().filter(operation -> operation.kind() == kind).count();
  }

  /** What no register can have answered, in words; empty when all is well. */
  synchronized List<String> violations() {
    List<String> violations = new ArrayList<>();
    Map<String, List<Operation>> byName = new HashMap<>();
    operations.forEach(operation -> byName.computeIfAbsent(operation.name(), name -> new ArrayList<>()).add(operation));
    byName.values().forEach(one -> check(one, violations));
    return violations;
  }

  /** A question or an answer. */
  private record Moment(long time, boolean answer, Operation operation) {}

  private static void check(List<Operation> operations, List<String> violations) {
    Map<Long, Long> publishedFrom = new HashMap<>();
    List<Moment> moments = new ArrayList<>();
    for (Operation operation : operations) {
      moments.add(new Moment(operation.asked(), false, operation));
      moments.add(new Moment(operation.answered(), true, operation));
      if (operation.kind() != Kind.FETCHED) {
        publishedFrom.merge(operation.epoch(), operation.asked(), Math::min);
      }
    }
    // At the same instant a question comes before an answer: the two may have overlapped.
    moments.sort(Comparator.comparingLong(Moment::time).thenComparing(Moment::answer));
    long known = 0;
    Map<Operation, Long> knownWhenAsked = new HashMap<>();
    for (Moment moment : moments) {
      Operation operation = moment.operation();
      if (!moment.answer()) {
        knownWhenAsked.put(operation, known);
        continue;
      }
      long before = knownWhenAsked.getOrDefault(operation, 0L);
      switch (operation.kind()) {
        case PUBLISHED -> {
          if (operation.epoch() < before) {
            violations.add("stale epoch accepted, " + before + " was known: " + operation);
          }
          known = Math.max(known, operation.epoch());
        }
        case REFUSED -> {
          if (operation.seen() <= operation.epoch()) {
            violations.add("refused without a newer epoch: " + operation);
          }
          known = Math.max(known, seen(operation, before, publishedFrom, violations));
        }
        case FETCHED -> known = Math.max(known, seen(operation, before, publishedFrom, violations));
        case UNKNOWN -> {
          // Says nothing.
        }
      }
    }
  }

  private static long seen(
      Operation operation, long before, Map<Long, Long> publishedFrom, List<String> violations) {
    if (operation.seen() < before) {
      violations.add("stale epoch seen, " + before + " was known: " + operation);
    }
    if (operation.seen() != 0
        && publishedFrom.getOrDefault(operation.seen(), Long.MAX_VALUE) > operation.answered()) {
      violations.add("epoch seen that nobody had published: " + operation);
    }
    return operation.seen();
  }
}
