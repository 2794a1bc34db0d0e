/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import dev.hawser.metadata.store.Event;
import io.vertx.core.buffer.Buffer;
import java.util.Locale;

/** How events are written. */
enum WatchForm {
  /** Server-sent events whose data is JSON. */
  SSE {
    @Override
    Buffer event(Event event) {
      return frame(kind(event), event.revision(), json(event));
    }

    @Override
    Buffer control(String kind, long revision) {
      return frame(kind, revision, "{\"revision\":\"" + Long.toUnsignedString(revision) + "\"}");
    }
  },

  /** Server-sent events whose data is {@code NAME EPOCH}, or nothing. */
  SSE_PLAIN {
    @Override
    Buffer event(Event event) {
      return frame(kind(event), event.revision(), event.name() + " " + Long.toUnsignedString(event.epoch()));
    }

    @Override
    Buffer control(String kind, long revision) {
      return frame(kind, revision, "");
    }
  },

  /** WebSocket messages: the JSON of {@link #SSE} with the kind of the event in it. */
  WEB_SOCKET {
    @Override
    Buffer event(Event event) {
      return Buffer.buffer("{\"event\":\"" + kind(event) + "\"," + json(event).substring(1));
    }

    @Override
    Buffer control(String kind, long revision) {
      return Buffer.buffer("{\"event\":\"" + kind + "\",\"revision\":\"" + Long.toUnsignedString(revision) + "\"}");
    }
  };

  /** Something that happened to an agent. */
  abstract Buffer event(Event event);

  /** Something that happens to the watch. */
  abstract Buffer control(String kind, long revision);

  private static String kind(Event event) {
    return event.kind().name().toLowerCase(Locale.ROOT);
  }

  private static Buffer frame(String kind, long revision, String data) {
    return Buffer.buffer(
        "event: " + kind + "\nid: " + Long.toUnsignedString(revision) + "\ndata: " + data + "\n\n");
  }

  private static String json(Event event) {
    return JsonOutput.write(
        json -> {
          json.writeStartObject();
          json.writeStringField("name", event.name());
          JsonOutput.unsigned(json, "epoch", event.epoch());
          JsonOutput.unsigned(json, "revision", event.revision());
          json.writeStringField("address", event.address());
          json.writeEndObject();
        })
        .toString();
  }
}
