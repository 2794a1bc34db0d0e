/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.staging;

import dev.hawser.engine.gpuipc.FakeGpuFixture;
import dev.hawser.memory.Device;
import java.util.Map;

/** Memory of fake devices over shm, which cannot reach it. */
abstract class StagedShmFixture extends FakeGpuFixture {
  StagedShmFixture(Device local, Device remote) {
    super(local, remote);
  }

  @Override
  public String transport() {
    return "shm";
  }

  @Override
  public Map<String, String> settings() {
    return Map.of();
  }

  @Override
  public boolean mapped() {
    return true;
  }

  /** Both are a device's. */
  static final class BothSides extends StagedShmFixture {
    BothSides() {
      super(Device.cuda(0), Device.cuda(1));
    }
  }

  /** The target's is the host's. */
  static final class HereOnly extends StagedShmFixture {
    HereOnly() {
      super(Device.cuda(0), Device.HOST);
    }
  }

  /** The initiator's is the host's. */
  static final class ThereOnly extends StagedShmFixture {
    ThereOnly() {
      super(Device.HOST, Device.cuda(0));
    }
  }
}
