/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.metadata;

import dev.hawser.agent.config.Secret;
import dev.hawser.agent.config.Setting;
import dev.hawser.agent.http.HttpClient;
import dev.hawser.agent.http.HttpClient.Answer;
import dev.hawser.agent.http.HttpReply;
import dev.hawser.agent.http.HttpRequest;
import dev.hawser.agent.http.HttpStream;
import dev.hawser.agent.http.NoServerException;
import dev.hawser.agent.http.NoServerException.Kind;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import javax.net.ssl.SSLSocketFactory;
import org.jspecify.annotations.Nullable;

/**
 * The metadata service as {@code docs/metadata-service.md} describes it, in its binary form. Of several URLs the first
 * that answers is used, and kept while it answers. Thread-safe.
 */
public final class MetadataClient implements AutoCloseable {
  private static final String BINARY = "application/octet-stream";
  private static final int MAX_SMALL_ANSWER = 64 << 10;
  /** A service may be told to take larger blobs than the usual ones. */
  private static final int MAX_BLOB_ANSWER = 64 << 20;

  private final HttpClient http;
  private final Duration timeout;
  private final @Nullable String authorization;

  /**
   * A client.
   *
   * @param urls of services that share one store, tried in this order
   * @param timeout of one request, fail-over included
   * @param token that the service asks for; {@link Secret#NONE} for none
   * @param tls makes TLS sockets for https URLs; null for the platform's default
   */
  public MetadataClient(List<URI> urls, Duration timeout, Secret token, @Nullable SSLSocketFactory tls) {
    this.http = new HttpClient(urls, tls);
    this.timeout = timeout;
    this.authorization =
        token.present() ? "Bearer ".concat(new String(token.bytes(), StandardCharsets.UTF_8)) : null;
  }

  /**
   * Publishes, compare-and-set by epoch.
   *
   * @return the service's revision of the entry
   * @throws EpochConflictException if another incarnation stands in the way
   * @throws MetadataUnavailableException if no service answers
   */
  public long publish(Publication publication) {
    HttpRequest request = new HttpRequest("PUT", path(publication.name())).header("Content-Type", BINARY)
        .header("Accept", BINARY).header("Hawser-Epoch", Long.toUnsignedString(publication.epoch()))
        .header("Hawser-Ttl-Millis", Long.toString(publication.ttl().toMillis())).body(publication.blob());
    if (!publication.address().isEmpty()) {
      request.header("Hawser-Address", publication.address());
    }
    if (!publication.labels().isEmpty()) {
      request.header("Hawser-Labels", labels(publication.labels()));
    }
    if (!publication.summary().isEmpty()) {
      request.header("Hawser-Summary", publication.summary());
    }
    OptionalLong expected = publication.expectedEpoch();
    if (expected.isPresent()) {
      request.header("Hawser-Expect-Epoch", Long.toUnsignedString(expected.getAsLong()));
    }
    Answer answer = send(request, MAX_SMALL_ANSWER);
    if (answer.status() == 200 || answer.status() == 201) {
      return unsigned(answer.reply(), "hawser-revision");
    }
    throw problem(request, answer);
  }

  /**
   * Renews the presence of an entry.
   *
   * @param summary one JSON object of at most 4 KiB that takes the place of the one before; empty: that one stays
   * @return false if the service does not know the entry (any more): publish again
   * @throws EpochConflictException if a newer incarnation has the name
   * @throws MetadataUnavailableException if no service answers
   */
  public boolean renew(String name, long epoch, String summary) {
    HttpRequest request = new HttpRequest("POST", path(name).concat("/renew")).header("Accept", BINARY)
        .header("Hawser-Epoch", Long.toUnsignedString(epoch));
    if (!summary.isEmpty()) {
      request.header("Content-Type", "application/json").body(summary.getBytes(StandardCharsets.UTF_8));
    }
    Answer answer = send(request, MAX_SMALL_ANSWER);
    if (answer.status() == 200) {
      return true;
    }
    if (isUnknown(answer)) {
      return false;
    }
    throw problem(request, answer);
  }

  /**
   * Asks who is recorded under a name, without fetching the blob.
   *
   * @return empty if there is no entry
   * @throws MetadataUnavailableException if no service answers
   */
  public Optional<MetadataHead> peek(String name) {
    HttpRequest request = new HttpRequest("HEAD", path(name)).header("Accept", BINARY);
    Answer answer = send(request, MAX_SMALL_ANSWER);
    if (answer.status() == 200) {
      HttpReply head = answer.reply();
      return Optional.of(new MetadataHead(unsigned(head, "hawser-epoch"), head.header("hawser-address", "")));
    }
    if (isUnknown(answer)) {
      return Optional.empty();
    }
    throw problem(request, answer);
  }

  /**
   * Appends to what this incarnation has published.
   *
   * @param offset how many bytes that are
   * @return the service's revision of the entry; empty if the service has no such entry of that length, or cannot append:
   *     publish everything
   * @throws EpochConflictException if a newer incarnation has the name
   * @throws MetadataUnavailableException if no service answers
   */
  public OptionalLong append(String name, long epoch, int offset, byte[] more) {
    HttpRequest request = new HttpRequest("PATCH", path(name)).header("Content-Type", BINARY).header("Accept", BINARY)
        .header("Hawser-Epoch", Long.toUnsignedString(epoch)).header("Hawser-Blob-Offset", Integer.toString(offset))
        .body(more);
    Answer answer = send(request, MAX_SMALL_ANSWER);
    if (answer.status() == 200) {
      return OptionalLong.of(unsigned(answer.reply(), "hawser-revision"));
    }
    boolean differs = answer.reply().header("hawser-problem", "").equals("offset-differs");
    if (differs || isUnknown(answer) || answer.status() == 405 || answer.status() == 413) {
      return OptionalLong.empty();
    }
    throw problem(request, answer);
  }

  /**
   * Fetches an entry.
   *
   * @return empty if there is none
   * @throws MetadataUnavailableException if no service answers
   */
  public Optional<MetadataEntry> fetch(String name) {
    return fetch(name, null);
  }

  /**
   * Fetches what is not known of an entry.
   *
   * @param known what has been read of it; null for nothing
   * @return empty if there is none
   * @throws MetadataUnavailableException if no service answers
   */
  public Optional<MetadataEntry> fetch(String name, @Nullable KnownBlob known) {
    HttpRequest request = new HttpRequest("GET", path(name)).header("Accept", BINARY);
    if (known != null) {
      request.header("Hawser-Blob-Known", known.text());
    }
    Answer answer = send(request, MAX_BLOB_ANSWER);
    if (answer.status() == 200) {
      HttpReply head = answer.reply();
      String answered = head.header("hawser-name", "");
      if (!answered.equals(name)) {
        throw new MetadataException("the metadata service answered with the entry of '" + answered + "' instead of '"
            + name + "'; is there a proxy in between that mixes answers up?");
      }
      return Optional.of(new MetadataEntry(name, unsigned(head, "hawser-epoch"), unsigned(head, "hawser-revision"),
          head.header("hawser-address", ""), offset(head, known), answer.body()));
    }
    if (isUnknown(answer)) {
      return Optional.empty();
    }
    throw problem(request, answer);
  }

  private static int offset(HttpReply head, @Nullable KnownBlob known) {
    String text = head.header("hawser-blob-offset", "0");
    if (text.equals("0") || (known != null && text.equals(Integer.toString(known.length())))) {
      return Integer.parseInt(text);
    }
    throw new MetadataException("the metadata service answered with what is behind byte '" + text
        + "', which nobody asked for; is there a proxy in between that mixes answers up?");
  }

  /**
   * Deletes an entry.
   *
   * @return false if there was none of this epoch
   * @throws EpochConflictException if a newer incarnation has the name
   */
  public boolean delete(String name, long epoch) {
    HttpRequest request =
        new HttpRequest("DELETE", path(name).concat("?epoch=").concat(Long.toUnsignedString(epoch)))
            .header("Accept", BINARY);
    Answer answer = send(request, MAX_SMALL_ANSWER);
    if (answer.status() == 204) {
      return true;
    }
    if (isUnknown(answer)) {
      return false;
    }
    throw problem(request, answer);
  }

  /**
   * Opens a watch of these names. Events come from now on, or from behind a revision.
   *
   * @param names at most 1,024, not empty
   * @param after the revision to resume after; empty: now
   */
  public MetadataWatch watch(Set<String> names, OptionalLong after) {
    StringBuilder path = new StringBuilder("/v1/watch?form=plain&names=").append(String.join(",", names));
    if (after.isPresent()) {
      path.append("&revision=").append(Long.toUnsignedString(after.getAsLong()));
    }
    HttpRequest request = new HttpRequest("GET", path.toString()).header("Accept", "text/event-stream");
    authorize(request);
    try {
      HttpStream stream = http.stream(request, System.nanoTime() + timeout.toNanos());
      return new MetadataWatch(stream);
    } catch (NoServerException e) {
      throw unavailable(e);
    }
  }

  /** Prefers another service from now on, if there is one. */
  public void turnAway() {
    http.turnAway();
  }

  /** Closes idle connections. */
  @Override
  public void close() {
    http.close();
  }

  private Answer send(HttpRequest request, int most) {
    authorize(request);
    try {
      return http.send(request, System.nanoTime() + timeout.toNanos(), most);
    } catch (NoServerException e) {
      throw unavailable(e);
    }
  }

  private void authorize(HttpRequest request) {
    if (authorization != null) {
      request.header("Authorization", authorization);
    }
  }

  /** The cure depends on what was seen: one that answers needs no start, and one that is silent may be there. */
  private MetadataUnavailableException unavailable(NoServerException e) {
    String message;
    if (e.any(Kind.REFUSES)) {
      message = "the metadata service answers, but cannot serve now (" + e.getMessage() + "); look at its log and at "
          + Setting.METADATA.variable() + ", and try again";
    } else if (e.any(Kind.SILENT)) {
      message = "the metadata service did not answer in time (" + e.getMessage()
          + "): it, or its host, is overloaded or stopped, or packets to it are dropped on the way; look at it, raise "
          + Setting.METADATA_TIMEOUT.variable() + " (now " + timeout.toMillis()
          + " ms for all URLs together), or correct "
          + Setting.METADATA.variable();
    } else {
      message = "the metadata service is not reachable (" + e.getMessage()
          + "); start one with 'hawser metadata', or correct " + Setting.METADATA.variable();
    }
    return new MetadataUnavailableException(message, e);
  }

  private static MetadataException problem(HttpRequest request, Answer answer) {
    HttpReply head = answer.reply();
    String problem = head.header("hawser-problem", "");
    String detail = head.header("hawser-detail", "");
    if (detail.isEmpty()) {
      String text = new String(answer.body(), StandardCharsets.UTF_8);
      detail = text.length() > 200 ? text.substring(0, 200) + "…" : text;
    }
    String message = "the metadata service refused " + request + ": " + answer.status() + " " + problem
        + (detail.isEmpty() ? "" : ": " + detail);
    if (answer.status() == 401 || answer.status() == 403) {
      return new MetadataException(message + "; set HAWSER_METADATA_TOKEN to a token that may publish this name");
    }
    if (answer.status() == 409) {
      return new EpochConflictException(message, problem.equals("epoch-superseded"),
          unsignedOrZero(head.header("hawser-recorded-epoch", "0")), head.header("hawser-recorded-address", ""));
    }
    return new MetadataException(message);
  }

  private static boolean isUnknown(Answer answer) {
    return answer.status() == 404 && answer.reply().header("hawser-problem", "").equals("agent-unknown");
  }

  private static long unsigned(HttpReply reply, String header) {
    String value = reply.header(header, "");
    long number = unsignedOrZero(value);
    if (number == 0) {
      throw new MetadataException("the metadata service answered with '" + value + "' as " + header
          + "; is it really a Hawser metadata service?");
    }
    return number;
  }

  private static long unsignedOrZero(String value) {
    try {
      return Long.parseUnsignedLong(value);
    } catch (NumberFormatException e) {
      return 0;
    }
  }

  private static String labels(Map<String, String> labels) {
    StringBuilder text = new StringBuilder();
    for (Map.Entry<String, String> label : new TreeMap<>(labels).entrySet()) {
      text.append(text.isEmpty() ? "" : ",").append(label.getKey()).append('=').append(label.getValue());
    }
    return text.toString();
  }

  private static String path(String name) {
    return "/v1/agents/".concat(name);
  }
}
