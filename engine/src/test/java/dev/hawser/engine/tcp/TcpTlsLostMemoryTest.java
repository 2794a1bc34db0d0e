/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.engine.TlsConfig;
import dev.hawser.engine.testkit.TestCertificates;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;

/** The same under TLS, where this process itself, and not the kernel, moves the bytes to and from their places. */
class TcpTlsLostMemoryTest extends TcpLostMemoryTest {
  @TempDir
  private static Path folder;

  private static TlsConfig config = TlsConfig.OFF;

  @BeforeAll
  static void certify() {
    config = TestCertificates.selfSigned(folder, "agents");
  }

  @Override
  TcpRig rig() {
    return new TcpRig("127.0.0.1:0", config, TcpSettings.DEFAULTS.with(0, 0, 0));
  }
}
