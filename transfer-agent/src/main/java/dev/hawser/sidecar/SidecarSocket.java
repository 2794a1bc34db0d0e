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
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import org.jspecify.annotations.Nullable;

/** The path at which workers connect: this user's only, taken over from one that was killed, removed at the end. */
final class SidecarSocket implements AutoCloseable {
  private static final int BACKLOG = 128;
  private static final int PATIENCE_MILLIS = 60_000;
  private static final int ECONNREFUSED = 111;
  // sys/stat.h
  private static final int S_IFMT = 0170000;
  private static final int S_IFSOCK = 0140000;

  private final Path path;
  private final int fd;
  private final Object identity;
  private boolean closed; // guarded by this
  private boolean removed; // guarded by this

  private SidecarSocket(Path path, int fd, Object identity) {
    this.path = path;
    this.fd = fd;
    this.identity = identity;
  }

  /**
   * Listens.
   *
   * @throws SidecarException if somebody does already, or the path cannot be had
   */
  static SidecarSocket listen(Path path) {
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
      return new SidecarSocket(path, fd, identity(path));
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

  /** The next connection, waited for; null once this is closed. */
  @Nullable
  Connection accept() {
    while (!isClosed()) {
      int accepted = Sockets.accept(fd);
      if (accepted >= 0) {
        return new Connection(accepted);
      }
      if (accepted == -Sockets.EAGAIN) {
        Sockets.poll(fd, Sockets.POLLIN, PATIENCE_MILLIS);
      } else if (!isClosed()) {
        throw new NetException("accept4", -accepted, path.toString());
      }
    }
    Sockets.close(fd);
    return null;
  }

  private synchronized boolean isClosed() {
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
      Sockets.shutdownInput(fd);
    }
  }
}
