/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.engine.net.RawMemory;
import dev.hawser.engine.verbs.abi.VerbsAbi;
import dev.hawser.engine.verbs.abi.VerbsException;
import dev.hawser.memory.Access;
import dev.hawser.memory.Device;
import dev.hawser.memory.RegionBinder;
import dev.hawser.memory.RegionKeys;
import dev.hawser.memory.Registration;
import dev.hawser.memory.ffi.Errno;
import dev.hawser.memory.ffi.FileDescriptors;
import dev.hawser.memory.gpu.DmaBuf;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Registers memory with every device, once for each registration however many regions lie in it. */
final class VerbsBinder implements RegionBinder {
  private static final System.Logger LOG = System.getLogger("dev.hawser.engine.verbs");

  private final List<VerbsDevice> devices;
  private final VerbsSettings settings;
  private final DmaBufExporter exporter;
  private final Set<Device> staged = ConcurrentHashMap.newKeySet(); // said to be

  VerbsBinder(List<VerbsDevice> devices, VerbsSettings settings, DmaBufExporter exporter) {
    this.devices = List.copyOf(devices);
    this.settings = settings;
    this.exporter = exporter;
  }

  @Override
  public String transport() {
    return VerbsTransport.NAME;
  }

  @Override
  public RegionKeys bind(Registration registration) {
    if (registration.device().isHost()) {
      return bind(registration, -1, 0);
    }
    try {
      DmaBuf buffer = exporter.export(registration);
      try {
        return bind(registration, buffer.fd(), buffer.offset());
      } finally {
        FileDescriptors.close(buffer.fd()); // a registration has its own hold on it
      }
    } catch (RuntimeException e) {
      return staged(registration, e);
    }
  }

  /** It goes through pinned memory of the host, on every path: what some NICs take and others do not would be told apart. */
  private RegionKeys staged(Registration registration, RuntimeException why) {
    if (staged.add(registration.device())) {
      LOG.log(
          System.Logger.Level.INFO,
          "verbs: memory of {0} is copied slowly, through pinned host memory: no NIC registers it: {1}",
          registration.device(),
          why.getMessage());
    }
    return new RegionKeys(RemoteKeys.staged(), null);
  }

  private RegionKeys bind(Registration registration, int fd, long offset) {
    DeviceKeys[] all = new DeviceKeys[devices.size()];
    int bytes = RemoteKeys.HEADER_BYTES;
    for (int i = 0; i < all.length; i++) {
      try {
        all[i] = register(devices.get(i), registration, fd, offset);
        bytes += all[i].bytes();
      } catch (RuntimeException e) {
        release(Arrays.copyOf(all, i));
        throw e;
      }
    }
    ByteBuffer remote = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    remote.put((byte) RemoteKeys.VERSION).put((byte) all.length);
    for (int i = 0; i < all.length; i++) {
      all[i].encode(devices.get(i).id(), remote);
    }
    return new RegionKeys(remote.array(), all);
  }

  private DeviceKeys register(VerbsDevice device, Registration registration, int fd, long offset) {
    long length = registration.length();
    long most = device.attributes().maxRegionBytes();
    long slice =
        Long.compareUnsigned(most, settings.sliceBytes()) < 0 && most > 0 ? Math.max(4096, most & -4096L)
            : settings.sliceBytes();
    int count = Math.toIntExact((length + slice - 1) / slice);
    long[] regions = new long[count];
    int[] localKeys = new int[count];
    int[] remoteKeys = new int[count];
    for (int i = 0; i < count; i++) {
      long from = i * slice;
      long bytes = Math.min(slice, length - from);
      try {
        regions[i] = register(device, registration, from, bytes, fd, offset);
      } catch (RuntimeException e) {
        for (int made = 0; made < i; made++) {
          device.deregister(regions[made]);
        }
        throw e;
      }
      localKeys[i] = RawMemory.u32(regions[i] + VerbsAbi.Mr.LKEY);
      remoteKeys[i] = RawMemory.u32(regions[i] + VerbsAbi.Mr.RKEY);
    }
    return new DeviceKeys(registration.address(), slice, regions, localKeys, remoteKeys);
  }

  private long register(VerbsDevice device, Registration registration, long from, long bytes, int fd, long offset) {
    long address = registration.address() + from;
    int access = access(registration.access());
    if (fd >= 0) {
      return device.context().registerDmaBuf(device.pd(), offset + from, bytes, address, fd, access);
    }
    try {
      return device.context().registerMemory(device.pd(), address, bytes, access);
    } catch (VerbsException e) {
      // Read-only memory can be read by the device all the same.
      if (registration.access().remoteWritable() || (e.errno() != Errno.EFAULT && e.errno() != Errno.EACCES)) {
        throw e;
      }
      return device.context().registerMemory(device.pd(), address, bytes, access & ~VerbsAbi.AccessFlags.LOCAL_WRITE);
    }
  }

  private int access(Access access) {
    return VerbsAbi.AccessFlags.LOCAL_WRITE
        | (access.remoteWritable() ? VerbsAbi.AccessFlags.REMOTE_WRITE : 0)
        | (access.remoteReadable() ? VerbsAbi.AccessFlags.REMOTE_READ : 0)
        | (settings.relaxedOrdering() ? VerbsAbi.AccessFlags.RELAXED_ORDERING : 0);
  }

  @Override
  public void unbind(Registration registration, RegionKeys keys) {
    if (keys.local() instanceof DeviceKeys[] all) {
      release(all);
    }
  }

  /** Gives back what is not given back yet: after a failure it can be called again. */
  private void release(DeviceKeys[] all) {
    VerbsException failure = null;
    for (int i = 0; i < all.length; i++) {
      long[] regions = all[i].regions();
      for (int slice = 0; slice < regions.length; slice++) {
        try {
          if (regions[slice] != 0) {
            devices.get(i).deregister(regions[slice]);
            regions[slice] = 0;
          }
        } catch (VerbsException e) {
          failure = e;
        }
      }
    }
    if (failure != null) {
      throw failure;
    }
  }
}
