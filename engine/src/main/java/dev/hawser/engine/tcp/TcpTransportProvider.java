/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.engine.spi.TransportContext;
import dev.hawser.engine.spi.TransportProvider;
import java.util.Map;
import java.util.Set;

/** Makes the transport {@code tcp}. */
public final class TcpTransportProvider implements TransportProvider {
  /** For the service loader. */
  public TcpTransportProvider() {}

  @Override
  public String name() {
    return TcpTransport.NAME;
  }

  @Override
  public Set<String> settings() {
    return TcpSettings.KNOWN;
  }

  @Override
  public void check(String setting, String value) {
    TcpSettings.of(Map.of(setting, value));
  }

  @Override
  public Outcome create(TransportContext context) {
    if (context.listenAddresses().isEmpty()) {
      return new Outcome.Absent("tcp: agent " + context.agent() + " listens on no address");
    }
    try {
      TcpSettings settings = TcpSettings.of(context.settings());
      return new Outcome.Present(
          new TcpTransport(context.registry(), settings, TcpRails.of(context.listenAddresses())));
    } catch (IllegalArgumentException e) {
      return new Outcome.Absent("tcp: " + e.getMessage());
    }
  }
}
