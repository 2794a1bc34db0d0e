/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.verbs;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.hawser.engine.net.RawMemory;
import dev.hawser.engine.verbs.abi.VerbsAbi;
import dev.hawser.engine.verbs.abi.VerbsLibrary;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * A libibverbs whose devices live in this process. All that open a device of it, and all of its devices, are on one
 * network; several libraries do not know each other.
 *
 * <p>Close it when nothing uses its functions any more, and look at {@link #violations()} before. Thread-safe.
 *
 * <p>Source of what functions do: their manual pages, of rdma-core 44.
 */
@SuppressWarnings({"unused", "restricted"}) // called from C, by name
public final class FakeVerbs implements AutoCloseable {
  private static final int HELD_SECONDS = 30;
  private static final System.Logger LOG = System.getLogger(FakeVerbs.class.getName());
  private static final Linker LINKER = Linker.nativeLinker();
  private static final long TICK_MICROSECONDS = 500;
  // Room for a struct whose tail nobody but the library touches.
  private static final int STRUCT = 192;

  private static final FunctionDescriptor POLL = FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG);
  private static final FunctionDescriptor NOTIFY = FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT);
  private static final FunctionDescriptor POST = FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG);

  /** How a function tells that it failed. */
  private enum Failure {
    /** 0, and errno. */
    NULL,
    /** The error number. */
    NUMBER,
    /** −1, and errno. */
    MINUS_ONE,
    /** It cannot. */
    NEVER
  }

  private record Refusal(int errno, int times) {}

  private final Arena stubs = Arena.ofShared();
  private final Fabric fabric = new Fabric();
  private final Map<String, MemorySegment> symbols = new HashMap<>();
  private final Set<String> absent = new HashSet<>();
  private final Map<String, Refusal> refusals = new HashMap<>();
  private final Map<String, CountDownLatch> held = new ConcurrentHashMap<>();
  private final Map<String, MemorySegment> operations = new HashMap<>();
  private final Map<Long, FakeContext> contexts = new HashMap<>();
  private final Map<Long, FakeChannel> channels = new HashMap<>();
  private final List<FakeDevice> devices = new ArrayList<>();
  private final ScheduledExecutorService clock;
  private int listsOpen;

  /** A library with so many devices, {@code fake_0} and so on. */
  public FakeVerbs(int deviceCount) {
    for (int i = 0; i < deviceCount; i++) {
      FakeDevice device = new FakeDevice(fabric, "fake_" + i, i);
      devices.add(device);
      fabric.add(device);
    }
    exported();
    clock =
        Executors.newSingleThreadScheduledExecutor(
            task -> Thread.ofPlatform().name("fake verbs").daemon().unstarted(task));
    var _ =
        clock.scheduleWithFixedDelay(this::tick, TICK_MICROSECONDS, TICK_MICROSECONDS, TimeUnit.MICROSECONDS);
  }

  /** Its functions. */
  public SymbolLookup symbols() {
    return name -> {
      synchronized (fabric) {
        return absent.contains(name) ? Optional.empty() : Optional.ofNullable(symbols.get(name));
      }
    };
  }

  /** Lets it play libibverbs for every engine of this process that starts from now on, until {@link #uninstall}. */
  public void install() {
    VerbsLibrary.install(VerbsLibrary.of("the fake libibverbs", symbols()));
  }

  /** Gives engines that start from now on the system's own library again. */
  public void uninstall() {
    VerbsLibrary.install(null);
  }

  /** One of its devices. */
  public FakeDevice device(int index) {
    return devices.get(index);
  }

  /** Lacks a function, as an older library does. */
  public FakeVerbs without(String function) {
    synchronized (fabric) {
      if (!symbols.containsKey(function)) {
        throw new IllegalArgumentException(function + " is not among its functions anyway");
      }
      absent.add(function);
      return this;
    }
  }

  /**
   * Lets the next calls of a function fail.
   *
   * @param function its C name
   * @param errno why
   */
  public void refuse(String function, int errno, int times) {
    synchronized (fabric) {
      if (!symbols.containsKey(function)) {
        throw new IllegalArgumentException(function + " is not among its functions");
      }
      refusals.put(function, new Refusal(errno, times));
    }
  }

  /** Ends what {@link #refuse} began, however many calls are left of it. */
  public void allow(String function) {
    synchronized (fabric) {
      refusals.remove(function);
    }
  }

  /** Lets calls of a function wait before they do anything, as those of a busy driver do, until {@link #release}. */
  public void hold(String function) {
    if (!symbols.containsKey(function)) {
      throw new IllegalArgumentException(function + " is not among its functions");
    }
    held.put(function, new CountDownLatch(1));
  }

  /** Lets the calls go on that {@link #hold} stopped. */
  public void release(String function) {
    CountDownLatch latch = held.remove(function);
    if (latch != null) {
      latch.countDown();
    }
  }

  /**
   * What was done that no provider has to bear: queues overfilled, objects used after their end, events that nobody takes.
   * Empty if all is well.
   */
  public List<String> violations() {
    synchronized (fabric) {
      return fabric.violations();
    }
  }

  /** What has not been given back: a text for each kind. Empty after a proper end. */
  public List<String> leftovers() {
    synchronized (fabric) {
      List<String> left = new ArrayList<>();
      leftover(left, "device lists", listsOpen);
      leftover(left, "open devices", contexts.size());
      leftover(left, "completion channels", channels.size());
      leftover(left, "queue pairs", fabric.queuePairs().alive());
      for (FakeDevice device : devices) {
        leftover(left, "protection domains of " + device, device.domains().alive());
        leftover(left, "memory regions of " + device, device.memories().alive());
        leftover(left, "completion queues of " + device, device.completionQueues().alive());
        leftover(left, "shared receive queues of " + device, device.receiveQueues().alive());
      }
      return left;
    }
  }

  private static void leftover(List<String> left, String what, int count) {
    if (count > 0) {
      left.add(count + " " + what);
    }
  }

  @Override
  public void close() {
    clock.shutdownNow();
    try {
      if (!clock.awaitTermination(10, TimeUnit.SECONDS)) {
        throw new IllegalStateException("the clock of the fake does not stop");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    synchronized (fabric) {
      contexts.values().forEach(context -> context.events().close());
      contexts.clear();
      channels.values().forEach(channel -> channel.pipe().close());
      devices.forEach(device -> device.contexts().clear());
      stubs.close();
      fabric.close();
    }
  }

  private void tick() {
    synchronized (fabric) {
      try {
        devices.forEach(FakeDevice::refill);
        fabric.progress();
      } catch (RuntimeException e) {
        fabric.violation("the fake failed: " + e);
      }
    }
  }

  // ------------------------------------------------------------------ the table of functions

  private void exported() {
    FunctionDescriptor free = FunctionDescriptor.of(JAVA_INT, JAVA_LONG);
    FunctionDescriptor make = FunctionDescriptor.of(JAVA_LONG, JAVA_LONG);
    FunctionDescriptor makeFrom = FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG);
    FunctionDescriptor ask = FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG);
    export("ibv_get_device_list", "getDeviceList", make, Failure.NULL);
    export("ibv_free_device_list", "freeDeviceList", FunctionDescriptor.ofVoid(JAVA_LONG), Failure.NEVER);
    export("ibv_get_device_name", "getDeviceName", make, Failure.NULL);
    export("ibv_get_device_guid", "getDeviceGuid", make, Failure.NEVER);
    export("ibv_open_device", "openDevice", make, Failure.NULL);
    export("ibv_close_device", "closeDevice", free, Failure.NUMBER);
    export("ibv_query_device", "queryDevice", ask, Failure.NUMBER);
    export(
        "ibv_query_port",
        "queryPort",
        FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_BYTE, JAVA_LONG),
        Failure.NUMBER);
    export(
        "ibv_query_gid",
        "queryGid",
        FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_BYTE, JAVA_INT, JAVA_LONG),
        Failure.MINUS_ONE);
    export(
        "_ibv_query_gid_ex",
        "queryGidEx",
        FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG),
        Failure.NUMBER);
    export(
        "ibv_query_pkey",
        "queryPkey",
        FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_BYTE, JAVA_INT, JAVA_LONG),
        Failure.MINUS_ONE);
    export("ibv_alloc_pd", "allocPd", make, Failure.NULL);
    export("ibv_dealloc_pd", "deallocPd", free, Failure.NUMBER);
    export(
        "ibv_reg_mr",
        "regMr",
        FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT),
        Failure.NULL);
    export(
        "ibv_reg_mr_iova2",
        "regMrIova2",
        FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT),
        Failure.NULL);
    export(
        "ibv_reg_dmabuf_mr",
        "regDmabufMr",
        FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT),
        Failure.NULL);
    export("ibv_dereg_mr", "deregMr", free, Failure.NUMBER);
    export("ibv_create_comp_channel", "createCompChannel", make, Failure.NULL);
    export("ibv_destroy_comp_channel", "destroyCompChannel", free, Failure.NUMBER);
    export(
        "ibv_create_cq",
        "createCq",
        FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT),
        Failure.NULL);
    export("ibv_destroy_cq", "destroyCq", free, Failure.NUMBER);
    export(
        "ibv_get_cq_event",
        "getCqEvent",
        FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG),
        Failure.MINUS_ONE);
    export("ibv_ack_cq_events", "ackCqEvents", FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_INT), Failure.NEVER);
    export("ibv_create_srq", "createSrq", makeFrom, Failure.NULL);
    export("ibv_destroy_srq", "destroySrq", free, Failure.NUMBER);
    export("ibv_create_qp", "createQp", makeFrom, Failure.NULL);
    export(
        "ibv_modify_qp",
        "modifyQp",
        FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT),
        Failure.NUMBER);
    export(
        "ibv_query_qp",
        "queryQp",
        FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG),
        Failure.NUMBER);
    export("ibv_destroy_qp", "destroyQp", free, Failure.NUMBER);
    export("ibv_get_async_event", "getAsyncEvent", ask, Failure.MINUS_ONE);
    export("ibv_ack_async_event", "ackAsyncEvent", FunctionDescriptor.ofVoid(JAVA_LONG), Failure.NEVER);
    export("ibv_fork_init", "forkInit", FunctionDescriptor.of(JAVA_INT), Failure.NUMBER);
  }

  private void export(String symbol, String method, FunctionDescriptor type, Failure failure) {
    MethodHandle body = method(method, type.toMethodType());
    if (failure != Failure.NEVER) {
      Class<?> returned = type.toMethodType().returnType();
      MethodHandle test = bound("isRefused", MethodType.methodType(boolean.class, String.class)).bindTo(symbol);
      MethodHandle answer =
          MethodHandles.insertArguments(
              bound(
                  returned == long.class ? "refusedPointer" : "refusedNumber",
                  MethodType.methodType(returned, String.class, Failure.class)),
              0,
              symbol,
              failure);
      List<Class<?>> arguments = type.toMethodType().parameterList();
      body =
          MethodHandles.guardWithTest(
              MethodHandles.dropArguments(test, 0, arguments), MethodHandles.dropArguments(answer, 0, arguments), body);
    }
    symbols.put(symbol, stub(body, type));
  }

  private MethodHandle bound(String method, MethodType type) {
    try {
      return MethodHandles.lookup().bind(this, method, type);
    } catch (ReflectiveOperationException e) {
      throw new LinkageError("the fake has no method " + method, e);
    }
  }

  /** A method that keeps what it throws from going through C, which would end the process. */
  private MethodHandle method(String name, MethodType type) {
    Class<?> returned = type.returnType();
    MethodHandle report =
        bound(
            returned == long.class ? "brokenPointer" : returned == int.class ? "brokenNumber" : "broken",
            MethodType.methodType(returned, String.class, Throwable.class));
    return MethodHandles.catchException(bound(name, type), Throwable.class, report.bindTo(name));
  }

  private MemorySegment stub(MethodHandle body, FunctionDescriptor type) {
    return LINKER.upcallStub(body, type, stubs);
  }

  private void broken(String method, Throwable thrown) {
    synchronized (fabric) {
      LOG.log(System.Logger.Level.ERROR, "the fake failed in " + method, thrown);
      fabric.violation("the fake failed in " + method + ": " + thrown);
    }
  }

  private int brokenNumber(String method, Throwable thrown) {
    broken(method, thrown);
    return FakeErrno.EIO;
  }

  private long brokenPointer(String method, Throwable thrown) {
    broken(method, thrown);
    NativePipe.errno(FakeErrno.EIO);
    return 0;
  }

  private boolean isRefused(String symbol) {
    CountDownLatch latch = held.get(symbol);
    if (latch != null) {
      awaitRelease(symbol, latch);
    }
    synchronized (fabric) {
      return refusals.containsKey(symbol);
    }
  }

  private void awaitRelease(String symbol, CountDownLatch latch) {
    try {
      if (!latch.await(HELD_SECONDS, TimeUnit.SECONDS)) {
        synchronized (fabric) {
          fabric.violation(symbol + " was held and never released");
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private int refusal(String symbol) {
    synchronized (fabric) {
      Refusal refusal = refusals.get(symbol);
      if (refusal == null) {
        return FakeErrno.EIO; // another thread had the last of them
      }
      if (refusal.times == 1) {
        refusals.remove(symbol);
      } else {
        refusals.put(symbol, new Refusal(refusal.errno, refusal.times - 1));
      }
      return refusal.errno;
    }
  }

  private long refusedPointer(String symbol, Failure failure) {
    NativePipe.errno(refusal(symbol));
    return 0;
  }

  private int refusedNumber(String symbol, Failure failure) {
    int errno = refusal(symbol);
    if (failure == Failure.NUMBER) {
      return errno;
    }
    NativePipe.errno(errno);
    return -1;
  }

  // ------------------------------------------------------------------ devices

  private long getDeviceList(long count) {
    synchronized (fabric) {
      long list = fabric.struct(8L * (devices.size() + 1));
      for (int i = 0; i < devices.size(); i++) {
        RawMemory.u64(list + 8L * i, devices.get(i).struct());
      }
      if (count != 0) {
        RawMemory.u32(count, devices.size());
      }
      listsOpen++;
      return list;
    }
  }

  private void freeDeviceList(long list) {
    synchronized (fabric) {
      listsOpen--;
    }
  }

  private FakeDevice deviceAt(long struct) {
    for (FakeDevice device : devices) {
      if (device.struct() == struct) {
        return device;
      }
    }
    throw new IllegalArgumentException("no device at 0x" + Long.toHexString(struct));
  }

  private long getDeviceName(long device) {
    return device + VerbsAbi.Device.NAME;
  }

  private long getDeviceGuid(long device) {
    synchronized (fabric) {
      return Long.reverseBytes(deviceAt(device).guid());
    }
  }

  private long openDevice(long struct) {
    synchronized (fabric) {
      FakeDevice device = deviceAt(struct);
      FakeContext context = new FakeContext(device);
      context.function(VerbsAbi.Context.OPS_POLL_CQ, operation(device, "pollCq", POLL));
      context.function(VerbsAbi.Context.OPS_REQ_NOTIFY_CQ, operation(device, "reqNotifyCq", NOTIFY));
      context.function(VerbsAbi.Context.OPS_POST_SRQ_RECV, operation(device, "postSrqRecv", POST));
      context.function(VerbsAbi.Context.OPS_POST_SEND, operation(device, "postSend", POST));
      context.function(VerbsAbi.Context.OPS_POST_RECV, operation(device, "postRecv", POST));
      contexts.put(context.struct(), context);
      device.contexts().add(context);
      return context.struct();
    }
  }

  /** One for each device, as each provider has its own. */
  private long operation(FakeDevice device, String method, FunctionDescriptor type) {
    return operations
        .computeIfAbsent(
            device.name() + " " + method,
            key -> stub(method(method, type.toMethodType().insertParameterTypes(0, FakeDevice.class), device), type))
        .address();
  }

  private MethodHandle method(String name, MethodType type, FakeDevice device) {
    Class<?> returned = type.returnType();
    MethodHandle report =
        bound("brokenNumber", MethodType.methodType(returned, String.class, Throwable.class)).bindTo(name);
    return MethodHandles.catchException(bound(name, type).bindTo(device), Throwable.class, report);
  }

  private FakeContext context(long struct) {
    FakeContext context = contexts.get(struct);
    if (context == null) {
      throw new IllegalArgumentException("no open device at 0x" + Long.toHexString(struct));
    }
    return context;
  }

  private int closeDevice(long struct) {
    synchronized (fabric) {
      FakeContext context = context(struct);
      if (context.uses() > 0) {
        fabric.violation(context.device() + " was closed with " + context.uses() + " objects");
        return FakeErrno.EBUSY;
      }
      contexts.remove(struct);
      context.device().contexts().remove(context);
      context.events().close();
      return 0;
    }
  }

  private int queryDevice(long context, long attr) {
    synchronized (fabric) {
      return context(context).device().describe(attr);
    }
  }

  private int queryPort(long context, byte port, long attr) {
    synchronized (fabric) {
      return port == 1 ? context(context).device().describePort(attr) : FakeErrno.EINVAL;
    }
  }

  private int queryGid(long context, byte port, int index, long gid) {
    synchronized (fabric) {
      byte[] bytes = context(context).device().gidAt(index);
      if (port != 1 || index < 0) {
        NativePipe.errno(FakeErrno.EINVAL);
        return -1;
      }
      put(gid, bytes == null ? new byte[16] : bytes); // an empty entry is no error for this older call
      return 0;
    }
  }

  private static void put(long to, byte[] bytes) {
    for (int i = 0; i < bytes.length; i++) {
      RawMemory.u8(to + i, bytes[i]);
    }
  }

  private int queryGidEx(long context, int port, int index, long entry, int flags, long bytes) {
    synchronized (fabric) {
      FakeDevice device = context(context).device();
      byte[] gid = device.gidAt(index);
      if (port != 1 || flags != 0 || bytes < VerbsAbi.GidEntry.BYTES) {
        return FakeErrno.EINVAL;
      }
      if (gid == null) {
        return FakeErrno.ENODATA;
      }
      put(entry + VerbsAbi.GidEntry.GID, gid);
      RawMemory.u32(entry + VerbsAbi.GidEntry.GID_INDEX, index);
      RawMemory.u32(entry + VerbsAbi.GidEntry.PORT_NUM, port);
      RawMemory.u32(entry + VerbsAbi.GidEntry.GID_TYPE, device.gidTypeAt(index));
      RawMemory.u32(entry + VerbsAbi.GidEntry.NDEV_IFINDEX, 0);
      return 0;
    }
  }

  private int queryPkey(long context, byte port, int index, long key) {
    if (port != 1 || index != 0) {
      NativePipe.errno(FakeErrno.EINVAL);
      return -1;
    }
    RawMemory.u16(key, 0xffff);
    return 0;
  }

  private int forkInit() {
    return 0;
  }

  // ------------------------------------------------------------------ memory

  private long allocPd(long context) {
    synchronized (fabric) {
      FakeContext owner = context(context);
      owner.use(1);
      return new FakeDomain(owner.device(), context, fabric.struct(VerbsAbi.Pd.BYTES)).struct();
    }
  }

  private FakeDomain domain(long struct) {
    FakeDevice device = context(RawMemory.u64(struct + VerbsAbi.Pd.CONTEXT)).device();
    FakeDomain domain = device.domains().get(RawMemory.u32(struct + VerbsAbi.Pd.HANDLE));
    if (domain == null || domain.struct() != struct) {
      throw new IllegalArgumentException("a protection domain of " + device + " that was given back");
    }
    return domain;
  }

  private int deallocPd(long struct) {
    synchronized (fabric) {
      FakeDomain domain = domain(struct);
      if (domain.uses() > 0) {
        fabric.violation(
            "a protection domain of " + domain.device() + " was given back with " + domain.uses() + " users");
        return FakeErrno.EBUSY;
      }
      domain.device().domains().remove(domain.handle());
      context(domain.context()).use(-1);
      return 0;
    }
  }

  private long regMr(long pd, long start, long length, int access) {
    return register(pd, start, length, start, access & ~VerbsAbi.AccessFlags.RELAXED_ORDERING);
  }

  private long regMrIova2(long pd, long start, long length, long iova, int access) {
    return register(pd, start, length, iova, access);
  }

  private long regDmabufMr(long pd, long offset, long length, long iova, int fd, int access) {
    if (fd < 0) {
      NativePipe.errno(FakeErrno.EBADF);
      return 0;
    }
    return register(pd, offset, length, iova, access);
  }

  private long register(long pd, long start, long length, long iova, int access) {
    synchronized (fabric) {
      FakeDomain domain = domain(pd);
      boolean remoteWrites = (access & VerbsAbi.AccessFlags.REMOTE_WRITE) != 0;
      boolean localWrites = (access & VerbsAbi.AccessFlags.LOCAL_WRITE) != 0;
      if (length <= 0 || length > domain.device().maxRegion() || (remoteWrites && !localWrites)) {
        NativePipe.errno(FakeErrno.EINVAL);
        return 0;
      }
      domain.use(1);
      domain.device().countRegistration();
      return new FakeMemory(domain, fabric.struct(VerbsAbi.Mr.BYTES), iova, length, access).struct();
    }
  }

  private int deregMr(long struct) {
    synchronized (fabric) {
      FakeDevice device = context(RawMemory.u64(struct + VerbsAbi.Mr.CONTEXT)).device();
      FakeMemory memory = device.memories().get(RawMemory.u32(struct + VerbsAbi.Mr.HANDLE));
      if (memory == null || memory.struct() != struct) {
        fabric.violation("a memory region of " + device + " was given back twice");
        return FakeErrno.EINVAL;
      }
      device.memories().remove(memory.handle());
      memory.domain().use(-1);
      return 0;
    }
  }

  // ------------------------------------------------------------------ completions

  private long createCompChannel(long context) {
    synchronized (fabric) {
      FakeContext owner = context(context);
      owner.use(1);
      FakeChannel channel =
          new FakeChannel(
              owner.device(), context, fabric.struct(VerbsAbi.CompChannel.BYTES), fabric.struct(Long.BYTES));
      channels.put(channel.struct(), channel);
      return channel.struct();
    }
  }

  private FakeChannel channel(long struct) {
    FakeChannel channel = channels.get(struct);
    if (channel == null) {
      throw new IllegalArgumentException("no completion channel at 0x" + Long.toHexString(struct));
    }
    return channel;
  }

  private int destroyCompChannel(long struct) {
    synchronized (fabric) {
      FakeChannel channel = channel(struct);
      if (channel.uses() > 0) {
        fabric.violation("a completion channel was given back with " + channel.uses() + " completion queues");
        return FakeErrno.EBUSY;
      }
      channels.remove(struct);
      channel.pipe().close();
      context(RawMemory.u64(struct + VerbsAbi.CompChannel.CONTEXT)).use(-1);
      return 0;
    }
  }

  private long createCq(long context, int entries, long queueContext, long channel, int vector) {
    synchronized (fabric) {
      FakeContext owner = context(context);
      if (entries <= 0 || entries > owner.device().maxEntries() || vector < 0) {
        NativePipe.errno(FakeErrno.EINVAL);
        return 0;
      }
      FakeChannel told = channel == 0 ? null : channel(channel);
      if (told != null) {
        told.use(1);
      }
      owner.use(1);
      return new FakeCompletionQueue(owner.device(), context, fabric.struct(STRUCT), entries, queueContext, told)
          .struct();
    }
  }

  private FakeCompletionQueue completionQueue(FakeDevice device, long struct) {
    FakeCompletionQueue queue = device.completionQueues().get(RawMemory.u32(struct + VerbsAbi.Cq.HANDLE));
    if (queue == null || queue.struct() != struct) {
      throw new IllegalArgumentException("a completion queue of " + device + " that was given back");
    }
    return queue;
  }

  private FakeCompletionQueue completionQueue(long struct) {
    return completionQueue(context(RawMemory.u64(struct + VerbsAbi.Cq.CONTEXT)).device(), struct);
  }

  private int destroyCq(long struct) {
    synchronized (fabric) {
      FakeCompletionQueue queue = completionQueue(struct);
      FakeContext owner = context(RawMemory.u64(struct + VerbsAbi.Cq.CONTEXT));
      awaitAcknowledged(queue::unacknowledged);
      if (queue.uses() > 0 || queue.unacknowledged() > 0) {
        fabric.violation(
            "a completion queue of "
                + owner.device()
                + " was given back with "
                + queue.uses()
                + " users and "
                + queue.unacknowledged()
                + " unacknowledged events: the real one waits for ever");
        return FakeErrno.EBUSY;
      }
      owner.device().completionQueues().remove(queue.handle());
      FakeChannel told = queue.channel();
      if (told != null) {
        told.use(-1);
      }
      owner.use(-1);
      return 0;
    }
  }

  /** Outside the lock: it may block. */
  private int getCqEvent(long struct, long queue, long queueContext) {
    FakeChannel channel;
    synchronized (fabric) {
      channel = channel(struct);
    }
    while (true) {
      int errno = channel.pipe().read(queue, Long.BYTES);
      if (errno != 0) {
        NativePipe.errno(errno);
        return -1;
      }
      synchronized (fabric) {
        long of = RawMemory.u64(queue);
        FakeCompletionQueue told = channel.device().completionQueues().get(RawMemory.u32(of + VerbsAbi.Cq.HANDLE));
        if (told == null) {
          continue; // destroyed meanwhile: the kernel drops its events
        }
        told.delivered(1);
        RawMemory.u64(queueContext, RawMemory.u64(of + VerbsAbi.Cq.CQ_CONTEXT));
        return 0;
      }
    }
  }

  private void ackCqEvents(long struct, int count) {
    synchronized (fabric) {
      completionQueue(struct).delivered(-count);
      fabric.notifyAll();
    }
  }

  private int pollCq(FakeDevice device, long struct, int max, long wc) {
    synchronized (fabric) {
      int taken = completionQueue(device, struct).poll(max, wc);
      device.countPoll(taken);
      return taken;
    }
  }

  private int reqNotifyCq(FakeDevice device, long struct, int solicitedOnly) {
    synchronized (fabric) {
      completionQueue(device, struct).arm(solicitedOnly != 0);
      device.countNotification();
      return 0;
    }
  }

  // ------------------------------------------------------------------ queue pairs

  private long createSrq(long pd, long attr) {
    synchronized (fabric) {
      FakeDomain domain = domain(pd);
      int requests = RawMemory.u32(attr + VerbsAbi.SrqInitAttr.MAX_WR);
      if (requests <= 0 || requests > 32_768) {
        NativePipe.errno(FakeErrno.EINVAL);
        return 0;
      }
      domain.use(1);
      return new FakeReceiveQueue(domain, fabric.struct(STRUCT), requests).struct();
    }
  }

  private FakeReceiveQueue receiveQueue(FakeDevice device, long struct) {
    FakeReceiveQueue queue = device.receiveQueues().get(RawMemory.u32(struct + VerbsAbi.Srq.HANDLE));
    if (queue == null || queue.struct() != struct) {
      throw new IllegalArgumentException("a shared receive queue of " + device + " that was given back");
    }
    return queue;
  }

  private int destroySrq(long struct) {
    synchronized (fabric) {
      FakeDevice device = context(RawMemory.u64(struct + VerbsAbi.Srq.CONTEXT)).device();
      FakeReceiveQueue queue = receiveQueue(device, struct);
      if (queue.uses() > 0) {
        fabric.violation("a shared receive queue of " + device + " was given back with " + queue.uses() + " users");
        return FakeErrno.EBUSY;
      }
      device.receiveQueues().remove(queue.handle());
      queue.domain().use(-1);
      return 0;
    }
  }

  private int postSrqRecv(FakeDevice device, long struct, long wr, long bad) {
    synchronized (fabric) {
      int errno = receiveQueue(device, struct).post(wr, bad);
      fabric.progress();
      return errno;
    }
  }

  private long createQp(long pd, long attr) {
    synchronized (fabric) {
      FakeDomain domain = domain(pd);
      FakeDevice device = domain.device();
      int type = RawMemory.u32(attr + VerbsAbi.QpInitAttr.QP_TYPE);
      if (!device.reliable() || type != VerbsAbi.QpType.RC) {
        NativePipe.errno(FakeErrno.EOPNOTSUPP);
        return 0;
      }
      int sends = RawMemory.u32(attr + VerbsAbi.QpInitAttr.MAX_SEND_WR);
      int inline = RawMemory.u32(attr + VerbsAbi.QpInitAttr.MAX_INLINE_DATA);
      if (sends <= 0
          || sends > device.maxSend()
          || inline > device.maxInline()
          || RawMemory.u32(attr + VerbsAbi.QpInitAttr.MAX_SEND_SGE) > 30) {
        NativePipe.errno(FakeErrno.EINVAL);
        return 0;
      }
      FakeCompletionQueue send = completionQueue(device, RawMemory.u64(attr + VerbsAbi.QpInitAttr.SEND_CQ));
      FakeCompletionQueue receive = completionQueue(device, RawMemory.u64(attr + VerbsAbi.QpInitAttr.RECV_CQ));
      long srq = RawMemory.u64(attr + VerbsAbi.QpInitAttr.SRQ);
      FakeReceiveQueue receives =
          srq == 0
              ? new FakeReceiveQueue(domain, 0, RawMemory.u32(attr + VerbsAbi.QpInitAttr.MAX_RECV_WR))
              : receiveQueue(device, srq);
      boolean all = RawMemory.u32(attr + VerbsAbi.QpInitAttr.SQ_SIG_ALL) != 0;
      domain.use(1);
      send.use(1);
      receive.use(1);
      receives.use(1);
      return new FakeQueuePair(domain, fabric.struct(STRUCT), send, receive, receives, all, attr).struct();
    }
  }

  private FakeQueuePair queuePair(long struct) {
    FakeQueuePair queuePair = fabric.queuePairs().get(RawMemory.u32(struct + VerbsAbi.Qp.HANDLE));
    if (queuePair == null || queuePair.struct() != struct) {
      throw new IllegalArgumentException("a queue pair that was given back");
    }
    return queuePair;
  }

  private int modifyQp(long struct, long attr, int mask) {
    synchronized (fabric) {
      return queuePair(struct).modify(attr, mask);
    }
  }

  private int queryQp(long struct, long attr, int mask, long initAttr) {
    synchronized (fabric) {
      return queuePair(struct).query(attr, initAttr);
    }
  }

  private int destroyQp(long struct) {
    synchronized (fabric) {
      FakeQueuePair queuePair = queuePair(struct);
      awaitAcknowledged(queuePair::unacknowledged);
      if (queuePair.unacknowledged() > 0) {
        fabric.violation(queuePair + " was given back with unacknowledged events: the real one waits for ever");
        return FakeErrno.EBUSY;
      }
      queuePair.destroyed();
      queuePair.sendQueue().use(-1);
      queuePair.receiveCompletions().use(-1);
      queuePair.receives().use(-1);
      queuePair.domain().use(-1);
      return 0;
    }
  }

  private int postSend(FakeDevice device, long struct, long wr, long bad) {
    synchronized (fabric) {
      return queuePair(struct).post(wr, bad);
    }
  }

  private int postRecv(FakeDevice device, long struct, long wr, long bad) {
    synchronized (fabric) {
      FakeQueuePair queuePair = queuePair(struct);
      if (queuePair.shared()) {
        return FakeErrno.EINVAL;
      }
      int errno = queuePair.receives().post(wr, bad);
      fabric.progress();
      return errno;
    }
  }

  // ------------------------------------------------------------------ asynchronous events

  /** Outside the lock: it may block. */
  private int getAsyncEvent(long struct, long event) {
    FakeContext context;
    synchronized (fabric) {
      context = context(struct);
    }
    int errno = context.events().read(event, VerbsAbi.AsyncEvent.BYTES);
    if (errno != 0) {
      NativePipe.errno(errno);
      return -1;
    }
    synchronized (fabric) {
      acknowledge(event, 1);
    }
    return 0;
  }

  private void ackAsyncEvent(long event) {
    synchronized (fabric) {
      acknowledge(event, -1);
      fabric.notifyAll();
    }
  }

  /** Events of queue pairs count: they cannot be destroyed before. */
  private void acknowledge(long event, int change) {
    switch (RawMemory.u32(event + VerbsAbi.AsyncEvent.EVENT_TYPE)) {
      case VerbsAbi.EventType.QP_FATAL,
          VerbsAbi.EventType.QP_REQ_ERR,
          VerbsAbi.EventType.QP_ACCESS_ERR,
          VerbsAbi.EventType.QP_LAST_WQE_REACHED -> {
        long struct = RawMemory.u64(event + VerbsAbi.AsyncEvent.ELEMENT);
        FakeQueuePair queuePair = fabric.queuePairs().get(RawMemory.u32(struct + VerbsAbi.Qp.HANDLE));
        if (queuePair != null) {
          queuePair.delivered(change);
        }
      }
      default -> {
        // Of the port or the device: nothing waits for it.
      }
    }
  }

  /** As the real library, which has no deadline. */
  private void awaitAcknowledged(LongSupplier unacknowledged) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(5);
    while (unacknowledged.getAsLong() > 0 && System.nanoTime() - end < 0) {
      try {
        fabric.wait(10);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      }
    }
  }
}
