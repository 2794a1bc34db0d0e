/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Regions by id. Readers take no lock; writers hold the registry's. Ids only grow, so a page whose regions have all gone
 * is let go and never needed again.
 */
final class RegionTable {
  private static final int PAGE_BITS = 10;
  private static final int PAGE = 1 << PAGE_BITS;
  private static final VarHandle PAGES = MethodHandles.arrayElementVarHandle(Page[].class);

  private volatile @Nullable Page[] pages = new Page[4];

  @Nullable
  Region get(int id) {
    @Nullable
    Page[] current = pages;
    int index = id >>> PAGE_BITS;
    if (index >= current.length) {
      return null;
    }
    Page page = (Page) PAGES.getAcquire(current, index);
    return page == null ? null : page.get(id & (PAGE - 1));
  }

  void put(int id, Region region) {
    int index = id >>> PAGE_BITS;
    @Nullable
    Page[] current = pages;
    if (index >= current.length) {
      current = Arrays.copyOf(current, Math.max(index + 1, current.length * 2));
      pages = current;
    }
    Page page = current[index];
    if (page == null) {
      page = new Page();
      PAGES.setRelease(current, index, page);
    }
    page.put(id & (PAGE - 1), region);
  }

  /** Removes a region; {@code nextId} is the lowest id that may still be given out. */
  void remove(int id, int nextId) {
    int index = id >>> PAGE_BITS;
    Page page = pages[index];
    if (page != null && page.remove(id & (PAGE - 1)) && Integer.compareUnsigned(nextId >>> PAGE_BITS, index) > 0) {
      PAGES.setRelease(pages, index, null);
    }
  }

  /** All regions, by id. */
  List<Region> all() {
    List<Region> all = new ArrayList<>();
    for (Page page : pages) {
      for (int slot = 0; page != null && slot < PAGE; slot++) {
        Region region = page.get(slot);
        if (region != null) {
          all.add(region);
        }
      }
    }
    return all;
  }

  private static final class Page {
    private static final VarHandle REGIONS = MethodHandles.arrayElementVarHandle(Region[].class);

    private final @Nullable Region[] regions = new Region[PAGE];
    private int used;

    @Nullable
    Region get(int slot) {
      return (Region) REGIONS.getAcquire(regions, slot);
    }

    void put(int slot, Region region) {
      REGIONS.setRelease(regions, slot, region);
      used++;
    }

    /** Removes a region if it is there; true if the page is empty then. */
    boolean remove(int slot) {
      if (regions[slot] != null) {
        REGIONS.setRelease(regions, slot, null);
        used--;
      }
      return used == 0;
    }
  }
}
