/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Asks a service that has just started a few questions that change nothing, so that the first agent does not wait for
 * classes to be loaded: by a factor of ten the slowest request of a service's life otherwise.
 */
public final class Rehearsal {
  private static final System.Logger LOG = System.getLogger(Rehearsal.class.getName());
  private static final int DEADLINE_MILLIS = 2_000;

  /** An unknown agent, a publication that is refused for its time to live, and readiness. */
  private static final List<String> REQUESTS =
      List.of(
          request("GET /v1/agents/nobody", "Accept: application/octet-stream"),
          request(
              "PUT /v1/agents/nobody",
              "Content-Type: application/octet-stream",
              "Hawser-Epoch: 1",
              "Hawser-Ttl-Millis: 1",
              "Hawser-Labels: a=b",
              "Content-Length: 0"),
          request("GET /health/ready"));

  private Rehearsal() {}

  /** Begins on a thread of its own, which ends within seconds whatever happens. */
  public static void begin(InetAddress address, int port) {
    Thread.ofVirtual().name("hawser-metadata-rehearsal").start(() -> REQUESTS.forEach(ask -> ask(address, port, ask)));
  }

  private static void ask(InetAddress address, int port, String request) {
    try (Socket socket = new Socket()) {
      socket.setSoTimeout(DEADLINE_MILLIS);
      socket.connect(new InetSocketAddress(address, port), DEADLINE_MILLIS);
      OutputStream out = socket.getOutputStream();
      out.write(request.getBytes(StandardCharsets.US_ASCII));
      byte[] answer = socket.getInputStream().readAllBytes();
      LOG.log(System.Logger.Level.TRACE, "The rehearsal was answered with {0} bytes", answer.length);
    } catch (IOException failed) {
      LOG.log(System.Logger.Level.DEBUG, "The rehearsal was not answered; the first request will be slow", failed);
    }
  }

  private static String request(String operation, String... headers) {
    StringBuilder request = new StringBuilder(operation).append(" HTTP/1.1\r\nHost: localhost\r\n");
    for (String header : headers) {
      request.append(header).append("\r\n");
    }
    return request.append("Connection: close\r\n\r\n").toString();
  }
}
