/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.CopyDirection;
import dev.hawser.memory.Device;
import dev.hawser.memory.DeviceOps;
import dev.hawser.memory.ElementType;
import dev.hawser.memory.InvalidMemoryException;
import dev.hawser.memory.PermutedTensor;
import dev.hawser.memory.ReduceOp;
import java.time.Duration;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * {@link DeviceOps} on a GPU: each call puts work on one stream and returns. Blocks are copied by a kernel, about one
 * warp to 4 KiB, pieces of {@link #ENGINE_BYTES} and more by the driver's own copy.
 *
 * <p>Addresses may be those of this device, of a peer that it {@linkplain Gpu#reach reaches}, of another process's memory
 * that was {@linkplain Gpu#open opened}, and of pinned host memory. Other host memory works too in {@link #copy(long, long,
 * long)} and, slowly, in copies of block pairs whose side is said to be on the host.
 *
 * <p>For one thread at a time; it leaves the device that is current on the thread as it was. Copies allocate nothing.
 */
public final class GpuDeviceOps implements DeviceOps {
  /**
   * From how many bytes on a contiguous piece goes to the driver's own copy: on an H200 the kernel, with all pieces in one
   * launch, was the faster one up to 8 MiB, at 64 KiB by 40 times.
   */
  public static final long ENGINE_BYTES = 16 << 20;

  /** The same where one side is memory of the host, which copy engines reach faster than kernels do. */
  public static final long HOST_ENGINE_BYTES = 256 << 10;

  /** How long {@link #finish} waits for the device. */
  public static final Duration FINISH_DEADLINE = Duration.ofMinutes(2);

  static final int DIRECT_TABLE_BYTES = 16 << 10;

  private static final int THREADS = 256;
  private static final int BLOCKS_PER_MULTIPROCESSOR = 8;
  private static final long BOUNCE_BYTES = 8 << 20;

  private final Gpu gpu;
  private final GpuDriver driver;
  private final GpuStream stream;
  private final boolean ownsStream;
  private final GpuKernels kernels;
  private final TableRing ring;
  private final int maxBlocks;
  private final KernelArguments arguments = new KernelArguments();
  private final CopyBatch batch = new CopyBatch(new Launches());
  private @Nullable GpuBuffer bounce;
  private CopyDirection batchDirection = CopyDirection.LOCAL_TO_REMOTE;
  private long batchEngineBytes = ENGINE_BYTES;
  private @Nullable CopyRecorder recorder;
  private PointerInfo pinned = PointerInfo.UNKNOWN; // the host memory that was found pinned last
  private @Nullable Device peer; // the other device that was met last
  private boolean peerReached;
  private boolean closed;

  private GpuDeviceOps(GpuStream stream, boolean ownsStream, int directTableBytes) {
    this.stream = stream;
    this.gpu = stream.gpu();
    this.driver = gpu.driver();
    this.ownsStream = ownsStream;
    this.kernels = gpu.kernels();
    this.maxBlocks = gpu.properties().multiprocessors() * BLOCKS_PER_MULTIPROCESSOR;
    this.ring = new TableRing(stream, directTableBytes);
  }

  /** Operations on a stream of their own. */
  public static GpuDeviceOps on(Gpu gpu) {
    return new GpuDeviceOps(gpu.newStream(), true, DIRECT_TABLE_BYTES);
  }

  /** Operations on a stream that its owner closes after them. */
  public static GpuDeviceOps on(GpuStream stream) {
    return new GpuDeviceOps(stream, false, DIRECT_TABLE_BYTES);
  }

  /** With another limit for tables that the kernels read from host memory: for measurements. */
  static GpuDeviceOps on(GpuStream stream, int directTableBytes) {
    return new GpuDeviceOps(stream, false, directTableBytes);
  }

  @Override
  public Device device() {
    return gpu.device();
  }

  /** The stream that the work is put on. */
  public GpuStream stream() {
    return stream;
  }

  // ------------------------------------------------------------------------------------------------ copies

  @Override
  public void copy(long from, long to, long bytes) {
    checkRange("from", from, bytes);
    checkRange("to", to, bytes);
    if (bytes == 0 || from == to) {
      return;
    }
    if (Math.abs(from - to) >= bytes) {
      stream.copy(from, to, bytes);
    } else {
      copyOverlapping(from, to, bytes);
    }
  }

  private void copyOverlapping(long from, long to, long bytes) {
    GpuBuffer buffer = bounce;
    if (buffer == null) {
      buffer = gpu.allocate(BOUNCE_BYTES);
      bounce = buffer;
    }
    for (long done = 0; done < bytes; done += BOUNCE_BYTES) {
      long piece = Math.min(BOUNCE_BYTES, bytes - done);
      long offset = to < from ? done : bytes - done - piece; // never over bytes that are still to be read
      stream.copy(from + offset, buffer.address(), piece);
      stream.copy(buffer.address(), to + offset, piece);
    }
  }

  @Override
  public void copy(BlockPairs pairs, CopyDirection direction) {
    copy(pairs.cursor(), pairs.totalBytes(), direction);
  }

  @Override
  public long copy(BlockPairs.Cursor cursor, long bytes, CopyDirection direction) {
    BlockPairs pairs = cursor.pairs();
    boolean hostSide = pairs.localDevice().isHost() || pairs.remoteDevice().isHost();
    long engineBytes = hostSide ? HOST_ENGINE_BYTES : ENGINE_BYTES;
    if (!kernelsReach(pairs.localDevice()) || !kernelsReach(pairs.remoteDevice())) {
      engineBytes = 0; // the driver copies by way of the host; a kernel would end the device for the whole process
    }
    begin(direction, hostSide);
    long left = bytes;
    while (left > 0 && cursor.nextRow(left)) {
      int pieces = cursor.pieces();
      long length = cursor.length();
      if (length >= engineBytes || (hostSide && !isPinned(pairs, cursor))) {
        for (int piece = 0; piece < pieces; piece++) {
          copyOne(
              cursor.localAddress() + piece * cursor.localStride(),
              cursor.remoteAddress() + piece * cursor.remoteStride(),
              length);
        }
      } else {
        batch.addRow(
            cursor.localAddress(),
            cursor.remoteAddress(),
            cursor.localStride(),
            cursor.remoteStride(),
            length,
            pieces);
      }
      left -= length * pieces;
    }
    submit();
    return bytes - left;
  }

  /** Whether kernels here may touch memory that is said to lie there; another device is asked for once. */
  private boolean kernelsReach(Device device) {
    if (device.isHost() || device.equals(gpu.device())) {
      return true;
    }
    if (!device.equals(peer)) {
      peer = device;
      peerReached = gpu.reach(device.ordinal());
    }
    return peerReached;
  }

  private boolean isPinned(BlockPairs pairs, BlockPairs.Cursor cursor) {
    long steps = cursor.pieces() - 1L;
    return (!pairs.localDevice().isHost()
        || isPinned(cursor.localAddress(), steps * cursor.localStride(), cursor.length()))
        && (!pairs.remoteDevice().isHost()
            || isPinned(cursor.remoteAddress(), steps * cursor.remoteStride(), cursor.length()));
  }

  private boolean isPinned(long address, long span, long bytes) {
    return isPinned(Math.min(address, address + span), Math.abs(span) + bytes);
  }

  /** Whether kernels can reach the bytes; anything else would end the device for the whole process. */
  private boolean isPinned(long address, long bytes) {
    if (pinned.covers(address, bytes)) {
      return true;
    }
    PointerInfo info = driver.pointer(address);
    if (info.memory() == PointerInfo.Memory.UNKNOWN
        || info.memory() == PointerInfo.Memory.FOREIGN
        || !info.covers(address, bytes)) {
      return false;
    }
    pinned = info;
    return true;
  }

  /** Whether the next batch can be submitted without waiting for one before it, unless it needs several tables. */
  public boolean hasRoom() {
    return ring.isFree();
  }

  /** Begins a batch of pieces, for {@link #add}, to be copied in one direction. Nothing else may come before {@link #submit}. */
  public void begin(CopyDirection direction) {
    begin(direction, false);
  }

  /**
   * As {@link #begin(CopyDirection)}.
   *
   * @param hostSide whether one side is memory of the host, which copy engines reach faster than kernels do
   */
  public void begin(CopyDirection direction, boolean hostSide) {
    batch.clear();
    recorder = null;
    batchEngineBytes = hostSide ? HOST_ENGINE_BYTES : ENGINE_BYTES;
    batchDirection = direction;
    pinned = PointerInfo.UNKNOWN; // what was pinned then may be gone now
  }

  /** Adds a piece to the batch: at least one byte, which kernels can reach on both sides. Pieces must not overlap. */
  public void add(long local, long remote, long bytes) {
    CopyRecorder keeper = recorder;
    if (keeper != null) {
      keeper.piece(bytes);
    }
    if (bytes >= batchEngineBytes) {
      copyLarge(local, remote, bytes);
      return;
    }
    batch.add(local, remote, bytes);
  }

  /** The batch that was begun will be made again: {@link #submit} gives what that takes. */
  public void keep() {
    recorder = new CopyRecorder(gpu);
  }

  private void copyLarge(long local, long remote, long bytes) {
    CopyRecorder keeper = recorder;
    if (keeper != null) {
      keeper.large(local, remote, bytes);
    }
    copyOne(local, remote, bytes);
  }

  private void copyOne(long local, long remote, long bytes) {
    boolean toRemote = batchDirection == CopyDirection.LOCAL_TO_REMOTE;
    stream.copy(toRemote ? local : remote, toRemote ? remote : local, bytes);
  }

  /**
   * Puts what the batch still holds on the stream.
   *
   * @return what makes the same copies again on a stream of this device, if that was {@linkplain #keep asked for}; null also
   *     if there is no memory for its tables, see {@link Gpu#isShortOfTables}. Close it when no copy by it is under way
   */
  public @Nullable GpuCopyPlan submit() {
    batch.submit();
    CopyRecorder keeper = recorder;
    recorder = null;
    return keeper == null ? null : keeper.finish();
  }

  /** Puts the tables of a batch on the stream. */
  private final class Launches implements CopyBatch.Target {
    @Override
    public long room() {
      return ring.take();
    }

    @Override
    public void launch(CopyLaunch launch) {
      CopyRecorder keeper = recorder;
      long kept = keeper == null ? 0 : keeper.keep(launch);
      long table = kept == 0 ? ring.publish(launch.tableBytes) : ring.publishAt(kept, launch.tableBytes);
      launchCopy(launch, table, batchDirection, 0, 0);
      ring.launched();
    }

    @Override
    public void copy(long local, long remote, long bytes) {
      copyLarge(local, remote, bytes);
    }
  }

  /** Prepares a copy that will be made often. The blocks must be memory that kernels can reach. */
  public GpuCopyPlan prepare(BlockPairs pairs) {
    GpuCopyPlan plan = new GpuCopyPlan.Builder(stream, ring).build(pairs, ENGINE_BYTES);
    finish(); // its tables are read by other streams, too
    return plan;
  }

  /**
   * Makes a prepared copy.
   *
   * @param localShift what to add to the local addresses that it was prepared with
   * @param remoteShift what to add to the remote ones, for example for memory that was opened at another address
   */
  public void copy(GpuCopyPlan plan, CopyDirection direction, long localShift, long remoteShift) {
    boolean toRemote = direction == CopyDirection.LOCAL_TO_REMOTE;
    long[] large = plan.large();
    for (int i = 0; i < large.length; i += 3) {
      long local = large[i] + localShift;
      long remote = large[i + 1] + remoteShift;
      stream.copy(toRemote ? local : remote, toRemote ? remote : local, large[i + 2]);
    }
    for (int i = 0; i < plan.steps().size(); i++) {
      GpuCopyPlan.Step step = plan.steps().get(i);
      launchCopy(step.launch(), step.table(), direction, localShift, remoteShift);
    }
  }

  private void launchCopy(
      CopyLaunch copy, long table, CopyDirection direction, long localShift, long remoteShift) {
    boolean toRemote = direction == CopyDirection.LOCAL_TO_REMOTE;
    if (copy.indexed) {
      arguments.copyIndexed(copy, table, localShift, remoteShift, toRemote);
    } else {
      arguments.copyRuns(copy, table, localShift, remoteShift, toRemote);
    }
    launch(copy.indexed ? kernels.copyIndexed() : kernels.copyRuns(), copy.items << copy.laneBits);
  }

  @Override
  public void gather(BlockList from, long to) {
    copy(BlockPairs.packed(from, to), CopyDirection.LOCAL_TO_REMOTE);
  }

  @Override
  public void scatter(long from, BlockList to) {
    copy(BlockPairs.packed(to, from), CopyDirection.REMOTE_TO_LOCAL);
  }

  // ------------------------------------------------------------------------------------------------ computing

  @Override
  public void permute(long from, long to, long[] shape, int[] axes, int elementBytes) {
    PermutedTensor tensor = PermutedTensor.of(shape, axes, elementBytes);
    Permutation permutation = Permutation.of(tensor, from, to, elementBytes);
    if (permutation.units() == 0) {
      return;
    }
    if (permutation.axes() > KernelArguments.MAX_AXES) {
      gather(tensor.elements(from, gpu.device()), to);
      return;
    }
    arguments.permute(
        from,
        to,
        permutation.units(),
        permutation.unitBytes(),
        permutation.axes(),
        permutation.shape(),
        permutation.stride());
    launch(kernels.permute(), permutation.units());
  }

  @Override
  public void cast(long from, ElementType fromType, long to, ElementType toType, long count) {
    checkFloat("fromType", fromType);
    checkFloat("toType", toType);
    checkCount(count);
    if (fromType == toType) {
      copy(from, to, Math.multiplyExact(count, (long) fromType.bytes()));
    } else if (count > 0) {
      arguments.cast(from, to, count, fromType, toType);
      launch(kernels.cast(), count);
    }
  }

  @Override
  public void reduce(ReduceOp op, ElementType type, long[] from, long to, long count) {
    if (from.length == 0) {
      throw new InvalidMemoryException("from", "no arrays to reduce; give at least one");
    }
    if (from.length > CopyBatch.TABLE_BYTES / Long.BYTES) {
      throw new InvalidMemoryException(
          "from", from.length + " arrays are more than " + CopyBatch.TABLE_BYTES / Long.BYTES + "; reduce some first");
    }
    checkCount(count);
    if (count == 0) {
      return;
    }
    long table = ring.take();
    for (int i = 0; i < from.length; i++) {
      Native.ALL.set(JAVA_LONG, table + 8L * i, from[i]);
    }
    // Every thread reads all of it, so it belongs on the device whatever its size.
    long published = ring.publishOnDevice(8L * from.length);
    arguments.reduce(published, to, count, from.length, op, type);
    launch(kernels.reduce(), count);
    ring.launched();
  }

  private void launch(long function, long threads) {
    int blocks = (int) Math.min(maxBlocks, (threads + THREADS - 1) / THREADS);
    long before = gpu.enter();
    try {
      driver.launch(function, blocks, THREADS, stream.handle(), arguments.address());
    } finally {
      gpu.leave(before);
    }
  }

  // ------------------------------------------------------------------------------------------------ ending

  /** Whether every earlier call has taken effect. Throws what made one fail. */
  public boolean isIdle() {
    return stream.isIdle();
  }

  /**
   * {@inheritDoc}
   *
   * @throws GpuTimeoutException after {@link #FINISH_DEADLINE}
   * @throws dev.hawser.memory.DriverException what made a call fail
   */
  @Override
  public void finish() {
    stream.await(FINISH_DEADLINE);
  }

  @Override
  public void close() {
    if (closed) {
      return;
    }
    closed = true;
    try {
      finish();
    } finally {
      ring.close();
      if (bounce != null) {
        bounce.close();
      }
      if (ownsStream) {
        stream.close();
      }
    }
  }

  @Override
  public String toString() {
    return "operations on " + stream;
  }

  private static void checkRange(String name, long address, long bytes) {
    if (bytes < 0) {
      throw new InvalidMemoryException("bytes", bytes + " bytes is negative");
    }
    if (address < 0 || address + bytes < 0) {
      throw new InvalidMemoryException(
          name, bytes + " bytes at 0x" + Long.toHexString(address) + " are beyond the end of the address space");
    }
  }

  private static void checkCount(long count) {
    if (count < 0) {
      throw new InvalidMemoryException("count", count + " elements is negative");
    }
  }

  private static void checkFloat(String argument, ElementType type) {
    if (type != ElementType.F32 && type != ElementType.BF16 && type != ElementType.F16) {
      throw new InvalidMemoryException(argument, "cast is between F32, BF16 and F16, not " + type);
    }
  }

  /** The axes of a permuted tensor in the fewest and largest steps. */
  @SuppressWarnings("ArrayRecordComponent") // made, read once and dropped
  private record Permutation(long units, int unitBytes, long[] shape, long[] stride) {
    int axes() {
      return shape.length;
    }

    static Permutation of(PermutedTensor tensor, long from, long to, int elementBytes) {
      // Result axes, from the last on, the bytes of an element being the last of all; joined where they stay together.
      long[] extents = new long[tensor.rank() + 1];
      long[] strides = new long[tensor.rank() + 1];
      int first = extents.length - 1;
      extents[first] = elementBytes;
      strides[first] = 1;
      for (int axis = tensor.rank() - 1; axis >= 0; axis--) {
        long extent = tensor.extent(axis);
        long stride = tensor.stride(axis);
        if (stride == extents[first] * strides[first]) {
          extents[first] *= extent;
        } else if (extent != 1) {
          first--;
          extents[first] = extent;
          strides[first] = stride;
        }
      }
      long[] joinedShape = Arrays.copyOfRange(extents, first, extents.length);
      long[] joinedStride = Arrays.copyOfRange(strides, first, strides.length);
      int last = joinedShape.length - 1;
      int unit = unitBytes(from | to | joinedShape[last], joinedStride);
      joinedShape[last] /= unit;
      joinedStride[last] = unit;
      if (joinedShape[last] == 1 && last > 0) {
        joinedShape = Arrays.copyOf(joinedShape, last);
        joinedStride = Arrays.copyOf(joinedStride, last);
      }
      return new Permutation(tensor.bytes() / unit, unit, joinedShape, joinedStride);
    }

    /** The widest word that starts of pieces, and their lengths, are multiples of. */
    private static int unitBytes(long bits, long[] stride) {
      long all = bits | 16;
      for (int axis = 0; axis < stride.length - 1; axis++) {
        all |= stride[axis];
      }
      return (int) Long.lowestOneBit(all);
    }
  }
}
