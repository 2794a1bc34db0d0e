/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import com.fasterxml.jackson.core.JsonGenerator;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** The body of an error, {@code application/problem+json}. */
final class ProblemJson {
  private ProblemJson() {}

  static Buffer write(Problem problem, @Nullable String path, String requestId) {
    return JsonOutput.write(json -> write(json, problem, path, requestId));
  }

  private static void write(JsonGenerator json, Problem problem, @Nullable String path, String requestId)
      throws IOException {
    json.writeStartObject();
    json.writeStringField("type", Problem.TYPE_PREFIX + problem.slug());
    json.writeStringField("title", problem.title());
    json.writeNumberField("status", problem.status());
    json.writeStringField("detail", problem.detail());
    if (path != null) {
      json.writeStringField("instance", path);
    }
    json.writeStringField("request_id", requestId);
    if (problem.recordedEpoch().isPresent()) {
      JsonOutput.unsigned(json, "recorded_epoch", problem.recordedEpoch().getAsLong());
    }
    if (!problem.recordedAddress().isEmpty()) {
      json.writeStringField("recorded_address", problem.recordedAddress());
    }
    json.writeEndObject();
  }
}
