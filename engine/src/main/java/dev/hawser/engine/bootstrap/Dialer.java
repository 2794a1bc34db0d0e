/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import dev.hawser.engine.net.InetEndpoint;
import dev.hawser.engine.net.NetException;
import dev.hawser.engine.net.Sockets;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.WaitSet;
import dev.hawser.memory.ffi.Errno;
import org.jspecify.annotations.Nullable;

/** Connects one socket to one endpoint. Loop thread only. */
final class Dialer {

  /** Gets exactly one call, unless {@link Dialer#cancel} came first. */
  interface Listener {
    /** Connected; the socket is the listener's. */
    void connected(int fd, String description);

    /** Not connected. */
    void failed(PathFault fault);
  }

  private final BootstrapLoop loop;
  private final InetEndpoint target;
  private final Listener listener;
  private int fd = -1;
  private BootstrapLoop.@Nullable Timer deadline;

  private Dialer(BootstrapLoop loop, InetEndpoint target, Listener listener) {
    this.loop = loop;
    this.target = target;
    this.listener = listener;
  }

  /**
   * Begins to connect.
   *
   * @param localHost numeric address to connect from, empty for any
   */
  static Dialer dial(BootstrapLoop loop, InetEndpoint target, String localHost, long nanos, Listener listener) {
    Dialer dialer = new Dialer(loop, target, listener);
    dialer.start(localHost, nanos);
    return dialer;
  }

  private void start(String localHost, long nanos) {
    int result;
    try {
      fd = Sockets.stream(target);
      int bound = localHost.isEmpty() ? 0 : Sockets.bind(fd, InetEndpoint.of(localHost, 0));
      if (bound < 0) {
        fail(PathFault.Kind.PORT_DOWN, "bind " + localHost + " to reach " + target + ": " + Errno.describe(-bound));
        return;
      }
      Sockets.noDelay(fd);
      result = Sockets.connect(fd, target);
    } catch (NetException e) {
      fail(PathFault.Kind.UNREACHABLE, String.valueOf(e.getMessage()));
      return;
    }
    if (result < 0 && result != -Sockets.EINPROGRESS) {
      refused(-result);
      return;
    }
    deadline = loop.after(nanos, this::timedOut);
    loop.watch(fd, WaitSet.WRITE, this::ready);
  }

  private void ready() {
    int error = Sockets.pendingError(fd);
    if (error != 0) {
      refused(error);
      return;
    }
    String description;
    try {
      description = Sockets.local(fd) + " → " + Sockets.peer(fd);
    } catch (NetException e) {
      fail(PathFault.Kind.RESET, "connect " + target + ": " + e.errnoName());
      return;
    }
    int connected = fd;
    release();
    listener.connected(connected, description);
  }

  private void refused(int errno) {
    fail(
        errno == Sockets.ECONNREFUSED ? PathFault.Kind.REFUSED : PathFault.Kind.UNREACHABLE,
        "connect " + target + ": " + Errno.describe(errno));
  }

  private void timedOut() {
    fail(PathFault.Kind.TIMED_OUT, "connect " + target + ": no answer in time");
  }

  private void fail(PathFault.Kind kind, String detail) {
    cancel();
    listener.failed(new PathFault(kind, detail));
  }

  /** Gives up without a word. */
  void cancel() {
    int open = fd;
    release();
    if (open >= 0) {
      Sockets.close(open);
    }
  }

  private void release() {
    loop.cancel(deadline);
    deadline = null;
    if (fd >= 0) {
      loop.unwatch(fd);
      fd = -1;
    }
  }
}
