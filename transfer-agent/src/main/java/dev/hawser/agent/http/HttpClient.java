/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.http;

import dev.hawser.agent.http.NoServerException.Failure;
import dev.hawser.agent.http.NoServerException.Kind;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.SSLSocketFactory;
import org.jspecify.annotations.Nullable;

/** Sends requests to the first of several servers that answers, and keeps connections for reuse. Thread-safe. */
public final class HttpClient implements AutoCloseable {
  private static final int MAX_IDLE = 4;

  private final List<HttpTarget> targets;
  private final @Nullable SSLSocketFactory tls;
  private final ArrayDeque<Idle> idle = new ArrayDeque<>();
  private volatile int current;
  private boolean closed;

  private record Idle(int target, HttpConnection connection) {}

  /**
   * An answer with its whole body.
   *
   * @param status the status code
   * @param reply its head; the body in it is read
   * @param body the body
   */
  @SuppressWarnings("ArrayRecordComponent") // a body is bytes; answers are never compared
  public record Answer(int status, HttpReply reply, byte[] body) {}

  /**
   * A client of servers that are as good as each other.
   *
   * @param urls tried in this order, at least one
   * @param tls makes TLS sockets, null for the platform's default
   */
  public HttpClient(List<URI> urls, @Nullable SSLSocketFactory tls) {
    if (urls.isEmpty()) {
      throw new IllegalArgumentException("urls: give at least one");
    }
    List<HttpTarget> parsed = new ArrayList<>();
    for (URI url : urls) {
      parsed.add(HttpTarget.of(url));
    }
    this.targets = List.copyOf(parsed);
    this.tls = tls;
  }

  /**
   * Sends an idempotent request to each server in turn until one answers with anything but 503.
   *
   * @param deadline {@code System.nanoTime()} at which to give up, for all servers together
   * @param most bytes of the body that are accepted
   * @throws NoServerException if none did, with each one's reason
   */
  public Answer send(HttpRequest request, long deadline, int most) {
    List<Failure> failures = new ArrayList<>();
    int first = current;
    for (int i = 0; i < targets.size(); i++) {
      int index = (first + i) % targets.size();
      long began = System.nanoTime();
      long share = deadline - (deadline - System.nanoTime()) / targets.size() * (targets.size() - 1 - i);
      try {
        Answer answer = sendTo(index, request, share, most);
        if (answer.status() != 503) {
          current = index;
          return answer;
        }
        failures.add(refuses(index, answer.reply()));
      } catch (IOException e) {
        failures.add(failure(index, e, began));
      }
    }
    throw new NoServerException(request.toString(), failures);
  }

  private Answer sendTo(int index, HttpRequest request, long deadline, int most) throws IOException {
    for (HttpConnection kept = takeIdle(index); kept != null; kept = takeIdle(index)) {
      try {
        return exchange(index, kept, request, deadline, most);
      } catch (StaleConnectionException e) {
        kept.close();
      }
    }
    return exchange(index, HttpConnection.open(targets.get(index), deadline, tls), request, deadline, most);
  }

  private Answer exchange(int index, HttpConnection connection, HttpRequest request, long deadline, int most)
      throws IOException {
    boolean kept = false;
    try {
      HttpReply reply = connection.send(request, deadline);
      Answer answer = new Answer(reply.status(), reply, reply.readBody(most));
      kept = connection.isReusable() && keep(index, connection);
      return answer;
    } finally {
      if (!kept) {
        connection.close();
      }
    }
  }

  /**
   * Opens a stream: an answer whose body goes on. The connection is the caller's; closing it ends the stream.
   *
   * @throws NoServerException if no server answered with 200
   */
  public HttpStream stream(HttpRequest request, long deadline) {
    List<Failure> failures = new ArrayList<>();
    int first = current;
    for (int i = 0; i < targets.size(); i++) {
      int index = (first + i) % targets.size();
      long began = System.nanoTime();
      long share = deadline - (deadline - System.nanoTime()) / targets.size() * (targets.size() - 1 - i);
      try {
        HttpConnection connection = HttpConnection.open(targets.get(index), share, tls);
        HttpReply reply = connection.send(request, share);
        if (reply.status() == 200) {
          current = index;
          return new HttpStream(connection, reply);
        }
        connection.close();
        failures.add(refuses(index, reply));
      } catch (IOException e) {
        failures.add(failure(index, e, began));
      }
    }
    throw new NoServerException(request.toString(), failures);
  }

  /** Prefers another server from now on, if there is one. */
  public void turnAway() {
    current = (current + 1) % targets.size();
  }

  private synchronized @Nullable HttpConnection takeIdle(int target) {
    for (Idle candidate : idle) {
      if (candidate.target() == target) {
        idle.remove(candidate);
        return candidate.connection();
      }
    }
    return null;
  }

  private synchronized boolean keep(int target, HttpConnection connection) {
    if (closed || idle.size() >= MAX_IDLE) {
      return false;
    }
    idle.addFirst(new Idle(target, connection));
    return true;
  }

  private Failure refuses(int index, HttpReply reply) {
    return new Failure(targets.get(index).toString(), Kind.REFUSES,
        (reply.status() + " " + reply.header("hawser-detail", "")).strip());
  }

  private Failure failure(int index, IOException e, long began) {
    String server = targets.get(index).toString();
    if (e instanceof SocketTimeoutException) {
      return new Failure(server, Kind.SILENT, "no answer within " + (System.nanoTime() - began) / 1_000_000 + " ms");
    }
    String message = e.getMessage();
    return new Failure(server, Kind.UNREACHABLE, message == null ? e.getClass().getSimpleName() : message);
  }

  /** Closes the connections that are kept. Requests under way go on. */
  @Override
  public synchronized void close() {
    closed = true;
    idle.forEach(kept -> kept.connection().close());
    idle.clear();
  }
}
