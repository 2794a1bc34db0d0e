/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.engine.spi.TransportContext;
import dev.hawser.engine.spi.TransportProvider;
import dev.hawser.engine.verbs.abi.VerbsException;
import dev.hawser.engine.verbs.abi.VerbsLibrary;
import dev.hawser.memory.ffi.MissingNativeException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;

/** Finds out whether there is RDMA here. */
public final class VerbsTransportProvider implements TransportProvider {
  private static final Path SYS = Path.of("/sys");

  /** For the service loader. */
  public VerbsTransportProvider() {}

  @Override
  public String name() {
    return VerbsTransport.NAME;
  }

  @Override
  public Set<String> settings() {
    return VerbsSettings.KNOWN;
  }

  @Override
  public void check(String setting, String value) {
    VerbsSettings.of(Map.of(setting, value));
  }

  @Override
  public Outcome create(TransportContext context) {
    VerbsSettings settings;
    try {
      settings = VerbsSettings.of(context.settings());
    } catch (IllegalArgumentException e) {
      return new Outcome.Absent("verbs: " + e.getMessage());
    }
    if (!VerbsLibrary.isStandIn() && new KernelDevices(SYS).none()) {
      return new Outcome.Absent(
          "verbs: no RDMA device: the kernel has none (/sys/class/infiniband); load the driver of the"
              + " NIC");
    }
    try (VerbsProbe probe = new VerbsProbe(VerbsLibrary.get(), settings)) {
      return probe.create(context.agent(), context.registry());
    } catch (MissingNativeException e) {
      return new Outcome.Absent("verbs: " + e.getMessage() + "; install libibverbs1 and ibverbs-providers");
    } catch (VerbsException e) {
      return new Outcome.Absent("verbs: " + e.getMessage());
    }
  }
}
