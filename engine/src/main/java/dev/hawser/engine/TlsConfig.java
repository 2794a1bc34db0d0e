/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * TLS for control and tcp data, PEM files. All null: no TLS.
 *
 * @param certificate this agent's certificate chain
 * @param privateKey its key, PKCS#8
 * @param trust the certificates that peers must be signed by
 */
public record TlsConfig(
    @Nullable Path certificate, @Nullable Path privateKey, @Nullable Path trust) {

  /** No TLS. */
  public static final TlsConfig OFF = new TlsConfig(null, null, null);

  public boolean enabled() {
    return certificate != null;
  }
}
