/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import java.time.Duration;

/**
 * What one agent's listener bears.
 *
 * @param halfOpen connections at once that have not yet proven themselves
 * @param handshake how long such a one may take
 * @param silence how long it may take to say anything at all: whoever means it speaks at once
 */
record BootstrapLimits(int halfOpen, Duration handshake, Duration silence) {
  static final BootstrapLimits DEFAULT = new BootstrapLimits(256, Duration.ofSeconds(5), Duration.ofSeconds(2));
}
