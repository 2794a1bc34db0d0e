/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import io.vertx.core.http.HttpMethod;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One operation of the API.
 *
 * @param method of HTTP; GET stands for HEAD too
 * @param template of the path, with {@code {parameter}} for a segment
 * @param access whom it serves
 * @param maxBody bytes that its body may have
 * @param maxBodySetting what moves this limit, for the message
 * @param handler serves it
 */
record Route(
    HttpMethod method, String template, Access access, int maxBody, String maxBodySetting, Handler handler) {
  static Route get(String template, Access access, Handler handler) {
    return new Route(HttpMethod.GET, template, access, 0, "", handler);
  }

  /** What the operation is called: {@code GET /v1/agents/{name}}. */
  String operation() {
    return method.name() + " " + template;
  }

  /** The parameters of the path, or null when it does not match. */
  @Nullable
  List<String> match(String path) {
    int at = 0;
    int in = 0;
    List<String> parameters = new ArrayList<>(1);
    while (at < template.length()) {
      char expected = template.charAt(at);
      if (expected == '{') {
        int end = path.indexOf('/', in);
        end = end < 0 ? path.length() : end;
        if (end == in) {
          return null;
        }
        parameters.add(path.substring(in, end));
        in = end;
        at = template.indexOf('}', at) + 1;
      } else if (in < path.length() && path.charAt(in) == expected) {
        in++;
        at++;
      } else {
        return null;
      }
    }
    return in == path.length() ? parameters : null;
  }
}
