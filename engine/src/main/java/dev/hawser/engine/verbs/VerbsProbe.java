/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.engine.spi.Rail;
import dev.hawser.engine.spi.TransportProvider.Outcome;
import dev.hawser.engine.verbs.abi.GidAttributes;
import dev.hawser.engine.verbs.abi.PortAttributes;
import dev.hawser.engine.verbs.abi.VerbsAbi;
import dev.hawser.engine.verbs.abi.VerbsContext;
import dev.hawser.engine.verbs.abi.VerbsDevices;
import dev.hawser.engine.verbs.abi.VerbsException;
import dev.hawser.engine.verbs.abi.VerbsLibrary;
import dev.hawser.memory.MemoryRegistry;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.zip.CRC32C;

/** Looks at every device and port of the host, and keeps those that can be used; the others with the reason. */
final class VerbsProbe implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger("dev.hawser.engine.verbs");
  private static final int AMAZON = 0x1d0f;

  private final VerbsLibrary library;
  private final VerbsSettings settings;
  private final List<VerbsDevice> devices = new ArrayList<>();
  private final List<VerbsRail> rails = new ArrayList<>();
  private final List<String> reasons = new ArrayList<>();
  private final Set<Long> ids = new HashSet<>();
  private boolean given;

  VerbsProbe(VerbsLibrary library, VerbsSettings settings) {
    this.library = library;
    this.settings = settings;
  }

  Outcome create(String agent, MemoryRegistry registry) {
    try (VerbsDevices list = VerbsDevices.list(library)) {
      if (list.found().isEmpty()) {
        return new Outcome.Absent(
            "verbs: no RDMA device; if `ls /sys/class/infiniband` shows one, its provider library is missing or of another "
                + "version than libibverbs (package ibverbs-providers)");
      }
      for (VerbsDevices.Found found : list.found()) {
        look(list, found);
      }
    }
    if (rails.isEmpty()) {
      return new Outcome.Absent("verbs: no usable port: " + String.join("; ", reasons));
    }
    reasons.forEach(reason -> LOG.log(Level.INFO, "verbs: not used: {0}", reason));
    AsyncEvents events = new AsyncEvents(agent, devices, rails);
    VerbsTransport transport =
        new VerbsTransport(registry, devices, rails, new VerbsBinder(devices, settings, DmaBufExporter.DRIVERS), events,
            new Teardown(agent));
    given = true;
    events.start();
    LOG.log(
        Level.INFO,
        "verbs: {0}, relaxed ordering {1}",
        String.join(", ", rails.stream().map(rail -> rail.describe() + " GID " + rail.gid()).toList()),
        relaxed());
    String outage = transport.outage();
    if (!outage.isEmpty()) {
      LOG.log(Level.WARNING, "{0}; it joins once a port is active", outage);
    }
    return new Outcome.Present(transport);
  }

  private String relaxed() {
    return !settings.relaxedOrdering()
        ? "off (verbs.relaxed-ordering)"
        : devices.getFirst().context().takesOptionalAccess() ? "asked for" : "not known to this libibverbs";
  }

  private void look(VerbsDevices list, VerbsDevices.Found found) {
    String name = found.name();
    String obstacle = settings.devices().obstacle(name);
    if (!obstacle.isEmpty()) {
      reasons.add(obstacle);
      return;
    }
    if (found.transportType() == VerbsAbi.TransportType.IWARP) {
      reasons.add(name + " is iWARP, whose queue pairs need a connection manager; Hawser uses InfiniBand and RoCE");
      return;
    }
    VerbsDevice device;
    try {
      VerbsContext context = list.open(found);
      device = VerbsDevice.of(context, id(found));
    } catch (VerbsException e) {
      reasons.add(String.valueOf(e.getMessage()));
      return;
    }
    int before = rails.size();
    if (device.attributes().vendorId() == AMAZON || name.startsWith("efa")) {
      reasons.add(
          name + " is an EFA adapter: it has no reliable connected queue pairs, only its own SRD, which Hawser does "
              + "not speak; tcp is used there");
    } else if (device.attributes().maxSharedQueues() == 0) {
      reasons.add(name + " has no shared receive queues, which verbs needs");
    } else {
      for (int port = 1; port <= device.attributes().ports(); port++) {
        look(device, port);
      }
    }
    if (rails.size() == before) {
      device.close();
    } else {
      devices.add(device);
    }
  }

  private void look(VerbsDevice device, int port) {
    if (!settings.devices().wants(device.name(), port)) {
      return;
    }
    try {
      PortAttributes attributes = device.context().queryPort(port);
      // One that is down is a rail all the same: paths are tried on it again and again, and come up once the port does.
      boolean active = attributes.active();
      GidAttributes gid =
          active
              ? GidChoice.choose(device.context(), port, attributes, settings.gidIndex())
              : GidChoice.orNone(device.context(), port, attributes, settings.gidIndex());
      String name = device.attributes().ports() == 1 ? device.name() : device.name() + ":" + port;
      Rail rail = new Rail(VerbsTransport.NAME, name, rails.size(), attributes.bitsPerSecond());
      int pkey = pkeyIndex(device.context(), port, attributes);
      SharedReceiveQueue receives = new SharedReceiveQueue(device, settings.receiveBuffers());
      VerbsRail made = new VerbsRail(device, port, rail, settings, attributes, gid, pkey, receives);
      rails.add(made);
      if (active) {
        made.mtu(); // a setting that this port cannot keep is found now
      }
      probeQueuePair(made);
    } catch (RuntimeException e) {
      reasons.add(e.getMessage() + (e instanceof VerbsException ? "" : " (" + device.name() + " port " + port + ")"));
      if (!rails.isEmpty() && rails.getLast().device() == device && rails.getLast().port() == port) {
        rails.removeLast().close();
      }
    }
  }

  /** What the device says of itself is not always true. */
  private static void probeQueuePair(VerbsRail rail) {
    new QueuePair(rail, true, Math.min(256, rail.settings().sendQueue())).close();
  }

  private int pkeyIndex(VerbsContext context, int port, PortAttributes attributes) {
    if (settings.pkey() < 0) {
      return 0;
    }
    List<String> keys = new ArrayList<>();
    for (int i = 0; i < attributes.pkeys(); i++) {
      int key = context.queryPkey(port, i);
      // The highest bit tells full from limited members of the same partition.
      if ((key & 0x7fff) == (settings.pkey() & 0x7fff) && key != 0) {
        return i;
      }
      if (key != 0) {
        keys.add("0x" + Integer.toHexString(key));
      }
    }
    throw new IllegalArgumentException(
        "verbs.pkey=0x%x is not in the table, which has %s".formatted(settings.pkey(), keys));
  }

  /** The node's GUID, or where two devices say the same, a number made of the name. */
  private long id(VerbsDevices.Found found) {
    long id = found.guid();
    if (id == 0 || !ids.add(id)) {
      CRC32C crc = new CRC32C();
      crc.update(found.name().getBytes(StandardCharsets.UTF_8));
      id = crc.getValue();
      ids.add(id);
    }
    return id;
  }

  /** Gives back what was opened, unless a transport was made of it. */
  @Override
  public void close() {
    if (!given) {
      rails.forEach(VerbsRail::close);
      devices.forEach(VerbsDevice::close);
    }
  }
}
