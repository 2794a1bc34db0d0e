/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** The compiled module reads just those modules of ours that the design lets it read. */
class ModuleArrowsTest {
  @Test
  void readsOnlyWhatTheDesignAllows() {
    ModuleDescriptor module =
        ModuleFinder.of(Path.of("target", "classes")).find("dev.hawser.engine").orElseThrow().descriptor();

    assertThat(module.requires())
        .extracting(ModuleDescriptor.Requires::name)
        .filteredOn(name -> name.startsWith("dev.hawser."))
        .containsExactlyInAnyOrder("dev.hawser.memory");
  }
}
