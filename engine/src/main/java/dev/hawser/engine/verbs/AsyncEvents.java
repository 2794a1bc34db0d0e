/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.engine.net.Epoll;
import dev.hawser.engine.net.NativeBlock;
import dev.hawser.engine.net.RawMemory;
import dev.hawser.engine.spi.PathSetupException;
import dev.hawser.engine.verbs.abi.GidAttributes;
import dev.hawser.engine.verbs.abi.VerbsAbi;
import dev.hawser.memory.ffi.FileDescriptors;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * The thread that hears of asynchronous events, and tells the connections that they concern: a port that goes down or
 * changes its GID, a queue pair or a device that fails.
 *
 * <p>Source: ibv_get_async_event(3).
 */
final class AsyncEvents implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger("dev.hawser.engine.verbs");
  private static final Duration PATIENCE = Duration.ofSeconds(5);

  /** A connection, as it hears of events; called on the thread of events. */
  interface Listener {
    /** Its queue pair or its completion queue failed. */
    void queuePairFailed(String event);

    /** Its queue pair will not complete one more receive. */
    void lastReceive();

    /** Its port is of no use any more. */
    void portFailed(String what);

    /** Its device is of no use any more, and flushes nothing. */
    void deviceFailed(String what);
  }

  private record Place(VerbsRail rail, Listener listener) {}

  private final List<VerbsDevice> devices;
  private final List<VerbsRail> rails;
  private final Epoll epoll = new Epoll();
  private final Map<Long, Place> places = new ConcurrentHashMap<>(); // by the address of queue pair and completion queue
  private final Thread thread;
  private volatile boolean stopping;

  AsyncEvents(String agent, List<VerbsDevice> devices, List<VerbsRail> rails) {
    this.devices = List.copyOf(devices);
    this.rails = List.copyOf(rails);
    for (VerbsDevice device : devices) {
      int fd = device.context().asyncFd();
      FileDescriptors.nonBlocking(fd);
      epoll.add(fd, Epoll.READ);
    }
    this.thread = Thread.ofPlatform().name("hawser-verbs-events-" + agent).daemon(true).unstarted(this::run);
  }

  void start() {
    thread.start();
  }

  void listen(QueuePair pair, VerbsRail rail, Listener listener) {
    Place place = new Place(rail, listener);
    places.put(pair.address(), place);
    places.put(pair.cq(), place);
  }

  void forget(Listener listener) {
    places.values().removeIf(place -> place.listener().equals(listener));
  }

  private void run() {
    try (NativeBlock event = NativeBlock.map(VerbsAbi.AsyncEvent.BYTES)) {
      while (!stopping) {
        epoll.await(Long.MAX_VALUE);
        for (VerbsDevice device : devices) {
          while (!stopping && device.context().takeAsyncEvent(event.address())) {
            long element = RawMemory.u64(event.address() + VerbsAbi.AsyncEvent.ELEMENT);
            int type = RawMemory.u32(event.address() + VerbsAbi.AsyncEvent.EVENT_TYPE);
            try {
              happened(device, type, element);
            } catch (RuntimeException e) {
              LOG.log(Level.ERROR, "asynchronous event " + name(type) + " of " + device.name(), e);
            } finally {
              device.context().ackAsyncEvent(event.address());
            }
          }
        }
      }
    }
  }

  private void happened(VerbsDevice device, int type, long element) {
    switch (type) {
      case VerbsAbi.EventType.QP_FATAL, VerbsAbi.EventType.QP_REQ_ERR, VerbsAbi.EventType.QP_ACCESS_ERR,
          VerbsAbi.EventType.CQ_ERR -> {
        Place place = places.get(element);
        if (place != null) {
          place.listener().queuePairFailed(name(type));
        }
      }
      case VerbsAbi.EventType.QP_LAST_WQE_REACHED -> {
        Place place = places.get(element);
        if (place != null) {
          place.listener().lastReceive();
        }
      }
      case VerbsAbi.EventType.PORT_ERR, VerbsAbi.EventType.PORT_ACTIVE, VerbsAbi.EventType.GID_CHANGE,
          VerbsAbi.EventType.LID_CHANGE, VerbsAbi.EventType.PKEY_CHANGE -> {
        for (VerbsRail rail : rails) {
          if (rail.device() == device && rail.port() == (int) element) {
            changed(rail, type);
          }
        }
      }
      case VerbsAbi.EventType.DEVICE_FATAL -> {
        LOG.log(Level.ERROR, "verbs: device " + device.name() + " failed (DEVICE_FATAL)");
        each(
            place -> place.rail().device() == device,
            listener -> listener.deviceFailed("device " + device.name() + " failed (DEVICE_FATAL)"));
      }
      default -> LOG.log(Level.DEBUG, "verbs: {0} of {1}", name(type), device.name());
    }
  }

  private void changed(VerbsRail rail, int type) {
    GidAttributes before = rail.gid();
    int lidBefore = rail.attributes().lid();
    String why;
    try {
      rail.refresh();
      boolean moved =
          !before.empty()
              && (before.index() != rail.gid().index()
                  || !Arrays.equals(before.gid(), rail.gid().gid())
                  || lidBefore != rail.attributes().lid());
      if (!moved && type != VerbsAbi.EventType.PORT_ERR) {
        LOG.log(Level.INFO, "verbs: " + name(type) + ": " + rail.describe());
        return;
      }
      why = moved ? "its address changed from " + before + " to " + rail.gid() : "the port went down";
    } catch (PathSetupException e) {
      why = String.valueOf(e.getMessage());
    }
    String what = "asynchronous event " + name(type) + ": " + why;
    LOG.log(Level.WARNING, "verbs: rail " + rail.rail().name() + ": " + what);
    each(place -> place.rail() == rail, listener -> listener.portFailed(what));
  }

  private void each(Predicate<Place> concerned, Consumer<Listener> tell) {
    places.values().stream().filter(concerned).map(Place::listener).distinct().forEach(tell);
  }

  private static String name(int type) {
    return switch (type) {
      case VerbsAbi.EventType.CQ_ERR -> "CQ_ERR";
      case VerbsAbi.EventType.QP_FATAL -> "QP_FATAL";
      case VerbsAbi.EventType.QP_REQ_ERR -> "QP_REQ_ERR";
      case VerbsAbi.EventType.QP_ACCESS_ERR -> "QP_ACCESS_ERR";
      case VerbsAbi.EventType.DEVICE_FATAL -> "DEVICE_FATAL";
      case VerbsAbi.EventType.PORT_ACTIVE -> "PORT_ACTIVE";
      case VerbsAbi.EventType.PORT_ERR -> "PORT_ERR";
      case VerbsAbi.EventType.LID_CHANGE -> "LID_CHANGE";
      case VerbsAbi.EventType.PKEY_CHANGE -> "PKEY_CHANGE";
      case VerbsAbi.EventType.GID_CHANGE -> "GID_CHANGE";
      case VerbsAbi.EventType.QP_LAST_WQE_REACHED -> "QP_LAST_WQE_REACHED";
      default -> "event " + type;
    };
  }

  /** Ends the thread. The devices are closed after. */
  @Override
  public void close() {
    stopping = true;
    epoll.wakeUp();
    boolean interrupted = false;
    boolean ended = !thread.isAlive();
    while (!ended) {
      try {
        ended = thread.join(PATIENCE);
        if (!ended) {
          LOG.log(Level.WARNING, thread.getName() + " does not end; it is left behind");
          return;
        }
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    epoll.close();
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
