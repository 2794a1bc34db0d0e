/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import static dev.hawser.agent.Agents.LONG;
import static dev.hawser.agent.Agents.at;
import static dev.hawser.agent.Agents.block;
import static dev.hawser.agent.Agents.fill;
import static dev.hawser.agent.Agents.introduce;
import static dev.hawser.agent.Agents.pattern;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.engine.Transfer.RemoteState;
import dev.hawser.engine.TransferEnd;
import dev.hawser.engine.TransferEnd.Cause;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.Device;
import dev.hawser.memory.InvalidBlocksException;
import dev.hawser.memory.Region;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class AgentTransferTest {
  private static final long BLOCK = 256;

  private final Agents agents = new Agents();
  private Agent here;
  private Agent there;
  private Peer peer;
  private Region ours;
  private Region theirs;

  @BeforeEach
  void start() {
    here = agents.start("here");
    there = agents.start("there");
    ours = here.allocate("pool", 64 << 10);
    theirs = there.allocate("pool", 64 << 10);
    peer = introduce(here, there);
  }

  @AfterEach
  void stop() {
    agents.close();
  }

  @Test
  void writesAndNotifiesBehindTheData() {
    fill(ours, 1);

    TransferResult result = here.write(block(ours, 0, 4096), peer, peer.region("pool").blocks(8192, 4096, 1),
        TransferOptions.notifying("done".getBytes(StandardCharsets.UTF_8)).requestId("r-1")).await(LONG);

    assertThat(result.bytes()).isEqualTo(4096);
    assertThat(result.operation()).isEqualTo(Operation.WRITE);
    assertThat(result.requestId()).isEqualTo("r-1");
    assertThat(result.peerEpoch()).isEqualTo(there.epoch());
    for (int i = 0; i < 4096; i++) {
      assertThat(at(theirs, 8192 + i)).isEqualTo(pattern(i, 1));
    }
    assertThat(at(theirs, 8191)).isZero();
    assertThat(at(theirs, 8192 + 4096)).isZero();
    Notification notification = there.awaitNotification(LONG);
    assertThat(notification.text()).isEqualTo("done");
    assertThat(notification.peer()).isEqualTo("here");
    assertThat(notification.requestId()).isEqualTo("r-1");
    assertThat(there.pollNotification()).isNull();
  }

  @Test
  void readsBlocksThatIndicesPick() {
    fill(theirs, 2);
    int[] mine = {3, 0, 7};
    int[] remote = {10, 200, 5};

    here.prepare(Operation.READ, Blocks.of(ours, BLOCK), mine, peer, peer.region("pool").blocks(BLOCK), remote)
        .postAndAwait(LONG);

    for (int pair = 0; pair < mine.length; pair++) {
      for (long i = 0; i < BLOCK; i++) {
        assertThat(at(ours, mine[pair] * BLOCK + i)).isEqualTo(pattern(remote[pair] * BLOCK + i, 2));
      }
    }
    assertThat(at(ours, BLOCK)).isZero();
  }

  @Test
  void movesAPieceThatLiesInTwoNeighbouringRegions() {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment memory = arena.allocate(8192, 4096);
      try (Region low = here.register("low", memory.asSlice(0, 4096), Access.LOCAL);
          Region high = here.register("high", memory.asSlice(4096), Access.LOCAL)) {
        fill(low, 3);
        fill(high, 4);
        BlockList neighbours = BlockList.strided(memory.address(), 4096, 4096, 2);

        here.write(neighbours, peer, peer.region("pool").blocks(0, 4096, 2)).await(LONG);

        assertThat(at(theirs, 4095)).isEqualTo(pattern(4095, 3));
        assertThat(at(theirs, 4096)).isEqualTo(pattern(0, 4));
        // One block that sticks out of its region is refused, although its neighbour is registered.
        assertThatThrownBy(
            () -> here.write(BlockList.of(memory.address(), 8192), peer, peer.region("pool").blocks(0, 8192, 1)))
            .isInstanceOf(UnresolvedBlocksException.class).hasMessageContaining("not within one registered region");
      }
    }
  }

  @Test
  void postsAgainAndAgain() {
    PreparedTransfer prepared =
        here.prepare(Operation.WRITE, block(ours, 0, 1), peer, peer.region("pool").blocks(0, 1, 1)).counter(9L);
    assertThat(prepared.end()).isNull();

    for (int i = 0; i < 5; i++) {
      ours.segment().fill((byte) (i + 1));
      prepared.post();
      assertThat(prepared.poll()).isTrue();
      prepared.await(LONG);
      assertThat(at(theirs, 0)).isEqualTo((byte) (i + 1));
    }
    assertThat(prepared.id()).isEqualTo(5);
    there.expect(9, 5).await(LONG);
    assertThat(ours.uses()).isZero();
  }

  @Test
  void holdsItsRegionsWhileItIsUnderWay() {
    agents.network.hold();
    TransferFuture future = here.write(block(ours, 0, 16), peer, peer.region("pool").blocks(0, 16, 1));
    assertThat(ours.uses()).isEqualTo(1);

    agents.network.release();
    future.await(LONG);
    assertThat(ours.uses()).isZero();
  }

  @Test
  void refusesToPostWithAClosedRegion() {
    PreparedTransfer prepared =
        here.prepare(Operation.WRITE, block(ours, 0, 16), peer, peer.region("pool").blocks(0, 16, 1));
    ours.close();

    assertThatThrownBy(prepared::post).isInstanceOfSatisfying(TransferException.class,
        e -> assertThat(e.failure()).isEqualTo(Cause.LOCAL_ACCESS)).hasMessageContaining("is closed")
        .hasMessageContaining("prepare the transfer again");
  }

  @Test
  void refusesToPostTwiceAtOnce() {
    PreparedTransfer prepared =
        here.prepare(Operation.WRITE, block(ours, 0, 16), peer, peer.region("pool").blocks(0, 16, 1));
    agents.network.hold();
    prepared.post();

    assertThatThrownBy(prepared::post).isInstanceOf(IllegalStateException.class).hasMessageContaining("under way");
    agents.network.release();
    prepared.await(LONG);
    assertThat(ours.uses()).isZero();
  }

  @Test
  void tellsThatNothingWasPosted() {
    PreparedTransfer never = here.prepareNotification(peer);

    assertThatThrownBy(() -> never.await(Duration.ofMillis(5))).isInstanceOf(AwaitTimeoutException.class)
        .hasMessageContaining("was not posted within PT0.005S; post it");
  }

  @Test
  void cancels() {
    agents.network.hold();
    TransferFuture future = here.write(block(ours, 0, 16), peer, peer.region("pool").blocks(0, 16, 1));
    assertThatThrownBy(() -> future.await(Duration.ofMillis(5))).isInstanceOf(AwaitTimeoutException.class)
        .hasMessageContaining("0 of 16 bytes").hasMessageContaining("cancel");

    future.cancel();

    assertThatThrownBy(() -> future.await(LONG)).isInstanceOfSatisfying(TransferException.class, e -> {
      assertThat(e.cancelled()).isTrue();
      assertThat(e.failure()).isNull();
      assertThat(e.peer()).isEqualTo("there");
    }).hasMessageContaining("was cancelled");
    assertThat(future.remoteSettled()).isEqualTo(RemoteState.ABORTED);
    assertThat(future.end()).isInstanceOf(TransferEnd.Cancelled.class);
    agents.network.release();
    assertThat(at(theirs, 0)).isZero();
  }

  @Test
  void endsAtItsDeadline() {
    agents.network.hold();
    TransferFuture future = here.write(block(ours, 0, 16), peer, peer.region("pool").blocks(0, 16, 1),
        TransferOptions.NONE.timeout(Duration.ofMillis(10)).requestId("late"));

    assertThatThrownBy(() -> future.await(LONG)).isInstanceOfSatisfying(TransferException.class,
        e -> assertThat(e.failure()).isEqualTo(Cause.DEADLINE_EXCEEDED)).hasMessageContaining("request late")
        .hasMessageContaining("'there'");
  }

  @Test
  void completesStagesOffTheEnginesThread() throws InterruptedException {
    agents.network.hold();
    TransferFuture future = here.write(block(ours, 0, 16), peer, peer.region("pool").blocks(0, 16, 1));
    AtomicReference<Thread> ran = new AtomicReference<>();
    CountDownLatch done = new CountDownLatch(1);
    future.thenAccept(result -> {
      ran.set(Thread.currentThread());
      done.countDown();
    });
    Thread engine = Thread.ofPlatform().start(agents.network::release);
    engine.join();

    assertThat(done.await(LONG.toMillis(), TimeUnit.MILLISECONDS)).isTrue();
    assertThat(ran.get()).isNotSameAs(engine);
    assertThat(ran.get().isVirtual()).isTrue();
    assertThat(future.toCompletableFuture().join().bytes()).isEqualTo(16);
  }

  @Test
  void completesStagesExceptionally() {
    agents.network.hold();
    TransferFuture future = here.write(block(ours, 0, 16), peer, peer.region("pool").blocks(0, 16, 1));
    List<Throwable> seen = new ArrayList<>();
    var failed = future.exceptionally(e -> {
      seen.add(e);
      return null;
    }).toCompletableFuture();
    future.cancel();

    assertThat(failed.join()).isNull();
    assertThat(seen).singleElement().isInstanceOf(TransferException.class);
    assertThatThrownBy(() -> future.toCompletableFuture().join()).isInstanceOf(CompletionException.class)
        .hasCauseInstanceOf(TransferException.class);
  }

  @Test
  void cannotBeCompletedByItsUser() throws TimeoutException, InterruptedException {
    agents.network.hold();
    TransferFuture future = here.write(block(ours, 0, 16), peer, peer.region("pool").blocks(0, 16, 1));
    assertThat(future.toCompletableFuture().cancel(true)).isTrue();
    assertThat(future.end()).isNull();

    agents.network.release();
    assertThat(future.await(LONG).bytes()).isEqualTo(16);
  }

  @Test
  void callsBackOnTheUsersExecutor() throws InterruptedException {
    ConcurrentLinkedQueue<String> threads = new ConcurrentLinkedQueue<>();
    CountDownLatch done = new CountDownLatch(2);
    try (ExecutorService executor = Executors.newSingleThreadExecutor(Thread.ofPlatform().name("mine").factory())) {
      Agent agent = agents.start("caller", settings -> settings, options -> options.callbacks(executor));
      Region memory = agent.allocate("m", 64);
      PreparedTransfer prepared = agent.prepare(Operation.WRITE, Blocks.of(memory),
          agent.addPeer(there.metadata()), peer.region("pool").blocks(0, 64, 1)).onEnd(handle -> {
            threads.add(Thread.currentThread().getName() + " " + handle.end());
            done.countDown();
          });
      prepared.post();
      prepared.await(LONG);
      prepared.post();
      assertThat(done.await(LONG.toMillis(), TimeUnit.MILLISECONDS)).isTrue();
    }
    assertThat(threads).containsExactly("mine Done[]", "mine Done[]");
  }

  @Test
  void losesNoCallbackToAnExecutorThatRefuses() throws InterruptedException {
    CountDownLatch done = new CountDownLatch(1);
    ExecutorService refusing = Executors.newSingleThreadExecutor();
    refusing.shutdownNow();
    Agent agent = agents.start("caller", settings -> settings, options -> options.callbacks(refusing));
    Region memory = agent.allocate("m", 64);
    agent.prepare(Operation.WRITE, Blocks.of(memory), agent.addPeer(there.metadata()),
        peer.region("pool").blocks(0, 64, 1)).onEnd(handle -> done.countDown()).post();

    assertThat(done.await(LONG.toMillis(), TimeUnit.MILLISECONDS)).isTrue();
  }

  @Test
  void pollsManyAtOnceAndTellsEachPostOnce() {
    TransferHandle[] handles = new TransferHandle[6];
    for (int i = 0; i < handles.length; i++) {
      handles[i] = here.prepare(Operation.WRITE, block(ours, i, 1), peer, peer.region("pool").blocks(i, 1, 1));
    }
    int[] done = new int[handles.length];
    assertThat(here.poll(handles, done)).isZero();

    post(handles[4]);
    post(handles[1]);
    assertThat(here.poll(handles, done)).isEqualTo(2);
    assertThat(done).startsWith(1, 4);
    assertThat(here.poll(handles, done)).isZero();

    agents.network.hold();
    post(handles[1]);
    post(handles[2]);
    post(handles[3]);
    assertThat(here.poll(List.of(handles), done)).isZero();
    agents.network.release();
    int[] small = new int[2];
    assertThat(here.poll(List.of(handles), small)).isEqualTo(2);
    assertThat(small).containsExactly(1, 2);
    assertThat(here.poll(List.of(handles), small)).isEqualTo(1);
    assertThat(small[0]).isEqualTo(3);
  }

  private static void post(TransferHandle handle) {
    ((PreparedTransfer) handle).post();
  }

  @Test
  void notifiesWithoutData() {
    here.notify(peer, "hello".getBytes(StandardCharsets.UTF_8)).await(LONG);

    assertThat(there.awaitNotification(LONG).text()).isEqualTo("hello");
    assertThatThrownBy(() -> here.notify(peer, new byte[4097])).isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("4096");
    assertThatThrownBy(() -> there.awaitNotification(Duration.ofMillis(5))).isInstanceOf(AwaitTimeoutException.class)
        .hasMessageContaining("PT0.005S");
  }

  @Test
  void tellsAListenerInOrderAndOneAtATime() throws InterruptedException {
    CountDownLatch done = new CountDownLatch(100);
    ConcurrentLinkedQueue<String> seen = new ConcurrentLinkedQueue<>();
    here.notify(peer, "0".getBytes(StandardCharsets.UTF_8)).await(LONG);
    there.onNotification(notification -> {
      seen.add(notification.text());
      done.countDown();
      if (notification.text().equals("50")) {
        throw new IllegalStateException("a listener that fails loses only its own notification");
      }
    });
    for (int i = 1; i < 100; i++) {
      here.notify(peer, Integer.toString(i).getBytes(StandardCharsets.UTF_8)).await(LONG);
    }

    assertThat(done.await(LONG.toMillis(), TimeUnit.MILLISECONDS)).isTrue();
    List<String> expected = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      expected.add(Integer.toString(i));
    }
    assertThat(seen).containsExactlyElementsOf(expected);

    there.onNotification(null);
    here.notify(peer, "again".getBytes(StandardCharsets.UTF_8)).await(LONG);
    assertThat(there.awaitNotification(LONG).text()).isEqualTo("again");
  }

  @Test
  void countsArrivalsBeforeAndAfterTheyAreExpected() {
    PreparedTransfer arrival = here.prepareNotification(peer).counter(7L);
    arrival.postAndAwait(LONG);
    arrival.postAndAwait(LONG);
    CounterFuture three = there.expect(7, 3);
    CounterFuture oneMore = there.expect(7, 1);
    assertThat(three.poll()).isFalse();
    assertThatThrownBy(() -> three.await(Duration.ofMillis(5))).isInstanceOf(AwaitTimeoutException.class)
        .hasMessageContaining("counter 7 had 2 of 3 arrivals");

    arrival.postAndAwait(LONG);
    three.await(LONG);
    assertThat(three.toCompletableFuture().join()).isEqualTo(3);
    assertThat(oneMore.poll()).isFalse();
    arrival.postAndAwait(LONG);
    assertThat(oneMore.poll()).isTrue();

    CounterFuture never = there.expect(8, 1);
    never.cancel();
    assertThatThrownBy(() -> never.await(LONG)).hasMessageContaining("cancelled");
    CounterFuture open = there.expect(8, 1);
    there.close();
    assertThatThrownBy(() -> open.await(LONG)).isInstanceOf(AgentClosedException.class);
    assertThatThrownBy(() -> here.expect(1, 0)).isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("arrivals");
  }

  // ---------------------------------------------------------------------------------------------- what bad input gets

  @Test
  void refusesBlocksOutsideRegistrationsWithTheNearestRegion() {
    BlockList remote = peer.region("pool").blocks(0, 64, 1);
    BlockList beyond = BlockList.of(ours.address() + ours.length() - 32, 64);

    assertThatThrownBy(() -> here.write(beyond, peer, remote))
        .isInstanceOfSatisfying(UnresolvedBlocksException.class, e -> {
          assertThat(e.argument()).isEqualTo("local");
          assertThat(e.index()).isZero();
          assertThat(e.address()).isEqualTo(ours.address() + ours.length() - 32);
          assertThat(e.length()).isEqualTo(64);
        }).hasMessageContaining("local[0], 64 bytes at 0x").hasMessageContaining(ours.toString())
        .hasMessageContaining("ends 32 bytes before the block's end").hasMessageContaining("register");
    BlockList outside = BlockList.of(theirs.address() + theirs.length() + 16, 64);
    assertThatThrownBy(() -> here.write(block(ours, 0, 64), peer, outside))
        .isInstanceOf(UnresolvedBlocksException.class)
        .hasMessageContaining("remote[0]").hasMessageContaining("peer 'there'")
        .hasMessageContaining("ends 16 bytes before");
  }

  @Test
  void namesTheOneBlockOfManyThatIsWrong() {
    BlockList.Builder blocks = BlockList.builder();
    for (int i = 0; i < 5; i++) {
      blocks.add(ours.address() + i * 100L, 10);
    }
    blocks.add(ours.address() - 5, 10);
    BlockList list = blocks.build();
    BlockList remote = peer.region("pool").blocks(0, 10, 6);

    assertThatThrownBy(() -> here.read(list, peer, remote)).hasMessageContaining("local[5]");
    here.prepare(Operation.READ, list, new int[] {0, 4}, peer, remote, new int[] {1, 2}).postAndAwait(LONG);
    assertThatThrownBy(() -> here.prepare(Operation.READ, list, new int[] {0, 5}, peer, remote, new int[] {1, 2}))
        .hasMessageContaining("local[5]");
  }

  @Test
  void refusesTheWrongDirection() {
    Region readable = there.allocate("readable", 4096, Access.REMOTE_READ);
    Region writable = there.allocate("writable", 4096, Access.REMOTE_WRITE);
    here.addPeer(there.metadata());

    here.read(block(ours, 0, 64), peer, Blocks.of(readable, 0, 64, 1)).await(LONG);
    here.write(block(ours, 0, 64), peer, Blocks.of(writable, 0, 64, 1)).await(LONG);
    assertThatThrownBy(() -> here.write(block(ours, 0, 64), peer, Blocks.of(readable, 0, 64, 1)))
        .isInstanceOf(UnresolvedBlocksException.class).hasMessageContaining("permits remote-read")
        .hasMessageContaining("WRITE needs remote-write");
    assertThatThrownBy(() -> here.read(block(ours, 0, 64), peer, Blocks.of(writable, 0, 64, 1)))
        .hasMessageContaining("READ needs remote-read");
    try (Arena arena = Arena.ofShared();
        Region constant = here.register("constant", arena.allocate(64).asReadOnly(), Access.LOCAL)) {
      here.write(Blocks.of(constant), peer, Blocks.of(writable, 0, 64, 1)).await(LONG);
      assertThatThrownBy(() -> here.read(Blocks.of(constant), peer, Blocks.of(readable, 0, 64, 1)))
          .hasMessageContaining("read-only");
    }
  }

  @Test
  void refusesLengthsCountsIndicesAndDevicesThatDoNotMatch() {
    BlockList one = block(ours, 0, 64);
    assertThatThrownBy(() -> here.write(one, peer, peer.region("pool").blocks(0, 65, 1)))
        .isInstanceOf(InvalidBlocksException.class).hasMessageContaining("64 bytes").hasMessageContaining("65");
    assertThatThrownBy(() -> here.write(one, peer, peer.region("pool").blocks(0, 32, 2)))
        .isInstanceOf(InvalidBlocksException.class);
    assertThatThrownBy(
        () -> here.prepare(Operation.READ, one, new int[] {1}, peer, peer.region("pool").blocks(0, 64, 1),
            new int[] {0}))
        .isInstanceOf(InvalidBlocksException.class).hasMessageContaining("localIndices");
    assertThatThrownBy(
        () -> here.write(BlockList.of(ours.address(), 64, Device.cuda(0)), peer, peer.region("pool").blocks(0, 64, 1)))
        .hasMessageContaining("cuda:0").hasMessageContaining("make the list for host");
    assertThatThrownBy(() -> here.write(one, peer, BlockList.of(theirs.address(), 64, Device.cuda(1))))
        .hasMessageContaining("cuda:1").hasMessageContaining("make the list for host");
    assertThatThrownBy(() -> peer.region("pool").blocks(0, 1 << 20, 1)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> peer.region("nix")).isInstanceOf(UnknownPeerException.class)
        .hasMessageContaining("[pool]");
  }

  @Test
  void moveNothingIfThereIsNothingToMove() {
    TransferResult result = here.write(block(ours, 0, 0), peer, peer.region("pool").blocks(0, 0, 1),
        TransferOptions.notifying(new byte[0])).await(LONG);

    assertThat(result.bytes()).isZero();
    assertThat(there.awaitNotification(LONG).payload()).isEmpty();
  }

  @Test
  void refusesEverythingAfterItsClose() {
    BlockList remote = peer.region("pool").blocks(0, 16, 1);
    PreparedTransfer prepared = here.prepare(Operation.WRITE, block(ours, 0, 16), peer, remote);
    BlockList local = block(ours, 0, 16);
    agents.network.hold();
    TransferFuture underWay = here.write(local, peer, remote);

    here.close();
    here.close();

    assertThatThrownBy(() -> underWay.await(LONG)).isInstanceOfSatisfying(TransferException.class,
        e -> assertThat(e.failure()).isEqualTo(Cause.CLOSED));
    assertThatThrownBy(prepared::post).isInstanceOf(AgentClosedException.class)
        .hasMessageContaining("'here' is closed");
    assertThatThrownBy(() -> here.write(local, peer, remote)).isInstanceOf(AgentClosedException.class);
    assertThatThrownBy(() -> here.allocate("more", 10)).isInstanceOf(AgentClosedException.class);
    assertThatThrownBy(here::metadata).isInstanceOf(AgentClosedException.class);
    assertThatThrownBy(() -> here.peer("there")).isInstanceOf(AgentClosedException.class);
    assertThatThrownBy(() -> here.awaitNotification(LONG)).isInstanceOf(AgentClosedException.class);
    assertThat(here.isClosed()).isTrue();
  }

  @Test
  void refusesOptionsThatContradict() {
    assertThatThrownBy(() -> TransferOptions.counting(1).notification(new byte[1]))
        .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("notifies or counts");
  }

  @Test
  void aLargeGridCostsOneLookUp() {
    BlockList grid = BlockList.strided(ours.address(), new long[] {24, 64, 1024}, new long[] {1, 8, 16}, 8);
    BlockList same = BlockList.strided(theirs.address(), new long[] {24, 64, 1024}, new long[] {1, 8, 16}, 8);
    here.prepare(Operation.READ, grid, peer, same);
    long start = System.nanoTime();
    for (int i = 0; i < 100; i++) {
      here.prepare(Operation.READ, grid, peer, same);
    }

    // 1.5 million blocks each: looking at every one would take a second per hundred at the very least.
    assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofMillis(500));
  }
}
