/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.telemetry;

import dev.hawser.engine.spi.Rail;
import dev.hawser.engine.topology.Interfaces;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Reads the counters of rails' ports from sysfs. What cannot be read is left out. Thread-safe. */
public final class PortCounters {
  private static final Pattern NUMBER = Pattern.compile("\\d{1,18}");

  private final Path sys;
  private final Function<String, Optional<String>> interfaceOf;

  /** This host's. */
  public PortCounters() {
    this(Path.of("/sys"), Interfaces::withAddress);
  }

  /**
   * A recorded one's.
   *
   * @param sys what stands for {@code /sys}
   * @param interfaceOf which interface has a numeric address
   */
  PortCounters(Path sys, Function<String, Optional<String>> interfaceOf) {
    this.sys = sys;
    this.interfaceOf = interfaceOf;
  }

  /** What is counted for each rail that has a port. */
  public List<PortReport> read(List<Rail> rails) {
    return rails.stream().map(this::read).flatMap(Optional::stream).toList();
  }

  private Optional<PortReport> read(Rail rail) {
    int colon = rail.name().lastIndexOf(':');
    if (colon > 0) {
      Path port = sys.resolve("class/infiniband").resolve(rail.name().substring(0, colon)).resolve("ports")
          .resolve(rail.name().substring(colon + 1));
      if (Files.isDirectory(port)) {
        Map<String, Long> counters = counters(port.resolve("counters"));
        counters.putAll(counters(port.resolve("hw_counters")));
        return Optional.of(new PortReport(rail.toString(), rail.name(), counters));
      }
    }
    return interfaceOf.apply(rail.name())
        .map(
            name -> new PortReport(
                rail.toString(), name, counters(sys.resolve("class/net").resolve(name).resolve("statistics"))));
  }

  private static Map<String, Long> counters(Path folder) {
    Map<String, Long> counters = new TreeMap<>();
    if (!Files.isDirectory(folder)) {
      return counters;
    }
    try (Stream<Path> files = Files.list(folder)) {
      files.forEach(
          file -> {
            long count = number(file);
            if (count > 0) {
              counters.put(file.getFileName().toString(), count);
            }
          });
    } catch (IOException | UncheckedIOException e) {
      return counters; // the device went away meanwhile
    }
    return counters;
  }

  private static long number(Path file) {
    try {
      String text = Files.readString(file).strip();
      return NUMBER.matcher(text).matches() ? Long.parseLong(text) : 0;
    } catch (IOException e) {
      return 0; // some drivers have files that they do not let anyone read
    }
  }
}
