/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

/**
 * A transport's hand in registration: it makes memory known to a NIC or driver, and gives the keys.
 *
 * <p>Both methods are called without any lock, at most once at a time for one registration, from whatever thread
 * registers or closes; they may take long and may throw. They must not register or close regions of the same registry.
 */
public interface RegionBinder {
  /** The transport, as the table of transports names it, for example {@code verbs}. */
  String transport();

  /**
   * Binds a registration.
   *
   * @return the keys
   * @throws RuntimeException if it cannot; the reason is kept as a {@link BindFailure} and the memory stays usable
   *     through other transports
   */
  RegionKeys bind(Registration registration);

  /**
   * Undoes {@link #bind}, once no use is left. When it returns, nothing can reach the memory through this binder.
   *
   * @param keys what {@link #bind} returned
   * @throws RuntimeException if it cannot; the memory is then quarantined, never unmapped
   */
  void unbind(Registration registration, RegionKeys keys);
}
