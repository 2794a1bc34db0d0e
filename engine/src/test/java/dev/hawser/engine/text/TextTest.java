/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.text;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class TextTest {
  @Test
  void anObjectIsWrittenInTheOrderOfItsKeys() {
    String json = Json.object()
        .text("name", "a\"b\\c\n\u00fc\ud83d\ude00")
        .number("low", -1)
        .unsigned("epoch", -1)
        .truth("up", true)
        .texts("list", List.of("x", "y"))
        .texts("map", Map.of("k", "v"))
        .object("inner", Json.object())
        .items("numbers", List.of(1, 2), String::valueOf)
        .end();

    assertThat(json)
        .isEqualTo(
            "{\"name\":\"a\\\"b\\\\c\\u000a\\u00fc\\ud83d\\ude00\",\"low\":-1,\"epoch\":18446744073709551615,\"up\":true,"
                + "\"list\":[\"x\",\"y\"],\"map\":{\"k\":\"v\"},\"inner\":{},\"numbers\":[1,2]}");
  }

  @Test
  void whatIsQuotedStaysShortAndOnOneLine() {
    assertThat(Quoted.of("banana")).isEqualTo("'banana'");
    assertThat(Quoted.of("a\nb\tc")).isEqualTo("'a?b?c'");
    assertThat(Quoted.of("x".repeat(120))).isEqualTo("'" + "x".repeat(120) + "'");
    assertThat(Quoted.of("x".repeat(5_000))).isEqualTo("'" + "x".repeat(120) + "…' (5000 characters)");
  }

  @Test
  void aNumberOutsideItsRangeIsToldByTheRange() {
    assertThat(WholeNumbers.of("a.b", " 0x10 ", 0, 16)).isEqualTo(16);
    assertThat(WholeNumbers.of("a.b", "010", 0, 16)).as("not octal").isEqualTo(10);
    for (String text : List.of("17", "-1", "99999999999999999999", "banana", "", "1.5")) {
      assertThatThrownBy(() -> WholeNumbers.of("a.b", text, 0, 16)).isInstanceOf(IllegalArgumentException.class)
          .hasMessage("setting a.b=" + text + " is no whole number from 0 to 16");
    }
  }
}
