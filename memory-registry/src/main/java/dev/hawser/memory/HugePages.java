/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

/** Whether an allocation uses huge pages. */
public enum HugePages {
  /** Base pages only. */
  NO,
  /** Huge pages where the machine has them, else base pages; {@link Backing#note()} then says why. */
  TRY,
  /** Huge pages from the kernel's pool, or an {@link AllocationException} that says how to reserve them. */
  REQUIRE
}
