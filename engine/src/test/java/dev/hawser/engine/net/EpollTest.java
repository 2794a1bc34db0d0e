/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.net;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.spi.WaitSet;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class EpollTest {
  private final Epoll epoll = new Epoll();
  private final int[] pair = Sockets.pair();

  @AfterEach
  void close() {
    epoll.close();
    Sockets.close(pair[0]);
    Sockets.close(pair[1]);
  }

  @Test
  void reportsWhatIsAskedForOnly() {
    epoll.add(pair[0], WaitSet.READ);
    assertThat(epoll.await(0)).isZero();

    epoll.modify(pair[0], WaitSet.READ | WaitSet.WRITE);
    assertThat(epoll.await(0)).isEqualTo(1);
    assertThat(epoll.readyFd(0)).isEqualTo(pair[0]);
    assertThat(epoll.writable(0)).isTrue();
    assertThat(epoll.readable(0)).isFalse();

    epoll.modify(pair[0], WaitSet.READ);
    send(pair[1]);
    assertThat(epoll.await(Long.MAX_VALUE)).isEqualTo(1);
    assertThat(epoll.readable(0)).isTrue();
    // Level-triggered: it stays ready until it is read.
    assertThat(epoll.await(0)).isEqualTo(1);

    epoll.remove(pair[0]);
    assertThat(epoll.await(0)).isZero();
  }

  @Test
  void sleepsLessThanAMillisecondWhenAsked() {
    long best = Long.MAX_VALUE;
    for (int i = 0; i < 50; i++) {
      long start = System.nanoTime();
      assertThat(epoll.await(100_000)).isZero();
      long took = System.nanoTime() - start;
      assertThat(took).isGreaterThanOrEqualTo(100_000);
      best = Math.min(best, took);
    }
    assertThat(best).isLessThan(1_000_000);
  }

  @Test
  void aWakeUpBeforeTheSleepEndsItAtOnce() {
    epoll.wakeUp();
    epoll.wakeUp();

    assertThat(epoll.await(Long.MAX_VALUE)).isZero();
    long start = System.nanoTime();
    assertThat(epoll.await(Duration.ofMillis(20).toNanos())).isZero();
    assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(Duration.ofMillis(20).toNanos());
  }

  @Test
  void anyThreadWakesTheSleeperAgainAndAgain() throws Exception {
    for (int i = 0; i < 200; i++) {
      CompletableFuture<Void> woken = CompletableFuture.runAsync(epoll::wakeUp);
      assertThat(epoll.await(Duration.ofSeconds(60).toNanos())).isZero();
      woken.get(10, TimeUnit.SECONDS);
      // Whether the wake-up came before or during the sleep: none is left over but at most one.
      epoll.await(0);
    }
    assertThat(epoll.await(0)).isZero();
  }

  @Test
  void aWakeUpDoesNotHideADescriptor() {
    epoll.add(pair[0], WaitSet.READ);
    send(pair[1]);
    epoll.wakeUp();

    assertThat(epoll.await(Long.MAX_VALUE)).isEqualTo(1);
    assertThat(epoll.readyFd(0)).isEqualTo(pair[0]);
  }

  private static void send(int fd) {
    try (Arena arena = Arena.ofConfined()) {
      assertThat(Sockets.send(fd, arena.allocate(1).address(), 1)).isEqualTo(1);
    }
  }
}
