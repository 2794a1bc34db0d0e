/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata;

import dev.hawser.metadata.auth.Authentication;
import dev.hawser.metadata.auth.TokenFileException;
import dev.hawser.metadata.auth.Tokens;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import org.jspecify.annotations.Nullable;

/** Reads the file of tokens again when it has changed. A file that has become unusable changes nothing. */
final class TokenReload {
  private static final System.Logger LOG = System.getLogger(TokenReload.class.getName());

  private final Path file;
  private final Authentication authentication;
  private @Nullable Stamp seen;

  /** What changes when somebody writes or replaces the file. */
  private record Stamp(FileTime modified, long size, @Nullable Object key) {}

  TokenReload(Path file, Authentication authentication) {
    this.file = file;
    this.authentication = authentication;
    this.seen = stamp();
  }

  /** Looks once; by one thread at a time. */
  void look() {
    Stamp now = stamp();
    if (now == null || now.equals(seen)) {
      return;
    }
    seen = now;
    try {
      authentication.replace(Tokens.load(file));
      LOG.log(System.Logger.Level.INFO, "Read the changed file of tokens {0}", file);
    } catch (TokenFileException unusable) {
      LOG.log(System.Logger.Level.ERROR, "The changed tokens are not used, those before stay: {0}",
          unusable.getMessage());
    }
  }

  private @Nullable Stamp stamp() {
    try {
      BasicFileAttributes attributes = Files.readAttributes(file, BasicFileAttributes.class);
      return new Stamp(attributes.lastModifiedTime(), attributes.size(), attributes.fileKey());
    } catch (IOException gone) {
      LOG.log(System.Logger.Level.DEBUG, "The file of tokens cannot be looked at; those before stay", gone);
      return null;
    }
  }
}
