/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import dev.hawser.engine.mapped.MappedCalls;
import dev.hawser.engine.mapped.ProcFiles;
import dev.hawser.memory.ffi.Errno;

/**
 * Lets peers copy from and to this process where Yama restricts that to descendants. Linux keeps one permission per
 * process: for one peer, or for all of the user's processes; so it is widened when a second peer comes. Thread-safe.
 *
 * <p>Source: prctl(2), PR_SET_PTRACER; Documentation/admin-guide/LSM/Yama.rst.
 */
final class PtracePermission {
  private static final System.Logger LOG = System.getLogger("dev.hawser.shm");
  private static final String RESTRICTED = "1";
  private static final int ANYBODY = -1;

  private final boolean needed;
  private int permitted; // guarded by this

  PtracePermission(ShmSettings settings, ProcFiles proc) {
    this.needed =
        settings.kernelCopy() && settings.allowPtrace() && RESTRICTED.equals(proc.setting("kernel/yama/ptrace_scope"));
  }

  /** Permits an authenticated peer. */
  synchronized void permit(int pid) {
    if (!needed || permitted == pid || permitted == ANYBODY) {
      return;
    }
    permitted = permitted == 0 ? pid : ANYBODY;
    int errno = MappedCalls.allowPtrace(permitted);
    if (errno != 0) {
      LOG.log(
          System.Logger.Level.WARNING,
          "process {0} cannot be permitted to copy our memory: prctl(PR_SET_PTRACER) failed: {1}",
          Integer.toString(pid),
          Errno.describe(errno));
    }
  }
}
