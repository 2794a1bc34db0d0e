/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.hawser.metadata.store.Agent;
import dev.hawser.metadata.store.Publication;
import java.io.IOException;
import java.util.Map;

/** An entry as JSON. */
final class AgentJson {
  private AgentJson() {}

  static void write(JsonGenerator json, Agent agent, boolean withBlob) throws IOException {
    Publication publication = agent.publication();
    json.writeStartObject();
    json.writeStringField("name", publication.name());
    JsonOutput.unsigned(json, "epoch", publication.epoch());
    JsonOutput.unsigned(json, "revision", agent.revision());
    json.writeNumberField("ttl_millis", publication.ttlMillis());
    json.writeNumberField("expires_in_millis", agent.expiresInMillis());
    json.writeStringField("address", publication.address());
    json.writeObjectFieldStart("labels");
    for (Map.Entry<String, String> label : publication.labels().map().entrySet()) {
      json.writeStringField(label.getKey(), label.getValue());
    }
    json.writeEndObject();
    if (!publication.summary().isEmpty()) {
      json.writeFieldName("summary");
      // Parsed and written anew when it came in.
      json.writeRawValue(publication.summary());
    }
    if (withBlob) {
      json.writeBinaryField("blob", publication.blob().getBytes());
    } else {
      json.writeNumberField("blob_bytes", publication.blob().length());
    }
    json.writeEndObject();
  }
}
