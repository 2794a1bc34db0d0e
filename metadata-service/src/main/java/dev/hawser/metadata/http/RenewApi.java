/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import static dev.hawser.metadata.store.Envelopes.shown;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.hawser.metadata.store.Envelopes;
import dev.hawser.metadata.store.NoEntry;
import dev.hawser.metadata.store.PublishOutcome;
import dev.hawser.metadata.store.RenewOutcome;
import dev.hawser.metadata.store.Renewal;
import dev.hawser.metadata.store.Store;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpMethod;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Signs of life, one at a time or many in one call. */
final class RenewApi {
  private static final int MAX_BATCH = 1024;

  /** A summary in UTF-8 may be longer than as kept, never as much as this. */
  private static final int MAX_SUMMARY_BODY = 2 * Envelopes.MAX_SUMMARY;

  private static final int MAX_BATCH_BODY = 8 << 20;
  private static final Set<String> BATCH_FIELDS = Set.of("agents");
  private static final Set<String> FIELDS = Set.of("name", "epoch", "ttl_millis", "summary");

  private final Store store;

  RenewApi(Store store) {
    this.store = store;
  }

  List<Route> routes() {
    return List.of(
        new Route(HttpMethod.POST, "/v1/agents/{name}/renew", Access.OWNER, MAX_SUMMARY_BODY, "", this::renew),
        new Route(HttpMethod.POST, "/v1/renew", Access.PUBLISHER, MAX_BATCH_BODY, "", this::renewMany));
  }

  private Future<Void> renew(Exchange exchange, Buffer body) {
    String ttl = exchange.header(Names.TTL_MILLIS);
    String summary = null;
    if (body.length() > 0) {
      if (!exchange.contentType().equals(Names.JSON)) {
        throw Problem.unsupportedMediaType(
            shown(exchange.contentType()), Names.JSON + " with the new summary, or no body")
            .exception();
      }
      summary = JsonInput.summary(body);
    }
    Renewal renewal =
        new Renewal(exchange.name(), exchange.epoch(), ttl == null ? 0 : ttlMillis("ttl_millis", ttl), summary);
    return store
        .renew(List.of(renewal))
        .compose(outcomes -> Handler.done(() -> answer(exchange, renewal, outcomes.getFirst())));
  }

  private static void answer(Exchange exchange, Renewal renewal, RenewOutcome outcome) {
    switch (outcome) {
      case RenewOutcome.Renewed renewed -> {
        exchange
            .response()
            .headers()
            .set(Names.EPOCH, Long.toUnsignedString(renewal.epoch()))
            .set(Names.REVISION, Long.toUnsignedString(renewed.revision()))
            .set(Names.TTL_MILLIS, Long.toString(renewed.ttlMillis()));
        exchange.answer(200);
      }
      case NoEntry none -> throw Problem.agentUnknown(renewal.name()).exception();
      case PublishOutcome.Superseded newer ->
        throw Problem.superseded(renewal.name(), renewal.epoch(), newer.recordedEpoch(), newer.recordedAddress())
            .exception();
    }
  }

  private Future<Void> renewMany(Exchange exchange, Buffer body) {
    boolean json = exchange.contentType().equals(Names.JSON);
    if (!json && !exchange.contentType().equals(Names.TEXT)) {
      throw Problem.unsupportedMediaType(shown(exchange.contentType()), Names.TEXT + " or " + Names.JSON).exception();
    }
    List<Renewal> renewals = json ? fromJson(body) : fromText(body);
    renewals.forEach(renewal -> exchange.requireOwner(renewal.name()));
    return store
        .renew(renewals)
        .compose(
            outcomes -> Handler.done(
                () -> {
                  if (json) {
                    exchange.answer(200, Names.JSON, toJson(renewals, outcomes));
                  } else {
                    exchange.answer(200, Names.TEXT, toText(renewals, outcomes));
                  }
                }));
  }

  private static List<Renewal> fromText(Buffer body) {
    String text = body.toString(StandardCharsets.US_ASCII).stripTrailing();
    if (text.isEmpty()) {
      throw Problem.badRequest("the body is empty; send lines of NAME EPOCH [TTL_MILLIS]").exception();
    }
    String[] lines = text.split("\n", -1);
    checkCount(lines.length);
    List<Renewal> renewals = new ArrayList<>(lines.length);
    for (int i = 0; i < lines.length; i++) {
      String[] words = lines[i].strip().split(" +", -1);
      if (words.length < 2 || words.length > 3) {
        throw Problem.badRequest(
            "line " + (i + 1) + " is " + shown(lines[i]) + "; write NAME EPOCH or NAME EPOCH TTL_MILLIS")
            .exception();
      }
      renewals.add(
          new Renewal(
              words[0],
              Numbers.unsigned("epoch in line " + (i + 1), words[1]),
              words.length == 2 ? 0 : ttlMillis("ttl_millis in line " + (i + 1), words[2]),
              null));
    }
    return renewals;
  }

  private static List<Renewal> fromJson(Buffer body) {
    List<JsonInput> agents = JsonInput.body(body, BATCH_FIELDS).objects("agents", MAX_BATCH, FIELDS);
    checkCount(agents.size());
    List<Renewal> renewals = new ArrayList<>(agents.size());
    for (JsonInput agent : agents) {
      renewals.add(
          new Renewal(
              agent.requiredText("name"),
              agent.requiredEpoch(),
              agent.has("ttl_millis") ? Envelopes.ttlMillis(agent.unsigned("ttl_millis", 0)) : 0,
              agent.summaryField()));
    }
    return renewals;
  }

  private static void checkCount(int count) {
    if (count < 1 || count > MAX_BATCH) {
      throw Problem.badRequest("agents are " + count + "; renew 1 to " + MAX_BATCH + " in one call").exception();
    }
  }

  private static long ttlMillis(String field, String text) {
    return Envelopes.ttlMillis(Numbers.unsigned(field, text));
  }

  private static Buffer toText(List<Renewal> renewals, List<RenewOutcome> outcomes) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < renewals.size(); i++) {
      text.append(renewals.get(i).name()).append(' ').append(status(outcomes.get(i)));
      if (outcomes.get(i) instanceof PublishOutcome.Superseded newer) {
        text.append(' ').append(Long.toUnsignedString(newer.recordedEpoch()));
      }
      text.append('\n');
    }
    return Buffer.buffer(text.toString());
  }

  private static Buffer toJson(List<Renewal> renewals, List<RenewOutcome> outcomes) {
    return JsonOutput.write(json -> write(json, renewals, outcomes));
  }

  private static void write(JsonGenerator json, List<Renewal> renewals, List<RenewOutcome> outcomes)
      throws IOException {
    json.writeStartObject();
    json.writeArrayFieldStart("agents");
    for (int i = 0; i < renewals.size(); i++) {
      json.writeStartObject();
      json.writeStringField("name", renewals.get(i).name());
      json.writeStringField("status", status(outcomes.get(i)));
      if (outcomes.get(i) instanceof PublishOutcome.Superseded newer) {
        JsonOutput.unsigned(json, "recorded_epoch", newer.recordedEpoch());
      }
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeEndObject();
  }

  private static String status(RenewOutcome outcome) {
    return switch (outcome) {
      case RenewOutcome.Renewed renewed -> "ok";
      case NoEntry none -> "unknown";
      case PublishOutcome.Superseded newer -> "superseded";
    };
  }
}
