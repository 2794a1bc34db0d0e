/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class MessageTest {

  @Test
  void whatIsPutIsRead() {
    Message read = Message.decode(new Message("verb").put("text", "a=b\\n\nc\\").put("number", -7)
        .put("bytes", new byte[] {1, -2, 3}).put("empty", "").encode());

    assertThat(read.verb()).isEqualTo("verb");
    assertThat(read.text("text")).isEqualTo("a=b\\n\nc\\");
    assertThat(read.number("number")).isEqualTo(-7);
    assertThat(read.bytes("bytes")).containsExactly(1, -2, 3);
    assertThat(read.text("empty")).isEmpty();
    assertThat(read.textOrNull("none")).isNull();
  }

  @Test
  void whatIsMissingOrGarbageIsNamed() {
    Message message = Message.decode("verb\nnumber=banana".getBytes(StandardCharsets.UTF_8));

    assertThatThrownBy(() -> message.text("lease")).isInstanceOf(BenchException.class).hasMessageContaining("'lease'");
    assertThatThrownBy(() -> message.number("number")).isInstanceOf(BenchException.class)
        .hasMessageContaining("'banana'");
    assertThatThrownBy(() -> message.put("bytes", "*").bytes("bytes")).isInstanceOf(BenchException.class)
        .hasMessageContaining("base64");
    assertThatThrownBy(() -> Message.decode("verb\nnonsense".getBytes(StandardCharsets.UTF_8)))
        .isInstanceOf(BenchException.class);
  }

  @Test
  void aPlanTravels() {
    RowPlan plan = new RowPlan(Op.READ, new RequestShape(4096, 256), 2, 4, 64, Verify.SAMPLE, 1234.5, Completion.CALLER,
        Duration.ofSeconds(3));
    Message message = new Message("drive.prepare");
    plan.writeTo(message);

    assertThat(RowPlan.readFrom(Message.decode(message.encode()))).isEqualTo(plan);
  }

  @Test
  void timesTravel() {
    Timings timings = Timings.empty();
    for (int i = 1; i <= 1000; i++) {
      timings.record(i * 1000L, i);
    }
    Message message = new Message("done");
    timings.writeTo(message);
    Timings read = Timings.readFrom(Message.decode(message.encode()));

    assertThat(Latencies.of(read.latency())).isEqualTo(Latencies.of(timings.latency()));
    assertThat(read.latency().getTotalCount()).isEqualTo(1000);
    assertThat(Latencies.of(read.latency()).p50()).isBetween(500.0, 501.0);
    assertThat(Latencies.of(read.post()).p99()).isBetween(0.990, 0.991);
    assertThatThrownBy(() -> Timings.readFrom(new Message("done").put("latency", new byte[] {1, 2, 3, 4, 5, 6, 7, 8})))
        .isInstanceOf(BenchException.class);
  }
}
