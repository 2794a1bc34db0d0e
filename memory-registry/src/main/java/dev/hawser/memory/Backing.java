/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

/**
 * The file in memory behind a region that the registry allocated: what a peer on the same machine needs to map it.
 *
 * @param fd the descriptor in this process; the registry's, to be duplicated and never closed by others
 * @param offset where in the file the region begins, in bytes; page-aligned only for a whole allocation
 * @param fileBytes the size of the file
 * @param deviceNumber the file system, so that a peer can make sure that it opened the same file
 * @param inode the file on it
 * @param pages what it is made of
 * @param note why it is not made of better pages, or empty
 */
public record Backing(
    int fd, long offset, long fileBytes, long deviceNumber, long inode, Pages pages, String note) {

  /** What an allocation is made of. */
  public enum Pages {
    /** Base pages. */
    BASE,
    /** Base pages that the kernel was asked to join into huge ones where it can. */
    TRANSPARENT_HUGE,
    /** Huge pages from the kernel's pool. */
    HUGE
  }

  Backing at(long offset) {
    return new Backing(fd, offset, fileBytes, deviceNumber, inode, pages, note);
  }
}
