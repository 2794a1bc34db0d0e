/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Regions, devices, the registration cache, descriptors and block lists, and the only kernels there are. It must
 * not know transports, transfers or agents.
 */
module dev.hawser.memory {
  requires static org.jspecify;
}
