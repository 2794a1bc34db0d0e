/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.peers;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * {@code ib_write_bw} and {@code ib_read_bw} of perftest, from the first RDMA device to itself, on one queue pair at the
 * port's MTU: what the same verbs give to a C program. Blocks are posted as lists of 32.
 */
final class Perftest implements Peer {
  private static final Path DEVICES = Path.of("/sys/class/infiniband");
  private static final String IPV4_MAPPED = "0000:0000:0000:0000:0000:ffff:";
  private static final String WRITE = "ib_write_bw";
  private static final String READ = "ib_read_bw";
  private static final long SMALLEST = 1024;
  private static final int LIST = 32;
  private static final int BITS = 8;
  private static final int AVERAGE = 3;
  private static final int FIELDS = 5;
  private static final int TRIES = 4;
  private static final Duration START = Duration.ofSeconds(10);

  @Override
  public String name() {
    return "perftest";
  }

  @Override
  public Optional<Metric> metric(PeerRequest request) {
    return request.transport().equals("verbs") && request.mapped() && request.blockBytes() >= SMALLEST
        ? Optional.of(Metric.GBYTES_PER_S)
        : Optional.empty();
  }

  @Override
  public Optional<String> missing() {
    return Programs.find(WRITE).isPresent() && Programs.find(READ).isPresent()
        ? Optional.empty()
        : Optional.of("apt install perftest (or dnf install perftest)");
  }

  @Override
  public double measure(PeerRequest request) {
    String name = request.read() ? READ : WRITE;
    List<String> server = new ArrayList<>();
    server.add(Programs.find(name).map(Object::toString).orElse(name));
    server.addAll(device());
    long seconds = Math.max(1, Math.round(request.seconds()));
    server.addAll(
        List.of("-F", "--report_gbits", "-s", Long.toString(request.blockBytes()), "-D", Long.toString(seconds)));
    if (!request.isPlain()) {
      server.addAll(List.of("--post_list", Integer.toString(LIST)));
    }
    PeerException last = new PeerException(name + " was not run");
    // Where the clock is coarse it now and then prints no figure at all.
    for (int i = 0; i < TRIES; i++) {
      try {
        return parse(name, run(server, Programs.patience(request.time())));
      } catch (PeerHangsException e) {
        throw e;
      } catch (PeerException e) {
        last = e;
      }
    }
    throw last;
  }

  private static String run(List<String> server, Duration patience) {
    List<String> listening = new ArrayList<>(server);
    listening.addAll(List.of("-p", Integer.toString(Programs.freePort())));
    List<String> client = new ArrayList<>(listening);
    client.add("127.0.0.1");
    try (Programs.Running running = Programs.start(Map.of(), listening)) {
      return Retry.untilServed(running, START, () -> Programs.run(client, patience));
    }
  }

  /** The first device, and there the GID that ours takes, too. */
  private static List<String> device() {
    try (Stream<Path> devices = Files.list(DEVICES)) {
      Path device = devices.sorted().findFirst().orElseThrow(() -> new PeerException("there is no RDMA device"));
      List<String> words = new ArrayList<>(List.of("-d", device.getFileName().toString()));
      Path port = device.resolve("ports/1");
      try (Stream<Path> gids = Files.list(port.resolve("gids"))) {
        gids.map(gid -> gid.getFileName().toString())
            .filter(index -> isRoceOverIpv4(port, index))
            .min((a, b) -> Integer.compare(Integer.parseInt(a), Integer.parseInt(b)))
            .ifPresent(index -> words.addAll(List.of("-x", index)));
      }
      return words;
    } catch (IOException e) {
      throw new PeerException("there is no RDMA device: " + e.getMessage(), e);
    }
  }

  private static boolean isRoceOverIpv4(Path port, String index) {
    try {
      return Files.readString(port.resolve("gids").resolve(index)).startsWith(IPV4_MAPPED)
          && Files.readString(port.resolve("gid_attrs/types").resolve(index)).strip().equals("RoCE v2");
    } catch (IOException nothingThere) {
      return false;
    }
  }

  /** The line behind the heading: bytes, iterations, peak and average in Gb/s, messages. */
  static double parse(String name, String out) {
    for (String line : out.lines().toList()) {
      String[] fields = line.strip().split("\\s+", -1);
      if (fields.length == FIELDS && fields[0].matches("[0-9]+")) {
        try {
          double gigabytes = Double.parseDouble(fields[AVERAGE]) / BITS;
          if (gigabytes > 0) {
            return gigabytes;
          }
        } catch (NumberFormatException e) {
          throw new PeerException(name + " printed '" + line.strip() + "', which has no figure", e);
        }
      }
    }
    throw new PeerException(name + " printed no figure");
  }
}
