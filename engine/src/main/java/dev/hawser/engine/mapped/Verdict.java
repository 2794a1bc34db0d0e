/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import dev.hawser.engine.spi.WorkStatus;

/** Whether a request may be carried out. */
public enum Verdict {
  /** Every byte of it is lent and permitted. */
  READY(WorkStatus.SUCCESS),
  /** The target has not answered yet for one of its regions. */
  WAITING(WorkStatus.SUCCESS),
  /** It leaves what is lent, or is not permitted. */
  REMOTE_ACCESS(WorkStatus.REMOTE_ACCESS),
  /** A region of it is closed. */
  REMOTE_REGION_CLOSED(WorkStatus.REMOTE_REGION_CLOSED),
  /** The memory here is none of the host's, or is read-only. */
  LOCAL_ACCESS(WorkStatus.LOCAL_ACCESS);

  private final WorkStatus status;

  Verdict(WorkStatus status) {
    this.status = status;
  }

  /** How a request ends that gets this verdict. */
  public WorkStatus status() {
    return status;
  }

  public static Verdict of(WorkStatus refusal) {
    return refusal == WorkStatus.REMOTE_REGION_CLOSED ? REMOTE_REGION_CLOSED : REMOTE_ACCESS;
  }
}
