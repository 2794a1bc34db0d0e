/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.PutOption;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * Forgets the epochs of names that have gone, a day or two later. While a name has an entry its epoch stands without a
 * lease; when the entry goes, some replica attaches it to a long lease, of which there is a new one each day.
 */
final class EndedEpochs {
  private static final System.Logger LOG = System.getLogger(EndedEpochs.class.getName());
  private static final long LEASE_SECONDS = TimeUnit.HOURS.toSeconds(48);
  private static final long ROTATION_HOURS = 24;

  private final Etcd etcd;
  private final Keys keys;
  private final EtcdReader reader;
  private volatile long lease;
  private volatile boolean closed;

  private EndedEpochs(Etcd etcd, Keys keys, EtcdReader reader, long lease) {
    this.etcd = etcd;
    this.keys = keys;
    this.reader = reader;
    this.lease = lease;
  }

  /** Blocks until the first lease is there; takes care of names that went while no replica looked. */
  static EndedEpochs begin(Etcd etcd, Keys keys, EtcdReader reader, ScheduledExecutorService owner) {
    EndedEpochs begun = new EndedEpochs(etcd, keys, reader, etcd.grant(LEASE_SECONDS).join());
    owner.execute(begun::all);
    var _ = owner.scheduleWithFixedDelay(begun::rotate, ROTATION_HOURS, ROTATION_HOURS, TimeUnit.HOURS);
    return begun;
  }

  /** For what is written now. */
  long lease() {
    return lease;
  }

  void close() {
    closed = true;
  }

  /** An entry has gone. */
  void ended(String name) {
    CompletableFuture<?> _ =
        reader
            .see(name)
            .thenCompose(seen -> attach(name, seen))
            .whenComplete(
                (done, failed) -> {
                  if (failed != null && !closed) {
                    LOG.log(
                        System.Logger.Level.INFO,
                        "The epoch of {0} stays in etcd until a replica starts: {1}",
                        name,
                        failed.getMessage());
                  }
                });
  }

  /** Whether the epoch is on the lease now. */
  private CompletableFuture<Boolean> attach(String name, Seen seen) {
    Values.Epoch epoch = seen.epoch();
    if (seen.publication() != null || epoch == null) {
      return CompletableFuture.completedFuture(false);
    }
    PutOption attached = PutOption.builder().withLeaseId(lease).build();
    ByteSequence value = Values.epoch(epoch.epoch(), false);
    return etcd.write(Conditions.unchanged(keys, name, seen), Op.put(keys.epoch(name), value, attached))
        .thenApply(TxnResponse::isSucceeded);
  }

  private void all() {
    CompletableFuture<?> _ =
        etcd.get(keys.epochs(), GetOption.builder().isPrefix(true).withKeysOnly(true).build())
            .whenComplete(
                (all, failed) -> {
                  if (failed != null) {
                    LOG.log(System.Logger.Level.INFO, "Epochs of names that have gone stay in etcd", failed);
                    return;
                  }
                  for (KeyValue epoch : all.getKvs()) {
                    if (epoch.getLease() == 0) {
                      ended(keys.nameOfEpoch(epoch.getKey()));
                    }
                  }
                });
  }

  private void rotate() {
    CompletableFuture<?> _ =
        etcd.grant(LEASE_SECONDS)
            .whenComplete(
                (granted, failed) -> {
                  if (failed == null) {
                    lease = granted;
                  } else {
                    LOG.log(System.Logger.Level.WARNING, "The old lease for epochs stays in use", failed);
                  }
                });
  }
}
