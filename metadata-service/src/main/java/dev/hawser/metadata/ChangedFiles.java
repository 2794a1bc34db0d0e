/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Files that are read again when they have changed: rewritten, replaced, or linked to elsewhere, as Kubernetes does with
 * the files of a secret. Looked at by one thread at a time.
 */
final class ChangedFiles {
  private static final System.Logger LOG = System.getLogger(ChangedFiles.class.getName());

  private final List<Path> files;
  private @Nullable List<Stamp> seen;

  /** What changes when somebody writes or replaces a file. */
  private record Stamp(FileTime modified, long size, @Nullable Object key) {}

  ChangedFiles(List<Path> files) {
    this.files = List.copyOf(files);
    this.seen = stamps();
  }

  /** Whether one has changed since the last look, and all of them are there. */
  boolean changed() {
    List<Stamp> now = stamps();
    if (now == null || now.equals(seen)) {
      return false;
    }
    seen = now;
    return true;
  }

  private @Nullable List<Stamp> stamps() {
    List<Stamp> stamps = new ArrayList<>();
    for (Path file : files) {
      try {
        BasicFileAttributes attributes = Files.readAttributes(file, BasicFileAttributes.class);
        stamps.add(new Stamp(attributes.lastModifiedTime(), attributes.size(), attributes.fileKey()));
      } catch (IOException gone) {
        LOG.log(System.Logger.Level.DEBUG, "A file cannot be looked at; what was read before stays", gone);
        return null;
      }
    }
    return stamps;
  }
}
