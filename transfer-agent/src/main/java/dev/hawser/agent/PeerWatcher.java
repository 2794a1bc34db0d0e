/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.agent.metadata.MetadataClient;
import dev.hawser.agent.metadata.MetadataException;
import dev.hawser.agent.metadata.MetadataWatch;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.util.HashSet;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Watches the entries of the peers that are known, so that a changed or restarted one is seen at once. One virtual thread,
 * one connection.
 */
final class PeerWatcher {
  private static final System.Logger LOG = System.getLogger(PeerWatcher.class.getName());
  private static final int MAX_NAMES = 1024;
  /** A request line has at most 32 KiB. */
  private static final int MAX_CHARACTERS = 30_000;
  private static final long FIRST_RETRY_NANOS = 50_000_000;
  private static final long LONGEST_RETRY_NANOS = 2_000_000_000;

  private final MetadataClient client;
  private final Peers peers;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private Set<String> wanted = Set.of();
  private @Nullable MetadataWatch open;
  private boolean closed;
  private final Thread thread;

  PeerWatcher(MetadataClient client, Peers peers) {
    this.client = client;
    this.peers = peers;
    this.thread = Thread.ofVirtual().name("hawser-watch").unstarted(this::run);
  }

  void start() {
    peers.onChange(this::namesChanged);
    thread.start();
  }

  private void namesChanged() {
    Set<String> names = peers.names();
    lock.lock();
    try {
      wanted = names;
      changed.signal();
      if (open != null) {
        // Its reader sees the end of the stream and opens another with the new names.
        open.close();
      }
    } finally {
      lock.unlock();
    }
  }

  private void run() {
    Set<String> watched = Set.of();
    OptionalLong after = OptionalLong.empty();
    long retry = 0;
    while (true) {
      Set<String> names = awaitNames(retry);
      if (names == null) {
        return;
      }
      if (names.isEmpty()) {
        continue;
      }
      boolean more = !watched.containsAll(names);
      Progress progress = new Progress(more ? OptionalLong.empty() : after);
      try {
        watch(names, progress);
      } catch (IOException | MetadataException e) {
        boolean onPurpose = !names.equals(limited());
        retry = onPurpose || progress.ready ? 0 : Math.min(LONGEST_RETRY_NANOS, Math.max(FIRST_RETRY_NANOS, retry * 2));
        if (!onPurpose && !isClosed()) {
          LOG.log(Level.DEBUG, "the watch of the metadata service broke: {0}", e.getMessage());
          client.turnAway();
          retry = Math.max(retry, FIRST_RETRY_NANOS);
        }
      }
      watched = progress.ready ? names : watched;
      after = progress.revision;
    }
  }

  /** How far a watch got. */
  private static final class Progress {
    private OptionalLong revision;
    private boolean ready;

    Progress(OptionalLong revision) {
      this.revision = revision;
    }
  }

  private void watch(Set<String> names, Progress progress) throws IOException {
    boolean resumed = progress.revision.isPresent();
    try (MetadataWatch watch = client.watch(names, progress.revision)) {
      if (!announce(watch, names)) {
        return;
      }
      while (true) {
        MetadataWatch.Event event = watch.next();
        switch (event.kind()) {
          case READY -> {
            progress.ready = true;
            if (!resumed) {
              // Whatever changed before the watch began.
              names.forEach(this::refresh);
            }
          }
          case PUT -> refresh(event.name());
          case RESET -> names.forEach(this::refresh);
          case BYE -> {
            client.turnAway();
            return;
          }
          case DELETE, EXPIRE ->
            LOG.log(Level.DEBUG, "the entry of peer ''{0}'' is gone; its link decides whether it lives", event.name());
          case OTHER -> LOG.log(Level.DEBUG, "an unknown event from the metadata service");
        }
        if (event.revision().isPresent()) {
          progress.revision = event.revision();
        }
      }
    } finally {
      lock.lock();
      try {
        open = null;
      } finally {
        lock.unlock();
      }
    }
  }

  /** Makes the watch known to who may have to end it; false if it is out of date already. */
  private boolean announce(MetadataWatch watch, Set<String> names) {
    lock.lock();
    try {
      if (closed || !names.equals(limited())) {
        return false;
      }
      open = watch;
      return true;
    } finally {
      lock.unlock();
    }
  }

  private void refresh(String name) {
    Peer peer = peers.known(name);
    if (peer != null) {
      peers.refresh(peer);
    }
  }

  /** The names to watch, after a pause; null at the end. Waits while there are none. */
  private @Nullable Set<String> awaitNames(long pauseNanos) {
    lock.lock();
    try {
      long left = pauseNanos;
      while (!closed && left > 0) {
        left = changed.awaitNanos(left);
      }
      while (!closed && wanted.isEmpty()) {
        changed.await(1, TimeUnit.MINUTES);
      }
      return closed ? null : limited();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return null;
    } finally {
      lock.unlock();
    }
  }

  private Set<String> limited() {
    lock.lock();
    try {
      // Those left out are still refreshed when a transfer to them is prepared and their link is down.
      Set<String> some = new HashSet<>();
      int characters = 0;
      for (String name : new TreeSet<>(wanted)) {
        characters += name.length() + 1;
        if (some.size() < MAX_NAMES && characters <= MAX_CHARACTERS) {
          some.add(name);
        }
      }
      return some;
    } finally {
      lock.unlock();
    }
  }

  private boolean isClosed() {
    lock.lock();
    try {
      return closed;
    } finally {
      lock.unlock();
    }
  }

  void close() {
    lock.lock();
    try {
      closed = true;
      changed.signal();
      if (open != null) {
        open.close();
      }
    } finally {
      lock.unlock();
    }
    thread.interrupt();
  }
}
