/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit;

import dev.hawser.engine.bootstrap.HelloReply;
import dev.hawser.engine.bootstrap.Refusal;
import dev.hawser.engine.bootstrap.Welcome;
import java.util.ArrayList;
import java.util.List;

/** What one HELLO was answered. */
public final class Greetings implements HelloReply {
  private final List<Welcome> welcomes = new ArrayList<>();
  private final List<Refusal> refusals = new ArrayList<>();

  @Override
  public void welcome(Welcome welcome) {
    welcomes.add(welcome);
  }

  @Override
  public void refuse(Refusal refusal) {
    refusals.add(refusal);
  }

  /** The only answer. */
  public Refusal refusal() {
    if (refusals.size() != 1 || !welcomes.isEmpty()) {
      throw new AssertionError("not refused once: " + refusals + " " + welcomes);
    }
    return refusals.getFirst();
  }

  /** True before either. */
  public boolean isUnanswered() {
    return welcomes.isEmpty() && refusals.isEmpty();
  }

  /** The only answer. */
  public Welcome welcome() {
    if (welcomes.size() != 1 || !refusals.isEmpty()) {
      throw new AssertionError("not welcomed once: " + welcomes + " " + refusals);
    }
    return welcomes.getFirst();
  }
}
