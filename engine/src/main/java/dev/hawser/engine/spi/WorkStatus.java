/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.spi;

/** How a posted piece of work ended. */
public enum WorkStatus {
  /** Acknowledged by the target. */
  SUCCESS,
  /** Given up by a local fence or by the failure of its connection; its outcome is not known. */
  FLUSHED,
  /** The target refused it: key, range or permission. Nothing of this request was applied. */
  REMOTE_ACCESS,
  /** The target's region is closed or being closed. Nothing of this request was applied. */
  REMOTE_REGION_CLOSED,
  /** The target's memory is gone although its region is registered: unmapped, or its file truncated. Some of this request may have been done. */
  REMOTE_UNMAPPED,
  /** Local memory could not be used: key, range or permission. */
  LOCAL_ACCESS,
  /** Local memory is gone although its region is registered: unmapped, or its file truncated. Some of this request may have been done. */
  LOCAL_UNMAPPED,
  /**
   * Taken back. A WRITE before any of it left: nothing of it was done, here or there. Of a READ some may have come before,
   * and nothing lands from now on.
   */
  WITHDRAWN
}
