/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class MessageTest {
  @Test
  void comesBackFromItsLine() {
    Message message = Message.of("pull").with("request", "a b=c&d\n%é").with("tokens", 512)
        .withBytes("grant", new byte[] {-1, 0, 62, 63}).withNumbers("blocks", new int[] {7, 0, 3});

    Message parsed = Message.parse(message.line());

    assertThat(message.line()).doesNotContain("\n");
    assertThat(parsed).isEqualTo(message);
    assertThat(parsed.text("request")).isEqualTo("a b=c&d\n%é");
    assertThat(parsed.integer("tokens")).isEqualTo(512);
    assertThat(parsed.bytes("grant")).containsExactly(-1, 0, 62, 63);
    assertThat(parsed.numbers("blocks")).containsExactly(7, 0, 3);
    assertThat(parsed.has("counter")).isFalse();
  }

  @Test
  void saysWhatIsMissingOrMalformed() {
    assertThatThrownBy(() -> Message.of("pull").text("grant")).isInstanceOf(DemonstrationException.class)
        .hasMessage("the message 'pull' has no field 'grant'");
    assertThatThrownBy(() -> Message.parse("pull grant")).isInstanceOf(DemonstrationException.class)
        .hasMessageContaining("'grant' in the message 'pull' is no key=value");
  }
}
