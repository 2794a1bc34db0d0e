/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.staging;

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
import dev.hawser.memory.Device;
import dev.hawser.memory.DeviceKind;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import dev.hawser.memory.testkit.FakeCuda;
import dev.hawser.memory.testkit.FakeGpu;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How finely memory of a device is cut: each chunk costs the same calls of the driver, whatever its length. */
class StagedChunksTest {
  private static final int BYTES = 1 << 20;
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private final FakeCuda cuda = new FakeCuda(new FakeGpu(1, 1L << 30).workInBackground());

  private MemoryRegistry registry() {
    return MemoryRegistry.builder().allocations(DeviceKind.CUDA, cuda.start()).build();
  }

  private static Engine engine(String name, MemoryRegistry registry, Map<String, String> settings) {
    EngineConfig config =
        new EngineConfig(
            name, 1, List.of("127.0.0.1:0"), List.of("tcp"), List.of(), 1, 0, Duration.ofSeconds(10),
            Duration.ofSeconds(1), Duration.ofSeconds(10), Duration.ofMillis(20), 64, new byte[0], TlsConfig.OFF,
            settings);
    return Engine.start(config, registry, new SilentHandler());
  }

  /** One mark of a stream for each chunk on each side; two paths, which take what they get. */
  @ParameterizedTest
  @CsvSource({", 1", "262144, 4", "65536, 16", "100000, 11"})
  void aRequestIsCutIntoAsManyPiecesAsTheSettingSays(String staged, int most) {
    Map<String, String> settings = staged == null ? Map.of() : Map.of("tcp.staged-chunk-bytes", staged);
    try (MemoryRegistry here = registry();
        MemoryRegistry there = registry();
        Engine initiator = engine("here", here, settings);
        Engine target = engine("there", there, Map.of())) {
      Region local = here.allocate(BYTES, Device.cuda(0), Access.LOCAL);
      Region remote = there.allocate(BYTES, Device.cuda(0), Access.REMOTE_READ_WRITE);
      Link link =
          initiator.connect(
              new PeerDescription("there", 1, target.listenAddresses(), target.transportDescriptions()));
      link.awaitUp(PATIENCE);
      for (Op op : Op.values()) {
        int before = cuda.gpu().calls("cuStreamWriteValue64_v2");
        Transfer transfer = link.prepare(op, plan(local, remote)).timeout(PATIENCE);
        transfer.post();
        assertThat(transfer.await(PATIENCE)).isTrue();
        assertThat(transfer.end()).isEqualTo(new TransferEnd.Done());
        assertThat(cuda.gpu().calls("cuStreamWriteValue64_v2") - before)
            .as("marks of both sides, %s", op)
            .isBetween(2, 2 * most);
      }
    }
  }

  private static TransferPlan plan(Region local, Region remote) {
    Map<String, byte[]> keys = new HashMap<>();
    remote.remoteKeys().forEach(key -> keys.put(key.transport(), key.bytes()));
    return new TransferPlan(
        BlockPairs.of(
            BlockList.strided(local.address(), BYTES, BYTES, 1, local.device()),
            BlockList.strided(remote.address(), BYTES, BYTES, 1, remote.device())),
        new Region[] {local},
        new RemoteRegion[] {
            new RemoteRegion(
                remote.id(), remote.address(), remote.length(), remote.device(), remote.access(), keys)
        });
  }
}
