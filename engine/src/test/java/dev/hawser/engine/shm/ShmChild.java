/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import dev.hawser.engine.net.InetEndpoint;
import dev.hawser.engine.net.Sockets;
import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.ConnectionEvents;
import dev.hawser.engine.spi.DataRequest;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.PathSetup;
import dev.hawser.engine.spi.Reachability;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.spi.TransportContext;
import dev.hawser.engine.spi.TransportProvider;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.engine.testkit.TestStream;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/** The other process of {@link ShmProcessesTest}: plays one part and says on standard output how it goes. */
final class ShmChild {
  static final PathKey KEY = new PathKey(1, 1);
  static final long BYTES = 64L << 20;

  private ShmChild() {}

  /** The part, then what it needs. */
  public static void main(String[] arguments) {
    switch (arguments[0]) {
      case "serve" -> serve(Integer.parseInt(arguments[1]), arguments[2].equals("mapped"));
      case "hammer" -> hammer(Integer.parseInt(arguments[1]));
      case "ask" -> ask(HexFormat.of().parseHex(arguments[1]));
      default -> throw new IllegalArgumentException(arguments[0]);
    }
  }

  private static void say(String what) {
    System.out.println(what);
    System.out.flush();
  }

  private static int dial(int port) {
    InetEndpoint parent = InetEndpoint.of("127.0.0.1", port);
    int fd = Sockets.stream(parent);
    Sockets.connect(fd, parent);
    if ((Sockets.poll(fd, Sockets.POLLOUT, 30_000) & Sockets.POLLOUT) == 0) {
      throw new AssertionError("not connected");
    }
    return fd;
  }

  /** Whether a process can be reached from here. */
  private static void ask(byte[] description) {
    try (MemoryRegistry registry = MemoryRegistry.create()) {
      TransportContext context = new TransportContext(registry, "child", 1, List.of("127.0.0.1"), Map.of());
      switch (new ShmTransportProvider().create(context)) {
        case TransportProvider.Outcome.Present(var transport) -> {
          say(
              switch (transport.reach(description)) {
                case Reachability.Reachable reachable -> "reachable";
                case Reachability.Unreachable(String reason) -> reason;
              });
          transport.close();
        }
        case TransportProvider.Outcome.Absent(String reason) -> say("absent: " + reason);
      }
    }
  }

  /** Target: lends memory, and on each message says whether it holds the pattern that the message names. */
  private static void serve(int port, boolean mapped) {
    MemoryRegistry registry = MemoryRegistry.create();
    ShmTransport transport = PathRig.transport(registry, Map.of());
    Region region =
        mapped
            ? registry.allocate(BYTES, Access.REMOTE_READ_WRITE)
            : registry.register(Arena.global().allocate(BYTES, 64), Access.REMOTE_READ_WRITE);
    int fd = dial(port);
    Wire.send(fd, transport.description());
    byte[] offer = Wire.receive(fd);
    PathSetup setup = transport.accept("shm", "peer", KEY, offer);
    Wire.send(fd, setup.message());
    Wire.send(fd, Wire.encode(region));
    Connection connection = setup.connect(offer, new TestStream(fd));
    boolean[] over = new boolean[1];
    ConnectionEvents events =
        new ConnectionEvents() {
          @Override
          public void completed(Connection from, long workId, WorkStatus status, long detail) {}

          @Override
          public void flushArrived(Connection from, long transfer, boolean abort) {
            say("flush " + transfer + " " + abort);
          }

          @Override
          public void received(Connection from, ByteBuffer message) {
            long offset = message.getLong();
            long bytes = message.getLong();
            long seed = message.getLong();
            MemorySegment held = region.segment().asSlice(offset, bytes);
            say("mismatch " + Pattern.mismatch(held, offset, seed));
            Pattern.fill(held, seed + 1);
            from.postMessage(0, ByteBuffer.allocate(8));
            from.flushPosted();
          }

          @Override
          public void failed(Connection from, PathFault fault) {
            say("fault " + fault);
            from.abort();
            over[0] = true;
          }
        };
    while (!over[0] || !connection.drained()) {
      connection.poll(events);
      Thread.onSpinWait();
    }
    connection.close();
    transport.close();
    registry.close();
    say("end");
  }

  /** Initiator: writes its whole region into the parent's, again and again, as long as it may. */
  private static void hammer(int port) {
    MemoryRegistry registry = MemoryRegistry.create();
    ShmTransport transport = PathRig.transport(registry, Map.of());
    Region here = registry.allocate(BYTES, Access.LOCAL);
    int fd = dial(port);
    byte[] description = Wire.receive(fd);
    PathSetup setup =
        transport.initiate(new Reachability.Route(transport.rails().getFirst(), "shm"), "peer", KEY, description);
    Wire.send(fd, setup.message());
    byte[] answer = Wire.receive(fd);
    RemoteRegion[] there = {Wire.decode(Wire.receive(fd)), Wire.decode(Wire.receive(fd))};
    Connection connection = setup.connect(answer, new TestStream(fd));
    TransferPlan[] plans = new TransferPlan[there.length];
    for (int i = 0; i < plans.length; i++) {
      plans[i] =
          new TransferPlan(
              BlockPairs.of(BlockList.of(here.address(), BYTES), BlockList.of(there[i].address(), BYTES)),
              new Region[] {here},
              there);
    }
    Recorder events = new Recorder();
    DataRequest request = new DataRequest();
    here.segment().fill((byte) 0x11);
    long rounds = 0;
    while (events.faults.isEmpty()) {
      if (connection.postData(
          1, request.set(DataRequest.Op.WRITE, 1, 0, plans[(int) (rounds % 2)], 0, BYTES))) {
        rounds++;
      }
      connection.poll(events);
      events.completed.clear();
    }
    say("fault " + events.faults.getFirst());
    // It goes on trying: nothing may be stored any more.
    for (int i = 0; i < 100_000; i++) {
      if (connection.postData(2, request.set(DataRequest.Op.WRITE, 1, 0, plans[0], 0, 8))) {
        say("stored");
      }
      connection.poll(events);
    }
    connection.abort();
    while (!connection.drained()) {
      connection.poll(events);
    }
    connection.close();
    transport.close();
    registry.close();
    say("end");
  }
}
