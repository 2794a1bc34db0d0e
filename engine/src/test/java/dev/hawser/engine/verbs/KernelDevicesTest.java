/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Only where the kernel certainly has no device is libibverbs not asked. */
class KernelDevicesTest {
  @TempDir
  private Path sys;

  @Test
  void isCertainOnlyWhereSysfsIsSeenWithoutADevice() throws IOException {
    KernelDevices devices = new KernelDevices(sys);
    assertThat(devices.none()).as("no sysfs").isFalse();
    Files.createDirectories(sys.resolve("class/net"));
    assertThat(devices.none()).as("no driver is loaded").isTrue();
    Path folder = Files.createDirectories(sys.resolve("class/infiniband"));
    assertThat(devices.none()).as("a driver without a device").isTrue();
    Files.createFile(folder.resolve("mlx5_0"));
    assertThat(devices.none()).as("a device").isFalse();
  }
}
