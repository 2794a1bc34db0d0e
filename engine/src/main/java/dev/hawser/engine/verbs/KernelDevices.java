/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * What the kernel tells of RDMA devices, in sysfs. It is asked before libibverbs is: to load that one and to bind its
 * functions takes a good part of the time in which an agent starts, and most hosts have no such device.
 */
final class KernelDevices {
  private final Path classes;

  /** Reads {@code class} below a sysfs, {@code /sys} outside tests. */
  KernelDevices(Path sys) {
    classes = sys.resolve("class");
  }

  /** Whether there is certainly none. Where sysfs is not to be seen, nothing is certain. */
  boolean none() {
    if (!Files.isDirectory(classes)) {
      return false;
    }
    Path devices = classes.resolve("infiniband");
    if (!Files.exists(devices)) {
      return true;
    }
    try (DirectoryStream<Path> found = Files.newDirectoryStream(devices)) {
      return !found.iterator().hasNext();
    } catch (IOException e) {
      return false; // libibverbs will say what is wrong
    }
  }
}
