/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.Engine;
import dev.hawser.engine.EngineConfig;
import dev.hawser.engine.Link;
import dev.hawser.engine.PeerDescription;
import dev.hawser.engine.TlsConfig;
import dev.hawser.engine.Transfer;
import dev.hawser.engine.TransferEnd;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.testkit.SilentHandler;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import dev.hawser.memory.RemoteKey;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Two engines over a fake libibverbs, which is installed already. The initiator uses {@code fake_0} only and the target
 * {@code fake_1}, so that what befalls one device befalls one side.
 */
final class FakePair implements AutoCloseable {
  static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final AtomicLong EPOCH = new AtomicLong(1);

  private final MemoryRegistry here = MemoryRegistry.create();
  private final MemoryRegistry there = MemoryRegistry.builder().exactRanges(true).build();
  private final Engine initiator;
  private final Engine target;
  private final Link link;

  FakePair(int paths) {
    this(paths, Map.of(), Map.of());
  }

  FakePair(int paths, List<String> transports) {
    this(paths, transports, Map.of(), Map.of());
  }

  FakePair(int paths, Map<String, String> initiatorSettings, Map<String, String> targetSettings) {
    this(paths, List.of(VerbsTransport.NAME), initiatorSettings, targetSettings);
  }

  private FakePair(
      int paths, List<String> transports, Map<String, String> initiatorSettings, Map<String, String> targetSettings) {
    target = engine("target", paths, transports, there, with("fake_1", targetSettings));
    initiator = engine("initiator", paths, transports, here, with("fake_0", initiatorSettings));
    link =
        initiator.connect(
            new PeerDescription(
                target.name(), target.epoch(), target.listenAddresses(), target.transportDescriptions()));
  }

  private static Map<String, String> with(String device, Map<String, String> settings) {
    Map<String, String> all = new TreeMap<>(settings);
    all.putIfAbsent("verbs.devices", device);
    // A peer that does not answer is given up within a fifth of a second.
    all.putIfAbsent("verbs.timeout", "12");
    all.putIfAbsent("verbs.retry-count", "2");
    return all;
  }

  private static Engine engine(
      String name, int paths, List<String> transports, MemoryRegistry registry, Map<String, String> settings) {
    return Engine.start(
        new EngineConfig(
            name,
            EPOCH.incrementAndGet(),
            List.of("127.0.0.1:0"),
            transports,
            List.of(),
            1,
            paths,
            Duration.ofSeconds(8),
            Duration.ofSeconds(2),
            Duration.ofSeconds(5),
            Duration.ofMillis(20),
            1024,
            new byte[0],
            TlsConfig.OFF,
            settings),
        registry,
        new SilentHandler());
  }

  Engine initiator() {
    return initiator;
  }

  Engine target() {
    return target;
  }

  Link link() {
    return link;
  }

  MemoryRegistry here() {
    return here;
  }

  /** Waits for the link, and then until so many paths are up. */
  FakePair up(int paths) {
    link.awaitUp(PATIENCE);
    until("so many paths are up: " + paths, () -> upPaths() >= paths);
    return this;
  }

  long upPaths() {
    return link.paths().stream().filter(Link.PathReport::up).count();
  }

  Region local(long bytes) {
    return here.allocate(bytes, Access.LOCAL);
  }

  Region remote(long bytes) {
    return there.allocate(bytes, Access.REMOTE_READ_WRITE);
  }

  static RemoteRegion known(Region region) {
    Map<String, byte[]> keys = new TreeMap<>();
    for (RemoteKey key : region.remoteKeys()) {
      keys.put(key.transport(), key.bytes());
    }
    return new RemoteRegion(region.id(), region.address(), region.length(), region.device(), region.access(), keys);
  }

  Transfer whole(Op op, Region local, RemoteRegion remote) {
    return transfer(op, local, BlockList.of(local.address(), local.length()), remote,
        BlockList.of(remote.address(), local.length()));
  }

  Transfer transfer(Op op, Region local, BlockList from, RemoteRegion remote, BlockList to) {
    return link
        .prepare(op, new TransferPlan(BlockPairs.of(from, to), new Region[] {local}, new RemoteRegion[] {remote}))
        .timeout(PATIENCE);
  }

  static void done(Transfer transfer) {
    transfer.post();
    assertThat(transfer.await(PATIENCE)).as("it ends; it is at %s bytes", transfer.acknowledgedBytes()).isTrue();
    assertThat(transfer.end()).isEqualTo(new TransferEnd.Done());
  }

  static TransferEnd.Failed failed(Transfer transfer) {
    transfer.post();
    assertThat(transfer.await(PATIENCE)).as("it ends").isTrue();
    assertThat(transfer.end()).isInstanceOf(TransferEnd.Failed.class);
    TransferEnd end = transfer.end();
    if (!(end instanceof TransferEnd.Failed failed)) {
      throw new AssertionError(String.valueOf(end));
    }
    return failed;
  }

  /** What the paths say of their last fault, all in one. */
  String faults() {
    List<String> faults = new ArrayList<>();
    for (Link.PathReport report : link.paths()) {
      faults.add(report.lastFault());
    }
    return String.join("\n", faults);
  }

  String awaitFault(String part) {
    until("a path says " + part + "; they say: " + faults(), () -> faults().contains(part));
    return faults();
  }

  static void until(String what, BooleanSupplier condition) {
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - end > 0) {
        throw new AssertionError("not within " + PATIENCE + ": " + what);
      }
      LockSupport.parkNanos(200_000);
    }
  }

  @Override
  public void close() {
    initiator.close();
    target.close();
    here.close(PATIENCE);
    there.close(PATIENCE);
  }
}
