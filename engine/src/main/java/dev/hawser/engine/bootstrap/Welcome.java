/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

/**
 * The target's consent to a path generation.
 *
 * @param targetEpoch the target's epoch
 * @param session the link session that the path belongs to now; another one than asked for means
 *     that the old session is over and completely fenced
 * @param leaseMillis how long the target waits for a sign of life before it fences the session
 * @param notificationLimit how many notifications, counted from the session's beginning and modulo
 *     2³², may have been sent; raised by CREDIT
 * @param capabilities what both sides have; said before, in CHALLENGE
 */
public record Welcome(
    long targetEpoch, int session, int leaseMillis, int notificationLimit, long capabilities) {

  Welcome withCapabilities(long agreed) {
    return new Welcome(targetEpoch, session, leaseMillis, notificationLimit, agreed);
  }
}
