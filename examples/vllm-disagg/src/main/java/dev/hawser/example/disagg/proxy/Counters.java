/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg.proxy;

import java.util.concurrent.atomic.LongAdder;

/** What the proxy counts. */
final class Counters {
  private final LongAdder requests = new LongAdder();
  private final LongAdder served = new LongAdder();
  private final LongAdder failed = new LongAdder();
  private final LongAdder retried = new LongAdder();
  private final LongAdder clientsGone = new LongAdder();

  void request() {
    requests.increment();
  }

  void served() {
    served.increment();
  }

  void failed() {
    failed.increment();
  }

  void retried() {
    retried.increment();
  }

  void clientGone() {
    clientsGone.increment();
  }

  /** As Prometheus reads them. */
  String text(Engines engines, int inFlight) {
    StringBuilder text = new StringBuilder();
    line(text, "requests_total", "Requests of clients.", "counter", requests.sum());
    line(text, "served_total", "Requests that were answered to the end.", "counter", served.sum());
    line(text, "failed_total", "Requests that ended with an error.", "counter", failed.sum());
    line(text, "retries_total", "Attempts beyond a request's first.", "counter", retried.sum());
    line(text, "clients_gone_total", "Clients that went before their answer's end.", "counter", clientsGone.sum());
    line(text, "in_flight", "Requests that are here now.", "gauge", inFlight);
    text.append("# HELP hawser_proxy_engine_up Whether an engine answers.\n# TYPE hawser_proxy_engine_up gauge\n");
    for (Engine engine : engines.all()) {
      text.append("hawser_proxy_engine_up{role=\"").append(engine.role()).append("\",engine=\"").append(engine.uri())
          .append("\"} ").append(engine.up() ? 1 : 0).append('\n');
    }
    return text.toString();
  }

  private static void line(StringBuilder text, String name, String help, String type, long value) {
    text.append("# HELP hawser_proxy_").append(name).append(' ').append(help).append("\n# TYPE hawser_proxy_")
        .append(name).append(' ').append(type).append("\nhawser_proxy_").append(name).append(' ').append(value)
        .append('\n');
  }
}
