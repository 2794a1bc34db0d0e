/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import dev.hawser.memory.ffi.NativeLibrary;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A thread that is inside one downcall for each segment that it keeps, and sleeps there.
 *
 * <p>The function that it calls is an upcall stub to {@link #inside}, which makes the next call, or parks: no C code is
 * needed, and the thread can be woken by {@link LockSupport}.
 */
final class ArenaKeeper extends Thread {
  private static final long STACK_BYTES = 512 << 10; // 64 nested calls use less than a tenth of it
  private static final long PATIENCE_SECONDS = 30;
  private static final MethodHandle CALL = call();

  private final List<MemorySegment> segments;
  private final CountDownLatch settled = new CountDownLatch(1);
  private int depth; // this thread's
  private volatile @Nullable Throwable failure;
  private volatile boolean released;

  private ArenaKeeper(List<MemorySegment> segments) {
    super(null, null, "hawser-arena-keeper", STACK_BYTES, false);
    setDaemon(true);
    this.segments = List.copyOf(segments);
  }

  /**
   * Starts a keeper, and returns when it keeps every segment.
   *
   * @throws InvalidMemoryException if the arena of one is closed
   */
  static ArenaKeeper start(List<MemorySegment> segments) {
    ArenaKeeper keeper = new ArenaKeeper(segments);
    if (segments.isEmpty()) {
      return keeper;
    }
    keeper.start();
    await(keeper.settled);
    Throwable failure = keeper.failure;
    if (failure instanceof IllegalStateException) {
      throw new InvalidMemoryException("segment", "its arena is closed; register memory whose arena is open");
    }
    if (failure != null) {
      throw new RegistrationException("cannot keep an arena open: " + failure, failure);
    }
    return keeper;
  }

  /** Lets every arena go, and returns when they can be closed. */
  void letGo() {
    released = true;
    LockSupport.unpark(this);
    boolean interrupted = false;
    while (isAlive()) {
      try {
        if (!join(java.time.Duration.ofSeconds(PATIENCE_SECONDS))) {
          throw new RegistrationException("the thread that keeps an arena open did not end: the JVM is stalled");
        }
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void run() {
    descend();
    settled.countDown(); // after a failure nobody else would
  }

  /** What the downcall calls. A throwable that left it would end the JVM. */
  @SuppressWarnings("unused") // by CALL
  private static void inside(MemorySegment ignored) {
    if (Thread.currentThread() instanceof ArenaKeeper keeper) {
      keeper.descend();
    }
  }

  private void descend() {
    try {
      if (depth < segments.size()) {
        MemorySegment next = segments.get(depth);
        depth++;
        CALL.invokeExact(next);
      } else {
        settled.countDown();
        while (!released) {
          LockSupport.park(this);
        }
      }
    } catch (Throwable t) {
      failure = t;
    }
  }

  private static void await(CountDownLatch latch) {
    boolean interrupted = false;
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
    while (true) {
      try {
        if (!latch.await(deadline - System.nanoTime(), TimeUnit.NANOSECONDS)) {
          throw new RegistrationException("the thread that keeps an arena open did not start: the JVM is stalled");
        }
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  @SuppressWarnings("restricted") // a stub of our own, for the life of the process
  private static MethodHandle call() {
    FunctionDescriptor type = FunctionDescriptor.ofVoid(ValueLayout.ADDRESS);
    try {
      MethodHandle target =
          MethodHandles.lookup()
              .findStatic(ArenaKeeper.class, "inside", MethodType.methodType(void.class, MemorySegment.class));
      return NativeLibrary.at(Linker.nativeLinker().upcallStub(target, type, Arena.global()), type);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }
}
