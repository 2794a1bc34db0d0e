/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.util.Objects;

/**
 * How the registry allocates memory.
 *
 * @param hugePages whether to use huge pages
 * @param populate whether every page is made present at once; a first touch during a transfer costs a hundred times a
 *     copy
 */
public record AllocationOptions(HugePages hugePages, boolean populate) {
  /** Huge pages where there are any, all pages present. */
  public static final AllocationOptions DEFAULT = new AllocationOptions(HugePages.TRY, true);

  public AllocationOptions {
    Objects.requireNonNull(hugePages, "hugePages");
  }

  /** The same with {@code hugePages}. */
  public AllocationOptions withHugePages(HugePages hugePages) {
    return new AllocationOptions(hugePages, populate);
  }

  /** The same with {@code populate}. */
  public AllocationOptions withPopulate(boolean populate) {
    return new AllocationOptions(hugePages, populate);
  }
}
