/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import dev.hawser.memory.ffi.NativeCallException;
import dev.hawser.memory.ffi.Processes;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/**
 * This process among the others of its host: who it is, and whether it may reach a given one. It never touches a process
 * whose identity it has not verified. Thread-safe.
 */
public final class Host {
  private final ProcFiles proc;
  private final ProcessIdentity self;

  private Host(ProcFiles proc, ProcessIdentity self) {
    this.proc = proc;
    this.self = self;
  }

  /**
   * Looks at this process.
   *
   * @param copies whether the kernel copies from and to other processes for it
   * @throws IOException if {@code /proc} does not tell what is needed; the message says what is missing
   */
  public static Host probe(boolean copies) throws IOException {
    return probe(Path.of("/proc"), Processes.self(), copies);
  }

  public static Host probe(Path procRoot, int pid, boolean copies) throws IOException {
    ProcFiles proc = new ProcFiles(procRoot);
    int shown = proc.self();
    if (shown != pid) {
      throw new IOException(
          procRoot
              + " belongs to another pid namespace: it shows this process as "
              + shown
              + " while its pid is "
              + pid
              + "; mount proc in this container");
    }
    String bootId = proc.setting("kernel/random/boot_id");
    if (bootId.isEmpty()) {
      throw new IOException(procRoot + "/sys/kernel/random/boot_id cannot be read, so hosts cannot be told apart");
    }
    String time;
    try {
      time = proc.namespace(pid, "time");
    } catch (NoSuchFileException e) {
      time = ""; // before Linux 5.6
    }
    return new Host(
        proc,
        new ProcessIdentity(
            bootId,
            proc.namespace(pid, "pid"),
            proc.namespace(pid, "user"),
            time,
            pid,
            proc.startTicks(pid),
            proc.owner(pid),
            copies));
  }

  public ProcessIdentity self() {
    return self;
  }

  public ProcFiles proc() {
    return proc;
  }

  /**
   * Judges whether a process can be reached, by what {@code /proc} says.
   *
   * @return empty if it can, else why not, in one line that a user can act on
   */
  public String obstacle(ProcessIdentity peer) {
    if (!peer.bootId().equals(self.bootId())) {
      return "the peer runs on another host, or this one was rebooted (boot id " + peer.bootId() + ")";
    }
    if (!peer.pidNamespace().equals(self.pidNamespace())) {
      return "the peer is on this host in another pid namespace ("
          + peer.pidNamespace()
          + ", here "
          + self.pidNamespace()
          + "): let both containers share one (docker run --pid, shareProcessNamespace in a pod) to use shm";
    }
    if (!peer.timeNamespace().equals(self.timeNamespace())) {
      return "the peer is in another time namespace (" + peer.timeNamespace() + "), so that its process cannot be told";
    }
    long started;
    try {
      started = proc.startTicks(peer.pid());
    } catch (NoSuchFileException e) {
      return "the peer's process " + peer.pid() + " has ended";
    } catch (IOException e) {
      return "the peer's process " + peer.pid() + " cannot be looked at: " + e;
    }
    if (started != peer.startTicks()) {
      return "the peer's process " + peer.pid() + " has ended, and its number belongs to another process now";
    }
    return denied(peer);
  }

  private String denied(ProcessIdentity peer) {
    try {
      // Permitted to those who may also open its descriptors.
      proc.namespace(peer.pid(), "pid");
      return "";
    } catch (AccessDeniedException e) {
      if (!peer.userNamespace().equals(self.userNamespace())) {
        return "the peer's process "
            + peer.pid()
            + " is in another user namespace ("
            + peer.userNamespace()
            + ", here "
            + self.userNamespace()
            + ") and may not be reached: let both containers use the same (docker run --userns)";
      }
      if (peer.uid() != self.uid()) {
        return "the peer's process "
            + peer.pid()
            + " runs as uid "
            + peer.uid()
            + ", this one as uid "
            + self.uid()
            + ": run both as the same user to use shm";
      }
      return "the peer's process "
          + peer.pid()
          + " may not be reached though both run as uid "
          + self.uid()
          + ": one of them has capabilities that the other lacks (docker run --cap-add, setcap), or is not dumpable";
    } catch (IOException e) {
      return "the peer's process " + peer.pid() + " has ended (" + e + ")";
    }
  }

  /**
   * Opens a pidfd of a process and then makes sure that it is the right one.
   *
   * @throws NativeCallException if it cannot be opened
   * @throws IOException if it is another process by now
   */
  public PeerProcess watch(ProcessIdentity peer) throws IOException {
    PeerProcess process = PeerProcess.open(peer.pid());
    try {
      if (proc.startTicks(peer.pid()) != peer.startTicks() || process.isDead()) {
        throw new IOException("process " + peer.pid() + " has ended");
      }
      return process;
    } catch (IOException | RuntimeException e) {
      process.close();
      throw e;
    }
  }
}
