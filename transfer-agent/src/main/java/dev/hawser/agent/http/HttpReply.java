/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.http;

import java.io.IOException;
import java.io.InputStream;
import java.util.Map;

/**
 * The head of an answer, and its body as it arrives.
 *
 * @param status the status code
 * @param headers by name in lower case; of several with one name, joined by commas
 * @param body ends where the message ends
 */
public record HttpReply(int status, Map<String, String> headers, InputStream body) {

  /** A header, or {@code otherwise} if it is missing. */
  public String header(String lowerCaseName, String otherwise) {
    return headers.getOrDefault(lowerCaseName, otherwise);
  }

  /**
   * The rest of the body.
   *
   * @param most bytes that are accepted
   * @throws IOException if it is longer, or the connection breaks
   */
  public byte[] readBody(int most) throws IOException {
    byte[] bytes = body.readNBytes(most);
    if (bytes.length == most && body.read() >= 0) {
      throw new IOException("the answer has more than " + most + " bytes");
    }
    return bytes;
  }
}
