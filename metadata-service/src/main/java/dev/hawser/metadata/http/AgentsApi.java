/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import static dev.hawser.metadata.store.Envelopes.shown;

import dev.hawser.metadata.store.Agent;
import dev.hawser.metadata.store.DeleteOutcome;
import dev.hawser.metadata.store.Envelopes;
import dev.hawser.metadata.store.Labels;
import dev.hawser.metadata.store.Listing;
import dev.hawser.metadata.store.NoEntry;
import dev.hawser.metadata.store.Publication;
import dev.hawser.metadata.store.PublishOutcome;
import dev.hawser.metadata.store.Store;
import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Publish, fetch, list, delete. */
final class AgentsApi {
  /** Room for the envelope around a blob in base64. */
  private static final int ENVELOPE = 64 * 1024;

  private static final int MAX_LIMIT = 10_000;

  /** After which no further entry is put into one answer; the client pages on. */
  private static final int MAX_PAGE_BYTES = 8 << 20;

  private static final Set<String> FIELDS =
      Set.of("epoch", "ttl_millis", "address", "labels", "summary", "expect_epoch", "blob");

  private final Store store;
  private final int maxBlobBytes;
  private final BlobAppends appends;

  AgentsApi(Store store, int maxBlobBytes) {
    this.store = store;
    this.maxBlobBytes = maxBlobBytes;
    this.appends = new BlobAppends(store, maxBlobBytes);
  }

  List<Route> routes() {
    return List.of(
        Route.get("/v1/agents/{name}", Access.READ, this::fetch),
        new Route(HttpMethod.PUT, "/v1/agents/{name}", Access.OWNER, maxBody(), "--max-blob", this::publish),
        new Route(HttpMethod.PATCH, "/v1/agents/{name}", Access.OWNER, maxBlobBytes, "--max-blob", appends::append),
        new Route(HttpMethod.DELETE, "/v1/agents/{name}", Access.OWNER, 0, "", this::delete),
        Route.get("/v1/agents", Access.READ, this::list));
  }

  private int maxBody() {
    return maxBlobBytes + maxBlobBytes / 3 + ENVELOPE;
  }

  private Future<Void> publish(Exchange exchange, Buffer body) {
    String name = exchange.name();
    long expected;
    Publication publication;
    switch (exchange.contentType()) {
      case Names.BINARY -> {
        String text = exchange.header(Names.EXPECT_EPOCH);
        expected = text == null ? Store.EXPECT_ANYTHING : expected(Numbers.unsigned("expect_epoch", text));
        publication = fromHeaders(exchange, name, body);
      }
      case Names.JSON -> {
        JsonInput json = JsonInput.body(body, FIELDS);
        expected = json.has("expect_epoch") ? expected(json.unsigned("expect_epoch", 0)) : Store.EXPECT_ANYTHING;
        publication = fromJson(json, name);
      }
      default ->
        throw Problem.unsupportedMediaType(
            shown(exchange.contentType()), Names.BINARY + " with the envelope in headers, or " + Names.JSON)
            .exception();
    }
    if (publication.blob().length() > maxBlobBytes) {
      throw Problem.bodyTooLarge(
          "The blob of " + name + " has " + publication.blob().length() + " bytes; at most " + maxBlobBytes
              + " are allowed (--max-blob)")
          .exception();
    }
    return store.publish(publication, expected)
        .compose(outcome -> Handler.done(() -> answer(exchange, publication, expected, outcome)));
  }

  private static long expected(long epoch) {
    if (epoch == Store.EXPECT_ANYTHING) {
      throw Problem.badRequest("expect_epoch is 2^64-1, which no epoch is; give a recorded epoch, or 0 for none")
          .exception();
    }
    return epoch;
  }

  private static Publication fromHeaders(Exchange exchange, String name, Buffer body) {
    MultiMap headers = exchange.request().headers();
    String epoch = headers.get(Names.EPOCH);
    if (epoch == null) {
      throw Problem.badRequest("epoch is missing; give it in the header Hawser-Epoch").exception();
    }
    String ttl = headers.get(Names.TTL_MILLIS);
    String summary = headers.get(Names.SUMMARY);
    return new Publication(
        name,
        Envelopes.epoch(Numbers.unsigned("epoch", epoch)),
        ttl == null ? Envelopes.DEFAULT_TTL_MILLIS : Numbers.unsigned("ttl_millis", ttl),
        headers.contains(Names.ADDRESS) ? headers.get(Names.ADDRESS) : "",
        headers.contains(Names.LABELS) ? Labels.parse(headers.get(Names.LABELS)) : Labels.NONE,
        summary == null ? "" : JsonInput.summary(summary),
        body);
  }

  private static Publication fromJson(JsonInput json, String name) {
    String address = json.text("address");
    String summary = json.summaryField();
    return new Publication(
        name,
        json.requiredEpoch(),
        json.unsigned("ttl_millis", Envelopes.DEFAULT_TTL_MILLIS),
        address == null ? "" : address,
        Labels.of(json.texts("labels")),
        summary == null ? "" : summary,
        json.base64("blob"));
  }

  static void answer(Exchange exchange, Publication publication, long expected, PublishOutcome outcome) {
    switch (outcome) {
      case PublishOutcome.Published done -> {
        MultiMap headers = exchange.response().headers();
        headers.set(Names.EPOCH, Long.toUnsignedString(publication.epoch()));
        headers.set(Names.REVISION, Long.toUnsignedString(done.revision()));
        headers.set(Names.TTL_MILLIS, Long.toString(publication.ttlMillis()));
        if (done.replacedEpoch() != 0) {
          headers.set(Names.REPLACED_EPOCH, Long.toUnsignedString(done.replacedEpoch()));
        }
        exchange.answer(
            done.created() ? 201 : 200,
            Names.JSON,
            JsonOutput.write(
                json -> {
                  json.writeStartObject();
                  json.writeStringField("name", publication.name());
                  JsonOutput.unsigned(json, "epoch", publication.epoch());
                  JsonOutput.unsigned(json, "revision", done.revision());
                  json.writeNumberField("ttl_millis", publication.ttlMillis());
                  json.writeEndObject();
                }));
      }
      case PublishOutcome.Superseded newer ->
        throw Problem.superseded(
            publication.name(), publication.epoch(), newer.recordedEpoch(), newer.recordedAddress())
            .exception();
      case PublishOutcome.Mismatch other ->
        throw Problem.mismatch(publication.name(), expected, other.recordedEpoch(), other.recordedAddress())
            .exception();
      case PublishOutcome.Moved moved ->
        throw Problem.unavailable(
            "store-unavailable", "The entry changes too fast",
            "Agent " + publication.name() + " changed whenever it was to be changed; let one process publish a name")
            .exception();
      case PublishOutcome.Full full -> throw Problem.storeFull(publication.name(), full.why()).exception();
    }
  }

  private Future<Void> fetch(Exchange exchange, Buffer body) {
    String name = exchange.name();
    exchange.requireAccepts(Names.JSON, Names.BINARY);
    return store.fetch(name).compose(found -> Handler.done(() -> answer(exchange, name, found)));
  }

  private static void answer(Exchange exchange, String name, Optional<Agent> found) {
    Agent agent = found.orElseThrow(() -> Problem.agentUnknown(name).exception());
    Publication publication = agent.publication();
    String revision = Long.toUnsignedString(agent.revision());
    MultiMap headers = exchange.response().headers();
    headers.set(HttpHeaders.ETAG, '"' + revision + '"');
    headers.set(HttpHeaders.VARY, "Accept");
    headers.set(Names.NAME, publication.name());
    headers.set(Names.EPOCH, Long.toUnsignedString(publication.epoch()));
    headers.set(Names.REVISION, revision);
    headers.set(Names.TTL_MILLIS, Long.toString(publication.ttlMillis()));
    headers.set(Names.EXPIRES_IN_MILLIS, Long.toString(agent.expiresInMillis()));
    String known = exchange.header(HttpHeaders.IF_NONE_MATCH);
    if (known != null && (known.equals("*") || known.contains('"' + revision + '"'))) {
      exchange.answer(304);
    } else if (exchange.wantsBinary()) {
      if (!publication.address().isEmpty()) {
        headers.set(Names.ADDRESS, publication.address());
      }
      if (!publication.labels().map().isEmpty()) {
        headers.set(Names.LABELS, publication.labels().text());
      }
      if (!publication.summary().isEmpty()) {
        headers.set(Names.SUMMARY, publication.summary());
      }
      exchange.answer(200, Names.BINARY, BlobAppends.unknownPart(exchange, publication.blob()));
    } else {
      exchange.answer(200, Names.JSON, JsonOutput.write(json -> AgentJson.write(json, agent, true)));
    }
  }

  private Future<Void> list(Exchange exchange, Buffer body) {
    exchange.requireAccepts(Names.JSON, Names.BINARY);
    boolean binary = exchange.wantsBinary();
    String blobs = exchange.query("blobs");
    boolean withBlobs = blobs == null ? binary : Numbers.truth("blobs", blobs);
    String limit = exchange.query("limit");
    String after = exchange.query("after");
    return store
        .list(
            exchange.selector(),
            after == null ? "" : Envelopes.name(after),
            limit == null ? MAX_LIMIT : Numbers.between("limit", limit, 1, MAX_LIMIT))
        .compose(listing -> Handler.done(() -> answer(exchange, listing, binary, withBlobs)));
  }

  private static void answer(Exchange exchange, Listing listing, boolean binary, boolean withBlobs) {
    List<Agent> agents = firstPage(listing.agents(), withBlobs);
    boolean more = listing.more() || agents.size() < listing.agents().size();
    MultiMap headers = exchange.response().headers();
    headers.set(Names.REVISION, Long.toUnsignedString(listing.revision()));
    headers.set(HttpHeaders.VARY, "Accept");
    if (more) {
      headers.set(Names.NEXT_AFTER, agents.getLast().publication().name());
    }
    if (binary) {
      Buffer frames = Buffer.buffer();
      agents.forEach(agent -> AgentFrame.append(frames, agent, withBlobs));
      exchange.answer(200, Names.BINARY, frames);
    } else {
      exchange.answer(
          200,
          Names.JSON,
          JsonOutput.write(
              json -> {
                json.writeStartObject();
                JsonOutput.unsigned(json, "revision", listing.revision());
                json.writeArrayFieldStart("agents");
                for (Agent agent : agents) {
                  AgentJson.write(json, agent, withBlobs);
                }
                json.writeEndArray();
                if (more) {
                  json.writeStringField("next_after", agents.getLast().publication().name());
                }
                json.writeEndObject();
              }));
    }
  }

  /** At least one entry, and no more than fit into a page. */
  private static List<Agent> firstPage(List<Agent> agents, boolean withBlobs) {
    if (!withBlobs) {
      return agents;
    }
    long bytes = 0;
    for (int i = 0; i < agents.size(); i++) {
      bytes += agents.get(i).publication().blob().length();
      if (bytes > MAX_PAGE_BYTES && i > 0) {
        return agents.subList(0, i);
      }
    }
    return agents;
  }

  private Future<Void> delete(Exchange exchange, Buffer body) {
    String name = exchange.name();
    long epoch = exchange.epoch();
    return store.delete(name, epoch).compose(outcome -> Handler.done(() -> answer(exchange, name, epoch, outcome)));
  }

  private static void answer(Exchange exchange, String name, long epoch, DeleteOutcome outcome) {
    switch (outcome) {
      case DeleteOutcome.Deleted deleted -> {
        exchange.response().headers().set(Names.REVISION, Long.toUnsignedString(deleted.revision()));
        exchange.answer(204);
      }
      case NoEntry none -> throw Problem.agentUnknown(name).exception();
      case PublishOutcome.Superseded newer ->
        throw Problem.superseded(name, epoch, newer.recordedEpoch(), newer.recordedAddress()).exception();
    }
  }
}
