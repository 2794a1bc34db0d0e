/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import dev.hawser.engine.mapped.PathSegment.Side;

/** One end of a ring of {@link Command}s, {@value #SLOTS} of them; used by one thread at a time. */
public final class CommandRing {
  public static final int SLOTS = PathSegment.COMMAND_RING_BYTES / Command.BYTES;

  private final PathSegment segment;
  private final long base;
  private final long tailAt;
  private final long headAt;
  private long head;
  private long tail;

  public CommandRing(PathSegment segment, Side writer) {
    this.segment = segment;
    this.base = writer.commandsFrom();
    this.tailAt = writer.commandTail();
    this.headAt = writer.peer().commandHead();
  }

  /** Writer: how many more fit now. */
  public int room() {
    return SLOTS - (int) (tail - taken());
  }

  /** Writer: how many the reader has taken. */
  public long taken() {
    long read = segment.position(headAt);
    if (read - head >= 0 && read - tail <= 0) {
      head = read;
    }
    return head;
  }

  /** Writer: adds one; false if the ring is full. */
  public boolean offer(Command command) {
    if (tail - head == SLOTS && room() == 0) {
      return false;
    }
    long at = slot(tail);
    segment.putInt(at, command.kind);
    segment.putInt(at + 4, command.region);
    segment.putInt(at + 8, command.fd);
    segment.putInt(at + 12, command.access);
    segment.putLong(at + 16, command.address);
    segment.putLong(at + 24, command.length);
    segment.putLong(at + 32, command.offset);
    segment.putLong(at + 40, command.fileBytes);
    segment.putLong(at + 48, command.device);
    segment.putLong(at + 56, command.inode);
    tail++;
    segment.position(tailAt, tail);
    return true;
  }

  /** Reader: whether there is nothing to read. */
  public boolean isEmpty() {
    return segment.position(tailAt) == head;
  }

  /** Reader: takes the next one out into {@code command}; false if there is none. */
  public boolean poll(Command command) {
    if (tail == head) {
      tail = segment.position(tailAt);
      if (tail == head) {
        return false;
      }
    }
    long at = slot(head);
    command.kind = segment.getInt(at);
    command.region = segment.getInt(at + 4);
    command.fd = segment.getInt(at + 8);
    command.access = segment.getInt(at + 12);
    command.address = segment.getLong(at + 16);
    command.length = segment.getLong(at + 24);
    command.offset = segment.getLong(at + 32);
    command.fileBytes = segment.getLong(at + 40);
    command.device = segment.getLong(at + 48);
    command.inode = segment.getLong(at + 56);
    head++;
    segment.position(headAt, head);
    return true;
  }

  private long slot(long position) {
    return base + (position & (SLOTS - 1)) * Command.BYTES;
  }
}
