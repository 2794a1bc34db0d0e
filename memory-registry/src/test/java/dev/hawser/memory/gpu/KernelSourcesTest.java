/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;

/** The PTX that is checked in was made from the source beside it. */
class KernelSourcesTest {
  private static final String LINE = "// kernels.cu SHA-256: ";

  @Test
  void ptxAndSourceAgree() throws NoSuchAlgorithmException {
    String ptx = new String(KernelSources.ptx(), StandardCharsets.UTF_8);
    String recorded =
        ptx.lines().filter(line -> line.startsWith(LINE)).findFirst().orElseThrow().substring(LINE.length());
    String source = HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(KernelSources.source()));
    assertThat(recorded).as("run perf/labs/gpu/ptx.sh after a change of kernels.cu").isEqualTo(source);
  }

  @Test
  void ptxLoadsOnOldDriversAndDevices() {
    String ptx = new String(KernelSources.ptx(), StandardCharsets.UTF_8);
    assertThat(ptx).contains("\n.version 7.0\n").contains("\n.target sm_75\n").doesNotContain("\0");
  }
}
