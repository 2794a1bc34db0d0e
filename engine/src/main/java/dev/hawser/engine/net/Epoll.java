/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.net;

import static dev.hawser.memory.ffi.SystemCalls.systemCall;

import dev.hawser.engine.spi.WaitSet;
import dev.hawser.memory.ffi.Errno;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * An epoll instance with a descriptor by which other threads wake the sleeper. Level-triggered.
 *
 * <p>One thread sleeps in {@link #await}; {@link #wakeUp} may be called by any thread and is free of system calls while
 * nobody sleeps. {@link #await} allocates nothing.
 *
 * <p>Source: epoll(7), epoll_wait(2), eventfd(2).
 */
public final class Epoll implements WaitSet, AutoCloseable {
  /** Descriptors that one {@link #await} reports at most; the others are reported by the next. */
  public static final int MAX_READY = 64;

  private static final int EPOLL_CLOEXEC = 0x80000;
  private static final int EFD_NONBLOCK = 0x800;
  private static final int EFD_CLOEXEC = 0x80000;
  private static final int CTL_ADD = 1;
  private static final int CTL_DEL = 2;
  private static final int CTL_MOD = 3;

  // struct epoll_event is packed on x86-64 only: sys/epoll.h.
  private static final boolean PACKED = System.getProperty("os.arch").equals("amd64");
  private static final int EVENT_BYTES = PACKED ? 12 : 16;
  private static final int DATA_OFFSET = PACKED ? 4 : 8;
  private static final ValueLayout.OfInt U32 = ValueLayout.JAVA_INT_UNALIGNED;

  // Set for good when the kernel turns out to be older than the C library.
  private static final AtomicBoolean NO_PWAIT2 = new AtomicBoolean(EpollBindings.EPOLL_PWAIT2 == null);

  private static final int AWAKE = 0;
  private static final int ASLEEP = 1;
  private static final int NOTIFIED = 2;
  private static final int CLOSED = 3;

  private final Arena arena = Arena.ofShared();
  private final MemorySegment events = arena.allocate((long) EVENT_BYTES * MAX_READY, Long.BYTES);
  private final MemorySegment control = arena.allocate(EVENT_BYTES, Long.BYTES);
  private final MemorySegment timespec = arena.allocate(16, Long.BYTES);
  private final MemorySegment counter = arena.allocate(8, Long.BYTES);
  private final MemorySegment one = arena.allocateFrom(ValueLayout.JAVA_LONG, 1L);
  private final long eventsAddress = events.address();
  private final long timespecAddress = timespec.address();
  private final long counterAddress = counter.address();
  private final long oneAddress = one.address();
  private final AtomicInteger state = new AtomicInteger(AWAKE);
  private final int epoll;
  private final int eventFd;
  private int ready;

  /** A new instance. */
  public Epoll() {
    this.epoll = create();
    this.eventFd = createEventFd(epoll);
    add(eventFd, READ);
  }

  @Override
  public void add(int fd, int interest) {
    control(CTL_ADD, fd, interest);
  }

  @Override
  public void modify(int fd, int interest) {
    control(CTL_MOD, fd, interest);
  }

  @Override
  public void remove(int fd) {
    control(CTL_DEL, fd, 0);
  }

  /**
   * Sleeps until a descriptor is ready, {@link #wakeUp} is called, or the time is over. A wake-up that came since the
   * last return ends it at once.
   *
   * @param timeoutNanos at most how long; 0 only asks; {@link Long#MAX_VALUE} sets no limit. Rounded up to milliseconds
   *     where the kernel lacks {@code epoll_pwait2}
   * @return how many descriptors are ready, see {@link #readyFd}; 0 after a wake-up or when the time is over
   */
  public int await(long timeoutNanos) {
    ready = 0;
    boolean asleep = state.compareAndSet(AWAKE, ASLEEP);
    int n;
    try {
      n = waitFor(asleep ? timeoutNanos : 0);
    } finally {
      state.set(AWAKE);
    }
    ready = take(n);
    return ready;
  }

  /** The descriptor at {@code index} of those that the last {@link #await} found ready. */
  public int readyFd(int index) {
    return events.get(U32, offset(index) + DATA_OFFSET);
  }

  /** True if that descriptor can be read, has failed or was hung up. */
  public boolean readable(int index) {
    return (events.get(U32, offset(index)) & ~WRITE) != 0;
  }

  /** True if that descriptor can be written, or has failed or was hung up. */
  public boolean writable(int index) {
    return (events.get(U32, offset(index)) & ~READ) != 0;
  }

  private long offset(int index) {
    if (index < 0 || index >= ready) {
      throw new IndexOutOfBoundsException(index + " of " + ready + " ready descriptors");
    }
    return (long) index * EVENT_BYTES;
  }

  /** Ends the present or the next {@link #await}. */
  public void wakeUp() {
    int before = state.get();
    while (before < NOTIFIED && !state.compareAndSet(before, NOTIFIED)) {
      before = state.get();
    }
    if (before == ASLEEP) {
      MemorySegment errno = Errno.capture();
      long n = systemCall(SocketBindings.WRITE, errno, eventFd, oneAddress, 8L);
      // EAGAIN: the counter is full, so the sleeper is woken anyway.
      if (n < 0 && Errno.of(errno) != Errno.EAGAIN) {
        throw new NetException("write", Errno.of(errno), "eventfd " + eventFd);
      }
    }
  }

  /** Closes it; by the thread that sleeps in it, or after that thread's end. */
  @Override
  public void close() {
    if (state.getAndSet(CLOSED) == CLOSED) {
      return;
    }
    Sockets.close(eventFd);
    Sockets.close(epoll);
    arena.close();
  }

  /** Drops our own wake-up descriptor from the events and empties it. */
  private int take(int n) {
    for (int i = 0; i < n; i++) {
      long at = (long) i * EVENT_BYTES;
      if (events.get(U32, at + DATA_OFFSET) == eventFd) {
        drainEventFd();
        long last = (long) (n - 1) * EVENT_BYTES;
        events.set(U32, at, events.get(U32, last));
        events.set(U32, at + DATA_OFFSET, events.get(U32, last + DATA_OFFSET));
        return n - 1;
      }
    }
    return n;
  }

  private void drainEventFd() {
    MemorySegment errno = Errno.capture();
    long n = systemCall(SocketBindings.READ, errno, eventFd, counterAddress, 8L);
    if (n < 0 && Errno.of(errno) != Errno.EAGAIN) {
      throw new NetException("read", Errno.of(errno), "eventfd " + eventFd);
    }
  }

  private int waitFor(long nanos) {
    MethodHandle pwait2 = EpollBindings.EPOLL_PWAIT2;
    MemorySegment errno = Errno.capture();
    int n;
    if (pwait2 != null && !NO_PWAIT2.get()) {
      long limit = 0;
      if (nanos != Long.MAX_VALUE) {
        timespec.set(ValueLayout.JAVA_LONG, 0, nanos / 1_000_000_000L);
        timespec.set(ValueLayout.JAVA_LONG, 8, nanos % 1_000_000_000L);
        limit = timespecAddress;
      }
      n = (int) systemCall(pwait2, errno, epoll, eventsAddress, MAX_READY, limit, 0L);
      if (n < 0 && Errno.of(errno) == Errno.ENOSYS) {
        NO_PWAIT2.set(true);
        return waitFor(nanos);
      }
    } else {
      n = (int) systemCall(EpollBindings.EPOLL_WAIT, errno, epoll, eventsAddress, MAX_READY, millis(nanos));
    }
    if (n < 0) {
      if (Errno.of(errno) == Errno.EINTR) {
        return 0;
      }
      throw new NetException("epoll_wait", Errno.of(errno), "epoll " + epoll);
    }
    return n;
  }

  private static int millis(long nanos) {
    if (nanos == Long.MAX_VALUE) {
      return -1;
    }
    long millis = nanos / 1_000_000 + (nanos % 1_000_000 == 0 ? 0 : 1);
    return (int) Math.min(millis, Integer.MAX_VALUE);
  }

  private void control(int operation, int fd, int interest) {
    control.set(U32, 0, interest);
    control.set(U32, DATA_OFFSET, fd);
    control(epoll, operation, fd, control.address());
  }

  private static void control(int epoll, int operation, int fd, long event) {
    MemorySegment errno = Errno.capture();
    int rc = (int) systemCall(EpollBindings.EPOLL_CTL, errno, epoll, operation, fd, event);
    if (rc < 0) {
      throw new NetException("epoll_ctl", Errno.of(errno), "fd " + fd);
    }
  }

  private static int create() {
    MemorySegment errno = Errno.capture();
    int fd = (int) systemCall(EpollBindings.EPOLL_CREATE1, errno, EPOLL_CLOEXEC);
    if (fd < 0) {
      throw new NetException("epoll_create1", Errno.of(errno), "");
    }
    return fd;
  }

  private static int createEventFd(int epoll) {
    MemorySegment errno = Errno.capture();
    int fd = (int) systemCall(EpollBindings.EVENTFD, errno, 0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd < 0) {
      int why = Errno.of(errno);
      Sockets.close(epoll);
      throw new NetException("eventfd", why, "");
    }
    return fd;
  }
}
