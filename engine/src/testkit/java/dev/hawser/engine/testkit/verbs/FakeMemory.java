/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.verbs;

import dev.hawser.engine.net.RawMemory;
import dev.hawser.engine.verbs.abi.VerbsAbi;

/** A registered memory region. */
final class FakeMemory {
  private final FakeDomain domain;
  private final long struct;
  private final int handle;
  private final long start;
  private final long length;
  private final int access;

  FakeMemory(FakeDomain domain, long struct, long start, long length, int access) {
    this.domain = domain;
    this.struct = struct;
    this.start = start;
    this.length = length;
    this.access = access;
    this.handle = domain.device().memories().add(this);
    RawMemory.u64(struct + VerbsAbi.Mr.CONTEXT, domain.context());
    RawMemory.u64(struct + VerbsAbi.Mr.PD, domain.struct());
    RawMemory.u64(struct + VerbsAbi.Mr.ADDR, start);
    RawMemory.u64(struct + VerbsAbi.Mr.LENGTH, length);
    RawMemory.u32(struct + VerbsAbi.Mr.HANDLE, handle);
    RawMemory.u32(struct + VerbsAbi.Mr.LKEY, lkey());
    RawMemory.u32(struct + VerbsAbi.Mr.RKEY, rkey());
  }

  /** Which of a device's regions a key is of. */
  static int handleOf(int key) {
    return key >>> 8;
  }

  // The two keys differ, so that one in the place of the other is seen.
  int lkey() {
    return handle << 8 | 0x4c;
  }

  int rkey() {
    return handle << 8 | 0x52;
  }

  FakeDomain domain() {
    return domain;
  }

  long struct() {
    return struct;
  }

  int handle() {
    return handle;
  }

  boolean permits(long address, long bytes, int wanted) {
    return (access & wanted) == wanted
        && address >= start
        && bytes <= length
        && address - start <= length - bytes;
  }
}
