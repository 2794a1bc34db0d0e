/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

/**
 * Told of changes, so that published metadata can follow. Called without any lock on the thread that made the change;
 * what it throws is logged and changes nothing. For one region {@link #added} comes before {@link #removed}.
 */
public interface RegistryListener {
  /** A region can be used: its registration is bound to every transport that would have it. */
  default void added(Region region) {}

  /** A transport was added to, or removed from, a region that exists: its keys changed. */
  default void keysChanged(Region region) {}

  /** A region is closing: it takes no new uses, and peers should be told. */
  default void removed(Region region) {}

  /** A transport could not bind a registration. */
  default void bindFailed(Registration registration, BindFailure failure) {}
}
