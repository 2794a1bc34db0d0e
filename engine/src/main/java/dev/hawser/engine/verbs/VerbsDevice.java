/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.engine.verbs.abi.DeviceAttributes;
import dev.hawser.engine.verbs.abi.VerbsContext;
import dev.hawser.engine.verbs.abi.VerbsException;
import java.util.concurrent.atomic.AtomicInteger;

/** An open device with its protection domain. Thread-safe. */
final class VerbsDevice implements AutoCloseable {
  private final VerbsContext context;
  private final DeviceAttributes attributes;
  private final long id;
  private final long pd;
  private final AtomicInteger vector = new AtomicInteger();

  private VerbsDevice(VerbsContext context, DeviceAttributes attributes, long id, long pd) {
    this.context = context;
    this.attributes = attributes;
    this.id = id;
    this.pd = pd;
  }

  /** Takes over an open device, which is closed if this fails. */
  static VerbsDevice of(VerbsContext context, long id) {
    try {
      return new VerbsDevice(context, context.query(), id, context.allocPd());
    } catch (RuntimeException e) {
      context.close();
      throw e;
    }
  }

  VerbsContext context() {
    return context;
  }

  String name() {
    return context.name();
  }

  DeviceAttributes attributes() {
    return attributes;
  }

  /** What its keys are filed under: unique among the devices of an agent. */
  long id() {
    return id;
  }

  long pd() {
    return pd;
  }

  /** Spreads completion queues over the interrupt vectors. */
  int nextVector() {
    return Math.floorMod(vector.getAndIncrement(), context.completionVectors());
  }

  /**
   * Gives a registration back.
   *
   * @throws VerbsException if the device still holds it
   */
  void deregister(long region) {
    int errno = context.deregister(region);
    if (errno != 0) {
      throw new VerbsException("ibv_dereg_mr", name(), errno, "the memory stays registered, and must stay mapped");
    }
  }

  @Override
  public void close() {
    context.deallocPd(pd);
    context.close();
  }
}
