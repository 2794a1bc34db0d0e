/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Over copies of what hosts say. */
class HostCheckTest {
  @TempDir
  Path root;

  private void file(String path, String text) throws IOException {
    Path file = root.resolve(path);
    Files.createDirectories(file.getParent());
    Files.writeString(file, text);
  }

  private HostCheck check() {
    return new HostCheck(root);
  }

  @Test
  void anOldJavaIsAProblem() {
    assertThat(HostCheck.java(21, true).level()).isEqualTo(Finding.Level.PROBLEM);
    assertThat(HostCheck.java(25, true).level()).isEqualTo(Finding.Level.OK);
    assertThat(HostCheck.java(25, false)).satisfies(finding -> {
      assertThat(finding.level()).isEqualTo(Finding.Level.PROBLEM);
      assertThat(finding.advice()).contains("--enable-native-access");
    });
  }

  @Test
  void onlyLinuxWillDo() {
    assertThat(HostCheck.system("Mac OS X", "15", "aarch64").level()).isEqualTo(Finding.Level.PROBLEM);
    assertThat(HostCheck.system("Linux", "6.1", "riscv64").level()).isEqualTo(Finding.Level.NOTE);
    assertThat(HostCheck.system("Linux", "6.1", "amd64").level()).isEqualTo(Finding.Level.OK);
  }

  @Test
  void fewCoresAreNoted() {
    assertThat(HostCheck.cores(2).advice()).contains("share them");
    assertThat(HostCheck.cores(64).level()).isEqualTo(Finding.Level.OK);
  }

  @Test
  void aLimitOfLockedMemoryIsNoted() throws IOException {
    String limits = """
        Limit                     Soft Limit           Hard Limit           Units
        Max locked memory         8388608              8388608              bytes
        """;
    file("proc/self/limits", limits);
    assertThat(check().lockedMemory()).satisfies(finding -> {
      assertThat(finding.level()).isEqualTo(Finding.Level.NOTE);
      assertThat(finding.state()).contains("8388608");
      assertThat(finding.advice()).contains("ulimit -l unlimited");
    });

    file("proc/self/limits", limits.replace("8388608", "unlimited"));
    assertThat(check().lockedMemory().level()).isEqualTo(Finding.Level.OK);
  }

  @Test
  void yamaSaysWhoMayCopy() throws IOException {
    assertThat(check().foreignMemory().level()).isEqualTo(Finding.Level.OK);
    file("proc/sys/kernel/yama/ptrace_scope", "0\n");
    assertThat(check().foreignMemory().level()).isEqualTo(Finding.Level.OK);
    file("proc/sys/kernel/yama/ptrace_scope", "1\n");
    assertThat(check().foreignMemory().advice()).contains("sysctl kernel.yama.ptrace_scope=0");
    file("proc/sys/kernel/yama/ptrace_scope", "3\n");
    assertThat(check().foreignMemory().advice()).contains("reboot");
  }

  @Test
  void smallSocketBuffersAreNoted() throws IOException {
    assertThat(check().socketBuffers().state()).contains("not known");
    file("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n");
    file("proc/sys/net/ipv4/tcp_wmem", "4096\t16384\t4194304\n");
    assertThat(check().socketBuffers().level()).isEqualTo(Finding.Level.OK);
    file("proc/sys/net/ipv4/tcp_wmem", "4096\t16384\t1048576\n");
    assertThat(check().socketBuffers().advice()).contains("tcp_wmem");
  }

  @Test
  void devicesAreListed() throws IOException {
    assertThat(check().rdmaDevices().state()).isEqualTo("none");
    assertThat(check().gpus().state()).isEqualTo("none");
    file("sys/class/infiniband/mlx5_1/node_guid", "0");
    file("sys/class/infiniband/mlx5_0/node_guid", "0");
    file("dev/nvidia0", "");
    file("dev/nvidiactl", "");
    assertThat(check().rdmaDevices().state()).isEqualTo("mlx5_0, mlx5_1");
    assertThat(check().gpus().state()).isEqualTo("nvidia0");
  }

  @Test
  void thisHostIsWellEnoughForTheTests() {
    assertThat(new HostCheck().findings()).hasSizeGreaterThan(5)
        .noneSatisfy(finding -> assertThat(finding.level()).isEqualTo(Finding.Level.PROBLEM));
  }
}
