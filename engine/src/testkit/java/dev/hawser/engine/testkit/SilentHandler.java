/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit;

import dev.hawser.engine.InboundHandler;
import dev.hawser.engine.InboundNotification;
import org.jspecify.annotations.Nullable;

/** Takes what arrives, and does nothing with it. A test overrides what it is about. */
public class SilentHandler implements InboundHandler {
  /** Makes one. */
  public SilentHandler() {}

  @Override
  public void notification(InboundNotification notification) {
    notification.consumed();
  }

  @Override
  public void counted(String peer, long peerEpoch, long counter, @Nullable String requestId) {}

  @Override
  public void aborted(String peer, long peerEpoch, long transfer, @Nullable String requestId) {}

  @Override
  public void peerLost(String peer, long peerEpoch, String reason) {}
}
