/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.gpuipc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.Link;
import dev.hawser.engine.Transfer;
import dev.hawser.engine.TransferEnd;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.Device;
import dev.hawser.memory.Region;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;

/** Two processes on a real GPU: what is written to the other's memory is read back over the same rail, and compared. */
@EnabledIf(
    value = "dev.hawser.memory.cuda.Cuda#present",
    disabledReason = "no CUDA device; perf/labs/gpu/pack.sh makes a tarball that runs this on a machine with one")
class GpuIpcCudaTest {
  private static final long BYTES = 256L << 20;
  private static final int BLOCK = 4096;
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private final CudaAgent agent = new CudaAgent("here", BYTES, Access.LOCAL, Device.cuda(0));
  private Process other;
  private RemoteRegion otherDevice;
  private RemoteRegion otherHost;
  private Link link;
  private boolean killed;

  /** Where the other process's memory lies. */
  Device there() {
    return Device.cuda(0);
  }

  @BeforeEach
  void start() throws IOException {
    ProcessBuilder builder =
        new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            System.getProperty("java.class.path"),
            CudaAgent.class.getName(),
            "there",
            Long.toString(BYTES),
            Integer.toString(there().ordinal()));
    other = builder.redirectError(ProcessBuilder.Redirect.INHERIT).start();
    String[] words = other.inputReader().readLine().split(" ");
    otherDevice = CudaAgent.region(words, 2, there());
    otherHost = CudaAgent.region(words, 6, Device.HOST);
    link = agent.engine.connect(CudaAgent.peer("there", words));
    link.awaitUp(PATIENCE);
  }

  @AfterEach
  void end() throws IOException, InterruptedException {
    agent.close();
    if (killed) {
      return;
    }
    other.getOutputStream().close();
    assertThat(other.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(other.exitValue()).isZero();
  }

  @Test
  void deviceToDeviceAndBack() {
    thereAndBack(agent.device, otherDevice, false);
    thereAndBack(agent.device, otherDevice, true);
  }

  @Test
  void deviceToHostAndBack() {
    thereAndBack(agent.device, otherHost, false);
    thereAndBack(agent.device, otherHost, true);
  }

  @Test
  void hostToDeviceAndBack() {
    thereAndBack(agent.host, otherDevice, false);
    thereAndBack(agent.host, otherDevice, true);
  }

  @Test
  void aPeerThatDiesWithItsHandlesOpenLeavesTheDeviceUsable() throws Exception {
    TransferPlan plan = plan(agent.device, otherDevice, true, new Random(3));
    run(Op.WRITE, plan);
    Transfer transfer = link.prepare(Op.WRITE, plan).timeout(PATIENCE);
    killed = true;
    other.destroyForcibly().onExit().get(60, TimeUnit.SECONDS);
    transfer.post();
    assertThat(transfer.await(PATIENCE)).isTrue();
    // What was posted before the death was noticed may have reached the memory, which the open handle keeps.
    assertThat(transfer.end()).isInstanceOfAny(TransferEnd.Failed.class, TransferEnd.Done.class);
    MemorySegment host = agent.host.segment();
    host.fill((byte) 7);
    agent.load();
    host.fill((byte) 0);
    assertThat(agent.look().get(ValueLayout.JAVA_BYTE, BYTES - 1)).isEqualTo((byte) 7);
  }

  /** What the caller pays for a request that is posted for the first time. */
  @Test
  void postingManyBlocksTakesLittleOfTheCaller() {
    run(Op.WRITE, plan(agent.device, otherDevice, true, new Random(1)));
    List<Double> micros = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      Transfer transfer =
          link.prepare(Op.WRITE, plan(agent.device, otherDevice, 40_000, new Random(i))).timeout(PATIENCE);
      long start = System.nanoTime();
      transfer.post();
      micros.add((System.nanoTime() - start) / 1e3);
      assertThat(transfer.await(PATIENCE)).isTrue();
      assertThat(transfer.end()).isEqualTo(new TransferEnd.Done());
    }
    List<Double> warm = micros.subList(100, 200).stream().sorted().toList();
    System.out.printf(
        "gpu-ipc: first post of 40,000 shuffled blocks of 4 KiB: median %.0f us, p90 %.0f us, highest %.0f us%n",
        warm.get(50), warm.get(90), warm.get(99));
  }

  /** Writes a pattern, shuffled or not, wipes what is here, and reads it back in the same order. */
  private void thereAndBack(Region local, RemoteRegion remote, boolean shuffled) {
    Random random = new Random(42);
    MemorySegment host = agent.host.segment();
    for (long at = 0; at < BYTES; at += Long.BYTES) {
      host.set(ValueLayout.JAVA_LONG, at, random.nextLong());
    }
    long sum = sum(host);
    if (!local.device().isHost()) {
      agent.load();
    }
    TransferPlan plan = plan(local, remote, shuffled, random);
    run(Op.WRITE, plan);
    host.fill((byte) 0);
    if (!local.device().isHost()) {
      agent.load();
    }
    run(Op.READ, plan);
    MemorySegment back = local.device().isHost() ? host : agent.look();
    assertThat(sum(back)).as("what came back from %s, shuffled: %s", remote, shuffled).isEqualTo(sum);
    // Once more, for the time: everything is open and pinned now.
    for (Op op : Op.values()) {
      long start = System.nanoTime();
      run(op, plan);
      double seconds = (System.nanoTime() - start) / 1e9;
      System.out.printf(
          "gpu-ipc %s %s → %s %s: %.1f GB/s%n",
          op, local.device(), remote.device(), shuffled ? "4 KiB blocks" : "contiguous", BYTES / seconds / 1e9);
    }
  }

  /** Depends on every byte and its place. */
  private static long sum(MemorySegment memory) {
    long sum = 0;
    for (long at = 0; at < memory.byteSize(); at += Long.BYTES) {
      sum = sum * 31 + memory.get(ValueLayout.JAVA_LONG, at);
    }
    return sum;
  }

  private static TransferPlan plan(Region local, RemoteRegion remote, boolean shuffled, Random random) {
    int blocks = (int) (BYTES / BLOCK);
    return shuffled
        ? plan(local, remote, blocks, random)
        : plan(local, remote, blocks, IntStream.range(0, blocks).toArray());
  }

  private static TransferPlan plan(Region local, RemoteRegion remote, int blocks, Random random) {
    List<Integer> order = IntStream.range(0, (int) (BYTES / BLOCK)).boxed().collect(Collectors.toList());
    Collections.shuffle(order, random);
    return plan(local, remote, blocks, order.stream().mapToInt(Integer::intValue).limit(blocks).toArray());
  }

  private static TransferPlan plan(Region local, RemoteRegion remote, int count, int[] indices) {
    int blocks = (int) (BYTES / BLOCK);
    BlockPairs pairs =
        BlockPairs.of(
            BlockList.strided(local.address(), BLOCK, BLOCK, blocks, local.device()),
            IntStream.range(0, count).toArray(),
            BlockList.strided(remote.address(), BLOCK, BLOCK, blocks, remote.device()),
            indices);
    return new TransferPlan(pairs, new Region[] {local}, new RemoteRegion[] {remote});
  }

  private void run(Op op, TransferPlan plan) {
    Transfer transfer = link.prepare(op, plan).timeout(PATIENCE);
    transfer.post();
    assertThat(transfer.await(PATIENCE)).isTrue();
    assertThat(transfer.end()).isEqualTo(new TransferEnd.Done());
  }
}
