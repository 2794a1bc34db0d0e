/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import dev.hawser.engine.mapped.Command.Refusal;
import dev.hawser.memory.Backing;
import dev.hawser.memory.Device;
import dev.hawser.memory.DeviceKind;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The regions of this process that one path's initiator may use. Each is retained from the grant until the initiator has
 * given it back or can store no more, so that its close waits and its memory is not used again before. Owner thread only.
 */
public final class LentRegions {
  private final MemoryRegistry registry;
  private final CommandRing toInitiator;
  private final Function<Region, @Nullable Refusal> judge;
  private final Command command = new Command();
  private final Map<Integer, Region> lent = new HashMap<>();
  private final ArrayDeque<Integer> revoking = new ArrayDeque<>();

  public LentRegions(MemoryRegistry registry, CommandRing toInitiator, Function<Region, @Nullable Refusal> judge) {
    this.registry = registry;
    this.toInitiator = toInitiator;
    this.judge = judge;
  }

  /** Whether there is room for an answer. */
  public boolean mayAnswer() {
    return revoking.isEmpty() && toInitiator.room() > 0;
  }

  /** The initiator asks for a region: it is lent or refused. */
  public void answer(int id) {
    toInitiator.offer(lend(id));
  }

  private Command lend(int id) {
    Region region = lent.get(id);
    if (region == null) {
      region = registry.byId(id);
      if (region == null || !region.tryRetain()) {
        return refuse(id, Refusal.CLOSED);
      }
      Refusal refusal = judge.apply(region);
      if (refusal != null) {
        region.release();
        return refuse(id, refusal);
      }
      lent.put(id, region);
    }
    command.set(Command.GRANT, id);
    command.access = region.access().mask();
    command.address = region.address();
    command.length = region.length();
    command.offset = number(region.device());
    Backing backing = region.backing().orElse(null);
    if (backing != null) {
      command.fd = backing.fd();
      command.offset = backing.offset();
      command.fileBytes = backing.fileBytes();
      command.device = backing.deviceNumber();
      command.inode = backing.inode();
    }
    return command;
  }

  /** A device in a command; 0 for the host. */
  public static int number(Device device) {
    return device.isHost() ? 0 : ((device.kind() == DeviceKind.CUDA ? 0 : 1 << 16) | device.ordinal()) + 1;
  }

  /** A region that is lent; null if it is not. */
  public @Nullable Region get(int id) {
    return lent.get(id);
  }

  /** A region that may be asked for; null if there is none. */
  @Nullable
  Region asked(int id) {
    return registry.byId(id);
  }

  private Command refuse(int id, Refusal refusal) {
    command.set(Command.REFUSE, id);
    command.access = refusal.number();
    return command;
  }

  /** Asks back what is closing; returns how many requests were sent. */
  public int revokeClosing() {
    for (Map.Entry<Integer, Region> entry : lent.entrySet()) {
      if (entry.getValue().isClosing() && !revoking.contains(entry.getKey())) {
        revoking.add(entry.getKey());
      }
    }
    return sendRevokes();
  }

  /** Sends what did not fit before; returns how many were sent. */
  public int sendRevokes() {
    int sent = 0;
    while (!revoking.isEmpty() && toInitiator.offer(command.set(Command.REVOKE, revoking.element()))) {
      revoking.remove();
      sent++;
    }
    return sent;
  }

  public boolean isWaitingForRoom() {
    return !revoking.isEmpty();
  }

  /** The initiator gave a region back. */
  public void returned(int id) {
    Region region = lent.remove(id);
    if (region != null) {
      region.release();
    }
  }

  public int size() {
    return lent.size();
  }

  /** The initiator can store no more. */
  public void releaseAll() {
    lent.values().forEach(Region::release);
    lent.clear();
    revoking.clear();
  }
}
