/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/**
 * A file that results are written to at the end. That it can be written is found out before the work begins: nobody wants
 * to learn that after an hour.
 */
record OutputFile(String option, Path path) {

  /** A file that cannot be written after all, as when the disk is full; the work itself was done. */
  static final class LostException extends RuntimeException {
    private static final long serialVersionUID = 1;

    LostException(String message, IOException cause) {
      super(message, cause);
    }
  }

  /**
   * The file that an option names.
   *
   * @return null if it names none
   * @throws UsageException if it cannot be written
   */
  static @Nullable OutputFile of(String option, @Nullable Path path) {
    if (path == null) {
      return null;
    }
    OutputFile file = new OutputFile(option, path);
    file.check();
    return file;
  }

  private void check() {
    if (Files.isDirectory(path)) {
      throw new UsageException(option + " " + path + " cannot be written: it is a folder; name a file");
    }
    boolean isNew = !Files.exists(path);
    if (!isNew && !Files.isRegularFile(path)) {
      // To open a pipe would be to wait for its reader, and to close it again would be its end.
      if (!Files.isWritable(path)) {
        throw new UsageException(option + " " + path + " cannot be written; name a file that can be");
      }
      return;
    }
    try {
      // What the file holds is left alone until there is something to put in its place.
      FileChannel.open(path, StandardOpenOption.WRITE, StandardOpenOption.CREATE).close();
      if (isNew) {
        Files.deleteIfExists(path);
      }
    } catch (IOException e) {
      throw new UsageException(
          option + " " + path + " cannot be written (" + why(e) + "); name a file in a folder that can be written to",
          e);
    }
  }

  private String why(IOException e) {
    String message = e.getMessage();
    if (message == null || message.equals(path.toString())) {
      return e.getClass().getSimpleName();
    }
    return message.startsWith(path + ": ") ? message.substring(path.toString().length() + 2) : message;
  }

  /**
   * Writes it.
   *
   * @throws LostException if it cannot be written any more
   */
  void write(String text) {
    try {
      Files.writeString(path, text);
    } catch (IOException e) {
      throw new LostException(option + " " + path + " could not be written after the run (" + why(e)
          + "): what was measured stands above only", e);
    }
  }
}
