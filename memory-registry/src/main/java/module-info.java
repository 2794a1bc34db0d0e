/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Regions, devices, the registration cache, descriptors and block lists, and the only kernels there are. It must
 * not know transports, transfers or agents.
 */
@SuppressWarnings("module") // those that ffi is exported to are compiled after this one
module dev.hawser.memory {
  requires static transitive org.jspecify;

  exports dev.hawser.memory;
  exports dev.hawser.memory.cuda to dev.hawser.engine, dev.hawser.agent, dev.hawser.perf;
  exports dev.hawser.memory.ffi to dev.hawser.engine, dev.hawser.agent, dev.hawser.perf;
  exports dev.hawser.memory.gpu to dev.hawser.engine, dev.hawser.agent, dev.hawser.perf;
  exports dev.hawser.memory.hip to dev.hawser.engine, dev.hawser.agent, dev.hawser.perf;

  uses dev.hawser.memory.DeviceProvider;

  provides dev.hawser.memory.DeviceProvider with
      dev.hawser.memory.cuda.CudaProvider,
      dev.hawser.memory.hip.HipProvider;
}
