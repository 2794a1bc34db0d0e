/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.agent.config.ConfigException;
import dev.hawser.agent.config.HawserConfig;
import dev.hawser.agent.config.Setting;
import dev.hawser.agent.metadata.AgentMetadata;
import dev.hawser.agent.metadata.MetadataBlob;
import dev.hawser.agent.metadata.MetadataClient;
import dev.hawser.agent.metadata.Names;
import dev.hawser.agent.metadata.Publication;
import dev.hawser.agent.wire.MalformedBytesException;
import dev.hawser.engine.Engine;
import dev.hawser.engine.Link;
import dev.hawser.engine.Transfer;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.telemetry.FlowLog;
import dev.hawser.engine.telemetry.FlowReport;
import dev.hawser.engine.telemetry.PortReport;
import dev.hawser.engine.text.Quoted;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.Device;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One end of transfers: registers memory, tells peers of it, reads and writes theirs, and gets notifications.
 *
 * <pre>{@code
 * try (Agent agent = Agent.start("decode-0", "http://127.0.0.1:7300")) {
 *   Region pages = agent.allocate("kv", 1 << 30);
 *   Peer prefill = agent.peer("prefill-0", Duration.ofSeconds(10));
 *   BlockList theirs = prefill.region("kv").blocks(64 << 10);
 *   agent.read(Blocks.of(pages, 64 << 10), prefill, theirs).await(Duration.ofSeconds(5));
 * }
 * }</pre>
 *
 * <p>Thread-safe. It owns its engine and its registry; {@link #close} ends both.
 */
public final class Agent implements AutoCloseable {
  private static final BlockPairs NO_BYTES =
      BlockPairs.of(BlockList.builder().build(), BlockList.builder().build());
  private static final Region[] NO_REGIONS = {};
  private static final RemoteRegion[] NO_REMOTE_REGIONS = {};
  private static final long FLOW_LOG_BYTES = 64L << 20;
  private static final Duration LONGEST_PAUSE = Duration.ofMillis(100);

  private final HawserConfig config;
  private final Engine engine;
  private final MemoryRegistry registry;
  private final StreamTimelines timelines;
  private final OwnRegions regions;
  private final GenerationWords words;
  private final Peers peers;
  private final NotificationQueue notifications;
  private final CounterTable counters;
  private final Callbacks callbacks;
  private final AgentListener listener;
  private final @Nullable MetadataClient client;
  private final @Nullable PeerWatcher watcher;
  private final Telemetry telemetry = new Telemetry();
  private final @Nullable FlowLog flowLog;
  private final AtomicBoolean closed = new AtomicBoolean();
  private final BooleanSupplier notifiedOrClosed;
  private volatile @Nullable Presence presence;
  private volatile @Nullable String supersededReason;

  Agent(HawserConfig config, Engine engine, MemoryRegistry registry, @Nullable MetadataClient client,
      NotificationQueue notifications, CounterTable counters, Callbacks callbacks, AgentListener listener) {
    this.config = config;
    this.engine = engine;
    this.registry = registry;
    this.timelines = new StreamTimelines(registry);
    this.client = client;
    this.notifications = notifications;
    this.counters = counters;
    this.callbacks = callbacks;
    this.listener = listener;
    this.regions = new OwnRegions(registry);
    this.words = new GenerationWords(registry);
    this.peers = new Peers(engine, config.secret(), client, listener, callbacks);
    this.watcher = client == null ? null : new PeerWatcher(client, peers);
    this.notifiedOrClosed = () -> !notifications.isEmpty() || closed.get();
    this.flowLog =
        config.telemetry().isEmpty()
            ? null
            : FlowLog.start(Path.of(config.telemetry()), config.name(), config.telemetryInterval(),
                FLOW_LOG_BYTES, engine::flows, engine::ports, System::currentTimeMillis);
  }

  // ------------------------------------------------------------------------------------------------ starting

  /**
   * Starts an agent with the settings of the environment.
   *
   * @param metadataUrls of the metadata service; none: those of {@code HAWSER_METADATA}, or blobs are carried by hand
   * @throws NameInUseException if another living agent has the name
   * @throws dev.hawser.agent.metadata.MetadataException if the metadata service cannot be reached, or refuses
   * @throws dev.hawser.engine.EngineException if the engine cannot start, for example because a port is in use
   */
  public static Agent start(String name, String... metadataUrls) {
    HawserConfig.Builder config = HawserConfig.builder().name(name);
    if (metadataUrls.length != 0) {
      config.metadata(metadataUrls);
    }
    return builder(config.build()).start();
  }

  /** Begins with settings. */
  public static Builder builder(HawserConfig config) {
    return new Builder(config);
  }

  /** Makes an agent. Not thread-safe. */
  public static final class Builder {
    private final HawserConfig config;
    private Executor callbacks = Callbacks.VIRTUAL;
    private AgentListener listener = new AgentListener() {};
    private Supplier<MemoryRegistry> registries = MemoryRegistry::create;
    private EngineStarter starter = Engine::start;

    private Builder(HawserConfig config) {
      this.config = config;
    }

    /** Runs callbacks, stages' dependents and listeners on this; otherwise each gets a virtual thread. */
    public Builder callbacks(Executor executor) {
      callbacks = executor;
      return this;
    }

    /** Hears of lost and restarted peers, and of aborted transfers. */
    public Builder listener(AgentListener newListener) {
      listener = newListener;
      return this;
    }

    /** How its registry is made; for one that knows other devices than the drivers of this machine do. */
    public Builder registry(Supplier<MemoryRegistry> newRegistries) {
      registries = newRegistries;
      return this;
    }

    Builder engine(EngineStarter newStarter) {
      starter = newStarter;
      return this;
    }

    /**
     * Starts it, and takes its name in the metadata service, if there is one.
     *
     * @throws ConfigException if the name is missing or not valid
     * @throws NameInUseException if another living agent has the name
     * @throws dev.hawser.agent.metadata.MetadataException if the metadata service cannot be reached, or refuses
     * @throws dev.hawser.engine.EngineException if the engine cannot start, for example because a port is in use
     */
    public Agent start() {
      String problem = Names.problem(config.name());
      if (problem != null) {
        throw new ConfigException(Setting.NAME.key(),
            "name: " + Quoted.of(config.name()) + " cannot name an agent: " + problem
                + "; set it in the program or as " + Setting.NAME.variable());
      }
      return new AgentStart(config, registries, starter, new Callbacks(callbacks), listener).start();
    }
  }

  /** Publishes for the first time, compare-and-set, and keeps the entry from then on. */
  void enter(OptionalLong expectedEpoch) {
    MetadataClient service = client;
    if (service == null) {
      throw new IllegalStateException("there is no metadata service to enter");
    }
    long revision = regions.revision();
    Publication first = publication(expectedEpoch);
    service.publish(first);
    Presence kept = new Presence(service, new Presence.Source() {
      @Override
      public long revision() {
        return regions.revision();
      }

      @Override
      public Publication publication() {
        return Agent.this.publication(OptionalLong.empty());
      }

      @Override
      public Optional<byte[]> since(long earlier) {
        return regions.changedSince(earlier)
            .map(changed -> MetadataBlob.encode(ownMetadata(false, false, changed), config.secret()));
      }

      @Override
      public String summary() {
        return Agent.this.summary();
      }
    }, name(), epoch(), config.metadataTtl(), revision, first, this::superseded);
    presence = kept;
    regions.onChange(kept::changed);
    kept.start();
    if (watcher != null) {
      watcher.start();
    }
  }

  private Publication publication(OptionalLong expectedEpoch) {
    AgentMetadata metadata = ownMetadata(true, true, null);
    return new Publication(name(), epoch(), config.metadataTtl(), metadata.addresses().getFirst(), config.labels(),
        summary(), expectedEpoch, MetadataBlob.encode(metadata, config.secret()));
  }

  /** By the thread that starts the agent, and from then on by the one that keeps its presence. */
  private String summary() {
    int published = 0;
    long bytes = 0;
    for (Region region : registry.regions()) {
      if (region.access().mask() != 0) {
        published++;
        bytes += region.length();
      }
    }
    return Summary.of(
        new Summary.Facts(ThisProcess.host(), ThisProcess.pid(), published, bytes, transports(),
            engine.absentTransports()),
        telemetry.look(engine.rails(), peers.links(), System.nanoTime()));
  }

  private void superseded(String reason) {
    supersededReason = reason;
    callbacks.run(() -> listener.superseded(reason));
  }

  /** What flows to every peer now, path by path, and what is wrong with it. Waits for nothing. */
  public List<FlowReport> flows() {
    return engine.flows();
  }

  /** What the operating system counts at the ports of this agent's rails, whoever's traffic it was. Reads files. */
  public List<PortReport> ports() {
    return engine.ports();
  }

  // ------------------------------------------------------------------------------------------------ who it is

  /** Its name. */
  public String name() {
    return engine.name();
  }

  /** Its incarnation: microseconds since 1970 at the start, above every earlier one of that name. Unsigned. */
  public long epoch() {
    return engine.epoch();
  }

  /** Where peers reach it, numeric {@code host:port}. */
  public List<String> addresses() {
    return config.advertise().isEmpty() ? Advertised.of(engine.listenAddresses()) : config.advertise();
  }

  /** The names of the transports that work here now. */
  public Set<String> transports() {
    Set<String> working = new TreeSet<>(engine.transportDescriptions().keySet());
    working.removeAll(engine.absentTransports().keySet());
    return working;
  }

  /** The rails of those transports, as the setting {@code rails} names them: {@code transport:name}. */
  public List<String> rails() {
    return engine.rails().stream().map(Object::toString).toList();
  }

  /** By transport, why it is not used here, or not now: one whose ports are all down works once one of them is up. */
  public Map<String, String> absentTransports() {
    return engine.absentTransports();
  }

  /** Its settings. */
  public HawserConfig config() {
    return config;
  }

  // ------------------------------------------------------------------------------------------------ memory

  /** Its registered memory: for what the methods here do not offer. What is registered there is published as well. */
  public MemoryRegistry registry() {
    return registry;
  }

  /**
   * Allocates host memory that peers may read and write, filled with zeros; peers on this host can map it.
   *
   * @param regionName by which peers find it: {@link Peer#region}
   * @param bytes at least 1
   */
  public Region allocate(String regionName, long bytes) {
    return allocate(regionName, bytes, Access.REMOTE_READ_WRITE);
  }

  /** Allocates host memory, filled with zeros; peers on this host can map it. */
  public Region allocate(String regionName, long bytes, Access access) {
    return named(regionName, () -> registry.allocate(bytes, access));
  }

  /**
   * Whether a transfer failed that a stream waited for ({@link PreparedTransfer#before}), since {@link #cure}.
   *
   * @param device of the stream
   * @param stream the driver's handle
   */
  public boolean isPoisoned(Device device, long stream) {
    return timelines.of(device, stream).isPoisoned();
  }

  /** The user has seen that a stream was poisoned, and has done again what depended on it. */
  public void cure(Device device, long stream) {
    timelines.of(device, stream).cure();
  }

  StreamTimelines timelines() {
    return timelines;
  }

  /**
   * Allocates memory of a device, not cleared.
   *
   * @param device the host, or a GPU, whose driver is loaded if it was not
   * @throws dev.hawser.memory.DeviceAbsentException if there is no such device
   */
  public Region allocate(String regionName, long bytes, Device device, Access access) {
    return named(regionName, () -> registry.allocate(bytes, device, access));
  }

  /** Registers host memory. Its arena cannot be closed before the region is. */
  public Region register(String regionName, MemorySegment segment, Access access) {
    return named(regionName, () -> registry.register(segment, access));
  }

  /**
   * Registers memory by address; the caller keeps it mapped until the region is closed: {@link MemoryRegistry#register(long,
   * long, Device, Access)} says what happens otherwise.
   *
   * @param device where it is
   */
  public Region register(String regionName, long address, long length, Device device, Access access) {
    return named(regionName, () -> registry.register(address, length, device, access));
  }

  /** Registers memory by address, whose device is found out; the caller keeps it mapped until the region is closed. */
  public Region register(String regionName, long address, long length, Access access) {
    return named(regionName, () -> registry.register(address, length, access));
  }

  private Region named(String regionName, Supplier<Region> registration) {
    checkOpen();
    Region region = regions.named(regionName, registration);
    awaitPublished(config.metadataTimeout(), false);
    return region;
  }

  /**
   * Waits until what is registered now stands in the metadata service. {@link #register} and {@link #allocate} do that
   * themselves unless the service was out of reach; after changes through {@link #registry()} it has to be called.
   *
   * @return false if it does not within the time; it is tried on. True if there is no service
   */
  public boolean awaitPublished(Duration timeout) {
    return awaitPublished(timeout, true);
  }

  private boolean awaitPublished(Duration timeout, boolean evenIfDown) {
    Presence kept = presence;
    return kept == null || kept.await(regions.revision(), timeout, evenIfDown);
  }

  RemoteRegion published(Region region) {
    return regions.remote(region);
  }

  // ------------------------------------------------------------------------------------------------ metadata

  /** Everything that a peer needs to reach this agent and its regions: to be handed to {@link #addPeer}. */
  public byte[] metadata() {
    return MetadataBlob.encode(ownMetadata(true, true, null), config.secret());
  }

  /**
   * A part of it, to be merged by the peer.
   *
   * @param withConnection whether it says where the agent is reached; a peer needs that once
   * @param some the regions that it tells of; may be none
   * @throws IllegalArgumentException if a region is not registered here, is closed, or is local only
   */
  public byte[] metadata(boolean withConnection, Region... some) {
    for (int i = 0; i < some.length; i++) {
      if (registry.byId(some[i].id()) != some[i] || some[i].isClosing()) {
        throw new IllegalArgumentException(
            "some[" + i + "]: " + some[i] + " is not registered with agent '" + name()
                + "', or closed; give open regions of this agent");
      }
      if (some[i].access().mask() == 0) {
        throw new IllegalArgumentException("some[" + i + "]: " + some[i]
            + " is local; peers can do nothing with it: register it with Access.REMOTE_READ or REMOTE_WRITE");
      }
    }
    return MetadataBlob.encode(ownMetadata(withConnection, false, List.of(some)), config.secret());
  }

  private AgentMetadata ownMetadata(boolean withConnection, boolean complete, @Nullable List<Region> some) {
    checkOpen();
    long revision = regions.revision();
    return new AgentMetadata(name(), epoch(), revision, complete, withConnection, ThisProcess.host(), ThisProcess.pid(),
        withConnection ? addresses() : List.of(), withConnection ? engine.transportDescriptions() : Map.of(),
        some == null ? regions.published() : regions.published(some));
  }

  /**
   * Adds what a peer's blob tells to what is known of it. The same epoch updates; a newer one replaces.
   *
   * @throws PeerMetadataException if the blob is damaged or forged, this agent's own, or of an older epoch
   */
  public Peer addPeer(byte[] blob) {
    checkOpen();
    return peers.add(blob);
  }

  /**
   * The peer of this name: known, or fetched from the metadata service.
   *
   * @throws UnknownPeerException if neither knows it
   * @throws dev.hawser.agent.metadata.MetadataException if the service is needed and does not answer
   */
  public Peer peer(String peerName) {
    checkOpen();
    checkPeerName(peerName);
    return peers.get(peerName);
  }

  /**
   * The peer of this name, waiting for it to be published.
   *
   * @throws UnknownPeerException if it is not within the time
   */
  public Peer peer(String peerName, Duration timeout) {
    long deadline = System.nanoTime() + timeout.toNanos();
    Duration pause = Duration.ofMillis(2);
    while (true) {
      try {
        return peer(peerName);
      } catch (UnknownPeerException e) {
        if (!peers.hasService() || deadline - System.nanoTime() < pause.toNanos()) {
          throw e;
        }
      }
      // Asked again and again rather than watched: this is for the moments when two processes start together.
      engine.await(closed::get, pause);
      pause = pause.multipliedBy(2).compareTo(LONGEST_PAUSE) > 0 ? LONGEST_PAUSE : pause.multipliedBy(2);
    }
  }

  private void checkPeerName(String peerName) {
    String problem = Names.problem(peerName);
    if (problem != null) {
      throw new UnknownPeerException(peerName, "peer " + Quoted.of(peerName) + " cannot exist: as a name, " + problem);
    }
    if (peerName.equals(name())) {
      throw new UnknownPeerException(peerName,
          "peer '" + peerName + "' is this agent itself; transfers go between two agents");
    }
  }

  /** The names of the peers that are known. */
  public Set<String> peers() {
    return peers.names();
  }

  /**
   * Forgets what a peer told of itself; the connection stays. The next use takes fresh metadata from the service, or asks
   * for a blob.
   */
  public void invalidate(Peer peer) {
    peer.invalidate();
  }

  /** Forgets a peer and disconnects; transfers with it that are under way end as CLOSED. */
  public void removePeer(Peer peer) {
    peers.remove(peer);
  }

  // ------------------------------------------------------------------------------------------------ transfers

  /** As {@link #prepare(Operation, BlockList, int[], Peer, BlockList, int[])}, with all blocks in order. */
  public PreparedTransfer prepare(Operation operation, BlockList local, Peer peer, BlockList remote) {
    return prepare(operation, local, null, peer, remote, null);
  }

  /**
   * Resolves a transfer, to be posted once or many times.
   *
   * @param local blocks in memory that is registered here
   * @param localIndices which of them, in this order; null for all
   * @param remote blocks in memory that the peer published, with the permission that the operation needs
   * @param remoteIndices which of them, in this order; null for all
   * @throws dev.hawser.memory.InvalidBlocksException if the counts or lengths differ, or an index is out of bounds
   * @throws UnresolvedBlocksException if a block is in no region, on another device, or not permitted; it names the block
   * @throws UnknownPeerException if the peer was removed, or was invalidated and there is no service
   * @throws dev.hawser.engine.LinkException if the peer cannot be reached from here, with each transport's reason
   */
  public PreparedTransfer prepare(Operation operation, BlockList local, int @Nullable [] localIndices, Peer peer,
      BlockList remote, int @Nullable [] remoteIndices) {
    checkOpen();
    BlockPairs pairs = BlockPairs.of(local, localIndices, remote, remoteIndices);
    Region[] localRegions = new LocalBlocks(registry, local.device(), operation == Operation.READ)
        .resolve(local, localIndices).toArray(NO_REGIONS);
    PeerState state = current(peer);
    RemoteRegion[] remoteRegions;
    try {
      remoteRegions = resolveRemote(operation, peer, state, remote, remoteIndices);
    } catch (UnresolvedBlocksException e) {
      // Registered since we last heard of the peer?
      if (!peers.refresh(peer)) {
        throw e;
      }
      state = peer.known();
      remoteRegions = resolveRemote(operation, peer, state, remote, remoteIndices);
    }
    return prepare(operation, peer, state, new TransferPlan(pairs, localRegions, remoteRegions), localRegions);
  }

  private PreparedTransfer prepare(Operation operation, Peer peer, PeerState state, TransferPlan plan,
      Region[] localRegions) {
    Link link = peer.connect();
    if (link.peerEpoch() != state.epoch()) {
      throw TransferException.failed(dev.hawser.engine.TransferEnd.Cause.PEER_RESTARTED,
          "the peer restarted while the transfer was prepared", operation, peer.name(), null);
    }
    Transfer transfer = link.prepare(operation.op(), plan);
    return new PreparedTransfer(this, operation, peer, state.epoch(), transfer, localRegions);
  }

  private static RemoteRegion[] resolveRemote(Operation operation, Peer peer, PeerState state, BlockList remote,
      int @Nullable [] indices) {
    return new RemoteBlocks(peer.name(), state.index(), remote.device(), operation).resolve(remote, indices)
        .toArray(NO_REMOTE_REGIONS);
  }

  /** What is known of a peer, fresh from the service if its link is over or it was invalidated. */
  private PeerState current(Peer peer) {
    if (!peer.isRemoved() && (peer.state().isEmpty() || !peer.hasUsableLink())) {
      peers.refresh(peer);
    }
    return peer.known();
  }

  /** Reads the peer's blocks into ours. */
  public TransferFuture read(BlockList local, Peer peer, BlockList remote) {
    return read(local, peer, remote, TransferOptions.NONE);
  }

  /** Reads the peer's blocks into ours; see {@link #prepare} for what is refused. */
  public TransferFuture read(BlockList local, Peer peer, BlockList remote, TransferOptions options) {
    return submit(prepare(Operation.READ, local, peer, remote), options);
  }

  /**
   * Reads blocks that were lent, under their grant: ends as FAILED(STALE) if they were reused meanwhile.
   *
   * @param local as many bytes, block for block
   */
  public TransferFuture read(BlockList local, LentBlocks lent) {
    return read(local, peer(lent.owner()), lent.blocks(), TransferOptions.NONE.grant(lent));
  }

  /** Writes our blocks to the peer's. */
  public TransferFuture write(BlockList local, Peer peer, BlockList remote) {
    return write(local, peer, remote, TransferOptions.NONE);
  }

  /** Writes our blocks to the peer's; see {@link #prepare} for what is refused. */
  public TransferFuture write(BlockList local, Peer peer, BlockList remote, TransferOptions options) {
    return submit(prepare(Operation.WRITE, local, peer, remote), options);
  }

  /** Sends a notification that belongs to no data: at most 4 KiB. Its end means that the peer has it. */
  public TransferFuture notify(Peer peer, byte[] payload) {
    return submit(prepareNotification(peer), TransferOptions.notifying(payload));
  }

  /** As {@link #notify(Peer, byte[])}: the UTF-8 bytes of a text. */
  public TransferFuture notify(Peer peer, String text) {
    return notify(peer, text.getBytes(StandardCharsets.UTF_8));
  }

  /** A transfer of no bytes, to carry a notification or an arrival, again and again. */
  public PreparedTransfer prepareNotification(Peer peer) {
    checkOpen();
    return prepare(Operation.WRITE, peer, current(peer), new TransferPlan(NO_BYTES, NO_REGIONS, NO_REMOTE_REGIONS),
        NO_REGIONS);
  }

  private TransferFuture submit(PreparedTransfer prepared, TransferOptions options) {
    options.applyTo(prepared);
    TransferFuture future = new TransferFuture(prepared, callbacks);
    prepared.attach(future);
    prepared.post();
    return future;
  }

  /** Moves work on, on this thread, if nobody else is at it; how much was done. Never blocks. */
  public int poll() {
    return engine.poll();
  }

  /**
   * Polls many transfers at once: moves the engine on, and tells which have ended, each post once. Allocates nothing. A
   * transfer is to be polled by one thread at a time this way.
   *
   * @param handles transfers, under way or not
   * @param doneOut gets the indices of those that have ended since they were told last
   * @return how many; if {@code doneOut} is full, the others come with the next call
   */
  public int poll(List<? extends TransferHandle> handles, int[] doneOut) {
    engine.poll();
    int found = 0;
    for (int i = 0, n = handles.size(); i < n && found < doneOut.length; i++) {
      boolean ended = switch (handles.get(i)) {
        case PreparedTransfer prepared -> prepared.takeEnded();
        case TransferFuture future -> future.takeEnded();
      };
      if (ended) {
        doneOut[found++] = i;
      }
    }
    return found;
  }

  /** As {@link #poll(List, int[])}. */
  public int poll(TransferHandle[] handles, int[] doneOut) {
    engine.poll();
    int found = 0;
    for (int i = 0; i < handles.length && found < doneOut.length; i++) {
      boolean ended = switch (handles[i]) {
        case PreparedTransfer prepared -> prepared.takeEnded();
        case TransferFuture future -> future.takeEnded();
      };
      if (ended) {
        doneOut[found++] = i;
      }
    }
    return found;
  }

  // ------------------------------------------------------------------------------------------------ as a target

  /** The next notification, or null if there is none now; moves the engine on if nobody else is at it. */
  public @Nullable Notification pollNotification() {
    Notification notification = notifications.take();
    if (notification == null) {
      checkOpen();
      engine.poll();
      notification = notifications.take();
    }
    return notification;
  }

  /**
   * Waits for the next notification, helping the engine on this thread.
   *
   * @throws AwaitTimeoutException if none comes in time
   * @throws AgentClosedException if the agent is closed meanwhile
   */
  public Notification awaitNotification(Duration timeout) {
    long deadline = System.nanoTime() + timeout.toNanos();
    while (true) {
      Notification notification = notifications.take();
      if (notification != null) {
        return notification;
      }
      checkOpen();
      long left = deadline - System.nanoTime();
      if (left <= 0 || !engine.await(notifiedOrClosed, Duration.ofNanos(left))) {
        throw new AwaitTimeoutException(
            "no notification came within " + timeout + "; wait longer, or ask whether the peer sent one");
      }
    }
  }

  /**
   * Has every notification told to a listener, one at a time, in the order of arrival, on the callback executor; null to
   * take them with {@link #pollNotification} again.
   */
  public void onNotification(@Nullable Consumer<Notification> newListener) {
    notifications.listener(newListener);
  }

  /**
   * Expects arrivals at a counter ({@link TransferOptions#counter}), in any order and from anybody; those that came before
   * this call count. The arrivals are used up by it; a next call expects further ones.
   *
   * @param arrivals how many, at least 1
   */
  public CounterFuture expect(long counter, long arrivals) {
    checkOpen();
    if (arrivals < 1) {
      throw new IllegalArgumentException("arrivals: " + arrivals + " is less than 1; say how many to wait for");
    }
    CounterFuture future = new CounterFuture(engine, counters, callbacks, counter, arrivals);
    for (CounterFuture fulfilled : counters.expect(future, name())) {
      fulfilled.fulfil();
    }
    return future;
  }

  // ------------------------------------------------------------------------------------------------ grants

  /** Lends blocks to whoever gets the grant's bytes, for reading. */
  public Grant grant(BlockList blocks) {
    return grant(blocks, null, false);
  }

  /** Lends blocks to one peer, for reading. */
  public Grant grant(BlockList blocks, Peer reader) {
    return grant(blocks, reader.name(), false);
  }

  /** Lends blocks to one peer, for writing; revoking it fences the peer's session. */
  public Grant grantForWriting(BlockList blocks, Peer writer) {
    return grant(blocks, writer.name(), true);
  }

  private Grant grant(BlockList blocks, @Nullable String reader, boolean writable) {
    checkOpen();
    Access wanted = writable ? Access.REMOTE_WRITE : Access.REMOTE_READ;
    for (Region region : new LocalBlocks(registry, blocks.device(), false).resolve(blocks, null)) {
      if (!region.access().allows(wanted)) {
        throw new GrantException("blocks: they lie in " + region + ", which permits " + region.access()
            + "; to lend them, register it with " + wanted);
      }
    }
    return new Grant(this, words, blocks, reader, writable);
  }

  /**
   * Reads a grant that a peer gave.
   *
   * @throws GrantException if it is damaged or forged, or meant for another agent
   */
  public LentBlocks accept(byte[] grant) {
    checkOpen();
    GrantCodec.Told told;
    try {
      told = GrantCodec.decode(grant, config.secret(), "the caller");
    } catch (MalformedBytesException e) {
      String message = e.getMessage();
      throw new GrantException(message == null ? "the grant is malformed" : message, e);
    }
    if (!told.reader().isEmpty() && !told.reader().equals(name())) {
      throw new GrantException("grant: '" + told.owner() + "' gave it to '" + told.reader() + "', not to '" + name()
          + "'; ask for one of your own");
    }
    return GrantCodec.lent(told);
  }

  // ------------------------------------------------------------------------------------------------ the end

  /** Whether it is closed. */
  public boolean isClosed() {
    return closed.get();
  }

  /**
   * Ends everything: transfers that are under way end as CLOSED, the entry in the metadata service is deleted, regions are
   * closed. Idempotent.
   */
  @Override
  public void close() {
    if (closed.getAndSet(true)) {
      return;
    }
    regions.onChange(() -> {});
    if (flowLog != null) {
      flowLog.close();
    }
    if (watcher != null) {
      watcher.close();
    }
    Presence kept = presence;
    if (kept != null) {
      kept.close();
    }
    try {
      engine.close();
    } finally {
      counters.close().forEach(future -> future.fail(new AgentClosedException(name())));
      if (client != null) {
        client.close();
      }
      timelines.close();
      registry.close();
    }
  }

  void checkOpen() {
    if (closed.get()) {
      throw new AgentClosedException(name());
    }
    String reason = supersededReason;
    if (reason != null) {
      throw new AgentSupersededException(name(), epoch(), reason);
    }
  }

  Engine engine() {
    return engine;
  }

  Callbacks callbacks() {
    return callbacks;
  }

  @Override
  public String toString() {
    return "agent '" + name() + "', epoch " + Long.toUnsignedString(epoch());
  }
}
