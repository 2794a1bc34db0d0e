/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.agent.Telemetry.FailedPath;
import dev.hawser.agent.Telemetry.PeerLoad;
import dev.hawser.agent.Telemetry.RailLoad;
import dev.hawser.agent.Telemetry.Sample;
import dev.hawser.engine.text.Json;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;

/**
 * What people see of an agent on the metadata service's page: one JSON object of ASCII on one line, at most 4 KiB. Where
 * there is more to tell than fits, troubles and the busiest peers come first.
 */
final class Summary {
  private static final int MAX_REASON = 120;
  private static final int MAX_NAME = 64;
  private static final int MAX_FAILED = 4;
  /** Where the reasons, the rails and the peers have to end, so that one leaves room for the next. */
  private static final int REASONS_END = 1_400;

  private static final int RAILS_END = 2_800;
  private static final int PEERS_END = 4_096 - 2;

  private final StringBuilder json = new StringBuilder(512);

  private Summary() {}

  /**
   * What an agent is and has.
   *
   * @param host as it calls itself
   * @param pid its process
   * @param regions how many are published
   * @param bytes of all of them
   * @param transports that work here
   * @param absent by transport, why it is not used here
   */
  record Facts(String host, long pid, int regions, long bytes, Set<String> transports, Map<String, String> absent) {
    Facts {
      transports = new TreeSet<>(transports);
      absent = new TreeMap<>(absent);
    }
  }

  /**
   * Writes one.
   *
   * @param facts of the agent
   * @param sample what its transfers did lately
   */
  static String of(Facts facts, Sample sample) {
    Summary summary = new Summary();
    StringBuilder json = summary.json;
    json.append("{\"host\":").append(quoted(facts.host(), MAX_NAME)).append(",\"pid\":").append(facts.pid());
    json.append(",\"regions\":").append(facts.regions()).append(",\"bytes\":").append(facts.bytes());
    summary.list(",\"transports\":[", facts.transports(), "]", REASONS_END,
        transport -> quoted(transport, MAX_NAME));
    summary.list(",\"absent\":{", facts.absent().entrySet(), "}", REASONS_END,
        entry -> quoted(entry.getKey(), MAX_NAME) + ":" + quoted(entry.getValue(), MAX_REASON));
    summary.list(",\"rails\":[", sample.rails().stream().sorted(Comparator.comparing(RailLoad::up)).toList(), "]",
        RAILS_END, Summary::rail);
    summary.list(",\"peers\":[",
        sample.peers().stream()
            .sorted(Comparator.comparing((PeerLoad peer) -> peer.failed().isEmpty())
                .thenComparing(PeerLoad::gbits, Comparator.reverseOrder()).thenComparing(PeerLoad::name))
            .toList(),
        "]", PEERS_END, Summary::peer);
    return json.append('}').toString();
  }

  /** As many as fit. */
  private <T> void list(String open, Iterable<T> items, String close, int end, Function<T, String> text) {
    json.append(open);
    String separator = "";
    for (T item : items) {
      String written = separator + text.apply(item);
      if (json.length() + written.length() + close.length() > end) {
        break;
      }
      json.append(written);
      separator = ",";
    }
    json.append(close);
  }

  private static String rail(RailLoad rail) {
    String latency = rail.latency().count() == 0
        ? ""
        : ",\"latency_us\":{\"p50\":" + decimal(rail.latency().quantile(0.5) / 1e3) + ",\"p99\":"
            + decimal(rail.latency().quantile(0.99) / 1e3) + "}";
    return "{\"name\":" + quoted(rail.name(), MAX_NAME) + ",\"up\":" + rail.up() + ",\"bytes\":{\"tx\":"
        + rail.bytesOut() + ",\"rx\":" + rail.bytesIn() + "},\"gbits\":{\"tx\":" + decimal(rail.gbitsOut())
        + ",\"rx\":" + decimal(rail.gbitsIn()) + "}" + latency
        + (rail.note().isEmpty() ? "" : ",\"note\":" + quoted(rail.note(), MAX_REASON)) + "}";
  }

  private static String peer(PeerLoad peer) {
    List<String> failed = peer.failed().stream().limit(MAX_FAILED).map(Summary::failed).toList();
    return "{\"name\":" + quoted(peer.name(), 2 * MAX_NAME) + ",\"gbits\":" + decimal(peer.gbits())
        + (failed.isEmpty() ? "" : ",\"failed\":[" + String.join(",", failed) + "]") + "}";
  }

  private static String failed(FailedPath path) {
    return "{\"rail\":" + quoted(path.rail(), MAX_NAME) + ",\"why\":" + quoted(path.why(), MAX_REASON) + "}";
  }

  /** Two digits behind the point: what moved at all in a second or two is not quite nothing. */
  private static String decimal(double number) {
    return number > 0 && number < 0.01 ? "0.01" : Double.toString(Math.round(number * 100) / 100.0);
  }

  private static String quoted(String text, int most) {
    return Json.quoted(text.substring(0, Math.min(most, text.length())));
  }
}
