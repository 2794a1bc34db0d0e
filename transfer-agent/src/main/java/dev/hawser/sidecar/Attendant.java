/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.sidecar;

import dev.hawser.capi.Functions;
import dev.hawser.engine.net.NetException;
import dev.hawser.memory.Backing;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.DeviceAbsentException;
import dev.hawser.memory.MemoryException;
import dev.hawser.memory.ffi.NativeCallException;
import dev.hawser.memory.ffi.PageMappings;
import dev.hawser.memory.ffi.Processes;
import dev.hawser.memory.gpu.AdoptedMemory;
import dev.hawser.memory.gpu.Gpu;
import dev.hawser.memory.gpu.GpuMemory;
import dev.hawser.memory.gpu.IpcHandle;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Does what one thread of a worker asks for, until it hangs up. */
final class Attendant implements Runnable {
  private static final System.Logger LOG = System.getLogger(Attendant.class.getName());
  // The errors of include/hawser.h.
  private static final long ARGUMENT = -1;
  private static final long UNRESOLVED_BLOCKS = -3;
  private static final long CLOSED = -7;
  private static final long BUSY = -12;
  private static final long MEMORY = -13;
  /** What begins something that would have to be waited for. */
  private static final Set<String> BEGINNINGS =
      Set.of("agent_start", "transfer_prepare", "transfer_start", "transfer_post", "grant_make", "region_allocate",
          "region_register");
  private static final int KEY_BYTES = 16;
  /** Below it Linux lets nobody map by default, and HotSpot counts on a fault there ({@code vm.mmap_min_addr}). */
  private static final long FIRST_ADDRESS = 1L << 16;

  private final Connection connection;
  private final Sessions sessions;
  private final Functions functions;
  private final Supplier<GpuMemory> gpus;
  private final Leftovers leftovers;
  /** Undoes what the present message had us make, if who asked for it is not there to be told; null if it made nothing. */
  private @Nullable Runnable undoing;

  /**
   * For a connection.
   *
   * @param gpus the devices here, asked for when a worker shares memory of one
   */
  Attendant(Connection connection, Sessions sessions, Functions functions, Supplier<GpuMemory> gpus) {
    this.connection = connection;
    this.sessions = sessions;
    this.functions = functions;
    this.gpus = gpus;
    leftovers = new Leftovers(functions);
  }

  @Override
  public void run() {
    Session session = null;
    try {
      session = greeted();
      while (session != null) {
        Message message = connection.receive();
        if (message == null || !attend(session, message)) {
          break;
        }
      }
    } catch (SidecarException | NetException e) {
      LOG.log(Level.WARNING, "a worker''s connection is ended: {0}", e.getMessage());
    } finally {
      connection.close();
      if (session != null) {
        sessions.leave(session);
      }
      sessions.gone(connection);
    }
  }

  /** Whose connection it is; null if it was hung up at once, as by one who only looks whether we are here. */
  private @Nullable Session greeted() {
    int user = connection.user();
    if (user != Processes.effectiveUser()) {
      throw new SidecarException("user " + Integer.toUnsignedString(user) + " may not use the agent of user "
          + Integer.toUnsignedString(Processes.effectiveUser()));
    }
    Message message = connection.receive();
    if (message == null) {
      return null;
    }
    Connection.closeAll(message.descriptors());
    Reader reader = new Reader(message.body());
    if (message.number() != Message.HELLO) {
      throw new SidecarException("it does not begin with a greeting");
    }
    long version = reader.number();
    MemorySegment key = reader.content();
    if (key == null || key.byteSize() != KEY_BYTES) {
      throw new SidecarException("its greeting has no key");
    }
    byte[] answer = new Writer().number(Message.VERSION).text(Functions.version()).message(Message.HELLO);
    if (version != Message.VERSION) {
      connection.send(answer);
      throw new SidecarException("it speaks version " + version + ", this agent " + Message.VERSION
          + ": use the Python package of this build");
    }
    Session session = sessions.enter(key.toArray(ValueLayout.JAVA_BYTE));
    if (!connection.send(answer)) {
      sessions.leave(session);
      return null;
    }
    return session;
  }

  /** False if the other end has hung up meanwhile. */
  private boolean attend(Session session, Message message) {
    if (connection.isHungUp()) {
      // Given up while we were not there to read it: begun now it might move bytes that its caller has long counted out.
      Connection.closeAll(message.descriptors());
      return false;
    }
    undoing = null;
    boolean told = false;
    try {
      told = answered(session, message);
    } finally {
      Runnable undo = undoing;
      if (!told && undo != null) {
        undo.run();
      }
    }
    return told;
  }

  private boolean answered(Session session, Message message) {
    return switch (message.number()) {
      case Message.MAPPING -> mapping(message);
      case Message.SHARE, Message.UNSHARE -> connection.send(sharing(session, message).message(message.number()));
      case Message.SHARE_GPU -> connection.send(adopting(session, message).message(message.number()));
      default -> connection.send(called(session, message).message(message.number()));
    };
  }

  private static Writer failure(long code, @Nullable String why, long cause) {
    return new Writer().number(code).text(String.valueOf(why)).number(cause);
  }

  private Writer called(Session session, Message message) {
    if (message.number() >= Signature.ALL.size()) {
      Connection.closeAll(message.descriptors());
      throw new SidecarException("it asks for function " + message.number() + ", which there is not");
    }
    Signature signature = Signature.ALL.get(message.number());
    int descriptor = -1; // that has come, until it is somebody else's to close
    WorkerMemories.Registered memory = null; // of the worker's, while it is being registered
    long moved = 0; // the handle of a list of blocks that is for this call only
    try (Arena arena = Arena.ofConfined()) {
      descriptor = oneOf(message.descriptors());
      Arguments arguments = new Arguments(signature, message.body(), arena);
      long[] values = arguments.values();
      Writer refusal = refusal(signature.function(), values);
      if (refusal != null) {
        return refusal;
      }
      if (signature.function().equals("region_register")) {
        WorkerMemories.Registered wanted =
            new WorkerMemories.Registered(values[0], values[2], values[3], values[4]);
        Optional<WorkerMemories.Place> place = session.memories().registers(wanted);
        if (place.isPresent()) {
          memory = wanted;
          values[2] = place.get().address();
          values[4] = place.get().device();
        } else if (!functions.isAllocated(values[2], values[3])) {
          return failure(ARGUMENT, "memory: it is not shared with the sidecar; was the region that had it closed?", 0);
        }
      }
      if (signature.function().equals("agent_signal_to") && descriptor >= 0) {
        values[1] = descriptor;
      }
      moved = moved(session, arguments);
      long result = functions.call(message.number(), values);
      if (result < 0) {
        return failure(result, functions.lastError(), functions.lastCause());
      }
      WorkerMemories.Registered described =
          signature.function().equals("region_describe") ? session.memories().registered(values[0]) : null;
      if (described != null) {
        arguments.tellRegionAs(described.address(), described.device());
      }
      Writer answer = new Writer().number(result);
      arguments.answer(answer, result);
      switch (signature.function()) {
        case "agent_start" -> session.started(arguments.made());
        case "agent_close" -> session.closed(values[0]);
        case "region_register" -> {
          if (memory != null) {
            session.memories().hasRegistered(memory, arguments.made());
            memory = null;
          }
        }
        case "region_close" -> session.memories().closedRegion(values[0]);
        case "agent_signal_to" -> {
          if (descriptor >= 0) {
            session.signals(values[0], descriptor);
            descriptor = -1;
          } else {
            session.forgetSignals(values[0]);
          }
        }
        default -> {}
      }
      if (Leftovers.isMadeBy(signature.function())) {
        long made = arguments.made();
        undoing = () -> end(session, signature.function(), made);
      }
      return answer;
    } catch (UnsharedBlocksException e) {
      return failure(UNRESOLVED_BLOCKS, e.getMessage(), 0);
    } finally {
      if (moved != 0) {
        functions.letGo(moved);
      }
      if (memory != null) {
        session.memories().hasRegistered(memory, null);
      }
      if (descriptor >= 0) {
        Connection.closeAll(descriptor);
      }
    }
  }

  private void end(Session session, String function, long handle) {
    leftovers.end(function, handle);
    switch (function) {
      case "agent_start" -> session.closed(handle);
      case "region_register", "region_allocate" -> session.memories().closedRegion(handle);
      default -> {}
    }
  }

  /** Has a call take blocks of this side where they are here; their handle, if they are not where the worker has them. */
  private long moved(Session session, Arguments arguments) {
    Optional<BlockList> ours =
        Optional.ofNullable(functions.blocks(arguments.localBlocks())).flatMap(session.memories()::here);
    if (ours.isEmpty()) {
      return 0;
    }
    long handle = functions.hold(ours.get());
    arguments.localBlocks(handle);
    return handle;
  }

  private static int oneOf(int[] descriptors) {
    if (descriptors.length > 1) {
      Connection.closeAll(descriptors);
      throw new SidecarException("a call takes one descriptor, not " + descriptors.length);
    }
    return descriptors.length == 0 ? -1 : descriptors[0];
  }

  /** Why it may not be called now; null if it may. */
  private @Nullable Writer refusal(String function, long[] values) {
    if (sessions.isDraining() && BEGINNINGS.contains(function)) {
      return failure(CLOSED, "the agent that serves this process is being ended: only what is under way goes on; start"
          + " another, and make new agents", 0);
    }
    if (function.equals("agent_signal_to") && values[1] >= 0) {
      values[1] = -1; // the worker's number means nothing here: what counts is what came along
    }
    return null;
  }

  private Writer sharing(Session session, Message message) {
    int[] descriptors = message.descriptors();
    try {
      Reader reader = new Reader(message.body());
      long start = reader.number();
      if (message.number() == Message.UNSHARE) {
        if (!session.memories().remove(start)) {
          return failure(BUSY, "the memory at 0x" + Long.toHexString(start)
              + " stays mapped: a region is registered in it; close it first", 0);
        }
      } else {
        long length = reader.number();
        long offset = reader.number();
        if (descriptors.length != 1 || length <= 0) {
          throw new SidecarException("memory is shared by one descriptor");
        }
        if (start < FIRST_ADDRESS || start % PageMappings.pageBytes() != 0) {
          return failure(ARGUMENT, "memory cannot be shared at 0x" + Long.toHexString(start)
              + ": give the start of a mapping, the first byte of a page from 0x" + Long.toHexString(FIRST_ADDRESS)
              + " on", 0);
        }
        PageMappings.mapSharedAt(start, length, descriptors[0], offset); // refused where there is something
        session.memories().add(start, new WorkerMemory.Mapped(length));
        undoing = () -> session.memories().remove(start);
      }
      return new Writer().number(0);
    } catch (NativeCallException e) {
      return failure(MEMORY, "it cannot be mapped here, at the address that the worker has it at (" + e.getMessage()
          + "): allocate again", 0);
    } finally {
      Connection.closeAll(descriptors);
    }
  }

  /** Opens an allocation of the worker's on a GPU, which the driver puts where it likes. */
  private Writer adopting(Session session, Message message) {
    Connection.closeAll(message.descriptors());
    Reader reader = new Reader(message.body());
    long start = reader.number();
    long length = reader.number();
    long device = reader.number();
    MemorySegment uuid = reader.content();
    MemorySegment handle = reader.content();
    if (length <= 0 || uuid == null || handle == null) {
      throw new SidecarException("memory of a GPU is shared by its length, its GPU and its handle");
    }
    String name = new String(uuid.toArray(ValueLayout.JAVA_BYTE), StandardCharsets.US_ASCII);
    try {
      Optional<Gpu> gpu = gpus.get().byUuid(name);
      if (gpu.isEmpty()) {
        return failure(MEMORY, "the sidecar does not see the GPU " + name + ", which the memory is on, but "
            + gpus.get().gpus().stream().map(seen -> seen.properties().uuid()).toList()
            + ": start it with a CUDA_VISIBLE_DEVICES that shows it", 0);
      }
      AdoptedMemory adopted = gpu.get().adopt(new IpcHandle(handle.toArray(ValueLayout.JAVA_BYTE)), length);
      if (!session.memories().add(start, new WorkerMemory.OfGpu(adopted, device))) {
        adopted.close();
        return failure(ARGUMENT, "memory at 0x" + Long.toHexString(start) + " is shared already", 0);
      }
      undoing = () -> session.memories().remove(start);
      return new Writer().number(0);
    } catch (DeviceAbsentException e) {
      return failure(MEMORY, "the sidecar has no CUDA device: " + e.reason(), 0);
    } catch (MemoryException e) {
      return failure(MEMORY, "the sidecar cannot open memory of this process's GPU: " + e.getMessage(), 0);
    }
  }

  private boolean mapping(Message message) {
    Connection.closeAll(message.descriptors());
    long region = new Reader(message.body()).number();
    Functions.Allocated allocated;
    try {
      allocated = functions.allocated(region);
    } catch (RuntimeException e) {
      return connection.send(noMapping(String.valueOf(e.getMessage())));
    }
    Optional<Backing> backing = allocated.backing();
    if (backing.isEmpty()) {
      return connection.send(noMapping("it is in no file of memory"));
    }
    Backing file = backing.get();
    return connection.send(new Writer().number(allocated.address()).number(file.fileBytes() - file.offset())
        .number(file.offset()).message(Message.MAPPING), file.fd());
  }

  private static byte[] noMapping(String why) {
    return new Writer().number(0).number(0).number(0).text(why).message(Message.MAPPING);
  }
}
