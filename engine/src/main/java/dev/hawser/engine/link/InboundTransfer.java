/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import dev.hawser.engine.wire.MessageReader;
import dev.hawser.engine.wire.RecordKind;
import dev.hawser.engine.wire.TargetState;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What the target knows of one transfer. Pooled by its link. */
final class InboundTransfer {
  long number;
  TargetState state = TargetState.OPEN;

  /** Where the initiator spoke of it. */
  final List<InboundGeneration> askedOn = new ArrayList<>(2);

  private boolean record;
  private int[] named = new int[4];
  private int namedCount;
  private RecordKind kind = RecordKind.FLUSH;
  private long counter;
  private byte[] payload = TransferState.NO_BYTES;
  private @Nullable String requestId;

  private int[] arrived = new int[4];
  private int arrivedCount;
  int arrivals;

  /** A chunk of it was refused here: its record is not delivered. */
  boolean refusedChunk;

  private boolean abort;
  private int[] abortNamed = new int[4];
  private int abortNamedCount;
  private int[] flushed = new int[4];
  private int flushedCount;

  void reset(long newNumber) {
    number = newNumber;
    state = TargetState.OPEN;
    askedOn.clear();
    record = false;
    namedCount = 0;
    payload = TransferState.NO_BYTES;
    requestId = null;
    arrivedCount = 0;
    arrivals = 0;
    refusedChunk = false;
    abort = false;
    abortNamedCount = 0;
    flushedCount = 0;
  }

  void asked(InboundGeneration on) {
    if (!askedOn.contains(on)) {
      askedOn.add(on);
    }
  }

  void record(MessageReader message) {
    record = true;
    namedCount = message.setCount();
    named = room(named, namedCount);
    for (int i = 0; i < namedCount; i++) {
      named[i] = message.generation(i);
    }
    kind = message.kind();
    counter = message.counter();
    payload = kind == RecordKind.NOTIFICATION ? message.payload() : TransferState.NO_BYTES;
    requestId = message.hasRequestId() ? message.requestId() : null;
  }

  void abort(MessageReader message) {
    abort = true;
    abortNamedCount = message.setCount();
    abortNamed = room(abortNamed, abortNamedCount);
    for (int i = 0; i < abortNamedCount; i++) {
      abortNamed[i] = message.generation(i);
    }
    if (message.hasRequestId()) {
      requestId = message.requestId();
    }
  }

  void commitArrived(int packedKey) {
    arrivals++;
    if (!contains(arrived, arrivedCount, packedKey)) {
      arrived = room(arrived, arrivedCount + 1);
      arrived[arrivedCount++] = packedKey;
    }
  }

  void flushArrived(int packedKey) {
    if (!contains(flushed, flushedCount, packedKey)) {
      flushed = room(flushed, flushedCount + 1);
      flushed[flushedCount++] = packedKey;
    }
  }

  boolean hasRecord() {
    return record;
  }

  boolean hasAbort() {
    return abort;
  }

  int namedCount() {
    return namedCount;
  }

  int named(int index) {
    return named[index];
  }

  boolean commitArrivedOn(int packedKey) {
    return contains(arrived, arrivedCount, packedKey);
  }

  int abortNamedCount() {
    return abortNamedCount;
  }

  int abortNamed(int index) {
    return abortNamed[index];
  }

  boolean flushArrivedOn(int packedKey) {
    return contains(flushed, flushedCount, packedKey);
  }

  RecordKind kind() {
    return kind;
  }

  long counter() {
    return counter;
  }

  byte[] payload() {
    return payload;
  }

  @Nullable
  String requestId() {
    return requestId;
  }

  private static boolean contains(int[] set, int count, int value) {
    for (int i = 0; i < count; i++) {
      if (set[i] == value) {
        return true;
      }
    }
    return false;
  }

  private static int[] room(int[] set, int count) {
    return count <= set.length ? set : Arrays.copyOf(set, Math.max(count, set.length * 2));
  }
}
