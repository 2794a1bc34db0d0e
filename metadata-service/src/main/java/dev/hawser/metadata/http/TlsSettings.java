/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import io.vertx.core.http.ClientAuth;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.net.PemKeyCertOptions;
import io.vertx.core.net.PemTrustOptions;
import io.vertx.core.net.ServerSSLOptions;
import java.nio.file.Path;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * TLS of the listener; all files are PEM.
 *
 * @param certificate the service's chain, its own certificate first
 * @param key its private key, PKCS #8, not encrypted
 * @param clientAuthorities whose client certificates are accepted; null accepts none
 * @param clientsMust whether a connection without a client certificate is refused
 */
public record TlsSettings(Path certificate, Path key, @Nullable Path clientAuthorities, boolean clientsMust) {
  /** As the server takes them while it runs. */
  ServerSSLOptions options() {
    HttpServerOptions options = new HttpServerOptions();
    apply(options);
    return options.getSslOptions();
  }

  void apply(HttpServerOptions options) {
    options
        .setSsl(true)
        .setEnabledSecureTransportProtocols(Set.of("TLSv1.2", "TLSv1.3"))
        .setKeyCertOptions(new PemKeyCertOptions().addCertPath(certificate.toString()).addKeyPath(key.toString()));
    if (clientAuthorities != null) {
      options
          .setTrustOptions(new PemTrustOptions().addCertPath(clientAuthorities.toString()))
          .setClientAuth(clientsMust ? ClientAuth.REQUIRED : ClientAuth.REQUEST);
    }
  }
}
