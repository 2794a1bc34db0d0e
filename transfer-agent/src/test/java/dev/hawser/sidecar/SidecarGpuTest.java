/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.sidecar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.memory.gpu.Gpu;
import dev.hawser.memory.gpu.GpuMemory;
import dev.hawser.memory.testkit.FakeCuda;
import dev.hawser.memory.testkit.FakeGpu;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Memory of a worker's GPU: opened in the sidecar, where it has another address, and is on a device of another number. The
 * worker's driver and the sidecar's are two fakes; handles of the one open with the other.
 */
class SidecarGpuTest {
  private static final int BYTES = 1 << 16;
  private static final int BLOCK = 4096;
  private static final long CUDA_0 = 0x1_0000;

  @TempDir
  private Path folder;

  private final FakeCuda theirs = new FakeCuda(new FakeGpu(2, 1L << 30)); // the worker's
  private final FakeCuda ours = new FakeCuda(new FakeGpu(2, 1L << 30).workInBackground()); // the sidecar's
  private final GpuMemory driver = theirs.start();
  // CUDA_VISIBLE_DEVICES=1 there: what the worker numbers 0 is the second one here.
  private final Gpu gpu = driver.gpu(1);
  private final byte[] uuid = gpu.properties().uuid().getBytes(StandardCharsets.US_ASCII);
  private long memory;

  @BeforeEach
  void allocate() {
    memory = gpu.allocate(BYTES).address();
  }

  private Path socket() {
    return folder.resolve("s");
  }

  private Sidecar sidecar() {
    return Sidecar.start(socket(), ours.start());
  }

  private long share(Worker worker) throws IOException {
    return share(worker, memory, uuid).getLong();
  }

  private ByteBuffer share(Worker worker, long start, byte[] of) throws IOException {
    byte[] handle = gpu.export(memory).handle().bytes();
    return worker.ask(Message.SHARE_GPU, start, (long) BYTES, CUDA_0, of, handle);
  }

  private static long made(ByteBuffer answer) {
    assertThat(answer.getLong()).as(() -> Worker.text(answer)).isNotNegative();
    return answer.getLong();
  }

  private static String refused(ByteBuffer answer, long code) {
    long result = answer.getLong();
    assertThat(result).as(() -> result < 0 ? Worker.text(answer) : "done").isEqualTo(code);
    return Worker.text(answer);
  }

  private static void awaitNoneOpen(FakeGpu gpu) {
    long deadline = System.nanoTime() + Duration.ofSeconds(20).toNanos();
    while (gpu.openedCount() > 0 && System.nanoTime() - deadline < 0) {
      Thread.onSpinWait();
    }
    assertThat(gpu.openedCount()).as("what is still open").isZero();
  }

  @Test
  void isReadAndWrittenByTheWorkersAddresses() throws IOException {
    try (Sidecar _ = sidecar();
        Worker worker = Worker.greeted(socket(), 1);
        Worker other = Worker.greeted(socket(), 2)) {
      byte[] pattern = new byte[BYTES];
      for (int i = 0; i < BYTES; i++) {
        pattern[i] = (byte) (i * 31 + (i >> 8));
      }
      assertThat(share(worker)).isZero();
      long target = worker.agent("target", "[environment]\n");
      long region = made(worker.call("region_register", target, "kv", memory, (long) BYTES, CUDA_0, 3L));
      ByteBuffer described = worker.call("region_describe", region, room());
      assertThat(described.getLong()).isZero();
      ByteBuffer info = described.slice(described.position() + 4, 40).order(ByteOrder.LITTLE_ENDIAN);
      assertThat(info.getInt(4)).as("the device as the worker numbers it").isEqualTo((int) CUDA_0);
      assertThat(info.getLong(8)).as("the address as the worker has it").isEqualTo(memory);

      // Another worker, with memory of the host.
      long initiator = other.agent("initiator", "[environment]\n");
      long sink = made(other.call("region_allocate", initiator, "sink", (long) BYTES, 3L));
      long sinkAt = address(other, sink);
      byte[] metadata = metadata(worker, target);
      long peer = made(other.call("peer_add", initiator, metadata, (long) metadata.length));
      ByteBuffer found = other.call("peer_region", peer, "kv", room());
      assertThat(found.getLong()).isZero();
      ByteBuffer kv = found.slice(found.position() + 4, 40).order(ByteOrder.LITTLE_ENDIAN);
      long host = made(blocks(other, sinkAt, 0));
      long remote = made(blocks(other, kv.getLong(8), kv.getInt(4)));

      bytes(memory).copyFrom(MemorySegment.ofArray(pattern));
      transfer(other, initiator, 1, peer, host, remote);
      assertThat(bytes(sinkAt).toArray(ValueLayout.JAVA_BYTE)).as("read from the GPU").isEqualTo(pattern);

      // And the worker of the GPU as the initiator, by its own addresses, also of what it lends.
      metadata = metadata(other, initiator);
      long back = made(worker.call("peer_add", target, metadata, (long) metadata.length));
      long local = made(blocks(worker, memory, CUDA_0));
      bytes(sinkAt).fill((byte) 7);
      transfer(worker, target, 1, back, local, made(blocks(worker, sinkAt, 0)));
      assertThat(bytes(memory).toArray(ValueLayout.JAVA_BYTE)).as("written to the GPU").containsOnly(7);
      assertThat(made(worker.call("grant_make", target, local, 0L, 0L))).isPositive();

      // What is not shared has no place here.
      long elsewhere = made(blocks(worker, memory + BLOCK, CUDA_0));
      assertThat(
          refused(worker.call("transfer_prepare", target, request(1, back, elsewhere, remote), null, null, null), -3))
          .contains("local[0]: 0x" + Long.toHexString(memory + BLOCK), "of cuda:0", "register it");
      assertThat(refused(worker.call("grant_make", target, made(blocks(worker, memory, CUDA_0 + 1)), 0L, 0L), -3))
          .contains("of cuda:1");
    }
    assertThat(ours.gpu().calls("cuIpcOpenMemHandle_v2")).as("opened once").isEqualTo(1);
    awaitNoneOpen(ours.gpu());
  }

  private static byte[] metadata(Worker worker, long agent) throws IOException {
    ByteBuffer blob = worker.call("agent_metadata", agent, 1L, null, 0L, 65536L);
    int length = (int) blob.getLong();
    byte[] metadata = new byte[length];
    blob.position(blob.position() + 4).get(metadata);
    return metadata;
  }

  private static long address(Worker worker, long region) throws IOException {
    ByteBuffer described = worker.call("region_describe", region, room());
    assertThat(described.getLong()).isZero();
    return described.getLong(described.position() + 4 + 8);
  }

  private static ByteBuffer blocks(Worker worker, long address, long device) throws IOException {
    byte[] shape = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(BYTES / BLOCK).array();
    byte[] strides = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(BLOCK).array();
    return worker.call("blocks_strided", address, 1L, shape, strides, (long) BLOCK, device);
  }

  /** A hawser_region to be filled. */
  private static byte[] room() {
    return ByteBuffer.allocate(40).order(ByteOrder.LITTLE_ENDIAN).putInt(40).array();
  }

  private static byte[] request(int operation, long peer, long local, long remote) {
    return ByteBuffer.allocate(72).order(ByteOrder.LITTLE_ENDIAN).putInt(72).putInt(operation).putLong(peer)
        .putLong(local).putLong(remote).array();
  }

  private static void transfer(Worker worker, long agent, int operation, long peer, long local, long remote)
      throws IOException {
    long transfer =
        made(worker.call("transfer_start", agent, request(operation, peer, local, remote), null, null, null));
    ByteBuffer ended = worker.call("transfer_wait", transfer, Duration.ofSeconds(20).toNanos());
    long state = ended.getLong();
    assertThat(state).as(() -> state < 0 ? Worker.text(ended) : "state").isEqualTo(2);
  }

  @SuppressWarnings("restricted") // memory of the fakes and of this process's sidecar
  private static MemorySegment bytes(long address) {
    return MemorySegment.ofAddress(address).reinterpret(BYTES);
  }

  @Test
  void staysOpenWhileARegionIsInItAndGoesWithItsWorker() throws IOException {
    try (Sidecar _ = sidecar()) {
      try (Worker worker = Worker.greeted(socket(), 1)) {
        assertThat(share(worker)).isZero();
        long agent = worker.agent("a", "[environment]\n");
        long region = made(worker.call("region_register", agent, "r", memory + BLOCK, (long) BLOCK, CUDA_0, 3L));
        assertThat(refused(worker.ask(Message.UNSHARE, memory), -12)).contains("a region is registered in it");
        assertThat(worker.call("region_close", region, 1_000_000_000L).getLong()).isZero();
        assertThat(worker.ask(Message.UNSHARE, memory).getLong()).isZero();
        assertThat(ours.gpu().openedCount()).isZero();
        assertThat(refused(worker.call("region_register", agent, "r", memory, (long) BLOCK, CUDA_0, 3L), -1))
            .contains("not shared with the sidecar");

        assertThat(share(worker)).isZero();
        assertThat(refused(share(worker, memory, uuid), -1)).contains("is shared already");
        made(worker.call("region_register", agent, "r", memory, (long) BLOCK, CUDA_0, 3L));
        assertThat(ours.gpu().openedCount()).isEqualTo(1);
      }
      awaitNoneOpen(ours.gpu());
    }
  }

  @Test
  void saysWhyItCannotBeHad() throws IOException {
    try (Sidecar _ = sidecar(); Worker worker = Worker.greeted(socket(), 1)) {
      byte[] unknown = "00".repeat(16).getBytes(StandardCharsets.US_ASCII);
      assertThat(refused(share(worker, memory, unknown), -13))
          .contains("does not see the GPU 0000", "CUDA_VISIBLE_DEVICES", gpu.properties().uuid());
      assertThat(refused(worker.ask(Message.SHARE_GPU, memory, (long) BYTES, CUDA_0, uuid, new byte[64]), -13))
          .contains("cuIpcOpenMemHandle", "CUDA_ERROR_INVALID_VALUE");
      assertThat(refused(worker.ask(Message.SHARE_GPU, memory, (long) BYTES, CUDA_0, uuid, new byte[3]), -13))
          .contains("3 bytes are no handle");
      assertThatThrownBy(() -> worker.ask(Message.SHARE_GPU, memory, (long) BYTES, CUDA_0, uuid, null))
          .isInstanceOf(IOException.class);
    }
    assertThat(ours.gpu().openedCount()).isZero();
  }
}
