/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.junit.platform.launcher.listeners.TestExecutionSummary;

/** Runs test classes where there is no Maven: inside a lab's guest. Ends with 1 if a test failed, or if none ran. */
final class GuestSuite {
  private GuestSuite() {}

  /** The classes' names. */
  public static void main(String[] arguments) {
    LauncherDiscoveryRequest request =
        LauncherDiscoveryRequestBuilder.request()
            .selectors(Arrays.stream(arguments).map(DiscoverySelectors::selectClass).toList())
            .build();
    SummaryGeneratingListener summary = new SummaryGeneratingListener();
    LauncherFactory.create().execute(request, summary, new Progress());
    PrintWriter out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
    TestExecutionSummary result = summary.getSummary();
    result.printFailuresTo(out, 20);
    long succeeded = result.getTestsSucceededCount();
    long skipped = result.getTestsSkippedCount() + result.getTestsAbortedCount() + result.getContainersAbortedCount();
    out.printf("%d passed, %d failed, %d skipped%n", succeeded, result.getTotalFailureCount(), skipped);
    System.exit(result.getTotalFailureCount() == 0 && succeeded > 0 && skipped == 0 ? 0 : 1);
  }

  /** Says what begins and how it ends, so that one that hangs, or is slow, is known. */
  private static final class Progress implements TestExecutionListener {
    private final long start = System.nanoTime();

    @Override
    public void executionStarted(TestIdentifier test) {
      say(test, "begins");
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
      say(test, result.getStatus() == TestExecutionResult.Status.SUCCESSFUL ? "passes" : "FAILS");
    }

    private void say(TestIdentifier test, String what) {
      if (test.isTest()) {
        System.out.printf("%6.1f s: %s %s%n", (System.nanoTime() - start) / 1e9, test.getDisplayName(), what);
      }
    }
  }
}
