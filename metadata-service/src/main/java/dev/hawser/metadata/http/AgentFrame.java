/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import dev.hawser.metadata.store.Agent;
import dev.hawser.metadata.store.Publication;
import io.vertx.core.buffer.Buffer;
import java.nio.charset.StandardCharsets;

/** An entry as a frame, little-endian; the fields are in {@code docs/metadata-service.md}. */
final class AgentFrame {
  private static final int FIXED = 8 + 8 + 4 + 4 + 2 + 2 + 4 + 4 + 4;

  private AgentFrame() {}

  static void append(Buffer to, Agent agent, boolean withBlob) {
    Publication publication = agent.publication();
    byte[] name = ascii(publication.name());
    byte[] address = ascii(publication.address());
    byte[] labels = ascii(publication.labels().text());
    byte[] summary = ascii(publication.summary());
    Buffer blob = withBlob ? publication.blob() : Buffer.buffer();
    to.appendIntLE(FIXED + name.length + address.length + labels.length + summary.length + blob.length());
    to.appendLongLE(publication.epoch());
    to.appendLongLE(agent.revision());
    to.appendIntLE(Math.toIntExact(publication.ttlMillis()));
    to.appendIntLE(Math.toIntExact(agent.expiresInMillis()));
    to.appendShortLE((short) name.length).appendBytes(name);
    to.appendShortLE((short) address.length).appendBytes(address);
    to.appendIntLE(labels.length).appendBytes(labels);
    to.appendIntLE(summary.length).appendBytes(summary);
    to.appendIntLE(blob.length()).appendBuffer(blob);
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }
}
