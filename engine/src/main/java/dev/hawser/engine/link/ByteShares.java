/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import java.util.ArrayList;
import java.util.List;

/**
 * One direction of one rail, shared among the links that are busy on it: each may have as much under way as every other,
 * and what one does not use is the others'. Where many queue for one port, what each gets of it is what it has in the
 * queue, so equal shares of the queue are equal shares of the port, and the queue stays as short as one link alone would
 * keep it.
 *
 * <p>Who has reported lately counts, so nobody has to leave. Thread-safe; asked about a hundred times a second by each link
 * that is busy, never for a chunk.
 */
final class ByteShares {
  /** Nobody else is busy: no limit. */
  static final long ALONE = Long.MAX_VALUE;

  /** Who has said nothing for so long is not busy any more. */
  static final long LATELY_NANOS = 100_000_000;

  private final List<Member> members = new ArrayList<>();

  /** One link's part in it. */
  static final class Member {
    private long wanted;
    private long most;
    private boolean held;
    private long reportedAt;
    private boolean listed;
  }

  /**
   * Says what a member would have under way, and gives its share.
   *
   * @param wanted bytes that keep it as busy as it is, if nothing but the way holds them back
   * @param most bytes that it may have under way at most, even alone
   * @param held whether its present share holds something back
   * @param now monotonic nanoseconds
   * @return bytes that it may have under way; {@link #ALONE} if no other member is busy
   */
  synchronized long report(Member member, long wanted, long most, boolean held, long now) {
    member.wanted = wanted;
    member.most = most;
    member.held = held;
    member.reportedAt = now;
    if (!member.listed) {
      member.listed = true;
      members.add(member);
    }
    dropSilent(now);
    return members.size() == 1 ? ALONE : share();
  }

  private void dropSilent(long now) {
    for (int i = members.size() - 1; i >= 0; i--) {
      Member each = members.get(i);
      if (now - each.reportedAt > LATELY_NANOS) {
        each.listed = false;
        members.set(i, members.getLast());
        members.removeLast();
      }
    }
  }

  /** All together what keeps the rail busy, and never more than one alone might have. */
  private long share() {
    long all = 0;
    long most = 0;
    for (int i = 0; i < members.size(); i++) {
      all = Math.addExact(all, Math.min(members.get(i).wanted, 1L << 40));
      most = Math.max(most, members.get(i).most);
    }
    all = Math.min(all, most);
    long equal = all / members.size();
    long left = all;
    int holding = 0;
    for (int i = 0; i < members.size(); i++) {
      Member each = members.get(i);
      if (each.held) {
        holding++;
      } else {
        left -= Math.min(each.wanted, equal);
      }
    }
    return holding == 0 ? equal : left / holding;
  }
}
