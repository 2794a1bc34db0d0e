/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import dev.hawser.engine.net.Epoll;
import dev.hawser.engine.net.Sockets;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.PriorityQueue;
import org.jspecify.annotations.Nullable;

/**
 * The one thread on which every listener and every handshake of an agent runs: none of them waits for another. It sleeps
 * without a timer while nothing is going on.
 */
final class BootstrapLoop implements AutoCloseable {
  private static final Duration JOIN = Duration.ofSeconds(5);

  /** Whoever watches a descriptor. */
  interface Handler {
    /** The descriptor is ready for something that was asked for, or has failed. */
    void ready();

    /** Nothing follows: the descriptor is to be closed. */
    default void loopEnds(int fd) {
      Sockets.close(fd);
    }
  }

  /** A deadline. */
  static final class Timer implements Comparable<Timer> {
    private final long at;
    private @Nullable Runnable action;

    private Timer(long at, Runnable action) {
      this.at = at;
      this.action = action;
    }

    @Override
    public int compareTo(Timer other) {
      return Long.signum(at - other.at);
    }
  }

  private final Arena arena = Arena.ofShared();
  private final MemorySegment scratch = arena.allocate(Frame.HEADER_BYTES + Frame.MAX_PAYLOAD_BYTES, Long.BYTES);
  private final Epoll epoll = new Epoll();
  private final Deque<Runnable> tasks = new ArrayDeque<>(); // guarded by itself
  private final Map<Integer, Handler> handlers = new HashMap<>();
  private final PriorityQueue<Timer> timers = new PriorityQueue<>();
  private final Thread thread;
  private volatile boolean closing;
  private boolean ended; // guarded by tasks

  BootstrapLoop(String name) {
    this.thread = Thread.ofPlatform().name(name).daemon(true).unstarted(this::run);
  }

  void start() {
    thread.start();
  }

  /** Runs something on the loop's thread. Any thread; false if the loop has ended, and then it will not run. */
  boolean execute(Runnable task) {
    synchronized (tasks) {
      if (ended) {
        return false;
      }
      tasks.add(task);
    }
    epoll.wakeUp();
    return true;
  }

  MemorySegment scratch() {
    return scratch;
  }

  void watch(int fd, int interest, Handler handler) {
    handlers.put(fd, handler);
    epoll.add(fd, interest);
  }

  void interest(int fd, int interest) {
    epoll.modify(fd, interest);
  }

  void unwatch(int fd) {
    if (handlers.remove(fd) != null) {
      epoll.remove(fd);
    }
  }

  Timer after(long nanos, Runnable action) {
    Timer timer = new Timer(System.nanoTime() + nanos, action);
    timers.add(timer);
    return timer;
  }

  void cancel(@Nullable Timer timer) {
    if (timer != null && timer.action != null) {
      timer.action = null;
      timers.remove(timer);
    }
  }

  private void run() {
    while (!closing) {
      int ready = epoll.await(untilNextTimer());
      for (int i = 0; i < ready; i++) {
        Handler handler = handlers.get(epoll.readyFd(i));
        // Null if an earlier one of this round let the descriptor go.
        if (handler != null) {
          guarded(handler::ready);
        }
      }
      runTimers();
      runTasks();
    }
    // Whoever was told that a task will run must be right.
    boolean more = true;
    while (more) {
      runTasks();
      synchronized (tasks) {
        more = !tasks.isEmpty();
        ended = !more;
      }
    }
    // Last words that nobody has taken yet, and probes: no descriptor outlives its handler.
    Map.copyOf(handlers).forEach((fd, handler) -> guarded(() -> handler.loopEnds(fd)));
  }

  private long untilNextTimer() {
    synchronized (tasks) {
      if (!tasks.isEmpty()) {
        return 0;
      }
    }
    Timer next = timers.peek();
    return next == null ? Long.MAX_VALUE : Math.max(0, next.at - System.nanoTime());
  }

  private void runTimers() {
    long now = System.nanoTime();
    for (Timer next = timers.peek(); next != null && next.at - now <= 0; next = timers.peek()) {
      timers.remove();
      Runnable action = next.action;
      next.action = null;
      if (action != null) {
        guarded(action);
      }
    }
  }

  private void runTasks() {
    while (true) {
      Runnable task;
      synchronized (tasks) {
        task = tasks.poll();
      }
      if (task == null) {
        return;
      }
      guarded(task);
    }
  }

  private static void guarded(Runnable action) {
    try {
      action.run();
    } catch (RuntimeException e) {
      LimitedLog.bug("the bootstrap goes on after a mistake in a handshake", e);
    }
  }

  /** Runs what is queued, then ends the thread. Not to be called on it. */
  @Override
  public void close() {
    closing = true;
    if (thread.getState() == Thread.State.NEW) {
      thread.start();
    }
    epoll.wakeUp();
    boolean interrupted = false;
    boolean joined = false;
    try {
      joined = thread.join(JOIN);
    } catch (InterruptedException e) {
      interrupted = true;
    }
    if (joined) {
      epoll.close();
      arena.close();
    } else {
      // Its memory is left to it: freeing it now could end the process.
      LimitedLog.bug("thread " + thread.getName() + " did not end in " + JOIN, new IllegalStateException());
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
