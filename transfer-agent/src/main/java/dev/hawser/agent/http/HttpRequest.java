/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.http;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A request: method, path with query, headers, and a body or none. Not thread-safe. */
public final class HttpRequest {
  private final String method;
  private final String path;
  private final List<String> headers = new ArrayList<>();
  private byte @Nullable [] body;

  /**
   * A request without headers or body.
   *
   * @param path path and query, percent-encoded where that is needed
   */
  public HttpRequest(String method, String path) {
    this.method = method;
    this.path = path;
  }

  /**
   * Adds a header.
   *
   * @throws IllegalArgumentException if the value has characters that would end the line
   */
  public HttpRequest header(String name, String value) {
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if (c < ' ' || c > '~') {
        throw new IllegalArgumentException(name + ": the character at " + i + " is not printable ASCII");
      }
    }
    headers.add(name);
    headers.add(value);
    return this;
  }

  /** Sets the body, which is not copied. */
  public HttpRequest body(byte[] bytes) {
    body = bytes;
    return this;
  }

  String method() {
    return method;
  }

  byte @Nullable [] body() {
    return body;
  }

  String head(HttpTarget target) {
    StringBuilder head = new StringBuilder(256);
    head.append(method).append(' ').append(target.prefix()).append(path).append(" HTTP/1.1\r\nHost: ");
    head.append(target.authority()).append("\r\n");
    for (int i = 0; i < headers.size(); i += 2) {
      head.append(headers.get(i)).append(": ").append(headers.get(i + 1)).append("\r\n");
    }
    byte[] content = body;
    if (content != null || method.equals("POST") || method.equals("PUT")) {
      head.append("Content-Length: ").append(content == null ? 0 : content.length).append("\r\n");
    }
    return head.append("\r\n").toString();
  }

  @Override
  public String toString() {
    return method + " " + path;
  }
}
