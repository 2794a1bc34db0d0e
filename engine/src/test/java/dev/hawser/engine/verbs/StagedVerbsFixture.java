/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.engine.gpuipc.FakeGpuFixture;
import dev.hawser.memory.Device;
import java.util.Arrays;
import java.util.Map;

/** Memory of fake devices that no fake NIC registers, since there is no driver that would export it. */
abstract class StagedVerbsFixture extends FakeGpuFixture {
  StagedVerbsFixture(Device local, Device remote) {
    super(local, remote);
  }

  @Override
  public String transport() {
    return VerbsTransport.NAME;
  }

  @Override
  public Map<String, String> settings() {
    return Map.of();
  }

  @Override
  public boolean mapped() {
    return false;
  }

  /** Both are a device's: the target checks requests, not its NIC. */
  static final class BothSides extends StagedVerbsFixture {
    BothSides() {
      super(Device.cuda(0), Device.cuda(1));
    }
  }

  /** Some memory of the target's is the host's, whose requests its NIC checks. */
  abstract static class Checked extends StagedVerbsFixture {
    Checked(Device local, Device remote) {
      super(local, remote);
    }

    @Override
    public boolean checkedByHardware() {
      return true;
    }

    @Override
    public byte[] damagedKey(byte[] key, int by) {
      return Arrays.equals(key, RemoteKeys.staged()) ? new byte[] {key[0], key[1], (byte) by} : Keys.damaged(key, by);
    }
  }

  /** The target's is the host's. */
  static final class HereOnly extends Checked {
    HereOnly() {
      super(Device.cuda(0), Device.HOST);
    }
  }

  /** The initiator's is the host's. */
  static final class ThereOnly extends Checked {
    ThereOnly() {
      super(Device.HOST, Device.cuda(0));
    }
  }
}
