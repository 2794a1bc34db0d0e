/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

/**
 * What a direction needs for all of its rows.
 *
 * @param transport the only one to use
 * @param bytes of memory on both sides
 * @param initiatorMemory where the initiator's bytes lie
 * @param targetMemory where the target's bytes lie
 */
record DirectionConfig(String transport, long bytes, MemoryKind initiatorMemory, MemoryKind targetMemory) {

  void writeTo(Message message) {
    message.put("transport", transport).put("bytes", bytes).put("initiator_memory", initiatorMemory.text())
        .put("target_memory", targetMemory.text());
  }

  static DirectionConfig readFrom(Message message) {
    return new DirectionConfig(message.text("transport"), message.number("bytes"),
        MemoryKind.parse(message.text("initiator_memory")), MemoryKind.parse(message.text("target_memory")));
  }
}
