/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The machine that figures were taken on.
 *
 * @param name its host name
 * @param os operating system and kernel
 * @param cpu the processor's own name
 * @param cores processors that this process may use
 * @param memoryBytes memory of the machine, or of the container
 * @param jdk the Java that ran
 */
public record HostFacts(String name, String os, String cpu, int cores, long memoryBytes, String jdk) {

  /** This one. */
  public static HostFacts here() {
    OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
    return new HostFacts(hostName(), System.getProperty("os.name") + " " + System.getProperty("os.version"), cpuName(),
        Runtime.getRuntime().availableProcessors(), system.getTotalMemorySize(), System.getProperty("java.vm.vendor")
            + " " + Runtime.version());
  }

  private static String hostName() {
    try {
      return InetAddress.getLocalHost().getHostName();
    } catch (UnknownHostException e) {
      return "localhost";
    }
  }

  private static String cpuName() {
    try {
      for (String line : Files.readAllLines(Path.of("/proc/cpuinfo"))) {
        if (line.startsWith("model name") || line.startsWith("Model")) {
          return line.substring(line.indexOf(':') + 1).strip();
        }
      }
    } catch (IOException e) {
      // Only a description: the architecture does as well.
      return System.getProperty("os.arch");
    }
    return System.getProperty("os.arch");
  }
}
