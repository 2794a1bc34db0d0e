/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.metadata.store.Labels;
import dev.hawser.metadata.store.MemoryStore;
import dev.hawser.metadata.store.MonotonicClock;
import dev.hawser.metadata.store.Publication;
import dev.hawser.metadata.store.Selector;
import dev.hawser.metadata.store.Store;
import dev.hawser.metadata.store.StoreLimits;
import io.vertx.core.buffer.Buffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.Test;

/** A watch whose connection takes nothing. */
class SlowWatchTest {
  private static final int HISTORY = 8;

  private final MemoryStore store = new MemoryStore(new StoreLimits(10, 1 << 20, HISTORY), MonotonicClock.SYSTEM, 100);
  private final LongAdder resets = new LongAdder();
  private final Sink sink = new Sink();
  private final Watch watch =
      new Watch(store.events(), Selector.ALL, WatchForm.SSE_PLAIN, sink, new WatchEncoder(), resets);

  @Test
  void keepsNothingWhileTheConnectionIsFull() {
    watch.begin();
    sink.full = true;
    publish(1);
    watch.pump();
    assertThat(sink.written).hasSize(1);
    sink.full = false;
    watch.pump();
    assertThat(sink.written.getLast()).isEqualTo("event: put\nid: 101\ndata: a 1\n\n");
  }

  @Test
  void goesOnFromThePresentAfterItLost() {
    watch.begin();
    sink.full = true;
    for (int epoch = 1; epoch <= HISTORY + 1; epoch++) {
      publish(epoch);
      watch.pump();
    }
    sink.full = false;
    watch.pump();
    assertThat(sink.written).containsExactly("event: ready\nid: 100\ndata: \n\n", "event: reset\nid: 109\ndata: \n\n");
    assertThat(resets.sum()).isEqualTo(1);
    publish(20);
    watch.pump();
    assertThat(sink.written.getLast()).isEqualTo("event: put\nid: 110\ndata: a 20\n\n");
  }

  @Test
  void oneThatTakesNothingForThreeKeepalivesIsGivenUp() {
    watch.begin();
    sink.full = true;
    watch.keepAlive();
    watch.keepAlive();
    sink.full = false;
    watch.keepAlive();
    assertThat(sink.written.getLast()).isEqualTo("keepalive");
    sink.full = true;
    watch.keepAlive();
    watch.keepAlive();
    assertThat(sink.aborted).isFalse();
    watch.keepAlive();
    assertThat(sink.aborted).isTrue();
    sink.full = false;
    assertThat(watch.close()).isTrue();
    assertThat(watch.close()).isFalse();
    publish(1);
    watch.pump();
    assertThat(sink.written).hasSize(2);
  }

  private void publish(long epoch) {
    store.publish(
        new Publication("a", epoch, 10_000, "", Labels.NONE, "", Buffer.buffer("x")), Store.EXPECT_ANYTHING);
  }

  private static final class Sink implements WatchSink {
    private final List<String> written = new ArrayList<>();
    private boolean full;
    private boolean aborted;

    @Override
    public boolean isFull() {
      return full;
    }

    @Override
    public void write(List<Buffer> events) {
      events.forEach(event -> written.add(event.toString()));
    }

    @Override
    public void writeKeepalive() {
      written.add("keepalive");
    }

    @Override
    public void end() {
      written.add("end");
    }

    @Override
    public void abort() {
      aborted = true;
    }
  }
}
