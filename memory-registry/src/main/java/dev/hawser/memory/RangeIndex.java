/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * An immutable set of address ranges, each with a value, that may overlap and repeat. It answers which range covers a
 * given one in O(log n), and a copy with one range more or less costs O(log n) time and memory: readers hold a reference
 * and need no lock.
 *
 * <p>Of several ranges that cover, the answer is the one that starts last; of those the shortest; of equal ones that with
 * the highest order number. Among nested ranges this is the innermost.
 *
 * <p>Built as a treap, ordered by (start ascending, end descending, order ascending), each node knowing the largest end
 * below it. Priorities are a hash of the order number: the shape depends on nothing else. Source: Seidel and Aragon,
 * "Randomized Search Trees", Algorithmica 16 (1996); the augmentation is that of interval trees.
 *
 * @param <T> what a range stands for
 */
public final class RangeIndex<T> {
  private final @Nullable Node<T> root;
  private final int size;

  private RangeIndex(@Nullable Node<T> root, int size) {
    this.root = root;
    this.size = size;
  }

  /** An index with no ranges. */
  public static <T> RangeIndex<T> empty() {
    return new RangeIndex<>(null, 0);
  }

  /** How many ranges there are. */
  public int size() {
    return size;
  }

  /**
   * This index with one range more.
   *
   * @param address its first byte, not negative
   * @param length its bytes, not negative; the end must not exceed {@code Long.MAX_VALUE}
   * @param order tells equal ranges apart; a triple (address, length, order) may be there once only
   * @throws InvalidMemoryException if the range is none
   */
  public RangeIndex<T> with(long address, long length, long order, T value) {
    Ranges.check("address", address, "length", length);
    return new RangeIndex<>(insert(root, new Node<>(address, address + length, order, value)), size + 1);
  }

  /** This index without the range (address, length, order); itself if it has none such. */
  public RangeIndex<T> without(long address, long length, long order) {
    if (!contains(root, address, address + length, order)) {
      return this;
    }
    return new RangeIndex<>(remove(root, address, address + length, order), size - 1);
  }

  /** The value of the range that covers {@code length} bytes at {@code address}, or null. */
  public @Nullable T find(long address, long length) {
    return find(address, length, null);
  }

  /** As {@link #find(long, long)}, of the ranges whose value is wanted; it costs O(log n) for each one that is not. */
  public @Nullable T find(long address, long length, @Nullable Predicate<? super T> wanted) {
    long end = address + length;
    if (length < 0 || end < address) {
      return null;
    }
    Node<T> found = find(root, address, end, wanted);
    return found == null ? null : found.value;
  }

  /** All values, in the order of their ranges. */
  public List<T> values() {
    List<T> values = new ArrayList<>(size);
    collect(root, values);
    return values;
  }

  /** The last node, in order, that covers [start, end). */
  private static <T> @Nullable Node<T> find(
      @Nullable Node<T> from, long start, long end, @Nullable Predicate<? super T> wanted) {
    Node<T> node = from;
    while (node != null && node.maxEnd >= end) {
      if (node.start <= start) {
        Node<T> right = find(node.right, start, end, wanted);
        if (right != null) {
          return right;
        }
        if (node.end >= end && (wanted == null || wanted.test(node.value))) {
          return node;
        }
      }
      node = node.left;
    }
    return null;
  }

  private static <T> Node<T> insert(@Nullable Node<T> tree, Node<T> added) {
    if (tree == null) {
      return added;
    }
    if (Long.compareUnsigned(added.priority, tree.priority) > 0) {
      return added.over(below(tree, added), above(tree, added));
    }
    return isBefore(added.start, added.end, added.order, tree)
        ? tree.over(insert(tree.left, added), tree.right)
        : tree.over(tree.left, insert(tree.right, added));
  }

  /** The part of {@code tree} that comes before {@code border}. */
  private static <T> @Nullable Node<T> below(@Nullable Node<T> tree, Node<T> border) {
    if (tree == null) {
      return null;
    }
    return isBefore(border.start, border.end, border.order, tree)
        ? below(tree.left, border)
        : tree.over(tree.left, below(tree.right, border));
  }

  /** The part of {@code tree} that comes after {@code border}. */
  private static <T> @Nullable Node<T> above(@Nullable Node<T> tree, Node<T> border) {
    if (tree == null) {
      return null;
    }
    return isBefore(border.start, border.end, border.order, tree)
        ? tree.over(above(tree.left, border), tree.right)
        : above(tree.right, border);
  }

  private static <T> boolean contains(@Nullable Node<T> tree, long start, long end, long order) {
    Node<T> node = tree;
    while (node != null && !node.is(start, end, order)) {
      node = isBefore(start, end, order, node) ? node.left : node.right;
    }
    return node != null;
  }

  private static <T> @Nullable Node<T> remove(@Nullable Node<T> tree, long start, long end, long order) {
    if (tree == null) {
      return null;
    }
    if (tree.is(start, end, order)) {
      return join(tree.left, tree.right);
    }
    return isBefore(start, end, order, tree)
        ? tree.over(remove(tree.left, start, end, order), tree.right)
        : tree.over(tree.left, remove(tree.right, start, end, order));
  }

  private static <T> @Nullable Node<T> join(@Nullable Node<T> left, @Nullable Node<T> right) {
    if (left == null) {
      return right;
    }
    if (right == null) {
      return left;
    }
    return Long.compareUnsigned(left.priority, right.priority) > 0
        ? left.over(left.left, join(left.right, right))
        : right.over(join(left, right.left), right.right);
  }

  private static <T> void collect(@Nullable Node<T> tree, List<T> values) {
    if (tree != null) {
      collect(tree.left, values);
      values.add(tree.value);
      collect(tree.right, values);
    }
  }

  private static <T> boolean isBefore(long start, long end, long order, Node<T> node) {
    if (start != node.start) {
      return start < node.start;
    }
    if (end != node.end) {
      return end > node.end;
    }
    return order < node.order;
  }

  private static final class Node<T> {
    final long start;
    final long end;
    final long order;
    final T value;
    final long priority;
    final @Nullable Node<T> left;
    final @Nullable Node<T> right;
    final long maxEnd;

    Node(long start, long end, long order, T value) {
      this(start, end, order, value, mix(order), null, null);
    }

    private Node(
        long start,
        long end,
        long order,
        T value,
        long priority,
        @Nullable Node<T> left,
        @Nullable Node<T> right) {
      this.start = start;
      this.end = end;
      this.order = order;
      this.value = value;
      this.priority = priority;
      this.left = left;
      this.right = right;
      long max = end;
      if (left != null) {
        max = Math.max(max, left.maxEnd);
      }
      if (right != null) {
        max = Math.max(max, right.maxEnd);
      }
      this.maxEnd = max;
    }

    Node<T> over(@Nullable Node<T> newLeft, @Nullable Node<T> newRight) {
      return new Node<>(start, end, order, value, priority, newLeft, newRight);
    }

    boolean is(long otherStart, long otherEnd, long otherOrder) {
      return start == otherStart && end == otherEnd && order == otherOrder;
    }

    /** The finalizer of SplitMix64: a bijection, so no two order numbers share a priority. */
    private static long mix(long order) {
      long z = order + 0x9e3779b97f4a7c15L;
      z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
      z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
      return z ^ (z >>> 31);
    }
  }
}
