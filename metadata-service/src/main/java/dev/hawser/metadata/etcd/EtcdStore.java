/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.etcd;

import dev.hawser.metadata.store.Agent;
import dev.hawser.metadata.store.Barred;
import dev.hawser.metadata.store.DeleteOutcome;
import dev.hawser.metadata.store.EpochRules;
import dev.hawser.metadata.store.EventLog;
import dev.hawser.metadata.store.Listing;
import dev.hawser.metadata.store.Meetings;
import dev.hawser.metadata.store.NoEntry;
import dev.hawser.metadata.store.Publication;
import dev.hawser.metadata.store.PublishOutcome;
import dev.hawser.metadata.store.RenewOutcome;
import dev.hawser.metadata.store.Renewal;
import dev.hawser.metadata.store.Selector;
import dev.hawser.metadata.store.Store;
import dev.hawser.metadata.store.StoreException;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.DeleteOption;
import io.etcd.jetcd.options.PutOption;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Entries in etcd. Every decision is taken on a linearizable read and written on the condition that nothing has changed
 * since, so that replicas need not know of each other. Presence is a lease of etcd's, of whole seconds.
 */
public final class EtcdStore implements Store {
  private static final System.Logger LOG = System.getLogger(EtcdStore.class.getName());

  /** Of the largest entry: etcd refuses requests above 1.5 MiB unless told otherwise. */
  public static final int MAX_BLOB = 1 << 20;

  /** Times that a change is decided anew because another came between; each time one of them succeeds. */
  private static final int ATTEMPTS = 32;

  private final Etcd etcd;
  private final Keys keys;
  private final EtcdReader reader;
  private final EndedEpochs epochs;
  private final EventLog events;
  private final EtcdMeetings meetings;
  private final EtcdWatch watch;
  private final ScheduledExecutorService owner;
  private final AtomicLong size = new AtomicLong();

  private EtcdStore(
      Etcd etcd,
      Keys keys,
      EtcdReader reader,
      EndedEpochs epochs,
      EventLog events,
      long next,
      ScheduledExecutorService owner) {
    this.etcd = etcd;
    this.keys = keys;
    this.reader = reader;
    this.epochs = epochs;
    this.events = events;
    this.owner = owner;
    this.meetings = new EtcdMeetings(etcd, keys);
    this.watch = new EtcdWatch(etcd, keys, events, next, epochs::ended, owner);
  }

  /**
   * Connects. Blocks for as long as etcd takes, at most some seconds.
   *
   * @throws StoreException when etcd cannot be used
   */
  public static EtcdStore open(EtcdSettings settings) {
    Etcd etcd = new Etcd(settings);
    // What still comes when the store is closed is of no interest.
    ScheduledExecutorService owner =
        new ScheduledThreadPoolExecutor(
            1,
            Thread.ofPlatform().daemon().name("hawser-metadata-etcd").factory(),
            new ThreadPoolExecutor.DiscardPolicy());
    try {
      Keys keys = new Keys(settings.prefix());
      EtcdReader reader = new EtcdReader(etcd, keys);
      EtcdReader.Count now = reader.count().join();
      // As far back as etcd remembers, so that a watch can be resumed at this replica after another has died.
      long next = firstRemembered(etcd, keys, Math.max(1, now.revision() - settings.historyEvents()), now.revision());
      EventLog events = new EventLog(settings.historyEvents(), next - 1);
      EndedEpochs epochs = EndedEpochs.begin(etcd, keys, reader, owner);
      EtcdStore store = new EtcdStore(etcd, keys, reader, epochs, events, next, owner);
      store.size.set(now.agents());
      store.watch.start();
      return store;
    } catch (CompletionException failed) {
      owner.shutdownNow();
      etcd.close();
      throw failed.getCause() instanceof StoreException explained
          ? explained
          : new StoreException("etcd at " + settings.shown() + " cannot be used: " + failed, failed);
    }
  }

  /**
   * The first revision from {@code earliest} on whose event etcd still has. Were it found out by the watch only, those who
   * had begun to watch meanwhile would be told that they lost something.
   */
  private static long firstRemembered(Etcd etcd, Keys keys, long earliest, long present) {
    if (etcd.remembers(keys.watched(), earliest).join()) {
      return earliest;
    }
    long gone = earliest;
    long there = present;
    while (gone + 1 < there) {
      long middle = (gone + there) >>> 1;
      if (etcd.remembers(keys.watched(), middle).join()) {
        there = middle;
      } else {
        gone = middle;
      }
    }
    // What stood at that revision can be read; what happened in it may be gone.
    return there + 1;
  }

  @Override
  public Future<PublishOutcome> publish(Publication publication, long expectedEpoch) {
    return OnContext.of(publish(publication, expectedEpoch, ATTEMPTS));
  }

  private CompletableFuture<PublishOutcome> publish(Publication publication, long expectedEpoch, int attempts) {
    if (publication.blob().length() > MAX_BLOB) {
      return CompletableFuture.completedFuture(tooLarge());
    }
    return reader.see(publication.name())
        .thenCompose(
            seen -> {
              PublishOutcome refusal =
                  EpochRules.refusal(publication, expectedEpoch, seen.publication(), seen.ended());
              if (refusal != null) {
                return CompletableFuture.completedFuture(refusal);
              }
              Publication old = seen.publication();
              if (old != null && publication.saysTheSameAs(old) && publication.ttlMillis() == old.ttlMillis()) {
                return repeat(publication, expectedEpoch, seen, attempts);
              }
              return record(publication, expectedEpoch, seen, attempts);
            });
  }

  @Override
  public Future<PublishOutcome> replace(Publication publication, long revision) {
    if (publication.blob().length() > MAX_BLOB) {
      return Future.succeededFuture(tooLarge());
    }
    return OnContext.of(
        reader.see(publication.name())
            .thenCompose(
                seen -> seen.publication() == null || seen.revision() != revision
                    ? CompletableFuture.completedFuture(new PublishOutcome.Moved())
                    // Once: whoever is faster has changed the entry that this was made from.
                    : record(publication, EXPECT_ANYTHING, seen, 1)));
  }

  private static PublishOutcome tooLarge() {
    return new PublishOutcome.Full("etcd takes blobs of at most " + MAX_BLOB + " bytes; publish fewer regions");
  }

  /** Nothing that watchers see has changed: the lease is prolonged, and the summary is written. */
  private CompletableFuture<PublishOutcome> repeat(
      Publication publication, long expectedEpoch, Seen seen, int attempts) {
    return etcd.keepAlive(seen.lease())
        .thenCompose(
            alive -> {
              if (!alive) {
                return again(publication, expectedEpoch, attempts);
              }
              return summarize(publication.name(), seen, publication.summary())
                  .thenApply(
                      written -> (PublishOutcome) new PublishOutcome.Published(seen.revision(), 0, false));
            });
  }

  private CompletableFuture<PublishOutcome> record(
      Publication publication, long expectedEpoch, Seen seen, int attempts) {
    Publication old = seen.publication();
    boolean sameLease =
        old != null && old.epoch() == publication.epoch() && old.ttlMillis() == publication.ttlMillis();
    CompletableFuture<Long> lease =
        sameLease
            ? etcd.keepAlive(seen.lease()).thenApply(alive -> alive ? seen.lease() : 0)
            : etcd.grant(seconds(publication.ttlMillis()));
    return lease.thenCompose(
        id -> {
          if (id == 0) {
            return again(publication, expectedEpoch, attempts);
          }
          PutOption attached = PutOption.builder().withLeaseId(id).build();
          List<Op> writes = new ArrayList<>();
          writes.add(Op.put(keys.agent(publication.name()), Values.agent(publication), attached));
          writes.add(
              Op.put(
                  keys.epoch(publication.name()), Values.epoch(publication.epoch(), false), PutOption.DEFAULT));
          writes.add(
              publication.summary().isEmpty()
                  ? Op.delete(keys.summary(publication.name()), DeleteOption.DEFAULT)
                  : Op.put(keys.summary(publication.name()), text(publication.summary()), attached));
          return etcd.write(Conditions.unchanged(keys, publication.name(), seen), writes)
              .thenCompose(
                  written -> written.isSucceeded()
                      ? CompletableFuture.completedFuture(recorded(publication, seen, id, written))
                      : recordAgain(publication, expectedEpoch, seen, id, attempts))
              .exceptionallyCompose(
                  failed ->
          // Any other failure may have come after the write: what becomes of it, the lease's end decides.
          Etcd.isGone(failed)
              ? recordAgain(publication, expectedEpoch, seen, id, attempts)
              : CompletableFuture.failedFuture(failed));
        });
  }

  private PublishOutcome recorded(Publication publication, Seen seen, long lease, TxnResponse written) {
    if (seen.lease() != 0 && seen.lease() != lease) {
      revokeLater(seen.lease());
    }
    Publication old = seen.publication();
    long replaced = old == null || old.epoch() == publication.epoch() ? 0 : old.epoch();
    return new PublishOutcome.Published(written.getHeader().getRevision(), replaced, old == null);
  }

  private CompletableFuture<PublishOutcome> recordAgain(
      Publication publication, long expectedEpoch, Seen seen, long lease, int attempts) {
    if (lease != seen.lease()) {
      revokeLater(lease);
    }
    return again(publication, expectedEpoch, attempts);
  }

  private CompletableFuture<PublishOutcome> again(Publication publication, long expectedEpoch, int attempts) {
    return attempts > 1
        ? publish(publication, expectedEpoch, attempts - 1)
        : CompletableFuture.failedFuture(tooContended(publication.name()));
  }

  @Override
  public Future<List<RenewOutcome>> renew(List<Renewal> renewals) {
    List<CompletableFuture<RenewOutcome>> outcomes = new ArrayList<>(renewals.size());
    for (Renewal renewal : renewals) {
      outcomes.add(renew(renewal, ATTEMPTS));
    }
    return OnContext.of(
        CompletableFuture.allOf(outcomes.toArray(CompletableFuture[]::new))
            .thenApply(all -> outcomes.stream().map(CompletableFuture::join).toList()));
  }

  private CompletableFuture<RenewOutcome> renew(Renewal renewal, int attempts) {
    return reader.see(renewal.name())
        .thenCompose(
            seen -> {
              Publication old = seen.publication();
              Barred barred = EpochRules.bar(renewal.epoch(), old, seen.ended());
              if (barred != null || old == null) {
                return CompletableFuture.completedFuture(barred == null ? new NoEntry() : barred);
              }
              String summary = renewal.summary();
              long ttlMillis = renewal.ttlMillis() == 0 ? old.ttlMillis() : renewal.ttlMillis();
              if (ttlMillis != old.ttlMillis()) {
                // Another lease, hence written anew; who watches sees an entry that has not changed.
                Publication changed = old.with(ttlMillis, summary == null ? seen.summary() : summary);
                return record(changed, Store.EXPECT_ANYTHING, seen, 1)
                    .thenCompose(
                        outcome -> outcome instanceof PublishOutcome.Published published
                            ? CompletableFuture.<RenewOutcome>completedFuture(
                                new RenewOutcome.Renewed(published.revision(), ttlMillis))
                            : renewAgain(renewal, attempts));
              }
              return etcd.keepAlive(seen.lease())
                  .thenCompose(
                      alive -> {
                        if (!alive) {
                          return renewAgain(renewal, attempts);
                        }
                        CompletableFuture<Void> summarized =
                            summary == null
                                ? CompletableFuture.completedFuture(null)
                                : summarize(renewal.name(), seen, summary);
                        return summarized.thenApply(
                            done -> (RenewOutcome) new RenewOutcome.Renewed(seen.revision(), ttlMillis));
                      });
            });
  }

  private CompletableFuture<RenewOutcome> renewAgain(Renewal renewal, int attempts) {
    return attempts > 1
        ? renew(renewal, attempts - 1)
        : CompletableFuture.failedFuture(tooContended(renewal.name()));
  }

  /** Soft state: when the entry has changed meanwhile, its new summary is its own. */
  private CompletableFuture<Void> summarize(String name, Seen seen, String summary) {
    if (summary.equals(seen.summary())) {
      return CompletableFuture.completedFuture(null);
    }
    Op write =
        summary.isEmpty()
            ? Op.delete(keys.summary(name), DeleteOption.DEFAULT)
            : Op.put(keys.summary(name), text(summary), PutOption.builder().withLeaseId(seen.lease()).build());
    return etcd.write(List.of(Conditions.atRevision(keys.agent(name), seen.revision())), List.of(write))
        .thenApply(done -> null);
  }

  @Override
  public Future<Optional<Agent>> fetch(String name) {
    return OnContext.of(reader.see(name).thenApply(seen -> Optional.ofNullable(seen.agent())));
  }

  @Override
  public Future<Listing> list(Selector selector, String after, int limit) {
    if (!selector.names().isEmpty()) {
      return OnContext.of(reader.listNames(selector, after, limit));
    }
    return OnContext.of(
        reader
            .count()
            .thenCompose(
                now -> {
                  size.set(now.agents());
                  return reader.listAll(selector, after, limit, now.revision());
                }));
  }

  @Override
  public Future<DeleteOutcome> delete(String name, long epoch) {
    return OnContext.of(delete(name, epoch, ATTEMPTS));
  }

  private CompletableFuture<DeleteOutcome> delete(String name, long epoch, int attempts) {
    return reader.see(name)
        .thenCompose(
            seen -> {
              Barred barred = EpochRules.bar(epoch, seen.publication(), seen.ended());
              if (barred != null) {
                return CompletableFuture.completedFuture(barred);
              }
              PutOption remembered = PutOption.builder().withLeaseId(epochs.lease()).build();
              List<Op> writes =
                  List.of(
                      Op.delete(keys.agent(name), DeleteOption.DEFAULT),
                      Op.delete(keys.summary(name), DeleteOption.DEFAULT),
                      Op.put(keys.epoch(name), Values.epoch(epoch, true), remembered));
              return etcd.write(Conditions.unchanged(keys, name, seen), writes)
                  .thenCompose(
                      written -> {
                        if (written.isSucceeded()) {
                          revokeLater(seen.lease());
                          return CompletableFuture.<DeleteOutcome>completedFuture(
                              new DeleteOutcome.Deleted(written.getHeader().getRevision()));
                        }
                        return attempts > 1
                            ? delete(name, epoch, attempts - 1)
                            : CompletableFuture.failedFuture(tooContended(name));
                      });
            });
  }

  @Override
  public Future<Long> revision() {
    return OnContext.of(
        reader.count().thenApply(EtcdReader.Count::revision));
  }

  @Override
  public EventLog events() {
    return events;
  }

  @Override
  public Meetings meetings() {
    return meetings;
  }

  /** As of the last list or question for readiness. */
  @Override
  public long size() {
    return size.get();
  }

  @Override
  public Future<Void> ready() {
    return OnContext.of(
        reader
            .count()
            .thenApply(
                now -> {
                  size.set(now.agents());
                  return null;
                }));
  }

  @Override
  public Future<Void> close() {
    epochs.close();
    meetings.close();
    watch.close();
    owner.shutdown();
    Promise<Void> promise = Promise.promise();
    // jetcd waits for its threads when it closes.
    Thread.ofVirtual()
        .start(
            () -> {
              try {
                etcd.close();
                promise.complete();
              } catch (RuntimeException failed) {
                promise.fail(failed);
              }
            });
    return promise.future();
  }

  private void revokeLater(long lease) {
    CompletableFuture<Void> _ =
        etcd.revoke(lease)
            .whenComplete(
                (done, failed) -> {
                  if (failed != null) {
                    LOG.log(System.Logger.Level.DEBUG, "Lease {0} ends by itself: {1}", lease, failed.getMessage());
                  }
                });
  }

  private static ByteSequence text(String text) {
    return ByteSequence.from(text, StandardCharsets.US_ASCII);
  }

  /** Rounded up: an agent that renews in time is never late. */
  private static long seconds(long ttlMillis) {
    return (ttlMillis + 999) / 1000;
  }

  private static StoreException tooContended(String name) {
    return new StoreException(
        "Agent " + name + " is changed by others all the time; see who publishes under this name", null);
  }
}
