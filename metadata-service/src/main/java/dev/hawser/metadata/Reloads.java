/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata;

import dev.hawser.metadata.auth.Authentication;
import dev.hawser.metadata.auth.TokenFileException;
import dev.hawser.metadata.auth.Tokens;
import dev.hawser.metadata.http.FrontState;
import dev.hawser.metadata.http.TlsSettings;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Takes changed tokens and certificates into use while the service runs. Those that have become unusable change nothing,
 * and are said so in the log.
 */
final class Reloads {
  private static final System.Logger LOG = System.getLogger(Reloads.class.getName());

  /** Between two looks. */
  private static final long LOOK_MILLIS = 1_000;

  private final Vertx vertx;

  Reloads(Vertx vertx) {
    this.vertx = vertx;
  }

  /** New requests are judged by the new tokens. */
  void watch(Path tokens, Authentication authentication) {
    watch(new ChangedFiles(List.of(tokens)), "The file of tokens", () -> {
      try {
        authentication.replace(Tokens.load(tokens));
        LOG.log(System.Logger.Level.INFO, "Read the changed file of tokens {0}", tokens);
      } catch (TokenFileException unusable) {
        LOG.log(System.Logger.Level.ERROR, "The changed tokens are not used, those before stay: {0}",
            unusable.getMessage());
      }
      return null;
    });
  }

  /** New connections see the new certificate; those that are open go on. */
  void watch(TlsConfig tls, TlsSettings settings, FrontState state) {
    List<Path> files = new ArrayList<>(List.of(tls.certificate(), tls.key()));
    tls.clientAuthorities().ifPresent(files::add);
    watch(new ChangedFiles(files), "The certificate", () -> {
      KeyPairFiles.check(tls.certificate(), tls.key());
      return state.reload(settings)
          .onSuccess(
              done -> LOG.log(System.Logger.Level.INFO, "Read the changed certificate {0}", tls.certificate()));
    });
  }

  private interface Reload {
    @Nullable
    Future<?> run();
  }

  private void watch(ChangedFiles files, String what, Reload reload) {
    vertx.setPeriodic(
        LOOK_MILLIS,
        tick -> vertx
            .<@Nullable Future<?>>executeBlocking(() -> files.changed() ? reload.run() : null)
            .compose(pending -> pending == null ? Future.succeededFuture() : pending)
            .onFailure(
                failed -> LOG.log(System.Logger.Level.ERROR,
                    what + " was not read again, the one before stays: " + failed.getMessage())));
  }
}
