/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.core.util.ByteArrayBuilder;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.io.UncheckedIOException;

/** Writes JSON, in ASCII. */
final class JsonOutput {
  static final JsonFactory FACTORY = JsonFactory.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build();

  private JsonOutput() {}

  /** What writes one document. */
  @FunctionalInterface
  interface Body {
    void writeTo(JsonGenerator json) throws IOException;
  }

  static Buffer write(Body body) {
    try (ByteArrayBuilder bytes = new ByteArrayBuilder()) {
      try (JsonGenerator json = FACTORY.createGenerator(bytes)) {
        body.writeTo(json);
      }
      return Buffer.buffer(bytes.toByteArray());
    } catch (IOException impossible) {
      throw new UncheckedIOException("JSON could not be written into memory", impossible);
    }
  }

  /** Unsigned, as text: a JavaScript number ends at 2^53. */
  static void unsigned(JsonGenerator json, String field, long value) throws IOException {
    json.writeStringField(field, Long.toUnsignedString(value));
  }
}
