/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import java.util.Map;
import java.util.Set;

/**
 * The transport's settings.
 *
 * @param kernelCopy {@code shm.kernel-copy}: whether memory that cannot be mapped is moved by {@code process_vm_readv} and
 *     {@code process_vm_writev}; without, shm serves only memory that a registry allocated
 * @param allowPtrace {@code shm.allow-ptrace}: whether authenticated peers are permitted to copy from and to this process
 *     where Yama (kernel.yama.ptrace_scope = 1) would not
 */
record ShmSettings(boolean kernelCopy, boolean allowPtrace) {
  static final Set<String> KNOWN = Set.of("kernel-copy", "allow-ptrace");

  /**
   * Reads them.
   *
   * @throws IllegalArgumentException if one is neither true nor false; the message names it
   */
  static ShmSettings of(Map<String, String> settings) {
    return new ShmSettings(flag(settings, "kernel-copy"), flag(settings, "allow-ptrace"));
  }

  private static boolean flag(Map<String, String> settings, String name) {
    String value = settings.getOrDefault(name, "true");
    return switch (value) {
      case "true" -> true;
      case "false" -> false;
      default -> throw new IllegalArgumentException("shm." + name + " is '" + value + "'; write true or false");
    };
  }
}
