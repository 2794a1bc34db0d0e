/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.config;

import dev.hawser.engine.TlsConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Finds the value of each setting, and where it came from. */
final class Resolver {
  private static final String NCCL_SOCKET_IFNAME = "NCCL_SOCKET_IFNAME";
  private static final Duration MILLI = Duration.ofMillis(1);
  private static final Duration HOUR = Duration.ofHours(1);
  private static final int MAX_SECRET_BYTES = 4096;

  private final Map<Setting, String> built;
  private final Secret builtSecret;
  private final Secret builtToken;
  private final Map<String, String> environment;
  private final Map<Setting, ConfigFile.Line> file;
  private final EnumMap<Setting, HawserConfig.Entry> entries = new EnumMap<>(Setting.class);
  private final List<String> foreign = new ArrayList<>(); // what of others' variables cannot be honoured

  Resolver(Map<Setting, String> built, Secret builtSecret, Secret builtToken, Map<String, String> environment,
      Map<Setting, ConfigFile.Line> file) {
    this.built = built;
    this.builtSecret = builtSecret;
    this.builtToken = builtToken;
    this.environment = environment;
    this.file = file;
  }

  HawserConfig resolve() {
    for (Setting setting : Setting.values()) {
      entries.put(setting, find(setting));
    }
    honourNccl();
    Duration lease = duration(Setting.LINK_LEASE, Duration.ofMillis(20), HOUR);
    Secret secret = secret(Setting.SECRET, Setting.SECRET_FILE, builtSecret);
    Secret token = secret(Setting.METADATA_TOKEN, Setting.METADATA_TOKEN_FILE, builtToken);
    boolean strict = Values.bool(Setting.STRICT, origin(Setting.STRICT), text(Setting.STRICT));
    Map<String, String> transportSettings = transportSettings();
    List<String> warnings = Stream.concat(Environment.complaints(environment).stream(), foreign.stream()).toList();
    if (strict && !warnings.isEmpty()) {
      throw new ConfigException(Setting.STRICT.key(),
          String.join("; ", warnings) + " (an error because strict is set)");
    }
    Duration heartbeat = heartbeat(lease);
    List<String> listen = listen();
    return new HawserConfig(text(Setting.NAME),
        Values.urls(Setting.METADATA, origin(Setting.METADATA), text(Setting.METADATA)),
        duration(Setting.METADATA_TTL, Duration.ofMillis(100), Duration.ofDays(1)),
        duration(Setting.METADATA_TIMEOUT, MILLI, HOUR), token, pairs(Setting.LABELS), listen, advertise(),
        transports(), Values.list(text(Setting.RAILS)), transportSettings,
        integer(Setting.WORKERS, 0, 1024),
        integer(Setting.PATHS, 0, 256), lease, heartbeat, duration(Setting.CONNECT_TIMEOUT, MILLI, HOUR),
        duration(Setting.DRAIN_TIME, Duration.ZERO, Duration.ofSeconds(10)),
        integer(Setting.NOTIFICATION_CREDITS, 1, 1 << 20),
        duration(Setting.TRANSFER_TIMEOUT, MILLI, Duration.ofDays(1)),
        telemetry(), duration(Setting.TELEMETRY_INTERVAL, Duration.ofMillis(10), HOUR), secret, tls(),
        strict,
        List.copyOf(entries.values()), warnings);
  }

  private HawserConfig.Entry find(Setting setting) {
    String value = built.get(setting);
    if (value != null) {
      return new HawserConfig.Entry(setting, value, Origin.BUILT);
    }
    value = environment.get(setting.variable());
    if (value != null && !value.isBlank()) {
      return new HawserConfig.Entry(setting, value.strip(),
          new Origin(Origin.Source.ENVIRONMENT, setting.variable()));
    }
    ConfigFile.Line line = file.get(setting);
    if (line != null) {
      return new HawserConfig.Entry(setting, line.value(), line.origin());
    }
    return new HawserConfig.Entry(setting, setting.defaultText(), Origin.DEFAULTS);
  }

  private void honourNccl() {
    String value = environment.get(NCCL_SOCKET_IFNAME);
    if (value == null || value.isBlank() || origin(Setting.LISTEN).source() != Origin.Source.DEFAULT) {
      return;
    }
    Origin origin = new Origin(Origin.Source.FOREIGN, NCCL_SOCKET_IFNAME);
    List<String> addresses = Interfaces.pickedByNccl(value.strip(), Interfaces.up());
    if (addresses.isEmpty()) {
      throw Values.wrong(Setting.LISTEN, origin, value, "no interface that is up and has an address matches it; set "
          + Setting.LISTEN.variable());
    }
    entries.put(Setting.LISTEN, new HawserConfig.Entry(Setting.LISTEN, String.join(",", addresses), origin));
  }

  private List<String> listen() {
    List<String> items = Values.list(text(Setting.LISTEN));
    if (items.isEmpty()) {
      throw Values.wrong(Setting.LISTEN, origin(Setting.LISTEN), "", "give at least one address");
    }
    return ListenAddresses.resolve(Setting.LISTEN, origin(Setting.LISTEN), items);
  }

  private List<String> advertise() {
    List<String> items =
        ListenAddresses.resolve(Setting.ADVERTISE, origin(Setting.ADVERTISE), Values.list(text(Setting.ADVERTISE)));
    for (String item : items) {
      if (item.endsWith(":0")) {
        throw Values.wrong(Setting.ADVERTISE, origin(Setting.ADVERTISE), item, "peers need the real port");
      }
    }
    return items;
  }

  private Duration heartbeat(Duration lease) {
    Duration most = Duration.ofNanos(lease.toNanos() / 4); // dividedBy counts in BigDecimal: 20 ms at the start of a JVM
    if (origin(Setting.HEARTBEAT).source() == Origin.Source.DEFAULT) {
      Duration usual = duration(Setting.HEARTBEAT, MILLI, HOUR);
      Duration chosen = usual.compareTo(most) < 0 ? usual : most;
      entries.put(Setting.HEARTBEAT, new HawserConfig.Entry(Setting.HEARTBEAT, Values.text(chosen), Origin.DEFAULTS));
      return chosen;
    }
    return duration(Setting.HEARTBEAT, MILLI, most);
  }

  private Secret secret(Setting setting, Setting fileSetting, Secret fromProgram) {
    HawserConfig.Entry entry = entry(setting);
    Secret secret = fromProgram;
    Origin origin = Origin.BUILT;
    if (!secret.present() && !entry.value().isEmpty()) {
      secret = Secret.of(entry.value());
      origin = entry.origin();
    }
    HawserConfig.Entry fileEntry = entry(fileSetting);
    if (!fileEntry.value().isEmpty()) {
      if (secret.present()) {
        throw new ConfigException(fileSetting.key(), "both " + setting.key() + " (from " + origin + ") and "
            + fileSetting.key() + " (from " + fileEntry.origin() + ") are set; keep one");
      }
      secret = readSecret(fileEntry);
      origin = fileEntry.origin();
    }
    if (!secret.present()) {
      origin = Origin.DEFAULTS;
    }
    entries.put(setting, new HawserConfig.Entry(setting, secret.toString(), origin));
    return secret;
  }

  private static Secret readSecret(HawserConfig.Entry entry) {
    try {
      Path path = pathOf(entry);
      if (Files.isDirectory(path)) {
        throw Values.wrong(entry.setting(), entry.origin(), entry.value(), "it is a folder; name a file");
      }
      if (Files.size(path) > MAX_SECRET_BYTES) {
        throw Values.wrong(entry.setting(), entry.origin(), entry.value(), "a secret has at most 4096 bytes");
      }
      byte[] bytes = Files.readAllBytes(path);
      int length = bytes.length;
      while (length > 0 && (bytes[length - 1] == '\n' || bytes[length - 1] == '\r')) {
        length--;
      }
      if (length == 0) {
        throw Values.wrong(entry.setting(), entry.origin(), entry.value(), "the file is empty");
      }
      return Secret.of(java.util.Arrays.copyOf(bytes, length));
    } catch (IOException e) {
      throw Values.wrong(entry.setting(), entry.origin(), entry.value(), "it cannot be read: " + e);
    }
  }

  private TlsConfig tls() {
    Path certificate = path(Setting.TLS_CERTIFICATE);
    Path key = path(Setting.TLS_KEY);
    Path trust = path(Setting.TLS_TRUST);
    if ((certificate == null) != (key == null)) {
      throw new ConfigException(Setting.TLS_CERTIFICATE.key(),
          "tls-certificate and tls-key come together; " + (key == null ? "tls-key" : "tls-certificate")
              + " is missing");
    }
    if (certificate == null && trust == null) {
      return TlsConfig.OFF;
    }
    return new TlsConfig(certificate, key, trust);
  }

  private @Nullable Path path(Setting setting) {
    HawserConfig.Entry entry = entry(setting);
    if (entry.value().isEmpty()) {
      return null;
    }
    Path path = pathOf(entry);
    if (!Files.isReadable(path)) {
      throw Values.wrong(setting, entry.origin(), entry.value(), "there is no such file, or it cannot be read");
    }
    return path;
  }

  /**
   * A place that nothing can be written to is a mistake of the one who named it, and not worth a warning in each process.
   * A disk that has become read-only is none: whoever starts then does without, and is warned by the log itself.
   */
  private String telemetry() {
    HawserConfig.Entry entry = entry(Setting.TELEMETRY);
    if (entry.value().isEmpty()) {
      return "";
    }
    Path file = pathOf(entry);
    Path folder = file.toAbsolutePath().getParent();
    String cure;
    if (folder == null || Files.isDirectory(file)) {
      cure = "it is a folder; name a file";
    } else if (!Files.exists(folder)) {
      cure = "make the folder " + folder + " first";
    } else if (!Files.isDirectory(folder)) {
      cure = folder + " is no folder; name a file in one";
    } else if (!Files.isWritable(Files.exists(file) ? file : folder) && !isOnReadOnlyDisk(folder)) {
      cure = "it cannot be written to; allow that, or name another file";
    } else {
      return entry.value();
    }
    throw Values.wrong(Setting.TELEMETRY, entry.origin(), entry.value(), cure);
  }

  private static boolean isOnReadOnlyDisk(Path folder) {
    try {
      return Files.getFileStore(folder).isReadOnly();
    } catch (IOException e) {
      return false; // not to be found out: the cure for what cannot be written to holds
    }
  }

  private static Path pathOf(HawserConfig.Entry entry) {
    try {
      return Path.of(entry.value());
    } catch (InvalidPathException e) {
      throw Values.wrong(entry.setting(), entry.origin(), entry.value(), "it is no path: " + e.getReason());
    }
  }

  private HawserConfig.Entry entry(Setting setting) {
    HawserConfig.Entry entry = entries.get(setting);
    if (entry == null) {
      throw new IllegalStateException("setting not resolved yet: " + setting);
    }
    return entry;
  }

  private String text(Setting setting) {
    return entry(setting).value();
  }

  private Origin origin(Setting setting) {
    return entry(setting).origin();
  }

  private Duration duration(Setting setting, Duration least, Duration most) {
    return Values.duration(setting, origin(setting), text(setting), least, most);
  }

  private int integer(Setting setting, int least, int most) {
    return Values.integer(setting, origin(setting), text(setting), least, most);
  }

  /** Each by its own variable, else by the list; what the program sets stands above both. */
  private Map<String, String> transportSettings() {
    Map<String, String> listed = pairs(Setting.TRANSPORT_SETTINGS);
    Origin origin = origin(Setting.TRANSPORT_SETTINGS);
    Map<String, String> all =
        origin.source() == Origin.Source.BUILDER ? listed : TransportVariables.over(listed, environment);
    TransportVariables.check(all, environment, origin);
    if (origin.source() == Origin.Source.BUILDER) {
      return all;
    }
    Map<String, String> used = all;
    try {
      used = NcclDevices.unless(all, environment);
    } catch (ConfigException e) {
      foreign.add(e.getMessage()); // it is meant for others: no reason not to start
    }
    if (!used.equals(listed)) {
      List<String> sources = new ArrayList<>(TransportVariables.setIn(environment));
      if (used.size() > all.size()) {
        sources.add(NcclDevices.VARIABLE);
      }
      if (!listed.isEmpty()) {
        sources.add(origin.source() == Origin.Source.ENVIRONMENT ? origin.detail() : origin.toString());
      }
      List<String> pairs = new ArrayList<>();
      used.forEach((name, value) -> pairs.add(name + "=" + value));
      entries.put(Setting.TRANSPORT_SETTINGS, new HawserConfig.Entry(Setting.TRANSPORT_SETTINGS,
          String.join(", ", pairs), new Origin(Origin.Source.ENVIRONMENT, String.join(", ", sources))));
    }
    return used;
  }

  private List<String> transports() {
    List<String> names = Values.list(text(Setting.TRANSPORTS));
    for (String name : names) {
      if (!TransportVariables.transports().contains(name)) {
        throw Values.wrong(Setting.TRANSPORTS, origin(Setting.TRANSPORTS), name,
            "there are " + String.join(", ", TransportVariables.transports()));
      }
    }
    return names;
  }

  private Map<String, String> pairs(Setting setting) {
    return Values.pairs(setting, origin(setting), text(setting));
  }
}
