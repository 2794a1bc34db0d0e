/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.spi;

/** The descriptors on which a worker sleeps (epoll, level-triggered). Owner thread only. */
public interface WaitSet {

  /** Wakes on readability. */
  int READ = 1;

  /** Wakes on writability. */
  int WRITE = 4;

  /** Adds a descriptor with a mask of {@link #READ} and {@link #WRITE}. */
  void add(int fd, int interest);

  /** Changes a descriptor's mask; 0 keeps it registered for errors only. */
  void modify(int fd, int interest);

  /** Removes a descriptor; must come before it is closed. */
  void remove(int fd);
}
