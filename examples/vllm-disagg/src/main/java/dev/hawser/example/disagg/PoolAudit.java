/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg;

import org.jspecify.annotations.Nullable;

/**
 * The comparison of a whole pool, every byte of it, with what it has to hold.
 *
 * @param owned blocks, counted in each plane, that belong to requests
 * @param others blocks that belong to no request, and have to hold their poison
 * @param damaged blocks of both kinds that do not hold what they have to
 * @param firstDamage the first of them, in words; null if there is none
 */
record PoolAudit(long owned, long others, long damaged, @Nullable String firstDamage) {
  static PoolAudit of(PagedPool pool) {
    long owned = 0;
    long others = 0;
    long damaged = 0;
    String firstDamage = null;
    for (int layer = 0; layer < pool.layout().shape().layers(); layer++) {
      for (Part part : Part.values()) {
        for (int id = 0; id < pool.layout().blocks(); id++) {
          PagedPool.Page page = pool.page(id);
          if (page == null) {
            others++;
          } else {
            owned++;
          }
          long difference = pool.expected(layer, part, id).firstDifference(pool.block(layer, part, id));
          if (difference >= 0) {
            damaged++;
            if (firstDamage == null) {
              firstDamage = describe(layer, part, id, page) + ", from byte " + difference + " on";
            }
          }
        }
      }
    }
    return new PoolAudit(owned, others, damaged, firstDamage);
  }

  private static String describe(int layer, Part part, int id, PagedPool.@Nullable Page page) {
    String block = "layer " + layer + ", " + part + " block " + id;
    return page == null ? block + ", which belongs to no request, was written"
        : block + " (block " + page.position() + " of the " + page.table().size() + " of request "
            + page.table().request() + ") does not hold what was computed";
  }
}
