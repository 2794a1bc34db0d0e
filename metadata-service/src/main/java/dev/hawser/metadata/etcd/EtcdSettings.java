/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.etcd;

import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Which etcd, and how to reach it.
 *
 * @param endpoints its members, http or https
 * @param prefix of all keys, ending in a slash; services with different prefixes do not see each other
 * @param authorities who signed its certificates (PEM); empty for those that the JDK trusts
 * @param certificate shown to it (PEM), with its key
 * @param key PKCS #8, PEM
 * @param historyEvents events that a watch can resume over
 */
public record EtcdSettings(
    List<URI> endpoints,
    String prefix,
    Optional<Path> authorities,
    Optional<Path> certificate,
    Optional<Path> key,
    int historyEvents) {

  public EtcdSettings {
    endpoints = List.copyOf(endpoints);
    if (endpoints.isEmpty()) {
      throw new IllegalArgumentException("no endpoint of etcd is given; give URLs as in http://10.0.0.1:2379");
    }
    for (URI endpoint : endpoints) {
      if (endpoint.getHost() == null
          || endpoint.getPort() < 0
          || !("http".equals(endpoint.getScheme()) || "https".equals(endpoint.getScheme()))) {
        throw new IllegalArgumentException(
            "etcd's endpoint " + endpoint + " is no URL with a port; write it as in http://10.0.0.1:2379");
      }
    }
    if (!prefix.endsWith("/")) {
      throw new IllegalArgumentException("the prefix " + prefix + " of etcd's keys does not end in a slash; add one");
    }
    if (certificate.isPresent() != key.isPresent()) {
      throw new IllegalArgumentException("etcd takes a certificate and its key together; give both or none");
    }
  }

  boolean isTls() {
    return endpoints.stream().anyMatch(endpoint -> "https".equals(endpoint.getScheme()));
  }

  /** For messages. */
  String shown() {
    return String.join(", ", endpoints.stream().map(URI::toString).toList());
  }
}
