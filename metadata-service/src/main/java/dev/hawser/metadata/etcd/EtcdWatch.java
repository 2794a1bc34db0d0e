/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.etcd;

import dev.hawser.metadata.store.Event;
import dev.hawser.metadata.store.EventLog;
import dev.hawser.metadata.store.Labels;
import dev.hawser.metadata.store.Publication;
import dev.hawser.metadata.store.StoreException;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.Watch;
import io.etcd.jetcd.common.exception.CompactedException;
import io.etcd.jetcd.options.WatchOption;
import io.etcd.jetcd.watch.WatchEvent;
import io.etcd.jetcd.watch.WatchResponse;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Feeds the log of events from a watch on etcd, from the revision after the last one that it has seen, however often the
 * watch breaks. What etcd has compacted away in the meantime is a gap that watchers are told of.
 *
 * <p>jetcd resumes a broken watch by itself, but from the revision at which the broken one was made, and so may pass over
 * events. Therefore every watch here is used for one connection only.
 */
final class EtcdWatch implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(EtcdWatch.class.getName());
  private static final long RETRY_MILLIS = 200;

  private final Etcd etcd;
  private final Keys keys;
  private final EventLog log;
  private final Consumer<String> onEnd;
  private final ScheduledExecutorService owner;

  /** The fields below belong to {@link #owner}'s only thread. */
  private long next;

  private @Nullable Connection connection;
  private boolean closed;

  /**
   * @param next the first revision that is not in the log
   * @param onEnd told the name of each entry that has gone
   * @param owner has one thread
   */
  EtcdWatch(
      Etcd etcd, Keys keys, EventLog log, long next, Consumer<String> onEnd, ScheduledExecutorService owner) {
    this.etcd = etcd;
    this.keys = keys;
    this.log = log;
    this.next = next;
    this.onEnd = onEnd;
    this.owner = owner;
  }

  void start() {
    owner.execute(this::connect);
  }

  @Override
  public void close() {
    owner.execute(
        () -> {
          closed = true;
          disconnect();
        });
  }

  private void connect() {
    if (closed) {
      return;
    }
    disconnect();
    Connection made = new Connection();
    connection = made;
    WatchOption option =
        WatchOption.builder()
            .isPrefix(true)
            .withRevision(next)
            .withPrevKV(true)
            .withCreateNotify(true)
            .withRequireLeader(true)
            .build();
    try {
      made.watcher = etcd.watch().watch(keys.watched(), option, made);
    } catch (RuntimeException failed) {
      again(made, failed);
    }
  }

  private void disconnect() {
    Connection old = connection;
    connection = null;
    if (old != null && old.watcher != null) {
      old.watcher.close();
    }
  }

  private void again(Connection from, Throwable why) {
    if (closed || connection != from) {
      return;
    }
    disconnect();
    if (why instanceof CompactedException compacted) {
      LOG.log(
          System.Logger.Level.WARNING,
          "etcd has compacted revisions {0} to {1} away before they were seen; watchers have to list again",
          next,
          compacted.getCompactedRevision());
      next = Math.max(next, compacted.getCompactedRevision() + 1);
      log.forget(next - 1);
      owner.execute(this::connect);
      return;
    }
    LOG.log(System.Logger.Level.INFO, "The watch on etcd broke ({0}); it goes on from revision {1}", why, next);
    var _ = owner.schedule(this::connect, RETRY_MILLIS, TimeUnit.MILLISECONDS);
  }

  private void take(Connection from, WatchResponse response) {
    if (connection != from) {
      return;
    }
    List<WatchEvent> events = response.getEvents();
    Set<String> deleted = new HashSet<>();
    for (WatchEvent event : events) {
      if (event.getEventType() == WatchEvent.EventType.PUT && keys.isEpoch(Keys.text(event.getKeyValue().getKey()))) {
        String name = keys.nameOfEpoch(event.getKeyValue().getKey());
        if (Values.epoch(name, event.getKeyValue().getValue()).deleted()) {
          deleted.add(event.getKeyValue().getModRevision() + " " + name);
        }
      }
    }
    for (WatchEvent event : events) {
      KeyValue changed = event.getKeyValue();
      if (changed.getModRevision() >= next && keys.isAgent(Keys.text(changed.getKey()))) {
        append(event, deleted);
      }
    }
    for (WatchEvent event : events) {
      next = Math.max(next, event.getKeyValue().getModRevision() + 1);
    }
  }

  private void append(WatchEvent event, Set<String> deleted) {
    long revision = event.getKeyValue().getModRevision();
    String name = keys.nameOfAgent(event.getKeyValue().getKey());
    if (event.getEventType() == WatchEvent.EventType.PUT) {
      Publication now = Values.agent(name, event.getKeyValue().getValue(), "");
      log.append(new Event(revision, Event.Kind.PUT, name, now.epoch(), now.address(), now.labels()));
      return;
    }
    Event.Kind kind = deleted.contains(revision + " " + name) ? Event.Kind.DELETE : Event.Kind.EXPIRE;
    KeyValue previous = event.getPrevKV();
    if (previous.getValue().isEmpty()) {
      // Compacted away: that it has gone is all that is known.
      log.append(new Event(revision, kind, name, 0, "", Labels.NONE));
    } else {
      Publication old = Values.agent(name, previous.getValue(), "");
      log.append(new Event(revision, kind, name, old.epoch(), old.address(), old.labels()));
    }
    onEnd.accept(name);
  }

  /** One watch of jetcd's, until it breaks. */
  private final class Connection implements Watch.Listener {
    private final AtomicBoolean created = new AtomicBoolean();
    private Watch.@Nullable Watcher watcher;

    @Override
    public void onNext(WatchResponse response) {
      if (response.isCreatedNotify()) {
        if (!created.compareAndSet(false, true)) {
          onError(new StoreException("jetcd has made the watch anew", null));
        }
        return;
      }
      owner.execute(
          () -> {
            try {
              take(this, response);
            } catch (StoreException unreadable) {
              LOG.log(System.Logger.Level.ERROR, "An event of etcd is passed over", unreadable);
            }
          });
    }

    @Override
    public void onError(Throwable broken) {
      owner.execute(() -> again(this, broken));
    }

    @Override
    public void onCompleted() {
      owner.execute(() -> again(this, new StoreException("etcd ended it", null)));
    }
  }
}
