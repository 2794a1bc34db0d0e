/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.agent.metadata.AgentMetadata;
import dev.hawser.agent.metadata.PublishedRegion;
import java.util.Map;
import java.util.TreeSet;

/** What people see of an agent on the metadata service's page: one JSON object of ASCII on one line, at most 4 KiB. */
final class Summary {
  private static final int MAX_REASON = 120;
  private static final int MAX_BYTES = 4096;

  private Summary() {}

  static String of(AgentMetadata metadata, Map<String, String> absent) {
    long bytes = 0;
    for (PublishedRegion region : metadata.regions()) {
      bytes += region.region().length();
    }
    StringBuilder json = new StringBuilder(256).append("{\"host\":");
    quote(json, metadata.host());
    json.append(",\"pid\":").append(metadata.pid()).append(",\"regions\":").append(metadata.regions().size())
        .append(",\"bytes\":").append(bytes).append(",\"transports\":[");
    String separator = "";
    for (String transport : new TreeSet<>(metadata.transports().keySet())) {
      quote(json.append(separator), transport);
      separator = ",";
    }
    String withoutReasons = json + "]}";
    json.append("],\"absent\":{");
    separator = "";
    for (String transport : new TreeSet<>(absent.keySet())) {
      quote(json.append(separator), transport);
      String reason = absent.getOrDefault(transport, "");
      quote(json.append(':'), reason.length() > MAX_REASON ? reason.substring(0, MAX_REASON) : reason);
      separator = ",";
    }
    json.append("}}");
    return json.length() > MAX_BYTES ? withoutReasons : json.toString();
  }

  private static void quote(StringBuilder json, String text) {
    json.append('"');
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '"' || c == '\\') {
        json.append('\\').append(c);
      } else if (c >= ' ' && c <= '~') {
        json.append(c);
      } else {
        String hex = Integer.toHexString(c);
        json.append("\\u").append("0000", 0, 4 - hex.length()).append(hex);
      }
    }
    json.append('"');
  }
}
