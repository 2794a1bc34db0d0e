/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import java.util.List;

/** On which a write depends. */
final class Conditions {
  private Conditions() {}

  /** Entry and epoch of a name are those that were seen. */
  static List<Cmp> unchanged(Keys keys, String name, Seen seen) {
    return List.of(atRevision(keys.agent(name), seen.revision()), atRevision(keys.epoch(name), seen.epochRevision()));
  }

  /** Revision 0 is that of a key which is not there. */
  static Cmp atRevision(ByteSequence key, long revision) {
    return new Cmp(key, Cmp.Op.EQUAL, CmpTarget.modRevision(revision));
  }
}
