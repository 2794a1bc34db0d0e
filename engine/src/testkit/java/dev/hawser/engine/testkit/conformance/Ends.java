/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.Link;
import dev.hawser.engine.Transfer;
import dev.hawser.engine.Transfer.RemoteState;
import dev.hawser.engine.TransferEnd;
import dev.hawser.engine.TransferEnd.Cause;
import dev.hawser.engine.TransferEnd.Failed;
import java.time.Duration;

/** How transfers must end. */
final class Ends {
  private static final int USEFUL = 15;

  private Ends() {}

  static TransferEnd within(Duration time, Transfer transfer) {
    boolean ended = transfer.await(time);
    TransferEnd end = transfer.end();
    assertThat(ended)
        .as(
            "transfer %s ends within %s; %s of %s bytes are acknowledged",
            transfer.id(), time, transfer.acknowledgedBytes(), transfer.totalBytes())
        .isTrue();
    if (end == null) {
      throw new AssertionError("await returned true for transfer " + transfer.id() + ", but it has no end");
    }
    return end;
  }

  static void done(Transfer transfer) {
    assertThat(within(Waits.PATIENCE, transfer)).isEqualTo(new TransferEnd.Done());
    assertThat(transfer.acknowledgedBytes()).as("acknowledged").isEqualTo(transfer.totalBytes());
  }

  static void run(Transfer transfer) {
    transfer.post();
    done(transfer);
  }

  /** It failed, for one of these reasons, and says so in a way that helps. */
  static Failed failed(Duration time, Transfer transfer, Link link, Cause... causes) {
    TransferEnd end = within(time, transfer);
    if (!(end instanceof Failed failed)) {
      throw new AssertionError("transfer " + transfer.id() + " to " + link.peer() + " did not fail: " + end);
    }
    assertThat(failed.cause()).as("%s", failed).isIn((Object[]) causes);
    assertThat(failed.peer()).as("the peer in %s", failed).isEqualTo(link.peer());
    assertThat(failed.message()).as("the message of %s", failed).doesNotContain("\n").hasSizeGreaterThan(USEFUL);
    assertThat(failed.position()).as("the position in %s", failed).isBetween(-1L, transfer.totalBytes());
    return failed;
  }

  /** What the target thinks of it, in the end. */
  static void settled(Transfer transfer, RemoteState... states) {
    Waits.until(
        Waits.PATIENCE,
        () -> "transfer " + transfer.id() + " (" + transfer.end() + ") is settled at the target",
        () -> transfer.remoteSettled() != RemoteState.PENDING);
    assertThat(transfer.remoteSettled()).as("remoteSettled after %s", transfer.end()).isIn((Object[]) states);
  }

  /** Waits until it is in the middle. */
  static void underWay(Transfer transfer) {
    Waits.until(
        Waits.PATIENCE,
        () -> "bytes of transfer " + transfer.id() + " are acknowledged; its end: " + transfer.end(),
        () -> transfer.acknowledgedBytes() > 0);
    assertThat(transfer.end()).as("the end of a transfer that is to be stopped in the middle").isNull();
  }
}
