/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import dev.hawser.agent.Agent;
import dev.hawser.agent.Blocks;
import dev.hawser.agent.CounterFuture;
import dev.hawser.agent.Grant;
import dev.hawser.agent.LentBlocks;
import dev.hawser.agent.NameInUseException;
import dev.hawser.agent.Notification;
import dev.hawser.agent.Operation;
import dev.hawser.agent.Peer;
import dev.hawser.agent.PeerMetadataException;
import dev.hawser.agent.PreparedTransfer;
import dev.hawser.agent.TransferException;
import dev.hawser.agent.TransferFuture;
import dev.hawser.agent.TransferHandle;
import dev.hawser.agent.TransferOptions;
import dev.hawser.agent.TransferResult;
import dev.hawser.agent.UnresolvedBlocksException;
import dev.hawser.agent.config.HawserConfig;
import dev.hawser.agent.config.Secret;
import dev.hawser.engine.EngineException;
import dev.hawser.engine.TransferEnd.Cause;
import dev.hawser.engine.testkit.TruncatedFile;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.Region;
import dev.hawser.memory.ffi.PageMappings;
import dev.hawser.metadata.MetadataConfig;
import dev.hawser.metadata.MetadataService;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class OneProcessTest {
  private static final Duration LONG = Duration.ofSeconds(20);
  private static final String TRANSPORTS = "dev.hawser.agent.endtoend.Transports#all";

  private static HawserConfig.Builder settings(String name, String transport) {
    return HawserConfig.builder().environment(Map.of()).name(name).transports(transport);
  }

  private static Agent start(String name, String transport) {
    return Agent.builder(settings(name, transport).build()).start();
  }

  private static Agent start(String name, String transport, MetadataService service) {
    return Agent.builder(settings(name, transport).metadata(service.uri().toString()).build()).start();
  }

  private static byte pattern(long position, int seed) {
    long mixed = (position + 1) * 0x9E3779B97F4A7C15L + seed * 0xD1B54A32D192ED03L;
    return (byte) (mixed >>> 56 ^ mixed >>> 24);
  }

  private static void fill(Region region, int seed) {
    for (long i = 0; i < region.length(); i++) {
      region.segment().set(ValueLayout.JAVA_BYTE, i, pattern(i, seed));
    }
  }

  private static byte at(Region region, long offset) {
    return region.segment().get(ValueLayout.JAVA_BYTE, offset);
  }

  @ParameterizedTest
  @MethodSource(TRANSPORTS)
  void writesReadsAndNotifies(String transport) {
    try (Agent here = start("here", transport); Agent there = start("there", transport)) {
      Region ours = here.allocate("pool", 3 << 20);
      Region theirs = there.allocate("pool", 3 << 20);
      Peer peer = here.addPeer(there.metadata());
      peer.awaitConnected(LONG);
      fill(ours, 1);

      TransferResult result = here.write(Blocks.of(ours), peer, peer.region("pool").blocks(),
          TransferOptions.notifying("all of it".getBytes(StandardCharsets.UTF_8)).requestId("r-1")).await(LONG);
      Notification notification = there.awaitNotification(LONG);

      assertThat(result.bytes()).isEqualTo(3 << 20);
      assertThat(notification.text()).isEqualTo("all of it");
      assertThat(notification.requestId()).isEqualTo("r-1");
      assertThat(notification.peer()).isEqualTo("here");
      assertThat(theirs.segment().mismatch(ours.segment())).isEqualTo(-1);

      fill(theirs, 2);
      here.read(Blocks.of(ours), peer, peer.region("pool").blocks()).await(LONG);
      assertThat(ours.segment().mismatch(theirs.segment())).isEqualTo(-1);
      here.notify(peer, new byte[4096]).await(LONG);
      assertThat(there.awaitNotification(LONG).payload()).hasSize(4096);
      here.notify(peer, new byte[0]).await(LONG);
      assertThat(there.awaitNotification(LONG).payload()).isEmpty();
      assertThat(peer.paths()).isNotEmpty().allSatisfy(path -> assertThat(path.transport()).isEqualTo(transport));
    }
  }

  /** Freed behind its region: whoever asks is told of which memory, each time and at once, and all else goes on. */
  @ParameterizedTest
  @MethodSource(TRANSPORTS)
  void memoryThatIsGoneFailsItsTransfersWithItsRegion(String transport) {
    int bytes = 1 << 20;
    // Pages that nobody may touch stand for those that were freed: nothing else comes to lie there.
    long freed = PageMappings.map(bytes, 0, PageMappings.MAP_PRIVATE | PageMappings.MAP_ANONYMOUS, -1, 0);
    try (Agent here = start("here", transport); Agent there = start("there", transport)) {
      Region ours = here.allocate("pool", bytes);
      Region lost = here.register("lost", freed, bytes, Access.LOCAL);
      there.allocate("pool", bytes);
      Region gone = there.register("gone", freed, bytes, Access.REMOTE_READ_WRITE);
      Peer peer = here.addPeer(there.metadata());
      BlockList pool = peer.region("pool").blocks();
      BlockList remote = peer.region("gone").blocks();

      for (int round = 0; round < 3; round++) {
        for (Operation operation : Operation.values()) {
          refusedForItsMemory(here.prepare(operation, Blocks.of(ours), peer, remote), Cause.REMOTE_ACCESS, gone,
              "at there");
          if (transport.equals("tcp")) { // others copy it themselves, as the program would
            refusedForItsMemory(here.prepare(operation, Blocks.of(lost), peer, pool), Cause.LOCAL_ACCESS, lost, "");
          }
          here.prepare(operation, Blocks.of(ours), peer, pool).notification(new byte[] {1}).postAndAwait(LONG);
          assertThat(there.awaitNotification(LONG).payload()).containsExactly(1);
        }
      }
      lost.close(LONG);
      gone.close(LONG);
    }
    PageMappings.unmap(freed, bytes);
  }

  /** A file that is mapped and registered, and cut off by somebody: as above, on both sides, and long before any deadline. */
  @ParameterizedTest
  @MethodSource(TRANSPORTS)
  void aFileThatWasTruncatedFailsItsTransfersWithItsRegion(String transport) {
    int bytes = 1 << 20;
    try (TruncatedFile file = new TruncatedFile(bytes);
        Agent here = start("here", transport);
        Agent there = start("there", transport)) {
      Region ours = here.allocate("pool", bytes);
      Region lost = here.register("lost", file.address(), bytes, Access.LOCAL);
      there.allocate("pool", bytes);
      Region gone = there.register("gone", file.address(), bytes, Access.REMOTE_READ_WRITE);
      Peer peer = here.addPeer(there.metadata());
      BlockList pool = peer.region("pool").blocks();
      BlockList remote = peer.region("gone").blocks();
      here.prepare(Operation.WRITE, Blocks.of(lost), peer, remote).postAndAwait(LONG);
      file.cut(8192);

      long start = System.nanoTime();
      for (int round = 0; round < 20; round++) {
        for (Operation operation : Operation.values()) {
          refusedForItsMemory(here.prepare(operation, Blocks.of(ours), peer, remote), Cause.REMOTE_ACCESS, gone,
              "at there");
          refusedForItsMemory(here.prepare(operation, Blocks.of(lost), peer, pool), Cause.LOCAL_ACCESS, lost, "");
        }
        here.prepare(Operation.WRITE, Blocks.of(ours), peer, pool).notification(new byte[] {1}).postAndAwait(LONG);
        assertThat(there.awaitNotification(LONG).payload()).containsExactly(1);
      }
      assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(LONG);
      lost.close(LONG);
      gone.close(LONG);
    }
  }

  private static void refusedForItsMemory(PreparedTransfer transfer, Cause cause, Region region, String where) {
    assertThatThrownBy(() -> transfer.notification(new byte[] {9}).postAndAwait(LONG))
        .isInstanceOfSatisfying(TransferException.class,
            failed -> assertThat(failed.failure()).as(failed.getMessage()).isEqualTo(cause))
        .hasMessageContaining("the memory of region " + Integer.toUnsignedString(region.id()))
        .hasMessageContaining(where)
        .hasMessageContaining("is gone");
  }

  @ParameterizedTest
  @MethodSource(TRANSPORTS)
  void movesShuffledBlocksAndNothingElse(String transport) {
    long block = 4096;
    int blocks = 256;
    try (Agent here = start("here", transport); Agent there = start("there", transport)) {
      Region ours = here.allocate("pool", block * blocks);
      Region theirs = there.allocate("pool", block * blocks * 2);
      fill(theirs, 3);
      Peer peer = here.addPeer(there.metadata());
      int[] local = new Random(1).ints(0, blocks).distinct().limit(100).toArray();
      int[] remote = new Random(2).ints(0, blocks * 2).distinct().limit(100).toArray();

      here.prepare(Operation.READ, Blocks.of(ours, block), local, peer, peer.region("pool").blocks(block), remote)
          .postAndAwait(LONG);

      boolean[] written = new boolean[blocks];
      for (int pair = 0; pair < local.length; pair++) {
        written[local[pair]] = true;
        for (long i = 0; i < block; i++) {
          assertThat(at(ours, local[pair] * block + i)).isEqualTo(pattern(remote[pair] * block + i, 3));
        }
      }
      for (int index = 0; index < blocks; index++) {
        for (long i = 0; i < block && !written[index]; i++) {
          assertThat(at(ours, index * block + i)).isZero();
        }
      }
    }
  }

  @ParameterizedTest
  @MethodSource(TRANSPORTS)
  void movesBlocksOfNeighbouringRegions(String transport) {
    try (Agent here = start("here", transport); Agent there = start("there", transport)) {
      Region ours = here.allocate("pool", 8192);
      Region whole = there.registry().allocate(8192, Access.LOCAL);
      Region low = there.register("low", whole.segment().asSlice(0, 4096), Access.REMOTE_READ);
      Region high = there.register("high", whole.segment().asSlice(4096), Access.REMOTE_READ);
      fill(whole, 4);
      Peer peer = here.addPeer(there.metadata());

      here.read(Blocks.of(ours, 4096), peer, BlockList.strided(low.address(), 4096, 4096, 2)).await(LONG);

      assertThat(ours.segment().mismatch(whole.segment())).isEqualTo(-1);
      assertThat(high.length()).isEqualTo(4096);
    }
  }

  @ParameterizedTest
  @MethodSource(TRANSPORTS)
  void pollsBatchesCallbacksAndStages(String transport) throws InterruptedException {
    try (Agent here = start("here", transport); Agent there = start("there", transport)) {
      Region ours = here.allocate("pool", 1 << 20);
      there.allocate("pool", 1 << 20);
      Peer peer = here.addPeer(there.metadata());
      CountDownLatch calledBack = new CountDownLatch(8);
      AtomicReference<Thread> caller = new AtomicReference<>();
      TransferHandle[] handles = new TransferHandle[8];
      for (int i = 0; i < handles.length; i++) {
        PreparedTransfer prepared = here.prepare(Operation.WRITE, Blocks.of(ours, i * 65536L, 65536, 1), peer,
            peer.region("pool").blocks(i * 65536L, 65536, 1)).counter(5L).onEnd(handle -> {
              caller.set(Thread.currentThread());
              calledBack.countDown();
            });
        prepared.post();
        handles[i] = prepared;
      }
      int[] done = new int[8];
      boolean[] seen = new boolean[8];
      long deadline = System.nanoTime() + LONG.toNanos();
      for (int left = handles.length; left > 0;) {
        assertThat(System.nanoTime()).isLessThan(deadline);
        int found = here.poll(handles, done);
        for (int i = 0; i < found; i++) {
          assertThat(seen[done[i]]).isFalse();
          seen[done[i]] = true;
        }
        left -= found;
      }
      assertThat(calledBack.await(20, TimeUnit.SECONDS)).isTrue();
      assertThat(caller.get().isVirtual()).isTrue();
      there.expect(5, 8).await(LONG);

      TransferFuture future = here.read(Blocks.of(ours), peer, peer.region("pool").blocks());
      assertThat(future.thenApply(TransferResult::bytes).toCompletableFuture().join()).isEqualTo(1 << 20);
      TransferFuture polled = here.read(Blocks.of(ours), peer, peer.region("pool").blocks());
      while (!polled.poll()) {
        assertThat(System.nanoTime()).isLessThan(deadline);
      }
      assertThat(polled.await(Duration.ZERO).bytes()).isEqualTo(1 << 20);
    }
  }

  @ParameterizedTest
  @MethodSource(TRANSPORTS)
  void countsLayersInAnyOrder(String transport) {
    try (Agent here = start("here", transport); Agent there = start("there", transport)) {
      Region ours = here.allocate("pool", 1 << 16);
      there.allocate("pool", 1 << 16);
      Peer peer = here.addPeer(there.metadata());
      CounterFuture layers = there.expect(77, 32);

      for (int layer = 31; layer >= 0; layer--) {
        here.write(Blocks.of(ours, layer * 2048L, 2048, 1), peer, peer.region("pool").blocks(layer * 2048L, 2048, 1),
            TransferOptions.counting(77));
      }

      layers.await(LONG);
      assertThat(layers.toCompletableFuture().join()).isEqualTo(32);
    }
  }

  @ParameterizedTest
  @MethodSource(TRANSPORTS)
  void endsAsStaleWhenTheLentBlocksWereReused(String transport) {
    try (Agent owner = start("owner", transport); Agent reader = start("reader", transport)) {
      Region lent = owner.allocate("pool", 1 << 16);
      Region ours = reader.allocate("pool", 1 << 16);
      fill(lent, 5);
      reader.addPeer(owner.metadata());
      Grant grant = owner.grant(Blocks.of(lent, 4096));
      LentBlocks blocks = reader.accept(grant.toBytes());

      reader.read(Blocks.of(ours, 4096), blocks).await(LONG);
      assertThat(ours.segment().mismatch(lent.segment())).isEqualTo(-1);
      grant.bump();
      assertThatThrownBy(() -> reader.read(Blocks.of(ours, 4096), blocks).await(LONG))
          .isInstanceOfSatisfying(TransferException.class, e -> assertThat(e.failure()).isEqualTo(Cause.STALE))
          .hasMessageContaining("'owner'");
      reader.read(Blocks.of(ours, 4096), reader.accept(grant.toBytes())).await(LONG);
    }
  }

  @ParameterizedTest
  @MethodSource(TRANSPORTS)
  void revokesAWriterAndLetsItComeBack(String transport) {
    try (Agent owner = start("owner", transport); Agent writer = start("writer", transport)) {
      Region lent = owner.allocate("pool", 1 << 16);
      Region ours = writer.allocate("pool", 1 << 16);
      fill(ours, 6);
      Peer ownerPeer = writer.addPeer(owner.metadata());
      Peer writerPeer = owner.addPeer(writer.metadata());
      Grant grant = owner.grantForWriting(Blocks.of(lent), writerPeer);
      LentBlocks blocks = writer.accept(grant.toBytes());
      writer.write(Blocks.of(ours), ownerPeer, blocks.blocks(),
          TransferOptions.NONE.grant(blocks).flush()).await(LONG);
      assertThat(lent.segment().mismatch(ours.segment())).isEqualTo(-1);

      grant.revoke(LONG);

      notifyInANewSession(writer, ownerPeer);
      assertThat(owner.awaitNotification(LONG).payload()).containsExactly(1);
    }
  }

  /** What was posted before the writer heard that its session is over ends with it. */
  private static void notifyInANewSession(Agent writer, Peer owner) {
    while (true) {
      try {
        writer.notify(owner, new byte[] {1}).await(LONG);
        return;
      } catch (TransferException e) {
        assertThat(e.failure()).isIn(Cause.SESSION_ENDED, Cause.PEER_LOST);
      }
    }
  }

  @ParameterizedTest
  @MethodSource(TRANSPORTS)
  void meetsThroughTheServiceAndSurvivesARestart(String transport) {
    try (MetadataService service = MetadataService.start(MetadataConfig.defaults());
        Agent here = start("here", transport, service)) {
      Region ours = here.allocate("pool", 4096);
      PreparedTransfer prepared;
      Peer peer;
      long oldEpoch;
      try (Agent there = start("there", transport, service)) {
        fill(there.allocate("pool", 4096), 7);
        peer = here.peer("there");
        oldEpoch = peer.epoch();
        prepared = here.prepare(Operation.READ, Blocks.of(ours), peer, peer.region("pool").blocks());
        prepared.postAndAwait(LONG);
        assertThat(at(ours, 99)).isEqualTo(pattern(99, 7));

        assertThatThrownBy(() -> start("there", transport, service)).isInstanceOfSatisfying(NameInUseException.class,
            e -> assertThat(e.pid()).isEqualTo(ProcessHandle.current().pid()));
      }
      try (Agent there = start("there", transport, service)) {
        fill(there.allocate("pool", 4096), 8);

        Peer again = here.peer("there", LONG);
        while (again.epoch() == oldEpoch) {
          again = here.peer("there", LONG);
        }
        here.read(Blocks.of(ours), again, again.region("pool").blocks()).await(LONG);

        assertThat(again).isSameAs(peer);
        assertThat(at(ours, 99)).isEqualTo(pattern(99, 8));
        assertThatThrownBy(prepared::post).isInstanceOfSatisfying(TransferException.class,
            e -> assertThat(e.failure()).isEqualTo(Cause.PEER_RESTARTED))
            .hasMessageContaining("prepare the transfer again");
      }
    }
  }

  @ParameterizedTest
  @MethodSource(TRANSPORTS)
  void doesNotTakeTheNameOfALivingAgentOfAnotherCluster(String transport) {
    try (MetadataService service = MetadataService.start(MetadataConfig.defaults());
        Agent first = Agent.builder(settings("same", transport).metadata(service.uri().toString())
            .secret(Secret.of("one")).build()).start()) {
      assertThatThrownBy(() -> Agent.builder(settings("same", transport).metadata(service.uri().toString())
          .secret(Secret.of("two")).build()).start()).isInstanceOf(NameInUseException.class)
          .hasMessageContaining("does not say who it is").hasMessageContaining("HAWSER_SECRET");
      assertThat(first.isClosed()).isFalse();
    }
  }

  @ParameterizedTest
  @MethodSource(TRANSPORTS)
  void refusesWhatIsWrongAndGoesOn(String transport) {
    try (Agent here = start("here", transport); Agent there = start("there", transport)) {
      Region ours = here.allocate("pool", 4096);
      Region theirs = there.allocate("pool", 4096);
      Region readable = there.allocate("readable", 4096, Access.REMOTE_READ);
      Region closing = there.allocate("closing", 4096);
      Peer peer = here.addPeer(there.metadata());
      BlockList gone = Blocks.of(closing);
      here.read(Blocks.of(ours), peer, gone).await(LONG);

      assertThatThrownBy(() -> here.write(Blocks.of(ours), peer, Blocks.of(readable)))
          .isInstanceOf(UnresolvedBlocksException.class);
      assertThatThrownBy(() -> here.write(Blocks.of(ours), peer, BlockList.of(theirs.address() + 1, 4096)))
          .isInstanceOf(UnresolvedBlocksException.class);
      closing.close();
      assertThatThrownBy(() -> here.read(Blocks.of(ours), peer, gone).await(LONG))
          .isInstanceOfSatisfying(TransferException.class,
              e -> assertThat(e.failure()).isIn(Cause.REMOTE_REGION_CLOSED, Cause.REMOTE_ACCESS));
      assertThatThrownBy(() -> here.addPeer(new byte[100])).isInstanceOf(PeerMetadataException.class);
      assertThatThrownBy(() -> here.notify(peer, new byte[4097])).isInstanceOf(IllegalArgumentException.class);

      here.write(Blocks.of(ours), peer, Blocks.of(theirs)).await(LONG);
    }
  }

  @ParameterizedTest
  @MethodSource(TRANSPORTS)
  void refusesPeersOfAnotherCluster(String transport) {
    try (Agent here = Agent.builder(settings("here", transport).secret(Secret.of("one")).build()).start();
        Agent there = Agent.builder(settings("there", transport).secret(Secret.of("two")).build()).start()) {
      assertThatThrownBy(() -> here.addPeer(there.metadata())).isInstanceOf(PeerMetadataException.class)
          .hasMessageContaining("secrets differ");
    }
    try (Agent here = Agent.builder(settings("here", transport).secret(Secret.of("one")).build()).start();
        Agent there = Agent.builder(settings("there", transport).secret(Secret.of("one")).build()).start()) {
      Region ours = here.allocate("pool", 64);
      there.allocate("pool", 64);
      Peer peer = here.addPeer(there.metadata());
      here.write(Blocks.of(ours), peer, peer.region("pool").blocks()).await(LONG);
    }
  }

  @ParameterizedTest
  @MethodSource(TRANSPORTS)
  void cancelsAndGoesOn(String transport) {
    try (Agent here = start("here", transport); Agent there = start("there", transport)) {
      Region ours = here.allocate("pool", 64 << 20);
      there.allocate("pool", 64 << 20);
      Peer peer = here.addPeer(there.metadata());
      peer.awaitConnected(LONG);
      for (int round = 0; round < 10; round++) {
        TransferFuture future = here.write(Blocks.of(ours), peer, peer.region("pool").blocks(),
            TransferOptions.notifying(new byte[] {(byte) round}));
        future.cancel();
        boolean cancelled = false;
        try {
          future.await(LONG);
        } catch (TransferException e) {
          assertThat(e.cancelled()).isTrue();
          cancelled = true;
        }
        if (!cancelled) {
          assertThat(there.awaitNotification(LONG).payload()).containsExactly(round);
        }
      }
      here.notify(peer, new byte[] {100}).await(LONG);
      assertThat(there.awaitNotification(LONG).payload()).containsExactly(100);
      assertThat(ours.uses()).isZero();
    }
  }

  @ParameterizedTest
  @MethodSource(TRANSPORTS)
  void endsWhatIsUnderWayWhenAPeerIsRemovedOrTheAgentClosed(String transport) {
    Agent here = start("here", transport);
    try (Agent there = start("there", transport)) {
      Region ours = here.allocate("pool", 32 << 20);
      there.allocate("pool", 32 << 20);
      Peer peer = here.addPeer(there.metadata());
      peer.awaitConnected(LONG);
      TransferFuture future = here.write(Blocks.of(ours), peer, peer.region("pool").blocks());
      here.removePeer(peer);
      endsAsDoneOr(Cause.CLOSED, future);

      Peer again = here.addPeer(there.metadata());
      here.notify(again, new byte[] {1}).await(LONG);
      assertThat(there.awaitNotification(LONG).payload()).containsExactly(1);
      TransferFuture last = here.write(Blocks.of(ours), again, again.region("pool").blocks());
      here.close();
      endsAsDoneOr(Cause.CLOSED, last);
      assertThat(ours.isClosed()).isTrue();
    } finally {
      here.close();
    }
  }

  private static void endsAsDoneOr(Cause cause, TransferFuture future) {
    try {
      future.await(LONG);
    } catch (TransferException e) {
      assertThat(e.failure()).isEqualTo(cause);
    }
  }

  @ParameterizedTest
  @MethodSource(TRANSPORTS)
  void namesThePortThatIsInUse(String transport) {
    try (Agent here = start("here", transport)) {
      String taken = here.addresses().getFirst();

      assertThatThrownBy(() -> Agent.builder(settings("there", transport).listen(taken).build()).start())
          .isInstanceOf(EngineException.class).hasMessageContaining(taken.substring(taken.lastIndexOf(':') + 1));
    }
  }

  @ParameterizedTest
  @MethodSource(TRANSPORTS)
  void servesManyThreadsAtOnce(String transport) throws InterruptedException {
    int threads = 6;
    int rounds = 150;
    long share = 64 << 10;
    try (Agent here = start("here", transport); Agent there = start("there", transport)) {
      Region ours = here.allocate("pool", threads * share);
      Region theirs = there.allocate("pool", threads * share);
      Peer peer = here.addPeer(there.metadata());
      CounterFuture all = there.expect(1, (long) threads * rounds);
      ConcurrentLinkedQueue<Throwable> failures = new ConcurrentLinkedQueue<>();
      Thread[] running = new Thread[threads];
      for (int t = 0; t < threads; t++) {
        long offset = t * share;
        int seed = t;
        running[t] = Thread.ofPlatform().start(() -> {
          try {
            writeReadAndCompare(here, peer, ours, theirs, offset, share, rounds, seed);
          } catch (RuntimeException | AssertionError e) {
            failures.add(e);
          }
        });
      }
      for (Thread thread : running) {
        thread.join(60_000);
        assertThat(thread.isAlive()).isFalse();
      }
      assertThat(failures).isEmpty();
      all.await(LONG);
    }
  }

  private static void writeReadAndCompare(Agent agent, Peer peer, Region ours, Region theirs, long offset, long share,
      int rounds, int seed) {
    Random random = new Random(seed);
    BlockList local = Blocks.of(ours, offset, 4096, share / 4096);
    BlockList remote = Blocks.of(theirs, offset, 4096, share / 4096);
    for (int round = 0; round < rounds; round++) {
      byte value = (byte) random.nextInt();
      ours.segment().asSlice(offset, share).fill(value);
      agent.write(local, peer, remote, TransferOptions.counting(1)).await(LONG);
      ours.segment().asSlice(offset, share).fill((byte) 0);
      agent.read(local, peer, remote).await(LONG);
      for (long i = offset; i < offset + share; i += 1021) {
        assertThat(at(ours, i)).isEqualTo(value);
      }
    }
  }

  @ParameterizedTest
  @MethodSource(TRANSPORTS)
  void allocatesNothingWhenPostedAgain(String transport) {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    assertThat(threads.isThreadAllocatedMemoryEnabled()).isTrue();
    try (Agent here = start("here", transport); Agent there = start("there", transport)) {
      Region ours = here.allocate("pool", 64 << 10);
      there.allocate("pool", 64 << 10);
      Peer peer = here.addPeer(there.metadata());
      peer.awaitConnected(LONG);
      PreparedTransfer prepared = here.prepare(Operation.WRITE, Blocks.of(ours, 4096), peer,
          peer.region("pool").blocks(4096));
      // What asking costs by itself.
      long asking = Long.MAX_VALUE;
      for (int trial = 0; trial < 200; trial++) {
        long before = threads.getTotalThreadAllocatedBytes();
        asking = Math.min(asking, threads.getTotalThreadAllocatedBytes() - before);
      }
      // Interpreted code allocates what compiled code does not, and other threads allocate for themselves now and then:
      // hence the least of many, until it is nothing.
      long least = Long.MAX_VALUE;
      long deadline = System.nanoTime() + Duration.ofSeconds(60).toNanos();
      while (least != asking && System.nanoTime() < deadline) {
        long before = threads.getTotalThreadAllocatedBytes();
        prepared.post();
        prepared.await(LONG);
        prepared.post();
        prepared.await(LONG);
        least = Math.min(least, threads.getTotalThreadAllocatedBytes() - before);
      }
      assertThat(least - asking).isZero();
    }
  }
}
