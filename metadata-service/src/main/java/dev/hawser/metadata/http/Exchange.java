/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import static dev.hawser.metadata.store.Envelopes.shown;

import dev.hawser.metadata.auth.Caller;
import dev.hawser.metadata.auth.Role;
import dev.hawser.metadata.store.Envelopes;
import dev.hawser.metadata.store.Selector;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** One request and its answer. Used on its connection's event loop only. */
final class Exchange {
  private static final System.Logger LOG = System.getLogger(Exchange.class.getName());

  /** Names in one query. */
  static final int MAX_NAMES = 1024;

  private final HttpServerRequest request;
  private final String requestId;
  private final List<String> parameters;
  private @Nullable Caller caller;

  /**
   * @param request as it came
   * @param requestId in the log and in the answer
   * @param parameters of the path, decoded, in order
   */
  Exchange(HttpServerRequest request, String requestId, List<String> parameters) {
    this.request = request;
    this.requestId = requestId;
    this.parameters = parameters;
  }

  /**
   * Lets the caller in, or not.
   *
   * @throws ProblemException when it is not known, or may not do this
   */
  void admit(Access access, @Nullable Caller known) {
    if (access == Access.OPEN) {
      return;
    }
    if (known == null) {
      throw Problem.unauthenticated().exception();
    }
    caller = known;
    if (access == Access.OWNER) {
      requireOwner(name());
    } else if (access == Access.PUBLISHER && known.role() == Role.READ) {
      throw Problem.forbidden(known.subject() + " has the role read; it takes publish or admin").exception();
    }
  }

  /**
   * For routes that name agents elsewhere than in the path.
   *
   * @throws ProblemException when the caller does not own the agent
   */
  void requireOwner(String name) {
    if (caller == null || !caller.owns(name)) {
      throw Problem.forbidden(
          subject() + " does not own agent " + name
              + "; use the token or the certificate of its owner, or widen the names in the file of tokens")
          .exception();
    }
  }

  /** Who asks, for the log. */
  String subject() {
    return caller == null ? "-" : caller.subject();
  }

  HttpServerRequest request() {
    return request;
  }

  HttpServerResponse response() {
    return request.response();
  }

  String requestId() {
    return requestId;
  }

  /** The agent's name in the path. */
  String name() {
    return Envelopes.name(parameters.getFirst());
  }

  @Nullable
  String header(CharSequence name) {
    return request.headers().get(name);
  }

  @Nullable
  String query(String name) {
    return request.params().get(name);
  }

  /**
   * A parameter that must be there.
   *
   * @throws ProblemException when it is not
   */
  String requiredQuery(String name) {
    String text = query(name);
    if (text == null) {
      throw Problem.badRequest(name + " is missing; give it in the query (?" + name + "=)").exception();
    }
    return text;
  }

  /** The epoch from the header or the query. */
  long epoch() {
    String text = header(Names.EPOCH);
    if (text == null) {
      text = query("epoch");
    }
    if (text == null) {
      throw Problem.badRequest("epoch is missing; give it in the header Hawser-Epoch or in the query (?epoch=)")
          .exception();
    }
    return Envelopes.epoch(Numbers.unsigned("epoch", text));
  }

  /** From {@code names} and {@code label} in the query. */
  Selector selector() {
    Set<String> names = new HashSet<>();
    for (String list : request.params().getAll("names")) {
      for (String name : list.split(",", -1)) {
        names.add(Envelopes.name(name));
      }
    }
    if (names.size() > MAX_NAMES) {
      throw Problem.badRequest("names are " + names.size() + "; ask for at most " + MAX_NAMES + " at once").exception();
    }
    Set<Map.Entry<String, String>> labels = new HashSet<>();
    for (String label : request.params().getAll("label")) {
      int colon = label.indexOf(':');
      if (colon < 1) {
        throw Problem.badRequest("label is " + shown(label) + "; write label=key:value").exception();
      }
      labels.add(Map.entry(label.substring(0, colon), label.substring(colon + 1)));
    }
    return names.isEmpty() && labels.isEmpty() ? Selector.ALL : new Selector(names, labels);
  }

  /** Whether the client wants the binary form. */
  boolean wantsBinary() {
    String accept = header(HttpHeaders.ACCEPT);
    return accept != null && accept.contains(Names.BINARY);
  }

  /** Refuses clients that accept nothing that the route offers. */
  void requireAccepts(String... offered) {
    String accept = header(HttpHeaders.ACCEPT);
    if (accept == null) {
      return;
    }
    for (String range : accept.split(",", -1)) {
      int parameters = range.indexOf(';');
      String type = (parameters < 0 ? range : range.substring(0, parameters)).strip();
      for (String offer : offered) {
        if (type.equals("*/*")
            || type.equalsIgnoreCase(offer)
            || (type.endsWith("/*") && offer.startsWith(type.substring(0, type.length() - 1)))) {
          return;
        }
      }
    }
    throw Problem.notAcceptable(shown(accept), String.join(" or ", offered)).exception();
  }

  /** Media type of the body without its parameters, in lower case; empty when there is none. */
  String contentType() {
    String type = header(HttpHeaders.CONTENT_TYPE);
    if (type == null) {
      return "";
    }
    int parameters = type.indexOf(';');
    return (parameters < 0 ? type : type.substring(0, parameters)).strip().toLowerCase(Locale.ROOT);
  }

  /** Answers. A client that has gone is none of the service's troubles. */
  void answer(int status, String contentType, Buffer body) {
    HttpServerResponse response = response();
    if (response.ended() || response.closed()) {
      return;
    }
    response.setStatusCode(status);
    response.putHeader(HttpHeaders.CONTENT_TYPE, contentType);
    if (request.method().equals(HttpMethod.HEAD)) {
      response.putHeader(HttpHeaders.CONTENT_LENGTH, Integer.toString(body.length()));
      end(response.end());
    } else {
      end(response.end(body));
    }
  }

  /** Answers without a body. */
  void answer(int status) {
    HttpServerResponse response = response();
    if (!response.ended() && !response.closed()) {
      end(response.setStatusCode(status).end());
    }
  }

  private void end(Future<Void> written) {
    written.onFailure(gone -> LOG.log(System.Logger.Level.DEBUG, "Request {0}: not delivered: {1}", requestId, gone));
  }

  void answer(Problem problem) {
    answer(problem, request.path());
  }

  /** Of a request that could not be read: its path is not one. */
  void answer(Problem problem, @Nullable String path) {
    HttpServerResponse response = response();
    if (response.ended() || response.closed()) {
      return;
    }
    problem.headers().forEach(response::putHeader);
    response.putHeader(Names.PROBLEM, problem.slug());
    response.putHeader(Names.DETAIL, ascii(problem.detail()));
    if (problem.recordedEpoch().isPresent()) {
      response.putHeader(Names.RECORDED_EPOCH, Long.toUnsignedString(problem.recordedEpoch().getAsLong()));
    }
    if (!problem.recordedAddress().isEmpty()) {
      response.putHeader(Names.RECORDED_ADDRESS, problem.recordedAddress());
    }
    answer(problem.status(), Names.PROBLEM_JSON, ProblemJson.write(problem, path, requestId));
  }

  private static String ascii(String text) {
    StringBuilder ascii = new StringBuilder(text.length());
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      ascii.append(c < ' ' || c > '~' ? '?' : c);
    }
    return ascii.toString();
  }
}
