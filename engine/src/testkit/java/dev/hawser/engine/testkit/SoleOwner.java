/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit;

import dev.hawser.engine.bootstrap.PathOpener;
import dev.hawser.engine.link.LinkHost;
import dev.hawser.engine.spi.WaitSet;
import dev.hawser.memory.Region;
import java.lang.System.Logger.Level;
import java.util.ArrayDeque;
import java.util.function.BooleanSupplier;

/**
 * A host whose links are moved by the test alone: nobody helps, sleeps or needs to be woken. A test overrides what else it
 * is about.
 */
public abstract class SoleOwner implements LinkHost {
  private static final WaitSet NOBODY_WAITS =
      new WaitSet() {
        @Override
        public void add(int fd, int interest) {}

        @Override
        public void modify(int fd, int interest) {}

        @Override
        public void remove(int fd) {}
      };

  private final ArrayDeque<Integer> words = new ArrayDeque<>();
  private int nextWord;

  @Override
  public PathOpener opener() {
    throw new AssertionError("opens no paths");
  }

  @Override
  public WaitSet waitSet() {
    return NOBODY_WAITS;
  }

  @Override
  public Region scratch() {
    throw new AssertionError("reads no grants");
  }

  @Override
  public int takeScratchWord() {
    return words.isEmpty() ? nextWord++ : words.removeLast();
  }

  @Override
  public void releaseScratchWord(int index) {
    words.addLast(index);
  }

  @Override
  public void wake() {}

  @Override
  public boolean tryEnter() {
    return false;
  }

  @Override
  public boolean wantsThread(long now, BooleanSupplier arm) {
    throw new IllegalStateException("nobody entered");
  }

  @Override
  public void leave(boolean more) {
    throw new IllegalStateException("nobody entered");
  }

  @Override
  public boolean runUntil(BooleanSupplier condition, long deadlineNanos) {
    return condition.getAsBoolean();
  }

  @Override
  public void log(Level level, String line) {}
}
