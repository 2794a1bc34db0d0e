/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** Who we are, for messages at the other side. */
final class ThisProcess {
  private static final int MAX_HOST = 64;

  private ThisProcess() {}

  /** The host's name as the kernel has it; never asks a name server, which may take seconds. */
  static String host() {
    try {
      String name = Files.readString(Path.of("/proc/sys/kernel/hostname"), StandardCharsets.ISO_8859_1).strip();
      return name.length() > MAX_HOST ? name.substring(0, MAX_HOST) : name;
    } catch (IOException e) {
      String name = System.getenv("HOSTNAME");
      return name == null ? "unknown" : name;
    }
  }

  static long pid() {
    return ProcessHandle.current().pid();
  }
}
