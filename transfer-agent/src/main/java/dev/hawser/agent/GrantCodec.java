/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.agent.config.Secret;
import dev.hawser.agent.metadata.Names;
import dev.hawser.agent.metadata.PublishedRegion;
import dev.hawser.agent.metadata.RegionCodec;
import dev.hawser.agent.wire.ByteReader;
import dev.hawser.agent.wire.ByteWriter;
import dev.hawser.agent.wire.MalformedBytesException;
import dev.hawser.agent.wire.Seal;
import dev.hawser.engine.GrantCheck;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.Device;
import dev.hawser.memory.MemoryException;
import java.util.ArrayList;
import java.util.List;

/** A grant as bytes; {@code docs/metadata-blob.md} describes them. */
final class GrantCodec {
  /** About 600,000 blocks that follow no pattern. */
  static final int MAX_BYTES = 16 << 20;

  private static final Seal SEAL = new Seal("HAWSERGR", 1, "grant", MAX_BYTES);
  private static final int TERMS = 1;
  private static final int WORD_REGION = 2;
  private static final int BLOCKS = 3;
  private static final int WRITABLE = 1;
  private static final int RUN_BYTES = 28;

  private GrantCodec() {}

  /** Everything that a grant tells. */
  record Told(String owner, long ownerEpoch, String reader, boolean writable, long generation, long wordAddress,
      RemoteRegion wordRegion, BlockList blocks) {}

  static byte[] encode(Told told, Secret secret) {
    ByteWriter out = SEAL.begin();
    int terms = out.beginSection(TERMS);
    out.text(told.owner(), Names.MAX_LENGTH, "owner").i64(told.ownerEpoch());
    out.text(told.reader(), Names.MAX_LENGTH, "reader").u8(told.writable() ? WRITABLE : 0);
    out.i64(told.generation()).i64(told.wordAddress()).endSection(terms);
    int region = out.beginSection(WORD_REGION);
    RegionCodec.writeAll(out, List.of(new PublishedRegion("", told.wordRegion())));
    out.endSection(region);
    int blocks = out.beginSection(BLOCKS);
    writeBlocks(out, told.blocks());
    out.endSection(blocks);
    return SEAL.end(out, secret);
  }

  private static void writeBlocks(ByteWriter out, BlockList blocks) {
    out.text(blocks.device().toString(), 32, "device");
    int counted = out.position();
    out.i32(0);
    RunWriter runs = new RunWriter(out);
    blocks.forEach(runs::add);
    runs.end();
    out.patch32(counted, runs.count);
  }

  /** Joins blocks of one length at one distance as they come. */
  private static final class RunWriter {
    private final ByteWriter out;
    private long base;
    private long stride;
    private long length;
    private int blocks;
    int count;

    RunWriter(ByteWriter out) {
      this.out = out;
    }

    void add(int index, long address, long bytes) {
      if (blocks == 1 && bytes == length) {
        stride = address - base;
        blocks = 2;
      } else if (blocks > 1 && bytes == length && address == base + stride * blocks) {
        blocks++;
      } else {
        end();
        base = address;
        stride = 0;
        length = bytes;
        blocks = 1;
      }
    }

    void end() {
      if (blocks != 0) {
        out.i64(base).i64(stride).i64(length).i32(blocks);
        count++;
        blocks = 0;
      }
    }
  }

  static Told decode(byte[] bytes, Secret secret, String source) {
    ByteReader in = SEAL.open(bytes, secret, source);
    try {
      return read(in);
    } catch (MalformedBytesException | MemoryException e) {
      throw SEAL.refuse(source, e.getMessage() == null ? "it is against the format" : e.getMessage());
    }
  }

  private static Told read(ByteReader in) {
    ByteReader[] sections = new ByteReader[BLOCKS + 1];
    while (in.remaining() > 0) {
      int type = in.u16("section type");
      in.u16("section padding");
      ByteReader section = in.slice(in.count("section length", 1), "section " + type);
      if (type >= TERMS && type <= BLOCKS) {
        if (sections[type] != null) {
          throw new MalformedBytesException("section " + type + " is there twice");
        }
        sections[type] = section;
      }
    }
    for (int type = TERMS; type <= BLOCKS; type++) {
      if (sections[type] == null) {
        throw new MalformedBytesException("section " + type + " is missing");
      }
    }
    ByteReader terms = sections[TERMS];
    String owner = terms.text(Names.MAX_LENGTH, "owner");
    long epoch = terms.i64("owner's epoch");
    String reader = terms.text(Names.MAX_LENGTH, "reader");
    int flags = terms.u8("flags");
    if (flags > WRITABLE) {
      throw new MalformedBytesException("it has unknown flags " + flags);
    }
    long generation = terms.i64("generation");
    long wordAddress = terms.i64("address of the generation");
    terms.end("the terms");
    List<PublishedRegion> regions = RegionCodec.readAll(sections[WORD_REGION]);
    sections[WORD_REGION].end("the word's region");
    if (Names.problem(owner) != null || regions.size() != 1) {
      throw new MalformedBytesException("its owner has no valid name, or its generation no region");
    }
    RemoteRegion region = regions.getFirst().region();
    if (!region.device().isHost() || (wordAddress & 7) != 0 || !region.contains(wordAddress, Long.BYTES)
        || !region.access().remoteReadable()) {
      throw new MalformedBytesException("its generation at 0x" + Long.toHexString(wordAddress)
          + " is no aligned word of readable host memory in " + region);
    }
    BlockList blocks = readBlocks(sections[BLOCKS]);
    return new Told(owner, epoch, reader, flags == WRITABLE, generation, wordAddress, region, blocks);
  }

  private static BlockList readBlocks(ByteReader in) {
    Device device = Device.parse(in.text(32, "device"));
    int count = in.count("number of runs", RUN_BYTES);
    List<BlockList> parts = new ArrayList<>();
    BlockList.Builder singles = BlockList.builder(device);
    int single = 0;
    for (int i = 0; i < count; i++) {
      long base = in.i64("base");
      long stride = in.i64("stride");
      long length = in.i64("length");
      int blocks = in.i32("number of blocks");
      if (blocks == 1) {
        singles.add(base, length);
        single++;
      } else {
        if (single != 0) {
          parts.add(singles.build());
          singles = BlockList.builder(device);
          single = 0;
        }
        parts.add(BlockList.strided(base, stride, length, blocks, device));
      }
    }
    in.end("the blocks");
    if (single != 0) {
      parts.add(singles.build());
    }
    return parts.isEmpty() ? BlockList.builder(device).build() : BlockList.concat(parts);
  }

  static LentBlocks lent(Told told) {
    return new LentBlocks(told.owner(), told.ownerEpoch(), told.writable(), told.blocks(),
        new GrantCheck(told.wordRegion(), told.wordAddress(), told.generation()));
  }
}
