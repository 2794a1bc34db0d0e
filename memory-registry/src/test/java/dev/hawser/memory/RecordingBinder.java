/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** A transport that only counts, and that fails when told to. It knows when it is called in the wrong order. */
final class RecordingBinder implements RegionBinder {
  private final String transport;
  final AtomicInteger binds = new AtomicInteger();
  final AtomicInteger unbinds = new AtomicInteger();
  final List<Registration> bound = Collections.synchronizedList(new ArrayList<>());
  final List<String> mistakes = Collections.synchronizedList(new ArrayList<>());
  volatile @Nullable String bindFailure;
  volatile @Nullable String unbindFailure;
  volatile Runnable whileBinding = () -> {};

  RecordingBinder(String transport) {
    this.transport = transport;
  }

  @Override
  public String transport() {
    return transport;
  }

  @Override
  public RegionKeys bind(Registration registration) {
    binds.incrementAndGet();
    whileBinding.run();
    String failure = bindFailure;
    if (failure != null) {
      throw new IllegalStateException(failure);
    }
    if (bound.contains(registration)) {
      mistakes.add("bound twice: " + registration);
    }
    bound.add(registration);
    return new RegionKeys(transport.getBytes(java.nio.charset.StandardCharsets.UTF_8), "local of " + transport);
  }

  @Override
  public void unbind(Registration registration, RegionKeys keys) {
    unbinds.incrementAndGet();
    String failure = unbindFailure;
    if (failure != null) {
      throw new IllegalStateException(failure);
    }
    if (!bound.remove(registration)) {
      mistakes.add("unbound what was not bound: " + registration);
    }
    if (!("local of " + transport).equals(keys.local())) {
      mistakes.add("unbound with the keys of another: " + keys.local());
    }
  }
}
