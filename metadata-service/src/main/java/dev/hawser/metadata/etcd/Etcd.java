/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.etcd;

import dev.hawser.metadata.store.StoreException;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.ClientBuilder;
import io.etcd.jetcd.Watch;
import io.etcd.jetcd.common.exception.ErrorCode;
import io.etcd.jetcd.common.exception.EtcdException;
import io.etcd.jetcd.kv.GetResponse;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.GetOption;
import io.grpc.netty.GrpcSslContexts;
import io.netty.handler.ssl.SslContextBuilder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import javax.net.ssl.SSLException;

/**
 * The calls to etcd that the store needs, each with a deadline and with errors that say what to do. Reads are
 * linearizable. Safe for use by any thread.
 */
final class Etcd implements AutoCloseable {
  /** For one call, its retries included. */
  private static final Duration DEADLINE = Duration.ofSeconds(3);

  private static final Duration CONNECT = Duration.ofSeconds(1);
  private static final Duration PING = Duration.ofSeconds(2);
  private static final int MAX_ANSWER = 64 << 20;

  private final EtcdSettings settings;
  private final Client client;

  Etcd(EtcdSettings settings) {
    this.settings = settings;
    ClientBuilder builder =
        Client.builder()
            .endpoints(settings.endpoints())
            .connectTimeout(CONNECT)
            .retryMaxDuration(DEADLINE)
            .retryDelay(50)
            .retryMaxDelay(500)
            // A member that has become silent is found out, and another is asked.
            .keepaliveTime(PING)
            .keepaliveTimeout(PING)
            .keepaliveWithoutCalls(true)
            .maxInboundMessageSize(MAX_ANSWER);
    try {
      this.client = (settings.isTls() ? builder.sslContext(this::secure) : builder).build();
    } catch (SSLException | IllegalArgumentException unusable) {
      throw new StoreException(
          "The certificates for etcd cannot be used (" + unusable.getMessage()
              + "); give PEM files that belong together",
          unusable);
    }
  }

  private void secure(SslContextBuilder tls) {
    GrpcSslContexts.configure(tls);
    settings.authorities().map(Path::toFile).ifPresent(tls::trustManager);
    settings
        .certificate()
        .ifPresent(certificate -> tls.keyManager(certificate.toFile(), settings.key().orElseThrow().toFile()));
  }

  CompletableFuture<GetResponse> get(ByteSequence key, GetOption option) {
    return call(() -> client.getKVClient().get(key, option));
  }

  /** Whether what stood at a revision can still be read: it was not compacted away. */
  CompletableFuture<Boolean> remembers(ByteSequence key, long revision) {
    return call(() -> client.getKVClient().get(key, GetOption.builder().withRevision(revision).build()))
        .thenApply(read -> true)
        .exceptionallyCompose(
            failed -> says(failed, "revision has been compacted") ? CompletableFuture.completedFuture(false)
                : CompletableFuture.failedFuture(failed));
  }

  /** Reads several keys at one revision. */
  CompletableFuture<TxnResponse> read(List<Op> gets) {
    return call(() -> client.getKVClient().txn().Then(gets.toArray(Op[]::new)).commit());
  }

  /** Likewise, one operation. */
  CompletableFuture<TxnResponse> write(List<Cmp> conditions, Op operation) {
    return write(conditions, List.of(operation));
  }

  /** Writes if the conditions hold. Not repeated by itself: it may have been done. */
  CompletableFuture<TxnResponse> write(List<Cmp> conditions, List<Op> operations) {
    return call(
        () -> client
            .getKVClient()
            .txn()
            .If(conditions.toArray(Cmp[]::new))
            .Then(operations.toArray(Op[]::new))
            .commit());
  }

  /** A new lease. */
  CompletableFuture<Long> grant(long seconds) {
    return call(() -> client.getLeaseClient().grant(seconds, DEADLINE.toMillis(), TimeUnit.MILLISECONDS))
        .thenApply(granted -> granted.getID());
  }

  /** Whether the lease still was there; it now lasts its whole time again. */
  CompletableFuture<Boolean> keepAlive(long lease) {
    return call(() -> client.getLeaseClient().keepAliveOnce(lease))
        .thenApply(alive -> true)
        .exceptionallyCompose(
            failed -> isGone(failed) ? CompletableFuture.completedFuture(false)
                : CompletableFuture.failedFuture(failed));
  }

  /** Ends a lease that has no keys any more, or nothing that counts. */
  CompletableFuture<Void> revoke(long lease) {
    return call(() -> client.getLeaseClient().revoke(lease)).thenApply(revoked -> null);
  }

  Watch watch() {
    return client.getWatchClient();
  }

  @Override
  public void close() {
    client.close();
  }

  /** Whether a call failed since its lease has ended. */
  static boolean isGone(Throwable failed) {
    for (Throwable cause = failed; cause != null; cause = cause.getCause()) {
      if (cause instanceof EtcdException etcd && etcd.getErrorCode() == ErrorCode.NOT_FOUND) {
        return true;
      }
    }
    return says(failed, "requested lease not found");
  }

  private static boolean says(Throwable failed, String what) {
    for (Throwable cause = failed; cause != null; cause = cause.getCause()) {
      if (String.valueOf(cause.getMessage()).contains(what)) {
        return true;
      }
    }
    return false;
  }

  private <T> CompletableFuture<T> call(Supplier<CompletableFuture<T>> call) {
    CompletableFuture<T> started;
    try {
      started = call.get();
    } catch (RuntimeException closed) {
      started = CompletableFuture.failedFuture(closed);
    }
    return started.copy()
        .orTimeout(DEADLINE.toMillis(), TimeUnit.MILLISECONDS)
        .exceptionallyCompose(failed -> CompletableFuture.failedFuture(explained(failed)));
  }

  private RuntimeException explained(Throwable failed) {
    Throwable cause = failed instanceof CompletionException && failed.getCause() != null ? failed.getCause() : failed;
    if (isGone(cause)) {
      return new StoreException("etcd has ended a lease; ask again", cause);
    }
    String why =
        cause instanceof TimeoutException ? "no answer within " + DEADLINE.toSeconds() + " s" : cause.getMessage();
    return new StoreException(
        "etcd at " + settings.shown() + " cannot be used (" + why
            + "); see whether a majority of its members runs and is reachable from here",
        cause);
  }
}
