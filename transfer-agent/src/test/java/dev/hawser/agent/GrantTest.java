/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import static dev.hawser.agent.Agents.LONG;
import static dev.hawser.agent.Agents.fill;
import static dev.hawser.agent.Agents.introduce;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.agent.config.Secret;
import dev.hawser.agent.wire.MalformedBytesException;
import dev.hawser.engine.TransferEnd.Cause;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.Device;
import dev.hawser.memory.Region;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class GrantTest {
  private final Agents agents = new Agents();
  private Agent owner;
  private Agent reader;
  private Region lent;
  private Region ours;
  private Peer readerPeer;

  @BeforeEach
  void start() {
    owner = agents.start("owner");
    reader = agents.start("reader");
    lent = owner.allocate("pool", 4096);
    ours = reader.allocate("pool", 4096);
    readerPeer = introduce(owner, reader);
    reader.addPeer(owner.metadata());
    fill(lent, 1);
  }

  @AfterEach
  void stop() {
    agents.close();
  }

  @Test
  void readsUnderAGrantUntilItIsBumped() {
    Grant grant = owner.grant(Blocks.of(lent, 64));
    LentBlocks blocks = reader.accept(grant.toBytes());
    assertThat(blocks.owner()).isEqualTo("owner");
    assertThat(blocks.blocks()).isEqualTo(Blocks.of(lent, 64));

    reader.read(Blocks.of(ours, 64), blocks).await(LONG);
    assertThat(Agents.at(ours, 77)).isEqualTo(Agents.at(lent, 77));
    long generation = grant.generation();
    assertThat(grant.bump()).isEqualTo(generation + 1);

    assertThatThrownBy(() -> reader.read(Blocks.of(ours, 64), blocks).await(LONG))
        .isInstanceOfSatisfying(TransferException.class, e -> assertThat(e.failure()).isEqualTo(Cause.STALE));
    reader.read(Blocks.of(ours, 64), reader.accept(grant.toBytes())).await(LONG);
  }

  @Test
  void endsATransferAsStaleThatOverlapsWithABump() {
    Grant grant = owner.grant(Blocks.of(lent));
    agents.network.hold();
    TransferFuture future = reader.read(Blocks.of(ours), reader.accept(grant.toBytes()));
    grant.bump();
    agents.network.release();

    assertThatThrownBy(() -> future.await(LONG)).isInstanceOfSatisfying(TransferException.class,
        e -> assertThat(e.failure()).isEqualTo(Cause.STALE));
  }

  @Test
  void neverUsesAGenerationTwice() {
    Grant first = owner.grant(Blocks.of(lent));
    LentBlocks old = reader.accept(first.toBytes());
    first.close();
    first.close();
    for (int i = 0; i < 5_000; i++) {
      // All words of the page are taken in turn, the first one's too.
      try (Grant next = owner.grant(Blocks.of(lent))) {
        assertThat(next.generation()).isPositive();
      }
    }

    assertThatThrownBy(() -> reader.read(Blocks.of(ours), old).await(LONG))
        .isInstanceOfSatisfying(TransferException.class, e -> assertThat(e.failure()).isEqualTo(Cause.STALE));
    assertThatThrownBy(first::bump).isInstanceOf(GrantException.class).hasMessageContaining("revoked");
    assertThatThrownBy(first::toBytes).isInstanceOf(GrantException.class);
  }

  @Test
  void fencesAWriterWhenItsGrantIsRevoked() {
    Grant grant = owner.grantForWriting(Blocks.of(lent), readerPeer);
    LentBlocks blocks = reader.accept(grant.toBytes());
    Peer ownerPeer = reader.peer("owner");
    reader.write(Blocks.of(ours), ownerPeer, blocks.blocks(), TransferOptions.NONE.grant(blocks)).await(LONG);
    assertThatThrownBy(grant::bump).isInstanceOf(GrantException.class).hasMessageContaining("revoke");

    agents.engine(owner).fencing(false);
    assertThatThrownBy(() -> grant.revoke(LONG)).isInstanceOf(GrantException.class)
        .hasMessageContaining("do not reuse the blocks");
    agents.engine(owner).fencing(true);
    grant.revoke(LONG);
    assertThat(agents.engine(owner).revoked()).containsExactly("reader", "reader");
  }

  @Test
  void refusesGrantsThatDoNotFit() {
    Agent other = agents.start("other");
    byte[] personal = owner.grant(Blocks.of(lent), readerPeer).toBytes();
    assertThatThrownBy(() -> other.accept(personal)).isInstanceOf(GrantException.class)
        .hasMessageContaining("gave it to 'reader', not to 'other'");
    LentBlocks blocks = reader.accept(personal);
    Peer ownerPeer = reader.peer("owner");
    assertThatThrownBy(
        () -> reader.write(Blocks.of(ours), ownerPeer, blocks.blocks(), TransferOptions.NONE.grant(blocks)))
        .isInstanceOf(GrantException.class).hasMessageContaining("lent its blocks for reading");
    Peer otherPeer = reader.addPeer(other.metadata());
    assertThatThrownBy(() -> reader.prepareNotification(otherPeer).withGrant(blocks)).isInstanceOf(GrantException.class)
        .hasMessageContaining("it is from 'owner', but the transfer is with 'other'");
    LentBlocks older = new LentBlocks("owner", 1, false, blocks.blocks(), blocks.generationCheck());
    assertThatThrownBy(() -> reader.read(Blocks.of(ours), older)).isInstanceOf(GrantException.class)
        .hasMessageContaining("ask it for a new grant");
    Region local = owner.allocate("local", 64, Access.LOCAL);
    assertThatThrownBy(() -> owner.grant(Blocks.of(local))).isInstanceOf(GrantException.class)
        .hasMessageContaining("permits local");
    assertThatThrownBy(() -> owner.grant(BlockList.of(64, 64))).isInstanceOf(UnresolvedBlocksException.class);
  }

  @Test
  void refusesDamagedAndForgedGrants() {
    byte[] grant = owner.grant(Blocks.of(lent, 64)).toBytes();
    for (int bit = 0; bit < grant.length * 8; bit++) {
      byte[] damaged = grant.clone();
      damaged[bit / 8] ^= (byte) (1 << bit % 8);
      assertThatThrownBy(() -> reader.accept(damaged)).isInstanceOf(GrantException.class);
    }
    assertThatThrownBy(() -> reader.accept(owner.metadata())).isInstanceOf(GrantException.class)
        .hasMessageContaining("does not begin with HAWSERGR");
    Agent guarded = agents.start("guarded", Agents.secret("s"));
    assertThatThrownBy(() -> guarded.accept(grant)).isInstanceOf(GrantException.class)
        .hasMessageContaining("not signed");
  }

  @Test
  void bringsBlockListsBackWhateverTheyLookLike() {
    Random random = new Random(3);
    RemoteRegion word =
        new RemoteRegion(7, 1 << 20, 4096, Device.HOST, Access.REMOTE_READ, Map.of("t", new byte[] {1, 2}));
    for (int round = 0; round < 300; round++) {
      BlockList blocks = randomBlocks(random);
      GrantCodec.Told told =
          new GrantCodec.Told("o", random.nextLong() | 1, "r", random.nextBoolean(), random.nextLong(), (1 << 20) + 64,
              word, blocks);

      GrantCodec.Told read = GrantCodec.decode(GrantCodec.encode(told, Secret.of("k")), Secret.of("k"), "a test");

      assertThat(read.blocks()).isEqualTo(blocks);
      assertThat(read).usingRecursiveComparison().ignoringFields("blocks").isEqualTo(told);
    }
    BlockList grid = BlockList.strided(1 << 20, new long[] {24, 64, 1024}, new long[] {1L << 30, 1L << 22, 4096}, 2048);
    assertThat(GrantCodec.encode(new GrantCodec.Told("o", 1, "", false, 1, 1 << 20, word, grid), Secret.NONE).length)
        .isLessThan(24 * 64 * 28 + 400);
  }

  private static BlockList randomBlocks(Random random) {
    BlockList.Builder blocks = BlockList.builder(random.nextBoolean() ? Device.HOST : Device.cuda(2));
    for (int part = random.nextInt(6); part > 0; part--) {
      long base = random.nextInt(1 << 30);
      long stride = random.nextInt(1000) - 400L;
      long length = random.nextInt(100);
      for (int i = random.nextInt(9); i > 0; i--) {
        blocks.add(base + 10_000 + i * stride, random.nextInt(5) == 0 ? random.nextInt(50) : length);
      }
    }
    return blocks.build();
  }

  @Test
  void survivesChangedContent() {
    Random random = new Random(5);
    RemoteRegion word = new RemoteRegion(7, 1 << 20, 4096, Device.HOST, Access.REMOTE_READ, Map.of());
    int read = 0;
    for (int round = 0; round < 20_000; round++) {
      byte[] bytes = GrantCodec.encode(
          new GrantCodec.Told("o", 1, "r", false, 5, 1 << 20, word, BlockList.strided(4096, 64, 32, 5)), Secret.NONE);
      bytes[16 + random.nextInt(bytes.length - 20)] = (byte) random.nextInt();
      java.util.zip.CRC32C crc = new java.util.zip.CRC32C();
      crc.update(bytes, 0, bytes.length - 4);
      java.nio.ByteBuffer.wrap(bytes).order(java.nio.ByteOrder.LITTLE_ENDIAN).putInt(bytes.length - 4,
          (int) crc.getValue());
      try {
        GrantCodec.decode(bytes, Secret.NONE, "a test");
        read++;
      } catch (MalformedBytesException e) {
        assertThat(e).hasMessageContaining("the grant from a test is refused");
      }
    }
    assertThat(read).isBetween(1_000, 19_000);
  }
}
