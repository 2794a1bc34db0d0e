/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.Link;
import dev.hawser.engine.LinkException;
import dev.hawser.engine.spi.DataRequest.Op;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/**
 * What every transport must pass with two engines in one process; {@link TransportConformance} is all of it. A transport
 * extends one of them in its tests and hands it a {@link Fixture}: this one where it only reaches the same peer in another
 * way.
 *
 * <p>The cases are in the interfaces, by subject. They say what {@link Link}, {@link dev.hawser.engine.Transfer} and {@link
 * dev.hawser.engine.InboundHandler} promise, and nothing of how a transport keeps it.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 60, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
public abstract class TransferConformance
    implements
      DataCases,
      NotificationCases,
      PostingCases,
      EndingCases,
      BadInputCases,
      PeerCases {
  private final Fixture fixture;
  private final AtomicLong seeds = new AtomicLong();

  private @Nullable Leaks before;
  private @Nullable Pair shared;

  /** For a transport's own class. */
  protected TransferConformance(Fixture fixture) {
    this.fixture = fixture;
  }

  @Override
  public final Fixture fixture() {
    return fixture;
  }

  @Override
  public final long seed() {
    return seeds.incrementAndGet();
  }

  @Override
  public final Pair pair() {
    Pair present = shared;
    if (present == null) {
      present = Pair.start(fixture);
      shared = present;
    }
    return present;
  }

  @BeforeAll
  final void start() throws IOException {
    fixture.obstacle().ifPresent(Assumptions::abort);
    // What the process opens once and keeps is not counted: the JDK's sockets have a descriptor of their own for closing.
    try (ServerSocket used = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Pair first = Pair.start(fixture);
        Memory local = first.local(4096);
        Memory remote = first.remote(4096)) {
      Ends.run(first.prepare(Op.WRITE, Copies.all(local, remote)));
      assertThat(used.isBound()).isTrue();
    }
    Leaks atStart = Leaks.atRest();
    before = atStart;
    pair();
    Leaks.now().assertSeesEngines(atStart);
  }

  @AfterEach
  final void leaveNoTrace() {
    Pair present = shared;
    if (present == null) {
      return;
    }
    try {
      present.initiator().inbox().check();
      present.target().inbox().check();
    } finally {
      present.initiator().inbox().clear();
      present.target().inbox().clear();
      awaitUp(present);
    }
  }

  /** A path that was fenced comes back by itself; if none does, the next case begins with agents that are well. */
  private void awaitUp(Pair present) {
    try {
      present.link().awaitUp(Waits.PATIENCE);
    } catch (LinkException e) {
      shared = null;
      present.close();
      throw e;
    }
  }

  @AfterAll
  final void releaseEverything() {
    Leaks atStart = before;
    Pair present = shared;
    if (present != null) {
      present.close();
    }
    if (atStart != null) {
      Leaks.assertNoneSince(atStart);
    }
  }
}
