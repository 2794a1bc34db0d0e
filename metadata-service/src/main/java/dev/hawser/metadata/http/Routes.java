/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import static dev.hawser.metadata.store.Envelopes.shown;

import io.vertx.core.http.HttpMethod;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.Stream;

/** All operations of the API; the only place where they are listed. */
final class Routes {
  private final List<Route> routes;

  Routes(List<Route> routes) {
    this.routes = List.copyOf(routes);
  }

  /** A route and the parameters that it found in the path, still percent-encoded. */
  record Match(Route route, List<String> parameters) {}

  List<Route> all() {
    return routes;
  }

  /**
   * @throws ProblemException when there is no such route, or when it has no such method
   */
  Match match(HttpMethod method, String path) {
    boolean found = false;
    HttpMethod wanted = method.equals(HttpMethod.HEAD) ? HttpMethod.GET : method;
    for (Route route : routes) {
      List<String> parameters = route.match(path);
      if (parameters != null) {
        found = true;
        if (route.method().equals(wanted)) {
          return new Match(route, parameters);
        }
      }
    }
    if (!found) {
      throw Problem.noSuchRoute(shown(path)).exception();
    }
    throw Problem.methodNotAllowed(
        shown(method.name()),
        shown(path),
        allowed(path))
        .exception();
  }

  private String allowed(String path) {
    return String.join(
        ", ",
        new TreeSet<>(
            routes.stream()
                .filter(route -> route.match(path) != null)
                .flatMap(
                    route -> route.method().equals(HttpMethod.GET)
                        ? Stream.of("GET", "HEAD")
                        : Stream.of(route.method().name()))
                .toList()));
  }
}
