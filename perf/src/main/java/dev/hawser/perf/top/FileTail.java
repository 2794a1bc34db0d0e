/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.top;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.function.Consumer;

/** Follows a file that grows and is turned over. Not thread-safe. */
public final class FileTail {
  /** At the first look, no more than that from the end. */
  private static final int FIRST_BYTES = 1 << 20;

  private final Path file;
  private Object key = "";
  private long position;
  private String rest = "";

  /** Follows a file that is there, or will be. */
  public FileTail(Path file) {
    this.file = file;
  }

  /** Reads the whole lines that have come since the last look. */
  public void read(Consumer<String> lines) throws IOException {
    if (!Files.exists(file)) {
      return;
    }
    Object present = String.valueOf(Files.readAttributes(file, BasicFileAttributes.class).fileKey());
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      long size = channel.size();
      if (!present.equals(key) || size < position) {
        boolean first = key.equals("");
        key = present;
        position = first ? Math.max(0, size - FIRST_BYTES) : 0;
        rest = "";
      }
      while (position < size) {
        ByteBuffer buffer = ByteBuffer.allocate((int) Math.min(FIRST_BYTES, size - position));
        int n = channel.read(buffer, position);
        if (n <= 0) {
          return;
        }
        position += n;
        String text = rest + new String(buffer.array(), 0, n, StandardCharsets.UTF_8);
        int from = 0;
        for (int end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
          lines.accept(text.substring(from, end));
          from = end + 1;
        }
        rest = text.substring(from);
        if (rest.length() > FIRST_BYTES) {
          rest = rest.substring(0, FIRST_BYTES); // no line of ours is so long
        }
      }
    }
  }

  /** Whether the line that has not ended yet begins as no line of an agent does. */
  public boolean holdsForeignBytes() {
    return !rest.isEmpty() && rest.charAt(0) != '{';
  }
}
