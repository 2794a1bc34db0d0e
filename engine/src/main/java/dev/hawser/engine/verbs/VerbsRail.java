/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.engine.spi.PathSetupException;
import dev.hawser.engine.spi.Rail;
import dev.hawser.engine.verbs.abi.GidAttributes;
import dev.hawser.engine.verbs.abi.PortAttributes;
import java.util.Arrays;

/**
 * One port of a device, with the queue into which all its messages come. Its state follows the port's events; thread-safe.
 */
final class VerbsRail implements AutoCloseable {
  private final VerbsDevice device;
  private final int port;
  private final Rail rail;
  private final VerbsSettings settings;
  private final int pkeyIndex;
  private final SharedReceiveQueue receives;

  private volatile PortAttributes attributes;
  private volatile GidAttributes gid;

  VerbsRail(
      VerbsDevice device,
      int port,
      Rail rail,
      VerbsSettings settings,
      PortAttributes attributes,
      GidAttributes gid,
      int pkeyIndex,
      SharedReceiveQueue receives) {
    this.device = device;
    this.port = port;
    this.rail = rail;
    this.settings = settings;
    this.attributes = attributes;
    this.gid = gid;
    this.pkeyIndex = pkeyIndex;
    this.receives = receives;
  }

  VerbsDevice device() {
    return device;
  }

  int port() {
    return port;
  }

  Rail rail() {
    return rail;
  }

  VerbsSettings settings() {
    return settings;
  }

  PortAttributes attributes() {
    return attributes;
  }

  GidAttributes gid() {
    return gid;
  }

  int pkeyIndex() {
    return pkeyIndex;
  }

  SharedReceiveQueue receives() {
    return receives;
  }

  VerbsDescription.Entry entry() {
    return new VerbsDescription.Entry(rail.name(), attributes.linkLayer(), gid);
  }

  /**
   * Asks the port again how it is and whether its GID is still there: before each new path.
   *
   * @throws PathSetupException as {@link #refresh}
   */
  void check() {
    PortAttributes now = device.context().queryPort(port);
    GidAttributes known = gid;
    // A table has up to a thousand entries, each of which costs a system call.
    if (now.active() && !known.empty() && known.index() < now.gids()) {
      GidAttributes there = device.context().queryGid(port, known.index());
      if (there.type() == known.type() && Arrays.equals(there.gid(), known.gid())) {
        attributes = now;
        return;
      }
    }
    refresh();
  }

  /**
   * Asks the port again how it is, and chooses its GID again.
   *
   * @throws PathSetupException if it is down or has lost its GID
   */
  void refresh() {
    PortAttributes now = device.context().queryPort(port);
    attributes = now;
    if (!now.active()) {
      throw new PathSetupException("rail " + rail.name() + ": " + whyDown());
    }
    try {
      gid = GidChoice.choose(device.context(), port, now, settings.gidIndex());
    } catch (IllegalArgumentException e) {
      throw new PathSetupException("rail " + rail.name() + ": " + e.getMessage(), e);
    }
  }

  /** The code of the largest packet that it sends: the port's, or less if the user says so. */
  int mtu() {
    int wanted = settings.mtu() == 0 ? 0 : Integer.numberOfTrailingZeros(settings.mtu()) - 7;
    int active = attributes.activeMtu();
    if (wanted > active && attributes.active()) {
      throw new PathSetupException(
          "rail %s: verbs.mtu=%d, but its port's active MTU is %d; raise the MTU of its network interface"
              .formatted(rail.name(), settings.mtu(), 128 << active));
    }
    return wanted == 0 ? active : wanted;
  }

  /** What to do about a port that is not active. */
  String whyDown() {
    return device.name() + " port " + port + " is " + attributes.stateName()
        + ": check the cable, the switch and `ip link`";
  }

  /** For messages. */
  String describe() {
    return rail.name() + " (port " + port + " " + attributes.stateName() + ")";
  }

  @Override
  public void close() {
    receives.close();
  }
}
