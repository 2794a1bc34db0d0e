/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.engine.net.PendingFault;
import dev.hawser.engine.net.RawMemory;
import dev.hawser.engine.staging.RegionUses;
import dev.hawser.engine.staging.StagingRing;
import java.util.Arrays;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Requests whose payload comes into a slot, and goes from there to its places by a device, in the order of coming. One has
 * ended when its bytes are in place. Owner thread only; allocates nothing in steady state.
 */
final class StagedInput {
  private static final int MOST = 256;
  private static final int FIRST_PIECES = 16;

  /** One request. */
  private static final class Request {
    long sequence;
    @Nullable
    StagingRing ring;
    int slot;
    int pieces;
    long[] addresses = new long[FIRST_PIECES];
    long[] lengths = new long[FIRST_PIECES];
    boolean[] onDevice = new boolean[FIRST_PIECES];
    boolean refused;
    final RegionUses uses = new RegionUses();

    StagingRing ring() {
      StagingRing present = ring;
      if (present == null) {
        throw new IllegalStateException("request " + sequence + " has no ring");
      }
      return present;
    }
  }

  private final LongConsumer ended;
  private final Request[] requests = new Request[MOST];
  private long head; // the first that has not ended
  private long moving; // the first that no device has begun with
  private long arrived; // the first whose payload is not complete
  private long tail;

  /**
   * None.
   *
   * @param ended gets the sequence number of each request that ends
   */
  StagedInput(LongConsumer ended) {
    this.ended = ended;
  }

  boolean isEmpty() {
    return head == tail;
  }

  /** Whether something is on its way between its slot and its place. */
  boolean isAtDevice() {
    return head != arrived;
  }

  boolean hasRoom() {
    return tail - head < MOST;
  }

  /** The sequence number of the first that has not ended. */
  long first() {
    return request(head).sequence;
  }

  private Request request(long index) {
    int at = (int) (index & (MOST - 1));
    Request request = requests[at];
    if (request == null) {
      request = new Request();
      requests[at] = request;
    }
    return request;
  }

  /** Another request; its pieces follow. */
  void begin(long sequence, StagingRing ring, int slot) {
    Request request = request(tail);
    tail++;
    request.sequence = sequence;
    request.ring = ring;
    request.slot = slot;
    request.pieces = 0;
    request.refused = false;
  }

  /** The next piece of the request that was begun last. */
  void add(long address, long length, boolean onDevice) {
    Request request = request(tail - 1);
    int at = request.pieces++;
    if (at == request.addresses.length) {
      request.addresses = Arrays.copyOf(request.addresses, 2 * at);
      request.lengths = Arrays.copyOf(request.lengths, 2 * at);
      request.onDevice = Arrays.copyOf(request.onDevice, 2 * at);
    }
    request.addresses[at] = address;
    request.lengths[at] = length;
    request.onDevice[at] = onDevice;
  }

  /** Where the payload of the request that was begun last goes first. */
  long address() {
    Request request = request(tail - 1);
    return request.ring().address(request.slot);
  }

  /** The uses of regions that the request that was begun last holds until its end. */
  RegionUses uses() {
    return request(tail - 1).uses;
  }

  /** The request that was begun last will not come. */
  void undo() {
    tail--;
    Request request = request(tail);
    request.uses.releaseAll();
    request.ring().give(request.slot);
  }

  /** Whether the payload that comes next is that of a request here. */
  boolean isNext(long sequence) {
    return arrived != tail && request(arrived).sequence == sequence;
  }

  /** The next one's payload will not come. */
  void refused() {
    request(arrived).refused = true;
    arrived++;
  }

  /** All of the next one's payload is in its slot. */
  void arrived() {
    arrived++;
  }

  /**
   * Lets devices begin with what has arrived, and ends what they are done with.
   *
   * @return how much was done
   * @throws dev.hawser.memory.DriverException what made a device fail
   */
  int move() {
    int done = 0;
    while (moving != arrived && (request(moving).refused || request(moving).ring().tryBegin(false))) {
      if (!request(moving).refused) {
        place(request(moving));
      }
      moving++;
      done++;
    }
    while (head != moving && request(head).ring().isDone(request(head).slot)) {
      Request request = request(head);
      head++;
      request.ring().give(request.slot);
      request.uses.releaseAll();
      if (!request.refused) {
        ended.accept(request.sequence);
      }
      done++;
    }
    return done;
  }

  private static void place(Request request) {
    StagingRing ring = request.ring();
    long from = ring.address(request.slot);
    for (int i = 0; i < request.pieces; i++) {
      if (request.onDevice[i]) {
        ring.add(false, request.addresses[i], from, request.lengths[i]);
      } else {
        RawMemory.copy(from, request.addresses[i], request.lengths[i]);
      }
      from += request.lengths[i];
    }
    ring.submit(false, request.slot);
    PendingFault.raise(); // if memory of the host was gone: the path ends, with what is in slots behind it
  }

  /** Gives back every use: no device touches anything any more. */
  void close() {
    while (head != tail) {
      request(head).uses.releaseAll();
      head++;
    }
    moving = head;
    arrived = head;
  }
}
