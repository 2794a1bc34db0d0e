/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.hawser.perf.bench.Spread;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads what {@code perf/labs/gpu/run.sh} left in a folder, and prints each figure that a bar was set for: ours, what it stands
 * beside, their ratio, the bar and the verdict. What was not measured is named, not left out.
 */
public final class GpuVerdicts {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Pattern POSTED =
      Pattern.compile("first post of 40,000 .*: median (\\d+) us, p90 (\\d+) us, highest (\\d+) us");
  private static final Pattern TESTS =
      Pattern.compile("\\[ *(\\d+) (tests (?:successful|failed|skipped)|containers failed) *\\]");
  private static final double STAGED = 0.9;
  private static final double MOST_POST_MICROS = 300;

  private final Path folder;
  private final PrintStream out;
  private int missed;

  private GpuVerdicts(Path folder, PrintStream out) {
    this.folder = folder;
    this.out = out;
  }

  /** Prints the verdicts of a folder. Exit code 0 always: a bar that is missed is a figure, not a failure. */
  public static void main(String[] args) throws IOException {
    int missed = print(Path.of(args[0]), System.out);
    System.out.println(missed == 0 ? "no bar was missed" : missed + " bars were missed");
  }

  /** Prints the verdicts; gives how many bars were missed. */
  static int print(Path folder, PrintStream out) throws IOException {
    GpuVerdicts verdicts = new GpuVerdicts(folder, out);
    verdicts.tests("tests.txt");
    verdicts.copies("ipc.json", "gpu-ipc", true);
    verdicts.blocks();
    verdicts.posting();
    verdicts.staged("staged.jsonl");
    verdicts.chunks();
    verdicts.copies("two.json", "gpu-ipc, two GPUs", false);
    verdicts.copies("two-blocks.json", "gpu-ipc, two GPUs", false);
    verdicts.staged("two-staged.jsonl");
    return verdicts.missed;
  }

  // ------------------------------------------------------------------------------------------ the parts

  private void tests(String file) throws IOException {
    if (isMissing(file)) {
      return;
    }
    Matcher counts = TESTS.matcher(Files.readString(folder.resolve(file)));
    StringBuilder text = new StringBuilder();
    boolean failed = false;
    while (counts.find()) {
      text.append(text.isEmpty() ? "" : ", ").append(counts.group(1)).append(' ').append(counts.group(2));
      failed |= counts.group(2).endsWith("failed") && !counts.group(1).equals("0");
    }
    if (text.isEmpty()) {
      notMeasured("tests", file + " does not say how many ran: they were cut off");
    } else {
      verdict("tests", text.toString(), "none failed", !failed);
    }
  }

  private void copies(String file, String what, boolean barred) throws IOException {
    if (isMissing(file)) {
      return;
    }
    for (JsonNode peer : read(file).get("peers")) {
      ratio("%s %s %s".formatted(what, peer.get("op").asText(), size(peer)), peer, barred ? copyBar(peer) : 0);
    }
  }

  private static double copyBar(JsonNode peer) {
    long bytes = peer.get("request_bytes").asLong();
    return bytes >= 1L << 30 ? 0.98 : bytes >= 64L << 20 ? 0.95 : 0.6;
  }

  private void blocks() throws IOException {
    if (isMissing("blocks4.json")) {
      return;
    }
    JsonNode four = read("blocks4.json");
    for (JsonNode peer : four.get("peers")) {
      String what = "gpu-ipc %s %s".formatted(peer.get("op").asText(), size(peer));
      ratio(what, peer, peer.get("name").asText().equals("kernel") ? 0.9 : 1);
    }
    if (isMissing("blocks1.json")) {
      return;
    }
    for (JsonNode one : read("blocks1.json").get("rows")) {
      for (JsonNode row : four.get("rows")) {
        if (row.get("op").equals(one.get("op"))) {
          double rate = rate(one);
          double beside = rate(row);
          compare("gpu-ipc %s blocks of 1 KiB".formatted(one.get("op").asText()), rate, "blocks of 4 KiB", beside,
              rate / beside, "", 0.5);
        }
      }
    }
  }

  private void posting() throws IOException {
    Path file = folder.resolve("tests.txt");
    Matcher posted = POSTED.matcher(Files.exists(file) ? Files.readString(file) : "");
    if (posted.find()) {
      double micros = Double.parseDouble(posted.group(1));
      verdict("posting 40,000 blocks for the first time",
          "median %s us, p90 %s, highest %s".formatted(posted.group(1), posted.group(2), posted.group(3)),
          "at most 300 us", micros <= MOST_POST_MICROS);
    } else if (Files.exists(file)) {
      notMeasured("posting 40,000 blocks", "the test that prints it did not run");
    }
    if (Files.exists(file)) {
      notMeasured("opening a region once, no call that allocates",
          "no figure: counted by GpuIpcPathTest over a driver that counts");
    }
  }

  /** Lines are benches in turn, of memory of devices and of the host. */
  private void staged(String file) throws IOException {
    if (isMissing(file)) {
      return;
    }
    Map<String, List<Double>> devices = new TreeMap<>();
    Map<String, List<Double>> hosts = new TreeMap<>();
    for (String line : Files.readAllLines(folder.resolve(file))) {
      if (!line.isBlank()) {
        for (JsonNode row : JSON.readTree(line).get("rows")) {
          boolean host = row.get("initiator_memory").asText().equals("host");
          String key = row.get("transport").asText() + " " + row.get("op").asText() + " " + size(row);
          (host ? hosts : devices).computeIfAbsent(key, k -> new ArrayList<>()).add(rate(row));
        }
      }
    }
    for (Map.Entry<String, List<Double>> each : devices.entrySet()) {
      List<Double> beside = hosts.getOrDefault(each.getKey(), List.of());
      turns("staged " + each.getKey(), each.getValue(), beside, STAGED);
    }
  }

  private void turns(String what, List<Double> ours, List<Double> hosts, double bar) throws IOException {
    int turns = Math.min(ours.size(), hosts.size());
    if (turns == 0) {
      notMeasured(what, "the host's figure is missing");
      return;
    }
    double bus = bus();
    List<Double> ratios = new ArrayList<>();
    for (int i = 0; i < turns; i++) {
      ratios.add(ours.get(i) / Math.min(bus, hosts.get(i)));
    }
    String beside =
        Double.isInfinite(bus) ? "host to host" : "the lower of host to host and %.1f to pinned memory".formatted(bus);
    compare(what, median(ours), beside, median(hosts), median(ratios), spread(ratios), bar);
  }

  /** What the bus gave between the device and pinned memory in the same run. */
  private double bus() throws IOException {
    double rate = Double.POSITIVE_INFINITY;
    if (Files.exists(folder.resolve("ipc-host.json"))) {
      for (JsonNode row : read("ipc-host.json").get("rows")) {
        rate = Math.min(rate, rate(row));
      }
    }
    return rate;
  }

  /** How the smallest chunk of tcp matters, beside the host's in the same turns. */
  private void chunks() throws IOException {
    if (isMissing("chunks.jsonl")) {
      return;
    }
    Map<String, Map<String, List<Double>>> byOp = new TreeMap<>();
    for (String line : Files.readAllLines(folder.resolve("chunks.jsonl"))) {
      if (!line.isBlank()) {
        JsonNode bench = JSON.readTree(line);
        for (JsonNode row : bench.get("bench").get("rows")) {
          byOp.computeIfAbsent(row.get("op").asText() + " " + size(row), k -> new TreeMap<>())
              .computeIfAbsent(bench.get("chunk").asText(), k -> new ArrayList<>())
              .add(rate(row));
        }
      }
    }
    for (Map.Entry<String, Map<String, List<Double>>> op : byOp.entrySet()) {
      List<Double> hosts = op.getValue().getOrDefault("host", List.of());
      for (Map.Entry<String, List<Double>> chunk : op.getValue().entrySet()) {
        if (!chunk.getKey().equals("host")) {
          turns("tcp %s in chunks of %s at least".formatted(op.getKey(), chunk.getKey()), chunk.getValue(), hosts, 0);
        }
      }
    }
  }

  // ------------------------------------------------------------------------------------------ reading and printing

  private boolean isMissing(String file) {
    return !Files.exists(folder.resolve(file));
  }

  private JsonNode read(String file) throws IOException {
    return JSON.readTree(Files.readString(folder.resolve(file)));
  }

  private static double rate(JsonNode row) {
    return row.get("gbytes_per_s").asDouble();
  }

  private static String size(JsonNode row) {
    long request = row.get("request_bytes").asLong();
    long block = row.get("block_bytes").asLong();
    return block == request ? bytes(request) : request / block + " blocks of " + bytes(block);
  }

  private static String bytes(long bytes) {
    return bytes >= 1L << 30 ? (bytes >> 30) + " GiB"
        : bytes >= 1 << 20 ? (bytes >> 20) + " MiB" : (bytes >> 10) + " KiB";
  }

  private void ratio(String what, JsonNode peer, double bar) {
    JsonNode spread = peer.get("ratio_spread");
    compare(what, peer.get("ours_gbytes_per_s").asDouble(), peer.get("name").asText(), rate(peer),
        peer.get("ratio").asDouble(),
        String.format(Locale.ROOT, " (%.2f to %.2f)", spread.get(0).asDouble(), spread.get(1).asDouble()), bar);
  }

  private void compare(
      String what, double ours, String name, double beside, double ratio, String spread, double bar) {
    String text =
        String.format(Locale.ROOT, "%.1f GB/s beside %s %.1f: %.2f%s", ours, name, beside, ratio, spread);
    if (bar == 0) {
      out.printf("     %s: %s%n", what, text);
    } else {
      verdict(what, text, String.format(Locale.ROOT, "at least %.2f", bar), ratio >= bar);
    }
  }

  private void verdict(String what, String text, String bar, boolean holds) {
    missed += holds ? 0 : 1;
    out.printf("%s %s: %s (wanted: %s)%n", holds ? "ok  " : "MISS", what, text, bar);
  }

  private void notMeasured(String what, String why) {
    out.printf("-    %s: not measured, %s%n", what, why);
  }

  private static double median(List<Double> values) {
    return Spread.of(values.stream().mapToDouble(Double::doubleValue).toArray()).median();
  }

  private static String spread(List<Double> values) {
    return String.format(
        Locale.ROOT,
        " (%.2f to %.2f)",
        values.stream().mapToDouble(d -> d).min().orElseThrow(),
        values.stream().mapToDouble(d -> d).max().orElseThrow());
  }
}
