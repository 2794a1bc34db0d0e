/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.Region;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The copies that a transfer must make, walked block by block and not as the engine does. */
final class Copies {
  private final List<Memory> locals;
  private final BlockList local;
  private final int @Nullable [] localIndices;
  private final List<Memory> remotes;
  private final BlockList remote;
  private final int @Nullable [] remoteIndices;

  Copies(
      List<Memory> locals,
      BlockList local,
      int @Nullable [] localIndices,
      List<Memory> remotes,
      BlockList remote,
      int @Nullable [] remoteIndices) {
    this.locals = locals;
    this.local = local;
    this.localIndices = localIndices;
    this.remotes = remotes;
    this.remote = remote;
    this.remoteIndices = remoteIndices;
  }

  static Copies of(List<Memory> locals, BlockList local, List<Memory> remotes, BlockList remote) {
    return new Copies(locals, local, null, remotes, remote, null);
  }

  static Copies of(Memory local, BlockList localBlocks, Memory remote, BlockList remoteBlocks) {
    return of(List.of(local), localBlocks, List.of(remote), remoteBlocks);
  }

  /** One block. */
  static Copies of(Memory local, long localOffset, Memory remote, long remoteOffset, long length) {
    return of(local, local.block(localOffset, length), remote, remote.block(remoteOffset, length));
  }

  /** Equal memories, all of them. */
  static Copies all(Memory local, Memory remote) {
    return of(local, local.all(), remote, remote.all());
  }

  /**
   * The same memory copied over and over, which takes far longer than any test: for what must be stopped in the middle.
   */
  static TransferPlan endless(Memory local, RemoteRegion remote) {
    return endless(local.region(), remote);
  }

  static TransferPlan endless(Region local, RemoteRegion remote) {
    return repeated(local, remote, 1 << 16);
  }

  static TransferPlan repeated(Region local, RemoteRegion remote, int times) {
    return new TransferPlan(
        BlockPairs.of(
            BlockList.strided(local.address(), 0, local.length(), times),
            BlockList.strided(remote.address(), 0, local.length(), times)),
        new Region[] {local},
        new RemoteRegion[] {remote});
  }

  TransferPlan plan() {
    return new TransferPlan(
        BlockPairs.of(local, localIndices, remote, remoteIndices),
        locals.stream().map(Memory::region).toArray(Region[]::new),
        remotes.stream().map(Memory::remote).toArray(RemoteRegion[]::new));
  }

  /** Puts into the images of the destinations what the sources hold now. */
  void expect(Op op) {
    int count = localIndices == null ? local.count() : localIndices.length;
    for (int i = 0; i < count; i++) {
      int l = localIndices == null ? i : localIndices[i];
      int r = remoteIndices == null ? i : remoteIndices[i];
      long length = local.length(l);
      if (op == Op.WRITE) {
        copy(locals, local.address(l), remotes, remote.address(r), length);
      } else {
        copy(remotes, remote.address(r), locals, local.address(l), length);
      }
    }
  }

  void verify(String what) {
    locals.forEach(memory -> memory.verify(what + ", at the initiator"));
    remotes.forEach(memory -> memory.verify(what + ", at the target"));
  }

  /** In pieces, since a block may go on from one region into the next. */
  private static void copy(List<Memory> sources, long source, List<Memory> targets, long target, long length) {
    long done = 0;
    while (done < length) {
      Memory from = holding(sources, source + done);
      Memory to = holding(targets, target + done);
      long from0 = source + done - from.address();
      long to0 = target + done - to.address();
      long piece = Math.min(length - done, Math.min(from.length() - from0, to.length() - to0));
      to.expect(target + done, from.bytes().asSlice(from0, piece));
      done += piece;
    }
  }

  private static Memory holding(List<Memory> memories, long address) {
    for (Memory memory : memories) {
      if (memory.contains(address, 1)) {
        return memory;
      }
    }
    throw new IllegalArgumentException("no memory of this test holds 0x" + Long.toHexString(address));
  }
}
