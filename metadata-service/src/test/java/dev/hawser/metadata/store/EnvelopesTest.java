/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.vertx.core.buffer.Buffer;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class EnvelopesTest {
  @ParameterizedTest
  @ValueSource(strings = {"a", "0", "decode-0.rack:7@cluster_1", "A"})
  void acceptsNames(String name) {
    assertThat(Envelopes.name(name)).isEqualTo(name);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "-a", ".a", "a b", "a/b", "a\n", "ä", "a\u0000", "a,b"})
  void refusesNames(String name) {
    assertThatThrownBy(() -> Envelopes.name(name))
        .isInstanceOf(InvalidEnvelopeException.class)
        .hasMessageStartingWith("name ");
  }

  @Test
  void namesAreBounded() {
    assertThat(Envelopes.name("a".repeat(128))).hasSize(128);
    assertThatThrownBy(() -> Envelopes.name("a".repeat(129))).hasMessageContaining("129");
  }

  @Test
  void messagesShowNothingThatMovesACursor() {
    assertThatThrownBy(() -> Envelopes.name("a\u001b[2J"))
        .hasMessage(
            "name 'a?[2J' has U+001B at 1; use letters, digits and . _ : @ - and begin with a letter or a digit");
  }

  @Test
  void ttlIsBounded() {
    assertThatThrownBy(() -> Envelopes.ttlMillis(99)).hasMessageContaining("100 to 86400000");
    assertThatThrownBy(() -> Envelopes.ttlMillis(86_400_001)).hasMessageContaining("86400001");
    assertThatThrownBy(() -> Envelopes.ttlMillis(-1)).hasMessageContaining("18446744073709551615");
    assertThat(Envelopes.ttlMillis(100)).isEqualTo(100);
  }

  @Test
  void epochZeroIsNone() {
    assertThatThrownBy(() -> Envelopes.epoch(0)).isInstanceOf(InvalidEnvelopeException.class);
  }

  @Test
  void addressIsPrintableAscii() {
    assertThat(Envelopes.address("[fe80::1%eth0]:7301")).isNotEmpty();
    assertThatThrownBy(() -> Envelopes.address("a b")).hasMessageContaining("at 1");
    assertThatThrownBy(() -> Envelopes.address("a".repeat(256))).hasMessageContaining("256");
  }

  @Test
  void labelsInAHeader() {
    Labels labels = Labels.parse("zone=eu-1, role=prefill,gpu=");
    assertThat(labels.text()).isEqualTo("gpu=,role=prefill,zone=eu-1");
    assertThat(Labels.parse(labels.text())).isEqualTo(labels);
    assertThat(labels.has("role", "prefill")).isTrue();
    assertThat(labels.has("role", "decode")).isFalse();
    assertThat(Labels.parse("")).isEqualTo(Labels.NONE);
  }

  @ParameterizedTest
  @ValueSource(strings = {"a", "=b", "a=b,a=c", "a=b c", "ä=b", "a=b,,c=d", "a=ä"})
  void refusesLabels(String text) {
    assertThatThrownBy(() -> Labels.parse(text))
        .isInstanceOf(InvalidEnvelopeException.class)
        .hasMessageStartingWith("labels ");
  }

  @Test
  void labelsAreBounded() {
    Map<String, String> many = new HashMap<>();
    for (int i = 0; i < 33; i++) {
      many.put("k" + i, "v");
    }
    assertThatThrownBy(() -> Labels.of(many)).hasMessageContaining("at most 32");
    assertThatThrownBy(() -> Labels.of(Map.of("k".repeat(64), "v"))).hasMessageContaining("1 to 63");
    assertThatThrownBy(() -> Labels.of(Map.of("k", "v".repeat(129)))).hasMessageContaining("at most 128");
  }

  @Test
  void blobIsNotEmpty() {
    assertThatThrownBy(() -> new Publication("a", 1, 1_000, "", Labels.NONE, "", Buffer.buffer()))
        .hasMessageStartingWith("blob is empty");
  }
}
