/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

import dev.hawser.metadata.store.PublishOutcome.Mismatch;
import dev.hawser.metadata.store.PublishOutcome.Superseded;
import org.jspecify.annotations.Nullable;

/** Which incarnation may do what; the same for every store. */
public final class EpochRules {
  private EpochRules() {}

  /**
   * Why a publication must not be recorded, or null.
   *
   * @param recorded the entry that is there, or null
   * @param ended greatest epoch that was accepted under this name earlier, or 0
   */
  public static @Nullable PublishOutcome refusal(
      Publication publication, long expectedEpoch, @Nullable Publication recorded, long ended) {
    long epoch = recorded == null ? 0 : recorded.epoch();
    String address = recorded == null ? "" : recorded.address();
    long greatest = greatest(recorded, ended);
    if (Long.compareUnsigned(publication.epoch(), greatest) < 0) {
      return new Superseded(greatest, address);
    }
    if (recorded != null && publication.saysTheSameAs(recorded)) {
      return null;
    }
    return expectedEpoch == Store.EXPECT_ANYTHING || expectedEpoch == epoch ? null : new Mismatch(epoch, address);
  }

  /**
   * What bars this incarnation from renewing or deleting its entry, or null: {@link Superseded} or {@link NoEntry}.
   *
   * @param recorded the entry that is there, or null
   * @param ended greatest epoch that was accepted under this name earlier, or 0
   */
  public static @Nullable Barred bar(long epoch, @Nullable Publication recorded, long ended) {
    long greatest = greatest(recorded, ended);
    if (Long.compareUnsigned(epoch, greatest) < 0) {
      return new Superseded(greatest, recorded == null ? "" : recorded.address());
    }
    return recorded == null || epoch != recorded.epoch() ? new NoEntry() : null;
  }

  private static long greatest(@Nullable Publication recorded, long ended) {
    return recorded == null || Long.compareUnsigned(recorded.epoch(), ended) < 0 ? ended : recorded.epoch();
  }
}
