/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Expiry;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;

/** Meetings in the memory of this process. A meeting goes with its last member; a member counts until its deadline. */
final class MemoryMeetings implements Meetings {
  private static final int MAX_MEETINGS = 10_000;

  private final MonotonicClock clock;
  private final List<Consumer<MeetingId>> listeners = new CopyOnWriteArrayList<>();
  private final Cache<MeetingId, Present> meetings;

  /** A member and the instant until which it counts. */
  private record Seat(Meeting.Member member, long deadline) {}

  private record Present(int size, TreeMap<Integer, Seat> seats) {
    long latest(long now) {
      return seats.values().stream().mapToLong(seat -> seat.deadline() - now).max().orElse(0);
    }

    Meeting meeting() {
      TreeMap<Integer, Meeting.Member> members = new TreeMap<>();
      seats.forEach((rank, seat) -> members.put(rank, seat.member()));
      return new Meeting(size, members);
    }
  }

  MemoryMeetings(MonotonicClock clock) {
    this.clock = clock;
    this.meetings =
        Caffeine.newBuilder()
            .expireAfter(
                Expiry.<MeetingId, Present>writing(
                    (id, present) -> Duration.ofNanos(present.latest(clock.nanos()))))
            .ticker(clock::nanos)
            .executor(Runnable::run)
            .build();
  }

  @Override
  public Future<JoinOutcome> join(Join join) {
    AtomicReference<JoinOutcome> outcome = new AtomicReference<>(new JoinOutcome.Full("no outcome"));
    meetings.asMap().compute(join.id(), (id, before) -> {
      long now = clock.nanos();
      TreeMap<Integer, Seat> seats = new TreeMap<>();
      if (before != null) {
        before.seats().forEach((rank, seat) -> {
          if (seat.deadline() - now > 0) {
            seats.put(rank, seat);
          }
        });
      }
      if (before != null && !seats.isEmpty() && before.size() != join.size()) {
        outcome.set(new JoinOutcome.SizeDiffers(before.size()));
        return before;
      }
      Seat taken = seats.get(join.rank());
      if (before != null && taken != null && !taken.member().name().equals(join.member())) {
        outcome.set(new JoinOutcome.RankTaken(taken.member().name()));
        return before;
      }
      if (before == null && meetings.estimatedSize() >= MAX_MEETINGS) {
        outcome.set(new JoinOutcome.Full("there are " + MAX_MEETINGS + " meetings already; wait until some are over"));
        return null;
      }
      seats.put(
          join.rank(),
          new Seat(
              new Meeting.Member(join.member(), join.data()),
              now + TimeUnit.MILLISECONDS.toNanos(join.ttlMillis())));
      Present after = new Present(join.size(), seats);
      outcome.set(new JoinOutcome.Joined(after.meeting()));
      return after;
    });
    JoinOutcome ended = outcome.get();
    if (ended instanceof JoinOutcome.Joined) {
      listeners.forEach(listener -> listener.accept(join.id()));
    }
    return Future.succeededFuture(ended);
  }

  @Override
  public Future<Meeting> look(MeetingId id) {
    Present present = meetings.getIfPresent(id);
    if (present == null) {
      return Future.succeededFuture(new Meeting(0, new TreeMap<>()));
    }
    long now = clock.nanos();
    TreeMap<Integer, Seat> seats = new TreeMap<>(present.seats());
    seats.values().removeIf(seat -> seat.deadline() - now <= 0);
    return Future.succeededFuture(new Present(present.size(), seats).meeting());
  }

  @Override
  public Runnable listen(Consumer<MeetingId> listener) {
    listeners.add(listener);
    return () -> listeners.remove(listener);
  }
}
