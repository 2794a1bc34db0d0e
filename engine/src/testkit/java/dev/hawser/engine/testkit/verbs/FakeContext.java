/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.verbs;

import dev.hawser.engine.net.RawMemory;
import dev.hawser.engine.verbs.abi.VerbsAbi;

/** A device that was opened, once for each opening. */
final class FakeContext {
  // Nothing may rely on what lies behind the members that are the same everywhere; they are there nevertheless.
  private static final int BYTES = 512;

  private final FakeDevice device;
  private final NativePipe events = NativePipe.open();
  private final long struct;
  private final long scratch;
  private int objects;

  FakeContext(FakeDevice device) {
    this.device = device;
    this.struct = device.fabric().struct(BYTES);
    this.scratch = device.fabric().struct(VerbsAbi.AsyncEvent.BYTES);
    RawMemory.u64(struct + VerbsAbi.Context.DEVICE, device.struct());
    RawMemory.u32(struct + VerbsAbi.Context.CMD_FD, -1);
    RawMemory.u32(struct + VerbsAbi.Context.ASYNC_FD, events.fd());
    RawMemory.u32(struct + VerbsAbi.Context.NUM_COMP_VECTORS, 4);
  }

  FakeDevice device() {
    return device;
  }

  long struct() {
    return struct;
  }

  NativePipe events() {
    return events;
  }

  void function(int offset, long address) {
    RawMemory.u64(struct + offset, address);
  }

  void tell(int type, long element) {
    RawMemory.u64(scratch + VerbsAbi.AsyncEvent.ELEMENT, element);
    RawMemory.u32(scratch + VerbsAbi.AsyncEvent.EVENT_TYPE, type);
    if (!events.write(scratch, VerbsAbi.AsyncEvent.BYTES)) {
      device.fabric().violation("more asynchronous events on " + device.name() + " than anyone takes");
    }
  }

  void use(int change) {
    objects += change;
  }

  int uses() {
    return objects;
  }
}
