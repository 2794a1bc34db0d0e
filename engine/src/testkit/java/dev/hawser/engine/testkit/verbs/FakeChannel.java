/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.verbs;

import dev.hawser.engine.net.RawMemory;
import dev.hawser.engine.verbs.abi.VerbsAbi;

/** A completion channel: a pipe of pointers to completion queues. */
final class FakeChannel {
  private final FakeDevice device;
  private final NativePipe pipe = NativePipe.open();
  private final long struct;
  private final long scratch;
  private int uses;

  FakeChannel(FakeDevice device, long context, long struct, long scratch) {
    this.device = device;
    this.struct = struct;
    this.scratch = scratch;
    RawMemory.u64(struct + VerbsAbi.CompChannel.CONTEXT, context);
    RawMemory.u32(struct + VerbsAbi.CompChannel.FD, pipe.fd());
    RawMemory.u32(struct + VerbsAbi.CompChannel.REFCNT, 0);
  }

  FakeDevice device() {
    return device;
  }

  long struct() {
    return struct;
  }

  NativePipe pipe() {
    return pipe;
  }

  int uses() {
    return uses;
  }

  void use(int change) {
    uses += change;
    RawMemory.u32(struct + VerbsAbi.CompChannel.REFCNT, uses);
  }

  void notify(FakeCompletionQueue queue) {
    RawMemory.u64(scratch, queue.struct());
    if (!pipe.write(scratch, Long.BYTES)) {
      device.fabric().violation("more completion events on " + device.name() + " than anyone takes");
    }
  }
}
