/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.verbs;

import dev.hawser.engine.verbs.abi.VerbsAbi;
import dev.hawser.engine.verbs.abi.VerbsLibrary;

/**
 * A chain of RDMA WRITEs that is posted by hand again and again: what the fake itself takes for it, which a measurement of
 * an engine subtracts. One thread.
 */
public final class RawChain implements AutoCloseable {
  private final RawEnd from;
  private final RawEnd to;

  /**
   * Connects a device with itself.
   *
   * @param requests in the chain, of which the last is signalled; at most 1,024
   * @param bytes of each
   */
  public RawChain(FakeVerbs verbs, int requests, int bytes) {
    VerbsLibrary library = VerbsLibrary.of("the fake libibverbs", verbs.symbols());
    from = new RawEnd(library, 0, requests);
    to = new RawEnd(library, 0, requests);
    int errno = from.connect(to) | to.connect(from);
    if (errno != 0) {
      throw new IllegalStateException("the queue pairs do not connect: " + errno);
    }
    for (int i = 0; i < requests; i++) {
      from.request(
          i,
          VerbsAbi.Opcode.RDMA_WRITE,
          i == requests - 1 ? VerbsAbi.SendFlags.SIGNALED : 0,
          bytes,
          to.memory.address(),
          to.rkey());
    }
  }

  /** Posts it and takes its completion. */
  public void run() {
    if (from.post() != 0 || from.await() != 1 || from.status(0) != VerbsAbi.WcStatus.SUCCESS) {
      throw new IllegalStateException("the chain failed");
    }
  }

  @Override
  public void close() {
    from.close();
    to.close();
  }
}
