/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.metadata;

import dev.hawser.agent.http.HttpStream;
import java.io.IOException;
import java.time.Duration;
import java.util.OptionalLong;

/** A watch: events in the order of revisions, read by one thread. {@link #close} may come from any thread. */
public final class MetadataWatch implements AutoCloseable {
  /** The service gives a sign of life every 15 s. */
  private static final Duration SILENCE = Duration.ofSeconds(45);

  private final HttpStream stream;

  /** What kind of event. */
  public enum Kind {
    /** The watch has begun. */
    READY,
    /** Published, changed, or taken over. */
    PUT,
    /** Deleted by its agent. */
    DELETE,
    /** Its presence ran out. */
    EXPIRE,
    /** Events were missed: fetch everything again. */
    RESET,
    /** The service shuts down. */
    BYE,
    /** One that this version does not know. */
    OTHER
  }

  /**
   * An event.
   *
   * @param kind which
   * @param revision the service's; empty if the event has none
   * @param name the agent; empty for {@link Kind#READY}, {@link Kind#RESET} and {@link Kind#BYE}
   * @param epoch its epoch; 0 for those
   */
  public record Event(Kind kind, OptionalLong revision, String name, long epoch) {}

  MetadataWatch(HttpStream stream) {
    this.stream = stream;
  }

  /**
   * The next event; waits for it.
   *
   * @throws IOException if the connection broke, ended, or was silent for too long
   */
  public Event next() throws IOException {
    String kind = "";
    String id = "";
    String data = "";
    while (true) {
      String line = stream.readLine(System.nanoTime() + SILENCE.toNanos());
      if (line == null) {
        throw new IOException("the metadata service ended the watch");
      }
      if (line.isEmpty()) {
        if (!kind.isEmpty()) {
          return event(kind, id, data);
        }
      } else if (line.startsWith("event:")) {
        kind = line.substring(6).strip();
      } else if (line.startsWith("id:")) {
        id = line.substring(3).strip();
      } else if (line.startsWith("data:")) {
        data = line.substring(5).strip();
      }
    }
  }

  private static Event event(String kind, String id, String data) throws IOException {
    Kind known = switch (kind) {
      case "ready" -> Kind.READY;
      case "put" -> Kind.PUT;
      case "delete" -> Kind.DELETE;
      case "expire" -> Kind.EXPIRE;
      case "reset" -> Kind.RESET;
      case "bye" -> Kind.BYE;
      default -> Kind.OTHER;
    };
    try {
      OptionalLong revision = id.isEmpty() ? OptionalLong.empty() : OptionalLong.of(Long.parseUnsignedLong(id));
      boolean named = known == Kind.PUT || known == Kind.DELETE || known == Kind.EXPIRE;
      int space = data.indexOf(' ');
      if (!named) {
        return new Event(known, revision, "", 0);
      }
      if (space > 0) {
        return new Event(known, revision, data.substring(0, space), Long.parseUnsignedLong(data.substring(space + 1)));
      }
    } catch (NumberFormatException e) {
      throw new IOException("the watch brought a malformed event: " + kind + " '" + id + "' '" + data + "'", e);
    }
    throw new IOException("the watch brought a malformed event: " + kind + " '" + data + "'");
  }

  @Override
  public void close() {
    stream.close();
  }
}
