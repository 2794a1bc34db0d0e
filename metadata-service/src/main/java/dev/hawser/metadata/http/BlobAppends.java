/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import static dev.hawser.metadata.store.Envelopes.shown;

import dev.hawser.metadata.store.Agent;
import dev.hawser.metadata.store.Publication;
import dev.hawser.metadata.store.PublishOutcome;
import dev.hawser.metadata.store.Store;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Locale;

/**
 * Blobs that grow by what is new, so that an agent with many regions does not send all of them for each more, nor do its
 * peers fetch them. What the parts mean is the agents' affair: here they are bytes behind bytes.
 */
final class BlobAppends {
  private static final int ATTEMPTS = 5;

  private final Store store;
  private final int maxBlobBytes;

  BlobAppends(Store store, int maxBlobBytes) {
    this.store = store;
    this.maxBlobBytes = maxBlobBytes;
  }

  /** Appends the body to the blob of this incarnation, if that is as long as its agent thinks. */
  Future<Void> append(Exchange exchange, Buffer body) {
    if (!exchange.contentType().equals(Names.BINARY)) {
      throw Problem
          .unsupportedMediaType(shown(exchange.contentType()), Names.BINARY + " with what comes behind the blob")
          .exception();
    }
    String offset = exchange.header(Names.BLOB_OFFSET);
    if (offset == null) {
      throw Problem.badRequest("blob_offset is missing; give the blob's length so far in the header Hawser-Blob-Offset")
          .exception();
    }
    if (body.length() == 0) {
      throw Problem.badRequest("the body is empty; send what comes behind the blob").exception();
    }
    return append(exchange, body, Numbers.between("blob_offset", offset, 1, maxBlobBytes), ATTEMPTS);
  }

  private Future<Void> append(Exchange exchange, Buffer more, int offset, int attempts) {
    String name = exchange.name();
    long epoch = exchange.epoch();
    return store.fetch(name).compose(found -> {
      Agent agent = found.orElseThrow(() -> Problem.agentUnknown(name).exception());
      Publication recorded = agent.publication();
      int older = Long.compareUnsigned(epoch, recorded.epoch());
      if (older != 0) {
        throw (older < 0
            ? Problem.superseded(name, epoch, recorded.epoch(), recorded.address())
            : Problem.agentUnknown(name)).exception();
      }
      Buffer blob = recorded.blob();
      if (isRepetition(blob, more, offset)) {
        return Handler.done(
            () -> AgentsApi.answer(exchange, recorded, Store.EXPECT_ANYTHING,
                new PublishOutcome.Published(agent.revision(), 0, false)));
      }
      if (blob.length() != offset) {
        throw Problem.offsetDiffers(name, offset, blob.length()).exception();
      }
      if (offset + more.length() > maxBlobBytes) {
        throw Problem
            .bodyTooLarge("The blob of " + name + " would have " + (offset + more.length()) + " bytes; at most "
                + maxBlobBytes + " are allowed (--max-blob)")
            .exception();
      }
      Publication longer = recorded.append(more);
      return store.replace(longer, agent.revision())
          .compose(
              outcome -> outcome instanceof PublishOutcome.Moved && attempts > 1
                  ? append(exchange, more, offset, attempts - 1)
                  : Handler.done(() -> AgentsApi.answer(exchange, longer, Store.EXPECT_ANYTHING, outcome)));
    });
  }

  /** The answer to the first one was lost. */
  private static boolean isRepetition(Buffer blob, Buffer more, int offset) {
    return blob.length() == offset + more.length() && blob.slice(offset, blob.length()).equals(more);
  }

  /**
   * What the client does not know of a blob: all of it, unless it says that it has the beginning, by {@code
   * Hawser-Blob-Known: LENGTH SHA-256}. Then the answer says where the rest begins.
   */
  static Buffer unknownPart(Exchange exchange, Buffer blob) {
    String known = exchange.header(Names.BLOB_KNOWN);
    if (known == null) {
      return blob;
    }
    int space = known.indexOf(' ');
    String digest = space < 0 ? "" : known.substring(space + 1).toLowerCase(Locale.ROOT);
    if (!digest.matches("[0-9a-f]{64}")) {
      throw Problem
          .badRequest(
              "blob_known is " + shown(known) + "; give a length and the SHA-256 of so many bytes, in hexadecimal")
          .exception();
    }
    int length = Numbers.between("blob_known", known.substring(0, space), 1, Integer.MAX_VALUE);
    if (length > blob.length() || !sha256(blob.getBytes(0, length)).equals(digest)) {
      return blob;
    }
    exchange.response().putHeader(Names.BLOB_OFFSET, Integer.toString(length));
    return blob.slice(length, blob.length());
  }

  private static String sha256(byte[] bytes) {
    try {
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException("every Java has SHA-256", impossible);
    }
  }
}
