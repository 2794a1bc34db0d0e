/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.metadata;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.agent.config.Secret;
import dev.hawser.agent.wire.MalformedBytesException;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.memory.Access;
import dev.hawser.memory.Device;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;

class MetadataBlobTest {
  private static final Secret SECRET = Secret.of("correct horse");
  private static final int HEADER = 16;
  private static final int CRC = 4;

  @Test
  void bringsEverythingBack() {
    Random random = new Random(11);
    for (int round = 0; round < 200; round++) {
      AgentMetadata told = random(random);
      Secret secret = random.nextBoolean() ? SECRET : Secret.NONE;

      assertSame(MetadataBlob.decode(MetadataBlob.encode(told, secret), secret, "a test"), told);
    }
  }

  @Test
  void isTheSameBytesForTheSameMetadata() {
    AgentMetadata told = random(new Random(3));

    assertThat(MetadataBlob.encode(told, SECRET)).isEqualTo(MetadataBlob.encode(told, SECRET));
  }

  @Test
  void refusesEveryFlippedBit() {
    for (Secret secret : List.of(SECRET, Secret.NONE)) {
      byte[] blob = MetadataBlob.encode(random(new Random(5)), secret);
      for (int bit = 0; bit < blob.length * 8; bit++) {
        byte[] damaged = blob.clone();
        damaged[bit / 8] ^= (byte) (1 << bit % 8);
        assertThatThrownBy(() -> MetadataBlob.decode(damaged, secret, "a test")).as("bit " + bit)
            .isInstanceOf(MalformedBytesException.class)
            .hasMessageStartingWith("the metadata blob from a test is refused");
      }
    }
  }

  @Test
  void refusesEveryTruncationAndExtension() {
    byte[] blob = MetadataBlob.encode(random(new Random(6)), SECRET);
    for (int length = 0; length < blob.length; length++) {
      byte[] cut = Arrays.copyOf(blob, length);
      assertThatThrownBy(() -> MetadataBlob.decode(cut, SECRET, "a test")).isInstanceOf(MalformedBytesException.class)
          .hasMessageContaining("cut short");
    }
    byte[] longer = Arrays.copyOf(blob, blob.length + 1);
    assertThatThrownBy(() -> MetadataBlob.decode(longer, SECRET, "a test")).isInstanceOf(MalformedBytesException.class)
        .hasMessageContaining("run together");
  }

  @Test
  void refusesGarbage() {
    Random random = new Random(8);
    for (int round = 0; round < 5_000; round++) {
      byte[] garbage = new byte[random.nextInt(400)];
      random.nextBytes(garbage);
      assertThatThrownBy(() -> MetadataBlob.decode(garbage, Secret.NONE, "a test"))
          .isInstanceOf(MalformedBytesException.class);
    }
  }

  /** Somebody who knows the format, but not the limits: the checksum is right, the content is not. */
  @Test
  void survivesContentThatWasChangedAndSealedAgain() {
    Random random = new Random(9);
    int refused = 0;
    for (int round = 0; round < 30_000; round++) {
      byte[] blob = MetadataBlob.encode(random(random), Secret.NONE);
      for (int change = random.nextInt(4); change >= 0; change--) {
        blob[HEADER + random.nextInt(blob.length - HEADER - CRC)] = (byte) random.nextInt();
      }
      seal(blob);
      try {
        AgentMetadata read = MetadataBlob.decode(blob, Secret.NONE, "a test");
        assertThat(Names.problem(read.name())).isNull();
        assertThat(read.regions()).allSatisfy(region -> assertThat(region.region().length()).isPositive());
      } catch (MalformedBytesException e) {
        refused++;
      }
    }
    assertThat(refused).isBetween(3_000, 29_999);
  }

  @Test
  void skipsUnknownSections() {
    AgentMetadata told = random(new Random(12));
    byte[] blob = MetadataBlob.encode(told, Secret.NONE);
    ByteBuffer longer = ByteBuffer.allocate(blob.length + 8 + 5).order(ByteOrder.LITTLE_ENDIAN);
    longer.put(blob, 0, HEADER);
    longer.putShort((short) 999).putShort((short) 0).putInt(5).put(new byte[] {1, 2, 3, 4, 5});
    longer.put(blob, HEADER, blob.length - HEADER);
    longer.putInt(12, longer.capacity());
    seal(longer.array());

    assertSame(MetadataBlob.decode(longer.array(), Secret.NONE, "a test"), told);
  }

  @Test
  void readsBlobsOneBehindAnother() throws MalformedBytesException {
    AgentMetadata told = random(new Random(9));
    byte[] first = MetadataBlob.encode(told, SECRET);
    byte[] two = Arrays.copyOf(first, 2 * first.length);
    System.arraycopy(first, 0, two, first.length, first.length);

    assertThat(MetadataBlob.decodeAll(new byte[0], SECRET, "test")).isEmpty();
    assertThat(MetadataBlob.decodeAll(first, SECRET, "test")).hasSize(1);
    List<AgentMetadata> both = MetadataBlob.decodeAll(two, SECRET, "test");
    assertThat(both).hasSize(2);
    assertSame(both.getLast(), told);
    for (int length = first.length + 1; length < two.length; length++) {
      byte[] cut = Arrays.copyOf(two, length);
      assertThatThrownBy(() -> MetadataBlob.decodeAll(cut, SECRET, "test")).isInstanceOf(MalformedBytesException.class);
    }
    for (int i = first.length; i < two.length; i++) {
      byte[] flipped = two.clone();
      flipped[i] ^= 4;
      assertThatThrownBy(() -> MetadataBlob.decodeAll(flipped, SECRET, "test"))
          .isInstanceOf(MalformedBytesException.class);
    }
  }

  @Test
  void refusesAnotherVersionByName() {
    byte[] blob = MetadataBlob.encode(random(new Random(13)), Secret.NONE);
    blob[8] = 2;
    seal(blob);

    assertThatThrownBy(() -> MetadataBlob.decode(blob, Secret.NONE, "a test"))
        .hasMessageContaining("version 2").hasMessageContaining("version 1").hasMessageContaining("same release");
  }

  @Test
  void refusesWrongSecretsWithTheCure() {
    AgentMetadata told = random(new Random(14));
    byte[] signed = MetadataBlob.encode(told, SECRET);
    byte[] plain = MetadataBlob.encode(told, Secret.NONE);

    assertThatThrownBy(() -> MetadataBlob.decode(signed, Secret.of("battery"), "x"))
        .hasMessageContaining("secrets differ").hasMessageContaining("HAWSER_SECRET");
    assertThatThrownBy(() -> MetadataBlob.decode(signed, Secret.NONE, "x"))
        .hasMessageContaining("has no cluster secret");
    assertThatThrownBy(() -> MetadataBlob.decode(plain, SECRET, "x")).hasMessageContaining("is not signed");
  }

  @Test
  void refusesToWriteMoreThanCanBeRead() {
    List<PublishedRegion> regions = new ArrayList<>();
    byte[] key = new byte[1024];
    for (int id = 1; id <= 9_000; id++) {
      regions.add(new PublishedRegion("", new RemoteRegion(id, id * 4096L, 4096, Device.HOST, Access.REMOTE_READ,
          Map.of("verbs", key))));
    }
    AgentMetadata told = new AgentMetadata("a", 1, 1, true, false, "h", 1, List.of(), Map.of(), regions);

    assertThatThrownBy(() -> MetadataBlob.encode(told, Secret.NONE)).isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("at most " + MetadataBlob.MAX_BYTES);
  }

  private static void seal(byte[] blob) {
    CRC32C crc = new CRC32C();
    crc.update(blob, 0, blob.length - CRC);
    ByteBuffer.wrap(blob).order(ByteOrder.LITTLE_ENDIAN).putInt(blob.length - CRC, (int) crc.getValue());
  }

  private static AgentMetadata random(Random random) {
    boolean connection = random.nextBoolean();
    List<String> addresses = connection ? List.of("127.0.0.1:" + random.nextInt(65536), "[::1]:1") : List.of();
    Map<String, byte[]> transports = new HashMap<>();
    if (connection) {
      for (String name : List.of("tcp", "shm")) {
        byte[] description = new byte[random.nextInt(30)];
        random.nextBytes(description);
        transports.put(name, description);
      }
    }
    List<PublishedRegion> regions = new ArrayList<>();
    for (int id = 1 + random.nextInt(3), end = id + random.nextInt(5); id < end; id++) {
      Map<String, byte[]> keys = new HashMap<>();
      for (String name : List.of("tcp", "verbs", "shm")) {
        if (random.nextBoolean()) {
          byte[] key = new byte[random.nextInt(20)];
          random.nextBytes(key);
          keys.put(name, key);
        }
      }
      Device device = switch (random.nextInt(3)) {
        case 0 -> Device.HOST;
        case 1 -> Device.cuda(random.nextInt(8));
        default -> Device.hip(random.nextInt(8));
      };
      regions.add(new PublishedRegion(random.nextBoolean() ? "" : "region-" + id, new RemoteRegion(id,
          random.nextLong() >>> 8, 1 + (random.nextLong() >>> 10), device, new Access(random.nextInt(4)), keys)));
    }
    return new AgentMetadata("agent-" + random.nextInt(100), random.nextLong() | 1, 1 + random.nextInt(1000),
        random.nextBoolean(), connection, random.nextBoolean() ? "hôst" : "host", random.nextInt(1 << 22), addresses,
        transports, regions);
  }

  private static void assertSame(AgentMetadata read, AgentMetadata told) {
    assertThat(read).usingRecursiveComparison().isEqualTo(told);
  }
}
