/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.engine.TlsConfig;
import dev.hawser.engine.testkit.TestCertificates;
import dev.hawser.engine.testkit.conformance.Fixture;
import dev.hawser.engine.testkit.conformance.TransferConformance;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;

/** Under TLS, with certificates on both sides. */
final class TcpTlsConformanceTest extends TransferConformance {
  @TempDir
  static Path folder;

  TcpTlsConformanceTest() {
    super(new Tls());
  }

  /** Both agents have the certificate that both trust. */
  static final class Tls implements Fixture {
    private static final class Made {
      static final TlsConfig CONFIG = TestCertificates.selfSigned(folder, "agents");
    }

    @Override
    public String transport() {
      return TcpTransport.NAME;
    }

    @Override
    public TlsConfig tls() {
      return Made.CONFIG;
    }
  }
}
