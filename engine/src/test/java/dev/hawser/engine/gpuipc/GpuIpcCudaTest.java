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
import java.util.Collections;
import java.util.List;
import java.util.Random;
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

  private final CudaAgent agent = new CudaAgent("here", BYTES, Access.LOCAL);
  private Process other;
  private RemoteRegion otherDevice;
  private RemoteRegion otherHost;
  private Link link;

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
            Long.toString(BYTES));
    other = builder.redirectError(ProcessBuilder.Redirect.INHERIT).start();
    String[] words = other.inputReader().readLine().split(" ");
    otherDevice = CudaAgent.region(words, 2, Device.cuda(0));
    otherHost = CudaAgent.region(words, 6, Device.HOST);
    link = agent.engine.connect(CudaAgent.peer("there", words));
    link.awaitUp(PATIENCE);
  }

  @AfterEach
  void end() throws IOException, InterruptedException {
    agent.close();
    other.getOutputStream().close();
    assertThat(other.waitFor(60, java.util.concurrent.TimeUnit.SECONDS)).isTrue();
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
    List<Integer> order = IntStream.range(0, blocks).boxed().collect(Collectors.toList());
    if (shuffled) {
      Collections.shuffle(order, random);
    }
    int[] indices = order.stream().mapToInt(Integer::intValue).toArray();
    BlockPairs pairs =
        BlockPairs.of(
            BlockList.strided(local.address(), BLOCK, BLOCK, blocks, local.device()),
            null,
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
