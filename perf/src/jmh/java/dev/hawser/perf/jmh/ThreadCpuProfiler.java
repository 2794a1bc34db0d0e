/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.jmh;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.results.AggregationPolicy;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.ScalarResult;

/**
 * Processor time of Java's threads per operation, which elapsed time hides where a worker helps the caller, or waits: the
 * thread that runs the benchmark, each agent's workers, and all of them. What the JVM compiles and collects is not among
 * them.
 */
public final class ThreadCpuProfiler implements InternalProfiler {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private final Map<Long, Long> before = new HashMap<>();

  /** For JMH. */
  public ThreadCpuProfiler() {}

  @Override
  public String getDescription() {
    return "Processor time of Java threads per operation";
  }

  @Override
  public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {
    before.clear();
    for (long id : THREADS.getAllThreadIds()) {
      before.put(id, THREADS.getThreadCpuTime(id));
    }
  }

  @Override
  public Collection<? extends Result> afterIteration(
      BenchmarkParams benchmark, IterationParams iteration, IterationResult result) {
    if (before.keySet().stream().anyMatch(id -> THREADS.getThreadInfo(id) == null)) {
      return List.of(); // JMH ends a trial before it asks for its last iteration, and what ended threads spent is not told
    }
    Map<String, Long> nanos = new TreeMap<>();
    long all = 0;
    for (ThreadInfo thread : THREADS.getThreadInfo(THREADS.getAllThreadIds())) {
      if (thread == null) {
        continue;
      }
      long spent = THREADS.getThreadCpuTime(thread.getThreadId()) - before.getOrDefault(thread.getThreadId(), 0L);
      if (spent > 0) {
        nanos.merge(group(thread.getThreadName()), spent, Long::sum);
        all += spent;
      }
    }
    nanos.put("all", all);
    long operations = Math.max(1, result.getMetadata().getAllOps());
    List<ScalarResult> results = new ArrayList<>();
    nanos.forEach(
        (group, spent) -> results.add(
            new ScalarResult("cpu." + group, (double) spent / operations, "ns/op", AggregationPolicy.AVG)));
    return results;
  }

  private static String group(String thread) {
    String name = thread.toLowerCase(Locale.ROOT);
    if (name.startsWith("hawser-worker-")) {
      return name.substring("hawser-worker-".length(), name.lastIndexOf('-'));
    }
    return name.contains("jmh-worker") ? "caller" : "other";
  }
}
