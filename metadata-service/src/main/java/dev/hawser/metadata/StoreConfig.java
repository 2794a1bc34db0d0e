/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata;

import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Where a metadata service keeps its entries. */
public sealed interface StoreConfig {
  /** In the process, gone with it: the default, for one service and for tests. */
  record Memory() implements StoreConfig {}

  /**
   * In etcd, version 3.4 or newer: any number of services with the same endpoints and prefix are replicas of one.
   * Presence is then of whole seconds, and a blob has at most 1 MiB.
   *
   * @param endpoints of its members, as in {@code http://10.0.0.1:2379}
   * @param prefix of all keys, ending in a slash
   * @param authorities who signed etcd's certificates (PEM); empty for those that the JDK trusts
   * @param certificate shown to etcd (PEM), with its key
   * @param key PKCS #8, PEM
   */
  record Etcd(
      List<URI> endpoints,
      String prefix,
      Optional<Path> authorities,
      Optional<Path> certificate,
      Optional<Path> key)
      implements
        StoreConfig {
    /** Where nothing else is said. */
    public static final String DEFAULT_PREFIX = "/hawser/";

    public Etcd {
      endpoints = List.copyOf(endpoints);
    }
  }

  /**
   * Reads {@code memory} or {@code etcd:URL,URL}, as on the command line.
   *
   * @throws IllegalArgumentException when it is neither, on one line that says what is
   */
  static StoreConfig parse(String text) {
    if (text.equals("memory")) {
      return new Memory();
    }
    if (!text.startsWith("etcd:")) {
      throw new IllegalArgumentException(
          "the store is '" + text + "'; write memory, or etcd: and the URLs of its members, separated by commas");
    }
    List<URI> endpoints =
        List.of(text.substring("etcd:".length()).split(",", -1)).stream().map(StoreConfig::uri).toList();
    return new Etcd(endpoints, Etcd.DEFAULT_PREFIX, Optional.empty(), Optional.empty(), Optional.empty());
  }

  private static URI uri(String text) {
    try {
      return URI.create(text.strip());
    } catch (IllegalArgumentException malformed) {
      throw new IllegalArgumentException(
          "etcd's endpoint '" + text + "' is no URL; write it as in http://10.0.0.1:2379", malformed);
    }
  }
}
