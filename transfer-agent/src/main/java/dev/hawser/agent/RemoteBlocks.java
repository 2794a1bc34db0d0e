/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.memory.Access;
import dev.hawser.memory.Device;
import org.jspecify.annotations.Nullable;

/** Resolves remote blocks against what a peer published. */
final class RemoteBlocks extends BlockResolver<RemoteRegion> {
  private static final Access NOTHING = Access.LOCAL;

  private final String peer;
  private final RegionIndex index;
  private final Device device;
  private final Operation operation;
  private final Access wanted;

  RemoteBlocks(String peer, RegionIndex index, Device device, Operation operation) {
    this.peer = peer;
    this.index = index;
    this.device = device;
    this.operation = operation;
    this.wanted = operation == Operation.READ ? Access.REMOTE_READ : Access.REMOTE_WRITE;
  }

  @Override
  @Nullable
  RemoteRegion find(long address, long length) {
    return index.find(device, address, length, wanted);
  }

  @Override
  boolean covers(RemoteRegion region, long address, long length) {
    return region.contains(address, length);
  }

  @Override
  UnresolvedBlocksException refusal(long blockIndex, long address, long length) {
    RemoteRegion covering = index.find(device, address, length, NOTHING);
    if (covering != null) {
      return new UnresolvedBlocksException("remote", blockIndex, address, length,
          "lies in " + covering + " of peer '" + peer + "', which permits " + covering.access() + "; a " + operation
              + " needs " + wanted + ": let '" + peer + "' register it so");
    }
    RemoteRegion nearest = index.nearest(address, length);
    String problem;
    if (nearest == null) {
      problem = "cannot be resolved: peer '" + peer
          + "' published no region; let it register memory and publish, or add its full metadata";
    } else if (nearest.contains(address, length)) {
      problem =
          "is said to be on " + device + ", but lies in " + nearest + " of peer '" + peer + "'; make the list for "
              + nearest.device();
    } else {
      problem = "is not within one region that peer '" + peer + "' published; the nearest is " + nearest + ", "
          + Gap.describe(nearest.address(), nearest.length(), address, length)
          + "; correct the block, or let '" + peer + "' register its memory as one region";
    }
    return new UnresolvedBlocksException("remote", blockIndex, address, length, problem);
  }
}
