/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.agent.metadata.EpochConflictException;
import dev.hawser.agent.metadata.MetadataClient;
import dev.hawser.agent.metadata.MetadataException;
import dev.hawser.agent.metadata.Publication;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/**
 * Keeps this agent's entry in the metadata service: publishes it when regions changed, renews it in time, publishes it
 * again when the service has forgotten it, and deletes it at the end. One virtual thread.
 */
final class Presence {
  private static final System.Logger LOG = System.getLogger(Presence.class.getName());
  /** What is appended repeats frames and signatures: beyond this all is published anew, which costs little by then. */
  private static final int MOST_GROWTH = 2;

  private static final int SMALL = 4_096;
  private static final Duration LONGEST_RETRY = Duration.ofSeconds(1);
  /** Longer than a healthy service takes to answer; the end of an agent is not to wait for another. */
  private static final Duration LONGEST_LAST_CALL = Duration.ofMillis(500);

  /** Where the publications come from. */
  interface Source {
    /** Grows with every change. */
    long revision();

    /** The publication of the present revision, or of a newer one. */
    Publication publication();

    /** What has changed after a revision, to be appended to what was published; empty if that cannot be told. */
    Optional<byte[]> since(long revision);

    /** What people are to see now. */
    String summary();
  }

  private final MetadataClient client;
  private final Source source;
  private final String name;
  private final long epoch;
  private final long renewNanos;
  private final Consumer<String> superseded;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final Condition published = lock.newCondition();
  private long publishedRevision;
  /** The summary that the service has; like what follows used by the thread only, once that runs. */
  private String told;
  /** Of the last publication of everything, and with what was appended since; 0 while it is not known. */
  private int wholeBytes;

  private int bytes;
  private boolean healthy = true;
  private boolean lost;
  private boolean closed;
  private final Thread thread;

  /**
   * Begins to keep an entry that was just published.
   *
   * @param publishedRevision the source's revision that was published
   * @param first what was published
   * @param superseded told the reason when a newer incarnation has taken the name
   */
  Presence(MetadataClient client, Source source, String name, long epoch, Duration ttl, long publishedRevision,
      Publication first, Consumer<String> superseded) {
    this.client = client;
    this.source = source;
    this.name = name;
    this.epoch = epoch;
    this.renewNanos = ttl.toNanos() / 3;
    this.publishedRevision = publishedRevision;
    this.told = first.summary();
    this.wholeBytes = first.blob().length;
    this.bytes = wholeBytes;
    this.superseded = superseded;
    this.thread = Thread.ofVirtual().name("hawser-presence-" + name).unstarted(this::run);
  }

  void start() {
    thread.start();
  }

  /** Something changed: it is published soon. */
  void changed() {
    lock.lock();
    try {
      changed.signal();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits until the revision is published.
   *
   * @param evenIfDown whether to wait also when the service did not answer the last time
   * @return whether it is
   */
  boolean await(long revision, Duration timeout, boolean evenIfDown) {
    long left = timeout.toNanos();
    lock.lock();
    try {
      while (publishedRevision < revision && !closed && left > 0 && (healthy || evenIfDown)) {
        left = published.awaitNanos(left);
      }
      return publishedRevision >= revision;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    } finally {
      lock.unlock();
    }
  }

  private void run() {
    long retry = 0;
    long renewAt = System.nanoTime() + renewNanos;
    while (awaitWork(retry, renewAt)) {
      try {
        long revision = source.revision();
        if (revision > publishedRevision() || !renew()) {
          publish(revision);
          succeeded(revision);
        } else {
          succeeded(0);
        }
        retry = 0;
        renewAt = System.nanoTime() + renewNanos;
      } catch (EpochConflictException e) {
        LOG.log(Level.ERROR, "agent ''{0}'' lost its name: {1}", name, e.getMessage());
        lose();
        superseded.accept(String.valueOf(e.getMessage()));
        return;
      } catch (MetadataException | IllegalArgumentException e) {
        failed(e);
        // What the service has now, nobody knows.
        bytes = 0;
        retry = System.nanoTime() + Math.min(LONGEST_RETRY.toNanos(), renewNanos / 2);
      }
    }
  }

  /** Publishes what is new; or everything, if more than that has changed, or the service has something else. */
  private void publish(long revision) {
    if (revision > publishedRevision() && bytes > 0 && bytes < MOST_GROWTH * wholeBytes + SMALL) {
      Optional<byte[]> more = source.since(publishedRevision());
      if (more.isPresent() && client.append(name, epoch, bytes, more.get()).isPresent()) {
        bytes += more.get().length;
        return;
      }
    }
    Publication publication = source.publication();
    client.publish(publication);
    told = publication.summary();
    wholeBytes = publication.blob().length;
    bytes = wholeBytes;
  }

  /** An agent that is idle has nothing new to tell: then the call has no body, and the service nothing to store. */
  private boolean renew() {
    String summary = source.summary();
    boolean known = client.renew(name, epoch, summary.equals(told) ? "" : summary);
    told = summary;
    return known;
  }

  /** Waits for a change, for the time to renew, or, after a failure, for the time to try again; false at the end. */
  private boolean awaitWork(long retry, long renewAt) {
    lock.lock();
    try {
      while (!closed) {
        long now = System.nanoTime();
        long wait = (retry != 0 ? retry : renewAt) - now;
        if (wait <= 0 || (retry == 0 && source.revision() > publishedRevision)) {
          return true;
        }
        changed.await(wait, TimeUnit.NANOSECONDS);
      }
      return false;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    } finally {
      lock.unlock();
    }
  }

  private long publishedRevision() {
    lock.lock();
    try {
      return publishedRevision;
    } finally {
      lock.unlock();
    }
  }

  private boolean isOurs() {
    lock.lock();
    try {
      return healthy && !lost;
    } finally {
      lock.unlock();
    }
  }

  private void succeeded(long revision) {
    lock.lock();
    try {
      if (!healthy) {
        LOG.log(Level.INFO, "agent ''{0}'' reaches its metadata service again", name);
      }
      healthy = true;
      publishedRevision = Math.max(publishedRevision, revision);
      published.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private void failed(RuntimeException e) {
    lock.lock();
    try {
      if (healthy && !closed) {
        LOG.log(Level.WARNING, "agent ''{0}'' cannot keep its entry: {1}", name, e.getMessage());
      }
      healthy = false;
      published.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private void awaitLastCall() {
    boolean interrupted = false;
    try {
      if (!thread.join(LONGEST_LAST_CALL)) {
        thread.interrupt();
        thread.join(LONGEST_LAST_CALL);
      }
    } catch (InterruptedException e) {
      thread.interrupt();
      interrupted = true;
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void lose() {
    lock.lock();
    try {
      lost = true;
    } finally {
      lock.unlock();
    }
    finish();
  }

  private void finish() {
    lock.lock();
    try {
      closed = true;
      changed.signal();
      published.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Stops, and deletes the entry if the service answers. A call under way is let end first: cut off, nobody would know
   * whether it comes to the service before or after the deletion, and an entry could stay of an agent that is gone.
   */
  void close() {
    finish();
    if (Thread.currentThread() != thread) {
      awaitLastCall();
    }
    if (!isOurs()) {
      // Superseded; or it would only wait for a service that does not answer, and the entry ends with its time to live.
      return;
    }
    try {
      client.delete(name, epoch);
    } catch (MetadataException e) {
      LOG.log(Level.INFO, "the entry of agent ''{0}'' is not deleted, and ends with its time to live: {1}", name,
          e.getMessage());
    }
  }
}
