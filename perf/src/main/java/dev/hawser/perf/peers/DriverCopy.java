/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.peers;

import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.CopyDirection;
import dev.hawser.memory.Device;
import dev.hawser.memory.DriverException;
import dev.hawser.memory.cuda.Cuda;
import dev.hawser.memory.gpu.Gpu;
import dev.hawser.memory.gpu.GpuBuffer;
import dev.hawser.memory.gpu.GpuCopyPlan;
import dev.hawser.memory.gpu.GpuDeviceOps;
import dev.hawser.memory.gpu.GpuEvent;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * The same copies within one process: between two allocations, on one stream, with as many requests under way as ours, each
 * with an event behind it that is asked for.
 */
final class DriverCopy implements Peer {
  /** Who copies. */
  enum Way {
    /** One {@code cuMemcpyAsync} for a request of one piece. */
    COPY("cuMemcpyAsync"),
    /** One {@code cuMemcpyPeerAsync} for a request of one piece from one device to another. */
    PEER("cuMemcpyPeerAsync"),
    /** One {@code cuMemcpyBatchAsync} for a request of blocks. */
    BATCH("cuMemcpyBatchAsync"),
    /** One launch of our kernel for a request of blocks, prepared. */
    KERNEL("kernel");

    private final String text;

    Way(String text) {
      this.text = text;
    }
  }

  private static final long SEED = 42;
  private static final Duration DEADLINE = Duration.ofSeconds(60);

  private final Way way;

  DriverCopy(Way way) {
    this.way = way;
  }

  @Override
  public String name() {
    return way.text;
  }

  @Override
  public boolean ofDevices() {
    return true;
  }

  @Override
  public Optional<Metric> metric(PeerRequest request) {
    boolean fits =
        switch (way) {
          case COPY -> request.isPlain() && !request.betweenDevices();
          case PEER -> request.isPlain() && request.betweenDevices();
          case KERNEL, BATCH -> !request.isPlain();
        };
    return fits ? Optional.of(Metric.GBYTES_PER_S) : Optional.empty();
  }

  @Override
  public Optional<String> missing() {
    String absence = Cuda.absence();
    if (absence != null) {
      return Optional.of(absence);
    }
    return way != Way.BATCH || Cuda.memory().driver().hasCopyBatch()
        ? Optional.empty()
        : Optional.of("the driver has no cuMemcpyBatchAsync; install one of CUDA 12.8 or newer");
  }

  @Override
  public double measure(PeerRequest request) {
    Device here = request.initiatorDevice();
    Gpu gpu = Cuda.memory().gpu(here.isHost() ? request.targetDevice() : here);
    try (Run run = new Run(gpu, request)) {
      return run.measure();
    } catch (DriverException e) {
      throw new PeerException(name() + ": " + e.getMessage(), e);
    }
  }

  private final class Run implements AutoCloseable {
    private final PeerRequest request;
    private final Gpu gpu;
    private final GpuDeviceOps ops;
    private final Arena arena = Arena.ofConfined();
    private final List<GpuBuffer> open = new ArrayList<>();
    private final GpuEvent[] events;
    private final int slots;
    private final int blocks; // of a request
    private final long local;
    private final long remote;
    private final int[] here;
    private final int[] there;
    private final List<GpuCopyPlan> plans = new ArrayList<>();
    private final @Nullable MemorySegment addresses; // for each slot: froms, tos, sizes

    Run(Gpu gpu, PeerRequest request) {
      this.gpu = gpu;
      this.request = request;
      this.ops = GpuDeviceOps.on(gpu);
      this.slots = (int) (request.windowBytes() / request.requestBytes());
      this.blocks = (int) (request.requestBytes() / request.blockBytes());
      this.local = allocate(request.initiatorDevice());
      this.remote = allocate(request.targetDevice());
      this.here = order(SEED);
      this.there = order(SEED + 1);
      this.events = new GpuEvent[request.depth()];
      for (int i = 0; i < events.length; i++) {
        events[i] = gpu.newEvent();
      }
      this.addresses = way == Way.BATCH ? addresses() : null;
      if (way == Way.KERNEL) {
        for (int slot = 0; slot < slots; slot++) {
          plans.add(ops.prepare(pairs(slot)));
        }
      }
    }

    private long allocate(Device device) {
      Gpu owner = device.isHost() ? gpu : Cuda.memory().gpu(device);
      GpuBuffer buffer =
          device.isHost() ? owner.allocateHost(request.windowBytes()) : owner.allocate(request.windowBytes());
      open.add(buffer);
      if (!gpu.reach(owner) && way == Way.KERNEL) {
        throw new PeerException(gpu + " does not reach " + owner);
      }
      return buffer.address();
    }

    private int[] order(long seed) {
      int[] order = new int[slots * blocks];
      SplittableRandom random = new SplittableRandom(seed);
      for (int i = 0; i < order.length; i++) {
        int j = blocks == 1 ? i : random.nextInt(i + 1);
        order[i] = order[j];
        order[j] = i;
      }
      return order;
    }

    private BlockPairs pairs(int slot) {
      long bytes = request.blockBytes();
      int count = slots * blocks;
      return BlockPairs.of(
          BlockList.strided(local, bytes, bytes, count, request.initiatorDevice()), part(here, slot),
          BlockList.strided(remote, bytes, bytes, count, request.targetDevice()), part(there, slot));
    }

    private int[] part(int[] order, int slot) {
      return Arrays.copyOfRange(order, slot * blocks, (slot + 1) * blocks);
    }

    private MemorySegment addresses() {
      long column = (long) blocks * Long.BYTES;
      MemorySegment all = arena.allocate(3 * column * slots, Long.BYTES);
      for (int i = 0; i < slots * blocks; i++) {
        long at = (long) (i / blocks) * 3 * column + i % blocks * (long) Long.BYTES;
        long mine = local + here[i] * request.blockBytes();
        long theirs = remote + there[i] * request.blockBytes();
        all.set(ValueLayout.JAVA_LONG, at, request.read() ? theirs : mine);
        all.set(ValueLayout.JAVA_LONG, at + column, request.read() ? mine : theirs);
        all.set(ValueLayout.JAVA_LONG, at + 2 * column, request.blockBytes());
      }
      return all;
    }

    double measure() {
      go(request.time().toNanos() / 10);
      return go(request.time().toNanos());
    }

    private double go(long nanos) {
      long start = System.nanoTime();
      long posted = 0;
      long ended = 0;
      long now = start;
      while (now - start < nanos || ended < posted) {
        if (now - start < nanos && posted - ended < events.length) {
          post((int) (posted % slots));
          ops.stream().record(events[(int) (posted % events.length)]);
          posted++;
        } else {
          events[(int) (ended % events.length)].await(DEADLINE);
          ended++;
        }
        now = System.nanoTime();
      }
      return (double) ended * request.requestBytes() / (now - start);
    }

    private void post(int slot) {
      switch (way) {
        case COPY -> {
          long mine = local + slot * request.requestBytes();
          long theirs = remote + slot * request.requestBytes();
          ops.stream().copy(request.read() ? theirs : mine, request.read() ? mine : theirs, request.requestBytes());
        }
        case PEER -> {
          long mine = local + slot * request.requestBytes();
          long theirs = remote + slot * request.requestBytes();
          int here = request.initiatorDevice().ordinal();
          int there = request.targetDevice().ordinal();
          gpu.run(
              driver -> driver.copyPeer(
                  request.read() ? theirs : mine, request.read() ? there : here,
                  request.read() ? mine : theirs, request.read() ? here : there,
                  request.requestBytes(), ops.stream().handle()));
        }
        case KERNEL ->
          ops.copy(
              plans.get(slot), request.read() ? CopyDirection.REMOTE_TO_LOCAL : CopyDirection.LOCAL_TO_REMOTE, 0, 0);
        case BATCH -> {
          long column = (long) blocks * Long.BYTES;
          long at = Objects.requireNonNull(addresses).address() + 3L * slot * column;
          gpu.run(driver -> driver.copyBatch(at, at + column, at + 2 * column, blocks, ops.stream().handle()));
        }
      }
    }

    @Override
    public void close() {
      ops.finish();
      plans.forEach(GpuCopyPlan::close);
      for (GpuEvent event : events) {
        event.close();
      }
      ops.close();
      open.forEach(GpuBuffer::close);
      arena.close();
    }
  }
}
