/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import dev.hawser.engine.spi.WorkStatus;

/**
 * Memory that a request met and that is not there any more, though it is registered.
 *
 * @param status how the request ends
 * @param detail see {@link dev.hawser.engine.spi.ConnectionEvents#completed}
 */
public record Loss(WorkStatus status, long detail) {}
