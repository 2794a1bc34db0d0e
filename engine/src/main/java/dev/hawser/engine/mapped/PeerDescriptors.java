/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import dev.hawser.engine.spi.PathSetupException;
import dev.hawser.memory.ffi.Errno;
import dev.hawser.memory.ffi.FileDescriptors;
import dev.hawser.memory.ffi.NativeCallException;

/** Opens what another process has open, through {@code /proc}. */
public final class PeerDescriptors {
  private PeerDescriptors() {}

  /**
   * Opens a peer's descriptor.
   *
   * @throws PathSetupException if that is refused, or the process was another one meanwhile
   */
  public static int open(Host host, PeerProcess peer, int fd, int flags, String what) {
    int opened;
    try {
      opened = FileDescriptors.open(host.proc().descriptor(peer.pid(), fd), flags);
    } catch (NativeCallException e) {
      String advice =
          e.errno() == Errno.EACCES || e.errno() == Errno.EPERM
              ? "; run both processes as the same user with the same capabilities"
              : "";
      throw new PathSetupException(what + " of " + peer + " cannot be opened: " + e.getMessage() + advice, e);
    }
    if (peer.isDead()) {
      // The number may have meant another process; the pidfd says that ours was gone.
      FileDescriptors.close(opened);
      throw new PathSetupException(peer + " ended while a path was set up");
    }
    return opened;
  }

  /** Opens the writing end of a peer's pipe. */
  public static int openBell(Host host, PeerProcess peer, int fd) {
    return open(host, peer, fd, MappedCalls.O_WRONLY | MappedCalls.O_NONBLOCK, "the bell");
  }
}
