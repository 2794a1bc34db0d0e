/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

import java.util.Map;
import java.util.Set;

/**
 * Which agents are meant: those with one of the names (all, if none is given) that have every label.
 *
 * @param names empty for any
 * @param labels empty for any
 */
public record Selector(Set<String> names, Set<Map.Entry<String, String>> labels) {
  public static final Selector ALL = new Selector(Set.of(), Set.of());

  public Selector {
    names = Set.copyOf(names);
    labels = Set.copyOf(labels);
  }

  public boolean accepts(String name, Labels of) {
    return (names.isEmpty() || names.contains(name)) && accepts(of);
  }

  boolean accepts(Labels of) {
    for (Map.Entry<String, String> label : labels) {
      if (!of.has(label.getKey(), label.getValue())) {
        return false;
      }
    }
    return true;
  }
}
