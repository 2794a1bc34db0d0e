/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.http;

import java.net.URI;

/**
 * A server.
 *
 * @param host name or numeric address, without brackets
 * @param port TCP port
 * @param tls whether it is spoken to through TLS
 * @param prefix what its paths begin with; empty or {@code /something} without a slash at its end
 */
public record HttpTarget(String host, int port, boolean tls, String prefix) {

  /** The server that an {@code http} or {@code https} URL names. */
  public static HttpTarget of(URI url) {
    String host = url.getHost();
    if (host == null) {
      throw new IllegalArgumentException("url: '" + url + "' names no host; write http://host:port");
    }
    boolean tls = "https".equals(url.getScheme());
    int port = url.getPort() >= 0 ? url.getPort() : tls ? 443 : 80;
    String path = url.getRawPath() == null ? "" : url.getRawPath();
    while (path.endsWith("/")) {
      path = path.substring(0, path.length() - 1);
    }
    String bare = host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
    return new HttpTarget(bare, port, tls, path);
  }

  /** {@code host:port} as the {@code Host} header has it. */
  public String authority() {
    return (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + port;
  }

  @Override
  public String toString() {
    return (tls ? "https://" : "http://") + authority() + prefix;
  }
}
