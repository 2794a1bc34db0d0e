/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * What {@code /proc} tells about processes.
 *
 * <p>Source: proc_pid_stat(5), proc_pid_ns(5), namespaces(7).
 */
public final class ProcFiles {
  private static final int START_TIME_FIELD = 22;

  private final Path root;

  /** Reads below {@code root}, {@code /proc} outside tests. */
  public ProcFiles(Path root) {
    this.root = root;
  }

  /** The path of something about a process. */
  public Path of(int pid, String what) {
    return root.resolve(Integer.toString(pid)).resolve(what);
  }

  /** The file that a descriptor of a process is, to be opened. */
  public String descriptor(int pid, int fd) {
    return of(pid, "fd/" + fd).toString();
  }

  /**
   * When a process began, in clock ticks since boot: with its pid it names the process for as long as the host is up.
   *
   * @throws IOException if there is no such process, or its file cannot be understood
   */
  public long startTicks(int pid) throws IOException {
    return startTicks(Files.readString(of(pid, "stat"), StandardCharsets.ISO_8859_1));
  }

  public static long startTicks(String stat) throws IOException {
    // The second field is the program's name in parentheses; it may have spaces and parentheses itself.
    int name = stat.lastIndexOf(')');
    String[] fields = name < 0 ? new String[0] : stat.substring(name + 1).trim().split(" ");
    int index = START_TIME_FIELD - 3;
    if (fields.length <= index) {
      throw new IOException("a stat file without a start time: " + stat);
    }
    try {
      return Long.parseLong(fields[index]);
    } catch (NumberFormatException e) {
      throw new IOException("a stat file with the start time " + fields[index], e);
    }
  }

  /**
   * A namespace of a process, for example {@code pid:[4026531836]}.
   *
   * @throws java.nio.file.AccessDeniedException if we may not ptrace that process
   */
  public String namespace(int pid, String which) throws IOException {
    return Files.readSymbolicLink(of(pid, "ns/" + which)).toString();
  }

  /** The first line of a file below {@code sys}, or empty if it is not there. */
  public String setting(String name) {
    try {
      return Files.readString(root.resolve("sys").resolve(name)).strip();
    } catch (IOException e) {
      return "";
    }
  }

  /** The pid that {@code /proc/self} shows, which differs from ours if it was mounted for another pid namespace. */
  public int self() throws IOException {
    String name = Files.readSymbolicLink(root.resolve("self")).toString();
    try {
      return Integer.parseInt(name);
    } catch (NumberFormatException e) {
      throw new IOException(root + "/self points to " + name, e);
    }
  }

  /** The user who owns a process's files there. */
  public int owner(int pid) throws IOException {
    return (Integer) Files.getAttribute(root.resolve(Integer.toString(pid)), "unix:uid");
  }
}
