/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.config;

import dev.hawser.engine.TlsConfig;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * The settings of an agent. A value comes from the program, else from the environment ({@code HAWSER_*}), else from the
 * file that {@code HAWSER_CONFIG} names, else from another tool's variable that we honour, else it is the default; {@link
 * #entries} tells which. Immutable.
 *
 * @param name the agent's name; empty if nobody gave one
 * @param metadata URLs of the metadata services, tried in turn; empty: blobs are carried by hand
 * @param metadataTtl how long the agent's entry stands without a renewal
 * @param metadataTimeout how long one request to the metadata service may take, fail-over included
 * @param metadataToken the token that the metadata service asks for
 * @param labels labels in the metadata service
 * @param listen where the agent listens, numeric {@code address:port}; port 0 takes a free one
 * @param advertise what to publish instead of the addresses listened on; empty: those
 * @param transports the transports to use, the preferred first; empty: all that work
 * @param rails the rails to post on, {@code name} or {@code transport:name}; empty: all
 * @param transportSettings settings by {@code transport.setting}
 * @param workers worker threads; 0: the engine decides
 * @param pathsPerRoute paths per route; 0: the transport's default
 * @param linkLease how long a silent peer counts as alive
 * @param heartbeat interval of signs of life
 * @param connectTimeout how long one attempt to open a path may take
 * @param drainTime within which a cancel ends: its last quarter is for the flush of what did not come through
 * @param notificationCredits notifications that one peer may have undelivered here
 * @param transferTimeout deadline of a transfer that sets none itself
 * @param telemetry a file to which what flows is appended; empty: none
 * @param telemetryInterval how often
 * @param secret the cluster secret
 * @param tls certificates, or {@link TlsConfig#OFF}
 * @param strict whether what is warned of is an error
 * @param entries every setting with its value, origin and meaning, for {@code hawser config}
 * @param warnings variables that look like ours and are not, and those of others that cannot be honoured, one line each
 */
public record HawserConfig(String name, List<URI> metadata, Duration metadataTtl, Duration metadataTimeout,
    Secret metadataToken,
    Map<String, String> labels, List<String> listen, List<String> advertise, List<String> transports,
    List<String> rails, Map<String, String> transportSettings, int workers, int pathsPerRoute, Duration linkLease,
    Duration heartbeat,
    Duration connectTimeout, Duration drainTime, int notificationCredits, Duration transferTimeout, String telemetry,
    Duration telemetryInterval, Secret secret,
    TlsConfig tls, boolean strict, List<Entry> entries, List<String> warnings) {

  /**
   * One setting as it holds.
   *
   * @param setting which
   * @param value as it is written; a secret is not shown
   * @param origin where it came from
   */
  public record Entry(Setting setting, String value, Origin origin) {}

  public HawserConfig {
    metadata = List.copyOf(metadata);
    labels = Map.copyOf(labels);
    listen = List.copyOf(listen);
    advertise = List.copyOf(advertise);
    transports = List.copyOf(transports);
    rails = List.copyOf(rails);
    transportSettings = Map.copyOf(transportSettings);
    entries = List.copyOf(entries);
    warnings = List.copyOf(warnings);
  }

  /**
   * The settings of this process: environment, file and defaults.
   *
   * @throws ConfigException if one of them is wrong
   */
  public static HawserConfig load() {
    return builder().build();
  }

  /** Begins with the environment of this process, over which what is set here wins. */
  public static Builder builder() {
    return new Builder();
  }

  /** The setting as it holds. */
  public Entry entry(Setting setting) {
    for (Entry entry : entries) {
      if (entry.setting() == setting) {
        return entry;
      }
    }
    throw new IllegalStateException("no entry for " + setting);
  }

  /** Collects what the program sets. Not thread-safe. */
  public static final class Builder {
    private final java.util.EnumMap<Setting, String> built = new java.util.EnumMap<>(Setting.class);
    private Map<String, String> environment = System.getenv();
    private Secret secret = Secret.NONE;
    private Secret metadataToken = Secret.NONE;

    private Builder() {}

    /**
     * Sets any setting as it would be written in a file; for command-line options.
     *
     * @throws IllegalArgumentException for secrets: see {@link #secret} and {@link #metadataToken}
     */
    public Builder set(Setting setting, String value) {
      if (setting.kind() == Setting.Kind.SECRET) {
        throw new IllegalArgumentException(
            "setting: give " + setting.key() + " as a Secret, to the method of its own, so that it is shown nowhere");
      }
      built.put(setting, value.strip());
      return this;
    }

    /** The agent's name. */
    public Builder name(String name) {
      return set(Setting.NAME, name);
    }

    /** URLs of the metadata services, tried in turn. */
    public Builder metadata(String... urls) {
      return set(Setting.METADATA, String.join(",", urls));
    }

    /** How long the agent's entry stands without a renewal. */
    public Builder metadataTtl(Duration ttl) {
      return set(Setting.METADATA_TTL, Values.text(ttl));
    }

    /** How long one request to the metadata service may take, fail-over included. */
    public Builder metadataTimeout(Duration timeout) {
      return set(Setting.METADATA_TIMEOUT, Values.text(timeout));
    }

    /** Addresses to listen on: {@code address:port}, {@code [v6]:port}, {@code interface:port}. */
    public Builder listen(String... addresses) {
      return set(Setting.LISTEN, String.join(",", addresses));
    }

    /** Addresses to publish instead of those listened on. */
    public Builder advertise(String... addresses) {
      return set(Setting.ADVERTISE, String.join(",", addresses));
    }

    /** The transports to use, the preferred first. */
    public Builder transports(String... names) {
      return set(Setting.TRANSPORTS, String.join(",", names));
    }

    /** The rails to post on, each by its own name or as {@code transport:rail}. */
    public Builder rails(String... names) {
      return set(Setting.RAILS, String.join(",", names));
    }

    /** Worker threads; 0: the engine decides. */
    public Builder workers(int workers) {
      return set(Setting.WORKERS, Integer.toString(workers));
    }

    /** Paths per route; 0: the transport's default. */
    public Builder pathsPerRoute(int paths) {
      return set(Setting.PATHS, Integer.toString(paths));
    }

    /** How long a silent peer counts as alive. */
    public Builder linkLease(Duration lease) {
      return set(Setting.LINK_LEASE, Values.text(lease));
    }

    /** Deadline of a transfer that sets none itself. */
    public Builder transferTimeout(Duration timeout) {
      return set(Setting.TRANSFER_TIMEOUT, Values.text(timeout));
    }

    /** A file to which what flows over each path is appended, and how often. */
    public Builder telemetry(Path file, Duration interval) {
      return set(Setting.TELEMETRY, file.toString()).set(Setting.TELEMETRY_INTERVAL, Values.text(interval));
    }

    /** The cluster secret. */
    public Builder secret(Secret secret) {
      this.secret = secret;
      return this;
    }

    /** The token that the metadata service asks for. */
    public Builder metadataToken(Secret token) {
      metadataToken = token;
      return this;
    }

    /** Takes this instead of the process's environment; {@code HAWSER_CONFIG} in it still names a file. */
    public Builder environment(Map<String, String> environment) {
      this.environment = Map.copyOf(environment);
      return this;
    }

    /**
     * Resolves every setting.
     *
     * @throws ConfigException if a value is wrong or two contradict each other; also for an unknown {@code HAWSER_*}
     *     variable if {@link Setting#STRICT} holds
     */
    public HawserConfig build() {
      String file = environment.get(Environment.CONFIG);
      Map<Setting, ConfigFile.Line> lines =
          file == null || file.isBlank() ? Map.of() : ConfigFile.read(Path.of(file.strip()));
      return new Resolver(built, secret, metadataToken, environment, lines).resolve();
    }
  }
}
