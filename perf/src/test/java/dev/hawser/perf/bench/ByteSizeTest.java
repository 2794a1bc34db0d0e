/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ByteSizeTest {

  @ParameterizedTest
  @CsvSource({"0, 0", "8, 8", "4K, 4096", "4k, 4096", "64M, 67108864", "64MiB, 67108864", "1G, 1073741824",
      "2T, 2199023255552", "100B, 100"})
  void unitsArePowersOf1024(String text, long bytes) {
    assertThat(ByteSize.parse(text)).isEqualTo(bytes);
  }

  @ParameterizedTest
  @ValueSource(strings = {"banana", "", "-1", "1.5M", "4KK", "K", "0x10", "9999999999999999999", "9000000T"})
  void whatIsNoSizeIsRefusedByItsText(String text) {
    assertThatThrownBy(() -> ByteSize.parse(text)).isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("'" + text + "'");
  }

  @Test
  void aRangeMultiplies() {
    assertThat(ByteSize.parseList("4K:64M:x4"))
        .containsExactly(4096L, 16384L, 65536L, 262144L, 1048576L, 4194304L, 16777216L, 67108864L);
    assertThat(ByteSize.parseList("1K:8K")).containsExactly(1024L, 2048L, 4096L, 8192L);
    assertThat(ByteSize.parseList("1K:3K:x2")).containsExactly(1024L, 2048L);
  }

  @Test
  void aListKeepsItsOrderAndNamesEachSizeOnce() {
    assertThat(ByteSize.parseList("1M,8,4K:16K:x4,4096")).containsExactly(1048576L, 8L, 4096L, 16384L);
  }

  @Test
  void aRangeUpToTheGreatestNumberEnds() {
    assertThat(ByteSize.parseList("4611686018427387904:9223372036854775807")).containsExactly(4611686018427387904L);
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {"4K:|''", "64M:4K|ends before it begins", "4K:64M:4|not a factor",
      "4K:64M:x1|not a factor", "4K:8K:x2:x2|not a range", "0|0 bytes", "4K,,8K|''", "4K,banana|'banana'"})
  void aBadListSaysWhichPartIsBad(String text, String message) {
    assertThatThrownBy(() -> ByteSize.parseList(text)).isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(message);
  }

  @ParameterizedTest
  @ValueSource(longs = {0, 1, 8, 1023, 1024, 4096, 4097, 65536, 1048576, 1073741824, 3L << 40, 1L << 50})
  void whatIsFormattedIsReadBack(long bytes) {
    assertThat(ByteSize.parse(ByteSize.format(bytes))).isEqualTo(bytes);
  }

  @Test
  void formatsShortly() {
    assertThat(ByteSize.format(64 << 20)).isEqualTo("64M");
    assertThat(ByteSize.format(1536)).isEqualTo("1536");
    assertThat(ByteSize.format(1536 << 10)).isEqualTo("1536K");
  }
}
