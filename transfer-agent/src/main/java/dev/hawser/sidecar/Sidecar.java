/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.sidecar;

import dev.hawser.agent.AwaitTimeoutException;
import dev.hawser.agent.PreparedTransfer;
import dev.hawser.agent.TransferException;
import dev.hawser.capi.Functions;
import dev.hawser.engine.net.Sockets;
import dev.hawser.memory.DeviceMemory;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.cuda.Cuda;
import dev.hawser.memory.gpu.GpuMemory;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Duration;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.util.List;
import java.util.TimeZone;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ThreadFactory;
import java.util.function.Supplier;

/**
 * Serves workers at a Unix socket: each has agents here, as if the engine ran in its own process. Only processes of the
 * same user may connect. What a worker made ends with it, however that ended. Thread-safe.
 */
public final class Sidecar implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(Sidecar.class.getName());
  private static final Duration GOODBYE = Duration.ofSeconds(10);

  private final Functions functions;
  private final Sessions sessions;
  private final Supplier<GpuMemory> gpus;
  private final SidecarSocket socket;
  private final ThreadFactory threads;
  private final CompletableFuture<RuntimeException> failure = new CompletableFuture<>();
  private final Thread acceptor;

  private Sidecar(SidecarSocket socket, ThreadFactory threads, Functions functions, Supplier<GpuMemory> gpus) {
    this.functions = functions;
    this.sessions = new Sessions(functions);
    this.gpus = gpus;
    this.socket = socket;
    this.threads = threads;
    acceptor = Thread.ofPlatform().name("hawser-workers").daemon().unstarted(this::accept);
  }

  /**
   * Listens at a path, with mode 0600. One that was left by a sidecar that is not there any more is taken over.
   *
   * @throws SidecarException if another one listens there, or the path cannot be had
   */
  public static Sidecar start(Path path) {
    return start(SidecarSocket.listen(path), workers());
  }

  /**
   * As {@link #start(Path)}, with other GPUs than those of this machine's driver: for tests, where there are none.
   *
   * @param gpus what a driver's binding gives
   */
  public static Sidecar start(Path path, DeviceMemory gpus) {
    Functions functions = new Functions(() -> MemoryRegistry.builder().allocations(gpus.kind(), gpus).build());
    return start(SidecarSocket.listen(path), workers(), functions, () -> (GpuMemory) gpus);
  }

  private static ThreadFactory workers() {
    return Thread.ofPlatform().name("hawser-worker-", 1).daemon().factory();
  }

  /** Serves a socket, with these threads. */
  static Sidecar start(SidecarSocket socket, ThreadFactory threads) {
    return start(socket, threads, new Functions(), Cuda::memory);
  }

  private static Sidecar start(
      SidecarSocket socket, ThreadFactory threads, Functions functions, Supplier<GpuMemory> gpus) {
    Sidecar sidecar = new Sidecar(socket, threads, functions, gpus);
    sidecar.loadWhatServes();
    sidecar.acceptor.start();
    return sidecar;
  }

  /** A class whose file cannot be opened, for too many are open, is missing for good: those of the first worker and log line. */
  private void loadWhatServes() {
    LOG.log(Level.DEBUG, "{0} {1}", TimeZone.getDefault(), ZonedDateTime.now(ZoneId.systemDefault()));
    int[] ends = Sockets.pair();
    try (Connection connection = new Connection(ends[0])) {
      sessions.came(connection);
      Sockets.close(ends[1]);
      new Attendant(connection, sessions, functions, gpus).run(); // who hangs up at once
    }
  }

  /**
   * Why no further workers are let in, if it comes to that: whoever started this should end it then, and start another.
   * What merely passes, such as too many open files, is waited for, and no failure.
   */
  public CompletionStage<RuntimeException> failure() {
    return failure.minimalCompletionStage();
  }

  private void accept() {
    try {
      while (true) {
        Connection connection = socket.accept();
        if (connection == null) {
          return;
        }
        sessions.came(connection);
        if (!attend(connection)) {
          connection.close();
          sessions.gone(connection);
        }
      }
    } catch (Throwable t) { // whatever it is: one that lets nobody in must not seem to be well
      // Not logged first: where even a file is not to be had, that may fail, too.
      failure.complete(new SidecarException("no further workers are let in (" + t + "): start the agent again", t));
      socket.close();
      LOG.log(Level.ERROR, "no further workers are let in", t);
    }
  }

  /** Starts the thread of a connection, as soon as there can be one; false if this is closed first. */
  private boolean attend(Connection connection) {
    while (!socket.isClosed()) {
      try {
        threads.newThread(new Attendant(connection, sessions, functions, gpus)).start();
        return true;
      } catch (OutOfMemoryError e) { // Linux has no thread, or no memory for its stack
        socket.pause(String.valueOf(e.getMessage()));
      }
    }
    return false;
  }

  /**
   * Takes the path away, so that nobody else connects, and lets workers begin nothing; then waits until the transfers that
   * they have posted have ended. What peers do with the memory of theirs is not known here.
   *
   * @param most for how long
   * @return how many transfers had not ended then
   */
  public int drain(Duration most) {
    sessions.drain();
    socket.remove();
    long deadline = System.nanoTime() + most.toNanos();
    while (true) {
      List<PreparedTransfer> underWay = functions.transfersUnderWay();
      if (underWay.isEmpty()) {
        return 0;
      }
      long left = deadline - System.nanoTime();
      if (left <= 0) {
        return underWay.size();
      }
      try {
        underWay.getFirst().await(Duration.ofNanos(left));
      } catch (TransferException e) {
        // An end, too.
      } catch (AwaitTimeoutException e) {
        return functions.transfersUnderWay().size();
      }
    }
  }

  /** Takes the path away, hangs up on all workers, and closes their agents. Idempotent. */
  @Override
  public void close() {
    sessions.drain();
    socket.remove();
    socket.close();
    try {
      acceptor.join(GOODBYE);
      if (!sessions.end(GOODBYE.toNanos())) {
        LOG.log(Level.WARNING, "some calls of workers have not ended within {0} s", GOODBYE.toSeconds());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
