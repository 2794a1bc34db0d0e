/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Expiry;
import dev.hawser.metadata.store.DeleteOutcome.Deleted;
import dev.hawser.metadata.store.PublishOutcome.Full;
import dev.hawser.metadata.store.PublishOutcome.Published;
import dev.hawser.metadata.store.RenewOutcome.Renewed;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Entries in the memory of this process, gone with it.
 *
 * <p>One lock orders every change, so that the order of revisions is the order of events; reading an entry takes no
 * lock. An explicit deadline, checked at every use, decides whether an entry is present: the cache has per-entry expiry
 * too, but sees a clock that never runs ahead of the deadlines that were already acted on, so that it can free memory
 * and never decide.
 */
public final class MemoryStore implements Store {
  private static final System.Logger LOG = System.getLogger(MemoryStore.class.getName());

  /** How long a name's greatest epoch is remembered after its entry has gone. */
  private static final Duration REMEMBERED = Duration.ofHours(24);

  private static final int REMEMBERED_NAMES = 65_536;

  private final StoreLimits limits;
  private final MonotonicClock clock;
  private final EventLog events;
  private final MemoryMeetings meetings;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition earlier = lock.newCondition();

  /** Presences by name. Written under the lock. */
  private final Cache<String, Presence> agents;

  /** The names in {@link #agents}, in order. Written under the lock. */
  private final ConcurrentSkipListSet<String> names = new ConcurrentSkipListSet<>();

  /** The same presences, the one that ends first in front. Under the lock. */
  private final TreeSet<Presence> deadlines;

  /** Greatest epoch of names that have no entry now. Written under the lock. */
  private final Cache<String, Long> ended;

  /** What the caches take for the present. */
  private volatile long swept;

  private volatile boolean closed;
  private long revision;
  private long bytes;
  private long serials;

  /**
   * An entry and the instant at which it ends. A renewal makes a new one.
   *
   * @param serial tells presences with one deadline apart
   */
  private record Presence(Publication publication, long revision, long deadline, long serial) {}

  /**
   * @param limits of memory
   * @param clock decides over presence
   * @param firstRevision below the first change's; greater than any that an earlier life of this service gave, so that
   *     a watch that resumes across a restart is told so
   */
  public MemoryStore(StoreLimits limits, MonotonicClock clock, long firstRevision) {
    this.limits = limits;
    this.clock = clock;
    this.revision = firstRevision;
    this.meetings = new MemoryMeetings(clock);
    this.swept = clock.nanos();
    this.events = new EventLog(limits.historyEvents(), firstRevision);
    long origin = swept;
    this.deadlines =
        new TreeSet<>(
            Comparator.comparingLong((Presence presence) -> presence.deadline() - origin)
                .thenComparingLong(Presence::serial));
    this.agents =
        Caffeine.newBuilder()
            .expireAfter(
                Expiry.<String, Presence>writing((name, presence) -> Duration.ofNanos(presence.deadline() - swept)))
            .ticker(() -> swept)
            .executor(Runnable::run)
            .build();
    this.ended =
        Caffeine.newBuilder()
            .expireAfterWrite(REMEMBERED)
            .maximumSize(REMEMBERED_NAMES)
            .ticker(() -> swept)
            .executor(Runnable::run)
            .build();
  }

  /** Starts the thread that ends presences on time. Without it they end when somebody looks. */
  public MemoryStore start() {
    Thread.ofPlatform().daemon().name("hawser-metadata-presence").start(this::keepTime);
    return this;
  }

  @Override
  public Future<PublishOutcome> publish(Publication publication, long expectedEpoch) {
    lock.lock();
    try {
      endWhatIsDue();
      return Future.succeededFuture(publishLocked(publication, expectedEpoch));
    } finally {
      lock.unlock();
    }
  }

  @Override
  public Future<PublishOutcome> replace(Publication publication, long replaced) {
    lock.lock();
    try {
      endWhatIsDue();
      Presence old = present(publication.name());
      return Future.succeededFuture(
          old == null || old.revision() != replaced
              ? new PublishOutcome.Moved()
              : publishLocked(publication, EXPECT_ANYTHING));
    } finally {
      lock.unlock();
    }
  }

  private PublishOutcome publishLocked(Publication publication, long expectedEpoch) {
    String name = publication.name();
    Presence old = present(name);
    Publication recorded = old == null ? null : old.publication();
    PublishOutcome refusal = EpochRules.refusal(publication, expectedEpoch, recorded, endedEpoch(name));
    if (refusal != null) {
      return refusal;
    }
    if (old != null && publication.saysTheSameAs(old.publication())) {
      replace(old, publication, old.revision());
      return new Published(old.revision(), 0, false);
    }
    long growth = publication.footprint() - (old == null ? 0 : old.publication().footprint());
    if (old == null && deadlines.size() >= limits.maxAgents()) {
      return new Full("there are " + deadlines.size() + " agents already; raise --max-agents");
    }
    if (growth > 0 && bytes + growth > limits.maxBytes()) {
      return new Full("entries take " + bytes + " of " + limits.maxBytes() + " bytes already; raise --max-memory");
    }
    long now = ++revision;
    replace(old, publication, now);
    events.append(Event.of(Event.Kind.PUT, now, publication));
    return new Published(
        now, recorded == null || recorded.epoch() == publication.epoch() ? 0 : recorded.epoch(), recorded == null);
  }

  @Override
  public Future<List<RenewOutcome>> renew(List<Renewal> renewals) {
    List<RenewOutcome> outcomes = new ArrayList<>(renewals.size());
    lock.lock();
    try {
      endWhatIsDue();
      for (Renewal renewal : renewals) {
        outcomes.add(renewLocked(renewal));
      }
    } finally {
      lock.unlock();
    }
    return Future.succeededFuture(outcomes);
  }

  private RenewOutcome renewLocked(Renewal renewal) {
    Presence old = present(renewal.name());
    Publication publication = old == null ? null : old.publication();
    Barred barred = EpochRules.bar(renewal.epoch(), publication, endedEpoch(renewal.name()));
    if (old == null || publication == null || barred != null) {
      return barred == null ? new NoEntry() : barred;
    }
    String summary = renewal.summary();
    Publication renewed =
        publication.with(
            renewal.ttlMillis() == 0 ? publication.ttlMillis() : renewal.ttlMillis(),
            summary == null ? publication.summary() : summary);
    replace(old, renewed, old.revision());
    return new Renewed(old.revision(), renewed.ttlMillis());
  }

  @Override
  public Future<Optional<Agent>> fetch(String name) {
    Presence presence = agents.policy().getIfPresentQuietly(name);
    return Future.succeededFuture(Optional.ofNullable(presence == null ? null : seen(presence, clock.nanos())));
  }

  @Override
  public Future<Listing> list(Selector selector, String after, int limit) {
    // Under the lock no change is half made: all up to this revision are in the collections.
    long upTo;
    lock.lock();
    try {
      upTo = revision;
    } finally {
      lock.unlock();
    }
    Iterable<String> candidates =
        selector.names().isEmpty() ? names.tailSet(after, false)
            : new TreeSet<>(selector.names()).tailSet(after, false);
    List<Agent> found = new ArrayList<>();
    long now = clock.nanos();
    for (String name : candidates) {
      Presence presence = agents.policy().getIfPresentQuietly(name);
      Agent agent = presence == null ? null : seen(presence, now);
      if (agent == null || !selector.accepts(agent.publication().labels())) {
        continue;
      }
      if (found.size() == limit) {
        return Future.succeededFuture(new Listing(upTo, found, true));
      }
      found.add(agent);
    }
    return Future.succeededFuture(new Listing(upTo, found, false));
  }

  @Override
  public Future<DeleteOutcome> delete(String name, long epoch) {
    lock.lock();
    try {
      endWhatIsDue();
      return Future.succeededFuture(deleteLocked(name, epoch));
    } finally {
      lock.unlock();
    }
  }

  private DeleteOutcome deleteLocked(String name, long epoch) {
    Presence old = present(name);
    Barred barred = EpochRules.bar(epoch, old == null ? null : old.publication(), endedEpoch(name));
    if (old == null || barred != null) {
      return barred == null ? new NoEntry() : barred;
    }
    return new Deleted(end(old, Event.Kind.DELETE));
  }

  @Override
  public Future<Long> revision() {
    return Future.succeededFuture(events.lastRevision());
  }

  @Override
  public EventLog events() {
    return events;
  }

  @Override
  public Meetings meetings() {
    return meetings;
  }

  @Override
  public long size() {
    return names.size();
  }

  @Override
  public Future<Void> ready() {
    return closed
        ? Future.failedFuture(new StoreException("the memory store is closed; start the service again", null))
        : Future.succeededFuture();
  }

  @Override
  public Future<Void> close() {
    lock.lock();
    try {
      closed = true;
      earlier.signalAll();
    } finally {
      lock.unlock();
    }
    return Future.succeededFuture();
  }

  /**
   * Ends every presence whose deadline has come.
   *
   * @return nanoseconds until the next one, or {@link Long#MAX_VALUE}
   */
  long expire() {
    lock.lock();
    try {
      return endWhatIsDue();
    } finally {
      lock.unlock();
    }
  }

  private void keepTime() {
    lock.lock();
    try {
      while (!closed) {
        long wait = endWhatIsDue();
        if (wait == Long.MAX_VALUE) {
          earlier.awaitUninterruptibly();
          continue;
        }
        try {
          // Woken early or late, the loop looks at the clock again.
          earlier.awaitNanos(wait);
        } catch (InterruptedException unexpected) {
          // Nobody but this class knows the thread, and it ends by `closed`.
          LOG.log(System.Logger.Level.DEBUG, "The presence thread was interrupted and goes on", unexpected);
        }
      }
    } finally {
      lock.unlock();
    }
  }

  private long endWhatIsDue() {
    long now = clock.nanos();
    while (!deadlines.isEmpty()) {
      Presence first = deadlines.first();
      long left = first.deadline() - now;
      if (left > 0) {
        swept = now;
        return left;
      }
      end(first, Event.Kind.EXPIRE);
    }
    swept = now;
    return Long.MAX_VALUE;
  }

  private long end(Presence presence, Event.Kind kind) {
    Publication publication = presence.publication();
    deadlines.remove(presence);
    agents.invalidate(publication.name());
    names.remove(publication.name());
    ended.put(publication.name(), publication.epoch());
    bytes -= publication.footprint();
    long now = ++revision;
    events.append(Event.of(kind, now, publication));
    return now;
  }

  private void replace(@Nullable Presence old, Publication publication, long newRevision) {
    Presence presence =
        new Presence(
            publication,
            newRevision,
            clock.nanos() + TimeUnit.MILLISECONDS.toNanos(publication.ttlMillis()),
            ++serials);
    if (old != null) {
      deadlines.remove(old);
      bytes -= old.publication().footprint();
    } else {
      ended.invalidate(publication.name());
    }
    bytes += publication.footprint();
    deadlines.add(presence);
    agents.put(publication.name(), presence);
    names.add(publication.name());
    if (deadlines.first().serial() == presence.serial()) {
      earlier.signal();
    }
  }

  /** Under the lock, after {@link #endWhatIsDue}: what is in the cache is present. */
  private @Nullable Presence present(String name) {
    return agents.policy().getIfPresentQuietly(name);
  }

  private long endedEpoch(String name) {
    Long epoch = ended.policy().getIfPresentQuietly(name);
    return epoch == null ? 0 : epoch;
  }

  private static @Nullable Agent seen(Presence presence, long now) {
    long left = presence.deadline() - now;
    if (left <= 0) {
      return null;
    }
    return new Agent(presence.publication(), presence.revision(), Math.max(1, TimeUnit.NANOSECONDS.toMillis(left)));
  }
}
