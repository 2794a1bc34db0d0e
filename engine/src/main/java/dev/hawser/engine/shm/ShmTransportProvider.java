/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import dev.hawser.engine.mapped.Host;
import dev.hawser.engine.mapped.PathSegment;
import dev.hawser.engine.spi.TransportContext;
import dev.hawser.engine.spi.TransportProvider;
import dev.hawser.memory.ffi.MissingNativeException;
import dev.hawser.memory.ffi.NativeCallException;
import java.io.IOException;
import java.util.Map;
import java.util.Set;

/** Finds out whether shared memory works here. */
public final class ShmTransportProvider implements TransportProvider {

  /** For the service loader. */
  public ShmTransportProvider() {}

  @Override
  public String name() {
    return ShmTransport.NAME;
  }

  @Override
  public Set<String> settings() {
    return ShmSettings.KNOWN;
  }

  @Override
  public void check(String setting, String value) {
    ShmSettings.of(Map.of(setting, value));
  }

  @Override
  public Outcome create(TransportContext context) {
    try {
      ShmSettings settings = ShmSettings.of(context.settings());
      Host host = Host.probe(KernelCopy.worksHere());
      PathSegment.probe();
      return new Outcome.Present(new ShmTransport(host, context, settings));
    } catch (IllegalArgumentException | IOException | NativeCallException | MissingNativeException e) {
      String reason = e.getMessage();
      return new Outcome.Absent(reason == null ? e.toString() : reason);
    }
  }
}
