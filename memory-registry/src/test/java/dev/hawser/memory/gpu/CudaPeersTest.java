/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.CopyDirection;
import dev.hawser.memory.DriverException;
import dev.hawser.memory.cuda.Cuda;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;

/** Memory of another process on a real GPU: of a JVM, and of PyTorch where it is installed. */
@EnabledIf(
    value = "dev.hawser.memory.cuda.Cuda#present",
    disabledReason = "no CUDA device; perf/labs/gpu/pack.sh makes a tarball that runs this on a machine with one")
class CudaPeersTest {
  private static final String TORCH =
      """
          import sys, torch
          n = 8 << 20
          first = ((torch.arange(n, device='cuda') * 7 + 3) % 251).to(torch.uint8)
          even = (torch.arange(n, device='cuda') // 4096) % 2 == 0
          t = first.clone()
          torch.cuda.synchronize()
          shared = t.untyped_storage()._share_cuda_()
          print('handle', bytes(shared[1])[-64:].hex(), shared[3], flush=True)
          sys.stdin.readline()
          wrong = int((t != torch.where(even, 255 - first, first)).sum().item())
          print('right' if wrong == 0 else f'{wrong} bytes are wrong', flush=True)
          """;

  static boolean torchHere() {
    try {
      Process probe =
          new ProcessBuilder("python3", "-c", "import torch; assert torch.cuda.is_available()")
              .redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
      return probe.waitFor(90, TimeUnit.SECONDS) && probe.exitValue() == 0;
    } catch (IOException e) {
      return false;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  @Test
  void readsAndWritesTheMemoryOfAnotherJvm() throws Exception {
    exchange(
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            System.getProperty("java.class.path"),
            PeerChild.class.getName()));
  }

  @Test
  @EnabledIf(value = "torchHere", disabledReason = "no PyTorch with CUDA for python3; pip install torch")
  void readsAndWritesATensorOfPyTorch() throws Exception {
    exchange(List.of("python3", "-c", TORCH));
  }

  private static void exchange(List<String> command) throws Exception {
    Process child = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(child.getInputStream(), StandardCharsets.UTF_8))) {
      Iterator<String> words = List.of(lines.readLine().split(" ", -1)).iterator();
      assertThat(words.next()).isEqualTo("handle");
      IpcHandle handle = new IpcHandle(HexFormat.of().parseHex(words.next()));
      turnEverySecondBlock(handle, Long.parseLong(words.next()));
      child.getOutputStream().write('\n');
      child.getOutputStream().flush();
      assertThat(lines.readLine()).isEqualTo("right");
      assertThat(child.waitFor(60, TimeUnit.SECONDS)).isTrue();
      assertThat(child.exitValue()).isZero();
      assertThatThrownBy(() -> Cuda.memory().gpu(0).open(handle)).as("its owner is gone").isInstanceOf(
          DriverException.class);
    } finally {
      child.destroyForcibly();
    }
  }

  /** Reads all blocks, shuffled, checks them, and writes those with even numbers back with their bits turned. */
  private static void turnEverySecondBlock(IpcHandle handle, long offset) {
    Gpu gpu = Cuda.memory().gpu(0);
    int blocks = PeerChild.BYTES / PeerChild.BLOCK;
    int[] order = new int[blocks];
    int[] even = new int[blocks / 2];
    for (int i = 0; i < blocks; i++) {
      order[i] = (int) (i * 1021L % blocks);
    }
    for (int i = 0; i < even.length; i++) {
      even[i] = (int) (i * 1021L % even.length) * 2;
    }
    try (IpcMemory opened = gpu.open(handle);
        GpuDeviceOps ops = GpuDeviceOps.on(gpu);
        GpuBuffer mine = gpu.allocate(PeerChild.BYTES);
        GpuBuffer pinned = gpu.allocateHost(PeerChild.BYTES)) {
      BlockList theirs = blocks(opened.address() + offset, gpu);
      BlockList ours = blocks(mine.address(), gpu);
      ops.copy(BlockPairs.of(ours, order, theirs, order), CopyDirection.REMOTE_TO_LOCAL);
      ops.copy(mine.address(), pinned.address(), PeerChild.BYTES);
      ops.stream().await(Duration.ofSeconds(30));
      MemorySegment host = Native.ALL.asSlice(pinned.address(), PeerChild.BYTES);
      int wrong = 0;
      for (int i = 0; i < PeerChild.BYTES; i++) {
        wrong += host.get(JAVA_BYTE, i) == PeerChild.first(i) ? 0 : 1;
        host.set(JAVA_BYTE, i, (byte) ~host.get(JAVA_BYTE, i));
      }
      assertThat(wrong).as("bytes that were not read as their owner wrote them").isZero();
      ops.copy(pinned.address(), mine.address(), PeerChild.BYTES);
      ops.copy(BlockPairs.of(ours, even, theirs, even), CopyDirection.LOCAL_TO_REMOTE);
      ops.finish();
    }
  }

  private static BlockList blocks(long address, Gpu gpu) {
    return BlockList.strided(
        address, PeerChild.BLOCK, PeerChild.BLOCK, PeerChild.BYTES / PeerChild.BLOCK, gpu.device());
  }
}
