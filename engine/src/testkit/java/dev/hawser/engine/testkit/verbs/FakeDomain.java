/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.verbs;

import dev.hawser.engine.net.RawMemory;
import dev.hawser.engine.verbs.abi.VerbsAbi;

/** A protection domain. */
final class FakeDomain {
  private final FakeDevice device;
  private final long context;
  private final long struct;
  private final int handle;
  private int uses;

  FakeDomain(FakeDevice device, long context, long struct) {
    this.device = device;
    this.context = context;
    this.struct = struct;
    this.handle = device.domains().add(this);
    RawMemory.u64(struct + VerbsAbi.Pd.CONTEXT, context);
    RawMemory.u32(struct + VerbsAbi.Pd.HANDLE, handle);
  }

  FakeDevice device() {
    return device;
  }

  long context() {
    return context;
  }

  long struct() {
    return struct;
  }

  int handle() {
    return handle;
  }

  int uses() {
    return uses;
  }

  void use(int change) {
    uses += change;
  }
}
