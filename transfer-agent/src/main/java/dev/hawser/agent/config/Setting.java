/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.config;

import java.util.Locale;

/** Every setting that there is. The key is what files say; {@code HAWSER_} and the key in capitals is the variable. */
public enum Setting {
  /** A name. */
  NAME("name", Kind.TEXT, "",
      "the agent's name, unique among the agents that meet; needed to start one"),
  /** A list of URLs. */
  METADATA("metadata", Kind.URLS, "",
      "URLs of the metadata services, tried in turn: http://host:port,…; empty: blobs are carried by hand"),
  /** A duration, 100 ms to 24 h. */
  METADATA_TTL("metadata-ttl", Kind.DURATION, "10s",
      "how long the agent's entry stands without a renewal"),
  /** A duration. */
  METADATA_TIMEOUT("metadata-timeout", Kind.DURATION, "3s",
      "how long one request to the metadata service may take, fail-over included"),
  /** A secret. */
  METADATA_TOKEN("metadata-token", Kind.SECRET, "",
      "the token that the metadata service asks for; empty: none"),
  /** A file. */
  METADATA_TOKEN_FILE("metadata-token-file", Kind.PATH, "",
      "a file that holds that token"),
  /** Pairs. */
  LABELS("labels", Kind.PAIRS, "",
      "labels in the metadata service: key=value,…"),
  /** A list of addresses. */
  LISTEN("listen", Kind.LIST, "127.0.0.1:0",
      "where peers reach the agent: address:port, [v6]:port or interface:port, port 0 for a free one; loopback unless set"),
  /** A list of addresses. */
  ADVERTISE("advertise", Kind.LIST, "",
      "addresses to publish instead of those listened on, as seen from peers: numeric address:port,…"),
  /** A list of names. */
  TRANSPORTS("transports", Kind.LIST, "",
      "transports to use, the preferred first; empty: all that work here"),
  /** A list of names. */
  RAILS("rails", Kind.LIST, "",
      "rails to post on: name or transport:name, as in tcp:10.0.0.7; empty: all"),
  /** Pairs. */
  TRANSPORT_SETTINGS("transport-settings", Kind.PAIRS, "",
      "settings of transports: transport.setting=value,…"),
  /** A number, 0 to 1024. */
  WORKERS("workers", Kind.INTEGER, "0",
      "worker threads; 0: max(1, min(rails, cores / 2))"),
  /** A number, 0 to 256. */
  PATHS("paths", Kind.INTEGER, "0",
      "paths per route; 0: the transport's default"),
  /** A duration, 20 ms to 1 h. */
  LINK_LEASE("link-lease", Kind.DURATION, "5s",
      "how long a silent peer counts as alive"),
  /** A duration. */
  HEARTBEAT("heartbeat", Kind.DURATION, "1s",
      "interval of signs of life; at most a quarter of link-lease"),
  /** A duration. */
  CONNECT_TIMEOUT("connect-timeout", Kind.DURATION, "3s",
      "how long one attempt to open a path may take"),
  /** A duration, at most 10 s. */
  DRAIN_TIME("drain-time", Kind.DURATION, "20ms",
      "within which a cancel ends: its last quarter is for the flush of what did not come through"),
  /** A number. */
  NOTIFICATION_CREDITS("notification-credits", Kind.INTEGER, "1024",
      "notifications that one peer may have undelivered here"),
  /** A duration, at most 24 h. */
  TRANSFER_TIMEOUT("transfer-timeout", Kind.DURATION, "30s",
      "deadline of a transfer that sets none itself"),
  /** A file. */
  TELEMETRY("telemetry", Kind.PATH, "",
      "a file to append to: what flows over each path, one JSON object a line; empty: none"),
  /** A duration, 10 ms to 1 h. */
  TELEMETRY_INTERVAL("telemetry-interval", Kind.DURATION, "1s",
      "how often that is written"),
  /** A secret. */
  SECRET("secret", Kind.SECRET, "",
      "the cluster secret: signs metadata and authenticates peers; empty: neither"),
  /** A file. */
  SECRET_FILE("secret-file", Kind.PATH, "",
      "a file that holds the cluster secret; line ends at its end are dropped"),
  /** A file. */
  TLS_CERTIFICATE("tls-certificate", Kind.PATH, "",
      "this agent's certificate chain, PEM; turns TLS on"),
  /** A file. */
  TLS_KEY("tls-key", Kind.PATH, "",
      "its private key, PKCS#8 PEM"),
  /** A file. */
  TLS_TRUST("tls-trust", Kind.PATH, "",
      "the certificates that peers and metadata services must be signed by, PEM"),
  /** True or false. */
  STRICT("strict", Kind.BOOLEAN, "false",
      "whether an unknown HAWSER_* variable, or an odd NCCL_IB_HCA, is an error instead of a warning");

  /** How a value is written. */
  enum Kind {
    TEXT, LIST, URLS, PAIRS, INTEGER, DURATION, BOOLEAN, PATH, SECRET
  }

  /** What every variable of ours begins with. */
  static final String PREFIX = "HAWSER_";

  private final String key;
  private final Kind kind;
  private final String defaultText;
  private final String meaning;

  Setting(String key, Kind kind, String defaultText, String meaning) {
    this.key = key;
    this.kind = kind;
    this.defaultText = defaultText;
    this.meaning = meaning;
  }

  /** The name in files and messages, for example {@code link-lease}. */
  public String key() {
    return key;
  }

  /** The environment variable, for example {@code HAWSER_LINK_LEASE}. */
  public String variable() {
    return PREFIX.concat(key.replace('-', '_').toUpperCase(Locale.ROOT));
  }

  /** One line for people. */
  public String meaning() {
    return meaning;
  }

  Kind kind() {
    return kind;
  }

  String defaultText() {
    return defaultText;
  }
}
