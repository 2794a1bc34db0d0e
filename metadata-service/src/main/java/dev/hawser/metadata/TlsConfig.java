/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata;

import java.nio.file.Path;
import java.util.Optional;

/**
 * TLS of a metadata service; all files are PEM. They are read again within seconds when they change.
 *
 * @param certificate the service's chain, its own certificate first
 * @param key its private key, PKCS #8, not encrypted
 * @param clientAuthorities whose client certificates are accepted: their holders may read, and publish the names that
 *     the certificate gives them (common name, DNS names). empty accepts none
 * @param clientsMust whether a connection without a client certificate is refused; else a token will do
 */
public record TlsConfig(Path certificate, Path key, Optional<Path> clientAuthorities, boolean clientsMust) {
  /**
   * Checks that the parts fit.
   *
   * @throws IllegalArgumentException when clients must show certificates that nobody vouches for
   */
  public TlsConfig {
    if (clientsMust && clientAuthorities.isEmpty()) {
      throw new IllegalArgumentException(
          "clients must show a certificate, but no authority is given; give the file of those that sign them");
    }
  }

  /** The service shows a certificate, clients do not. */
  public static TlsConfig of(Path certificate, Path key) {
    return new TlsConfig(certificate, key, Optional.empty(), false);
  }
}
