/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.sidecar;

import dev.hawser.engine.net.NetException;
import dev.hawser.engine.net.Sockets;
import dev.hawser.engine.net.UnixSockets;
import dev.hawser.memory.ffi.FileDescriptors;
import dev.hawser.memory.ffi.NativeCallException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Set;
import java.util.function.IntUnaryOperator;
import org.jspecify.annotations.Nullable;

/** The path at which workers connect: this user's only, taken over from one that was killed, removed at the end. */
final class SidecarSocket implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(SidecarSocket.class.getName());
  /** More than Linux gives by default ({@code net.core.somaxconn}): that is what counts then. */
  private static final int BACKLOG = 4096;
  private static final int PATIENCE_MILLIS = 60_000;
  private static final int PAUSE_MILLIS = 100;
  private static final long QUIET_NANOS = 60_000_000_000L;
  /** What passes: ENOMEM, ENFILE, EMFILE, ECONNABORTED, ENOBUFS of errno.h. */
  private static final Set<Integer> PASSING = Set.of(12, 23, 24, 103, 105);
  private static final int ECONNREFUSED = 111;
  // sys/stat.h
  private static final int S_IFMT = 0170000;
  private static final int S_IFSOCK = 0140000;

  private final Path path;
  private final int fd;
  private final Object identity;
  private boolean closed; // guarded by this
  private boolean removed; // guarded by this
  private final IntUnaryOperator accepting;
  private boolean hasTold; // the acceptor's, as the next one
  private long toldAt;

  private SidecarSocket(Path path, int fd, Object identity, IntUnaryOperator accepting) {
    this.path = path;
    this.accepting = accepting;
    this.fd = fd;
    this.identity = identity;
  }

  /**
   * Listens.
   *
   * @throws SidecarException if somebody does already, or the path cannot be had
   */
  static SidecarSocket listen(Path path) {
    return listen(path, Sockets::accept);
  }

  /** With another accept4, which takes a descriptor and gives one, or the negative error number. */
  static SidecarSocket listen(Path path, IntUnaryOperator accepting) {
    int bytes = path.toString().getBytes(StandardCharsets.UTF_8).length;
    if (bytes == 0 || bytes > UnixSockets.MAX_NAME_BYTES) {
      throw new SidecarException(bytes == 0
          ? "the path of the socket is empty: give one, such as /run/hawser/agent.sock"
          : "the socket " + path + " cannot be made: its path has " + bytes + " bytes, and Linux takes at most "
              + UnixSockets.MAX_NAME_BYTES + " bytes; give a shorter one, such as /run/hawser/agent.sock");
    }
    Path parent = path.toAbsolutePath().getParent();
    if (parent == null || !Files.isDirectory(parent)) {
      throw new SidecarException("the socket " + path + " cannot be made: its folder is not there; make it");
    }
    int folder;
    try {
      folder = FileDescriptors.open(parent.toString(), FileDescriptors.O_RDONLY);
    } catch (NativeCallException e) {
      throw new SidecarException("the socket " + path + " cannot be made: " + e.getMessage(), e);
    }
    try {
      // Two that find a stale socket at once must not each remove what the other has made.
      FileDescriptors.lock(folder);
      int fd = bound(path);
      return new SidecarSocket(path, fd, identity(path), accepting);
    } catch (NativeCallException | NetException | IllegalArgumentException e) {
      throw new SidecarException("the socket " + path + " cannot be made: " + e.getMessage(), e);
    } catch (IOException e) {
      throw new SidecarException("the socket " + path + " cannot be made: " + e, e);
    } finally {
      FileDescriptors.close(folder);
    }
  }

  private static int bound(Path path) throws IOException {
    try {
      return UnixSockets.listen(path, BACKLOG);
    } catch (NetException e) {
      if (e.errno() != Sockets.EADDRINUSE) {
        throw e;
      }
    }
    if (((int) Files.getAttribute(path, "unix:mode", LinkOption.NOFOLLOW_LINKS) & S_IFMT) != S_IFSOCK) {
      throw new SidecarException(path + " is there, and is no socket: choose another path, or remove it");
    }
    if (isAnswered(path)) {
      throw new SidecarException("another agent listens at " + path + ": choose another path, or end that one");
    }
    Files.delete(path); // left by one that was killed
    return UnixSockets.listen(path, BACKLOG);
  }

  private static boolean isAnswered(Path path) {
    try {
      Sockets.close(UnixSockets.connect(path));
      return true;
    } catch (NetException e) {
      if (e.errno() == ECONNREFUSED) {
        return false;
      }
      if (e.errno() == Sockets.EAGAIN) {
        return true; // so many are waiting there
      }
      throw e;
    }
  }

  private static Object identity(Path path) throws IOException {
    Object key = Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS).fileKey();
    return key == null ? path : key;
  }

  Path path() {
    return path;
  }

  /**
   * The next connection, waited for; null once this is closed. While the process or the host is short of something, it
   * pauses and tries again: those who connect wait meanwhile.
   *
   * @throws NetException if that is for good; nobody is let in any more then
   */
  @Nullable
  Connection accept() {
    boolean good = false;
    try {
      while (!isClosed()) {
        try {
          int accepted = accepting.applyAsInt(fd);
          if (accepted >= 0) {
            good = true;
            return new Connection(accepted);
          }
          if (accepted == -Sockets.EAGAIN) {
            Sockets.poll(fd, Sockets.POLLIN, PATIENCE_MILLIS);
          } else if (!isClosed()) {
            throw new NetException("accept4", -accepted, path.toString());
          }
        } catch (NetException e) {
          if (!PASSING.contains(e.errno())) {
            throw e;
          }
          pause(String.valueOf(e.getMessage()));
        }
      }
      return null;
    } finally {
      if (!good) {
        end();
      }
    }
  }

  /** Waits a moment, or until this is closed, for something that is short; says so once a minute at most. */
  void pause(String why) {
    long now = System.nanoTime();
    if (!hasTold || now - toldAt > QUIET_NANOS) {
      hasTold = true;
      toldAt = now;
      LOG.log(Level.WARNING, "workers have to wait at {0}: {1}. Raise the limits of this process (open files, threads,"
          + " memory), or have fewer workers; it is tried again all the time", path, why);
    }
    try {
      synchronized (this) {
        long left = PAUSE_MILLIS;
        while (!closed && left > 0) {
          wait(left);
          left = PAUSE_MILLIS - (System.nanoTime() - now) / 1_000_000;
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      close();
    }
  }

  /** Nobody accepts any more: the number of the descriptor may be another's from now on. */
  private synchronized void end() {
    closed = true;
    Sockets.close(fd);
  }

  synchronized boolean isClosed() {
    return closed;
  }

  /** Takes the path away, if it is still ours: nobody connects any more. */
  synchronized void remove() {
    if (removed) {
      return;
    }
    removed = true;
    try {
      if (identity(path).equals(identity)) {
        Files.delete(path);
      }
    } catch (NoSuchFileException e) {
      // somebody was quicker
    } catch (IOException e) {
      throw new UncheckedIOException("the socket " + path + " cannot be removed", e);
    }
  }

  /** Ends {@link #accept}, which closes the descriptor: nobody else may, for its number could be used again. */
  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      notifyAll();
      Sockets.shutdownInput(fd);
    }
  }
}
