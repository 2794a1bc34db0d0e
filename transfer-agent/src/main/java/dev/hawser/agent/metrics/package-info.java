/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * An agent's telemetry as Micrometer's meters. It must not know transports, links or how anything is measured. Micrometer
 * is needed by those only who use this package.
 */
@NullMarked
package dev.hawser.agent.metrics;

import org.jspecify.annotations.NullMarked;
