/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.agent.metadata.Names;
import dev.hawser.agent.metadata.PublishedRegion;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.text.Quoted;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import dev.hawser.memory.RegistryListener;
import dev.hawser.memory.RemoteKey;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** This agent's regions as peers are told of them: their names, and a revision that grows with every change. */
final class OwnRegions implements RegistryListener {
  private final MemoryRegistry registry;
  private final AtomicLong revision = new AtomicLong(1);
  private final Map<String, Region> byName = new HashMap<>();
  private final Map<Integer, String> names = new HashMap<>();
  /** What this thread names the region that it is registering. */
  private final ThreadLocal<@Nullable String> naming = new ThreadLocal<>();
  /** By region id, those that there are, with the revision of their last change. */
  private final Map<Integer, Change> changes = new HashMap<>();
  /** Of the last region that went. */
  private long removedAt;
  private volatile Runnable onChange = () -> {};

  OwnRegions(MemoryRegistry registry) {
    this.registry = registry;
    registry.addListener(this);
  }

  /** Called after every change that peers should hear of. */
  void onChange(Runnable newOnChange) {
    onChange = newOnChange;
  }

  long revision() {
    return revision.get();
  }

  private record Change(Region region, long revision) {}

  /**
   * The regions that came or changed after a revision.
   *
   * @return empty if one has gone since: then peers have to be told of all that there are
   */
  synchronized Optional<List<Region>> changedSince(long since) {
    if (removedAt > since) {
      return Optional.empty();
    }
    return Optional.of(
        changes.values().stream().filter(change -> change.revision() > since).map(Change::region).toList());
  }

  /** Refuses a name that is not valid or that a region has. */
  private void checkName(String name) {
    String problem = Names.problem(name);
    if (problem != null) {
      throw new IllegalArgumentException("name: " + Quoted.of(name) + " cannot name a region: " + problem);
    }
    synchronized (this) {
      Region holder = byName.get(name);
      if (holder != null) {
        throw isTaken(name, holder);
      }
    }
  }

  /**
   * Registers a region under a name. Peers are told of both in one change: the name in a second one would be published by
   * itself whenever the publisher came in between, and they would know the region without it meanwhile.
   *
   * @param registration makes it, on this thread; it is closed again if another took the name meanwhile
   */
  Region named(String name, Supplier<Region> registration) {
    checkName(name);
    Region region;
    naming.set(name);
    try {
      region = registration.get();
    } finally {
      naming.remove();
    }
    Region holder;
    synchronized (this) {
      holder = byName.get(name);
    }
    if (holder != null && holder != region) {
      region.close();
      throw isTaken(name, holder);
    }
    return region;
  }

  private static IllegalArgumentException isTaken(String name, Region holder) {
    return new IllegalArgumentException(
        "name: '" + name + "' is the name of " + holder + "; close that one, or choose another name");
  }

  synchronized String nameOf(Region region) {
    return names.getOrDefault(region.id(), "");
  }

  /** What peers are told: every region that they may do anything with. */
  List<PublishedRegion> published() {
    return published(registry.regions());
  }

  List<PublishedRegion> published(List<Region> regions) {
    List<PublishedRegion> published = new ArrayList<>(regions.size());
    for (Region region : regions) {
      if (region.access().mask() != 0) {
        published.add(new PublishedRegion(nameOf(region), remote(region)));
      }
    }
    return published;
  }

  RemoteRegion remote(Region region) {
    Map<String, byte[]> keys = new LinkedHashMap<>();
    for (RemoteKey key : region.remoteKeys()) {
      keys.put(key.transport(), key.bytes());
    }
    return new RemoteRegion(region.id(), region.address(), region.length(), region.device(), region.access(), keys);
  }

  @Override
  public void added(Region region) {
    String name = naming.get();
    if (name != null) {
      synchronized (this) {
        if (byName.putIfAbsent(name, region) == null) {
          names.put(region.id(), name);
        }
      }
    }
    changedIfPublished(region);
  }

  @Override
  public void keysChanged(Region region) {
    changedIfPublished(region);
  }

  @Override
  public void removed(Region region) {
    synchronized (this) {
      String name = names.remove(region.id());
      if (name != null) {
        byName.remove(name);
      }
      if (region.access().mask() == 0) {
        return;
      }
      changes.remove(region.id());
      removedAt = revision.incrementAndGet();
    }
    onChange.run();
  }

  private void changedIfPublished(Region region) {
    if (region.access().mask() != 0) {
      synchronized (this) {
        note(region);
      }
      onChange.run();
    }
  }

  /** Under the lock, and before the revision is seen by anyone: who sees it finds the change. */
  private void note(Region region) {
    changes.put(region.id(), new Change(region, revision.get() + 1));
    revision.incrementAndGet();
  }
}
