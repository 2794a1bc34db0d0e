/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.time.Duration;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * One registration at one transport. Binding and unbinding happen once each, one after the other, whoever asks for them;
 * the transport is called without the lock, and others who ask meanwhile wait for it.
 */
final class BindingSlot {
  /** A driver may take seconds for a terabyte; one that takes longer than this hangs. */
  static final Duration PATIENCE = Duration.ofSeconds(60);

  private enum State {
    NEW, BINDING, BOUND, FAILED, UNBINDING, UNBOUND
  }

  private final RegionBinder binder;
  private final Registration registration;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition settled = lock.newCondition();

  private State state = State.NEW;
  private volatile @Nullable RegionKeys keys;
  private volatile @Nullable BindFailure failure;

  BindingSlot(RegionBinder binder, Registration registration) {
    this.binder = binder;
    this.registration = registration;
  }

  RegionBinder binder() {
    return binder;
  }

  /** The keys while it is bound. */
  @Nullable
  RegionKeys keys() {
    return keys;
  }

  /** Why it is not bound, or could not be unbound. */
  @Nullable
  BindFailure failure() {
    return failure;
  }

  /** Binds if nobody has; returns when it is settled. True if this call tried it. */
  boolean bind() {
    if (!enter(State.BINDING)) {
      return false;
    }
    State result = State.FAILED;
    try {
      keys = binder.bind(registration);
      result = State.BOUND;
    } catch (RuntimeException | LinkageError | AssertionError e) {
      failure = BindFailure.of(binder, registration, e);
    } finally {
      leave(result);
    }
    return true;
  }

  /** Unbinds if it is bound; afterwards it can never be bound. Null if nothing is left of it at the transport. */
  @Nullable
  BindFailure unbind() {
    if (!enter(State.UNBINDING)) {
      return null;
    }
    State result = State.BOUND;
    try {
      RegionKeys bound = keys;
      if (bound != null) {
        binder.unbind(registration, bound);
      }
      keys = null;
      failure = null;
      result = State.UNBOUND;
    } catch (RuntimeException | LinkageError | AssertionError e) {
      failure = BindFailure.of(binder, registration, e);
    } finally {
      leave(result);
    }
    return failure;
  }

  /** Waits for whoever is at it; then takes the turn if there is something to do. */
  private boolean enter(State next) {
    long nanos = PATIENCE.toNanos();
    lock.lock();
    try {
      while (state == State.BINDING || state == State.UNBINDING) {
        if (nanos <= 0) {
          throw stuck(null);
        }
        nanos = settled.awaitNanos(nanos);
      }
      boolean turn = next == State.BINDING ? state == State.NEW : state != State.UNBOUND;
      if (turn) {
        state = next;
      }
      return turn;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw stuck(e);
    } finally {
      lock.unlock();
    }
  }

  private void leave(State result) {
    lock.lock();
    try {
      state = result;
      settled.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private RegistrationException stuck(@Nullable InterruptedException interrupt) {
    String what = registration + " is still " + (state == State.BINDING ? "being bound to " : "being unbound from ");
    return interrupt == null
        ? new RegistrationException(
            what + binder.transport() + " by another thread after " + PATIENCE.toSeconds() + " s: its driver hangs")
        : new RegistrationException(what + binder.transport() + "; interrupted while waiting for it", interrupt);
  }
}
