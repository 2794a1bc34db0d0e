/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** Benchmarks of single operations, by JMH: {@code mvn -Pjmh -pl perf -am -DskipTests package -Djmh=NAME}. */
@NullMarked
package dev.hawser.perf.jmh;

import org.jspecify.annotations.NullMarked;
