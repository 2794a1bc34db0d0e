/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * What sits where in this host, as sysfs tells it: GPUs, NICs, the PCIe tree between them, NUMA nodes, link speeds. Reads
 * files only, of this host or of a recorded tree; knows nothing of transports.
 */
@NullMarked
package dev.hawser.engine.topology;

import org.jspecify.annotations.NullMarked;
