/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.peers;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

/** Reads figures out of what a peer prints as JSON. */
final class JsonLine {
  private static final ObjectMapper JSON = new ObjectMapper();

  private JsonLine() {}

  /**
   * A positive number.
   *
   * @param pointer where it stands, as a JSON pointer
   */
  static double number(String peer, String text, String pointer) {
    JsonNode node;
    try {
      node = JSON.readTree(text).at(pointer);
    } catch (JsonProcessingException e) {
      throw new PeerException(peer + " printed what is not JSON: " + text.strip(), e);
    }
    if (!node.isNumber() || !(node.asDouble() > 0)) {
      throw new PeerException(peer + " printed no " + pointer + ": " + text.strip());
    }
    return node.asDouble();
  }
}
