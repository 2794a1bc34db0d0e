/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** Two channels that hand each other their notifications. */
class ControlChannelTest {
  private static final Duration LONG = Duration.ofSeconds(20);

  private final List<Integer> sizes = Collections.synchronizedList(new ArrayList<>());
  private final CountDownLatch never = new CountDownLatch(1);
  private volatile boolean reversed;
  private final List<byte[]> held = Collections.synchronizedList(new ArrayList<>());
  private final ControlChannel here =
      new ControlChannel((_, payload) -> toThere(payload), this::refuse);
  private final ControlChannel there =
      new ControlChannel((_, payload) -> here.received("there", payload), this::answer);

  private void toThere(byte[] payload) {
    sizes.add(payload.length);
    if (reversed) {
      held.add(payload);
    } else {
      there.received("here", payload);
    }
  }

  private Message refuse(String peer, Message request) {
    throw new AssertionError("nobody calls here: " + peer + request);
  }

  private Message answer(String peer, Message request) {
    return switch (request.verb()) {
      case "echo" -> new Message("echoed").put("peer", peer).put("text", request.text("text"));
      case "fail" -> throw new IllegalStateException("cannot, because of this");
      case "hang" -> {
        try {
          never.await();
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
        }
        yield new Message("late");
      }
      default -> throw new AssertionError(request);
    };
  }

  @Test
  void aCallIsAnswered() {
    Message answer = here.call("there", new Message("echo").put("text", "hello"), LONG);

    assertThat(answer.verb()).isEqualTo("echoed");
    assertThat(answer.text("peer")).isEqualTo("here");
    assertThat(answer.text("text")).isEqualTo("hello");
  }

  @Test
  void whatIsTooLongForOneNotificationTravelsInParts() {
    String text = "0123456789".repeat(2000);

    assertThat(here.call("there", new Message("echo").put("text", text), LONG).text("text")).isEqualTo(text);
    assertThat(sizes).hasSizeGreaterThan(4).allMatch(size -> size <= 4096);
  }

  @Test
  void theOrderOfThePartsDoesNotMatter() throws Exception {
    reversed = true;
    String text = "0123456789".repeat(1000);
    CompletableFuture<Message> answer = CompletableFuture.supplyAsync(
        () -> here.call("there", new Message("echo").put("text", text), LONG), Thread::startVirtualThread);
    while (held.size() < 3) {
      Thread.onSpinWait();
    }
    held.reversed().forEach(payload -> there.received("here", payload));

    assertThat(answer.get().text("text")).isEqualTo(text);
  }

  @Test
  void whatFailsThereIsToldHere() {
    assertThatThrownBy(() -> here.call("there", new Message("fail"), LONG)).isInstanceOf(BenchException.class)
        .hasMessageContaining("peer 'there': cannot, because of this");
  }

  @Test
  void aPeerThatDoesNotAnswerIsNamed() {
    assertThatThrownBy(() -> here.call("there", new Message("hang"), Duration.ofMillis(50)))
        .isInstanceOf(BenchException.class).hasMessageContaining("peer 'there' did not answer 'hang' within 50 ms");
    never.countDown();
  }

  @Test
  void aLostPeerEndsTheWaitAtOnce() throws Exception {
    CompletableFuture<Throwable> failure = new CompletableFuture<>();
    Thread.ofVirtual().start(() -> {
      try {
        here.call("there", new Message("hang"), LONG);
      } catch (BenchException e) {
        failure.complete(e);
      }
    });
    while (sizes.isEmpty()) {
      Thread.onSpinWait();
    }
    here.lost("other", "somebody else");
    here.lost("there", "its lease has lapsed");

    assertThat(failure.get()).hasMessageContaining("peer 'there' was lost")
        .hasMessageContaining("its lease has lapsed");
    never.countDown();
  }

  @Test
  void aLostPeerIsNotCalledUntilItIsHeardOf() {
    here.lost("there", "its process is gone");
    assertThatThrownBy(() -> here.call("there", new Message("echo").put("text", "?"), LONG))
        .hasMessageContaining("its process is gone");
    assertThat(sizes).isEmpty();

    here.received("there", new byte[] {9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, -128, 'x'});

    assertThat(here.call("there", new Message("echo").put("text", "back"), LONG).text("text")).isEqualTo("back");
  }

  @Test
  void garbageIsPassedOver() {
    here.received("there", new byte[0]);
    here.received("there", new byte[] {1, 2, 3});
    here.received("there", new byte[64]);
    byte[] wild = new byte[64];
    java.util.Arrays.fill(wild, (byte) -1);
    here.received("there", wild);

    assertThat(here.call("there", new Message("echo").put("text", "still there"), LONG).text("text"))
        .isEqualTo("still there");
  }
}
