/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.testkit.verbs.FakeVerbs;
import dev.hawser.engine.verbs.abi.VerbsLibrary;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Lets a fake play libibverbs for the engines that a test class starts, from when it is made until all tests are over. Then
 * everything must have been given back, and nothing done that no provider has to bear.
 */
final class FakeLibrary implements AfterAllCallback {
  private final FakeVerbs verbs;

  FakeLibrary(int devices) {
    verbs = new FakeVerbs(devices);
    VerbsLibrary.install(VerbsLibrary.of("the fake libibverbs", verbs.symbols()));
  }

  FakeVerbs verbs() {
    return verbs;
  }

  @Override
  public void afterAll(ExtensionContext context) {
    VerbsLibrary.install(null);
    assertThat(verbs.violations()).as("what no provider has to bear").isEmpty();
    assertThat(verbs.leftovers()).as("what was not given back").isEmpty();
    verbs.close();
  }
}
