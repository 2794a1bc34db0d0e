/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.auth;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TokensTest {
  private static final String SECRET = "a-token-of-some-length";

  @TempDir
  private Path folder;

  @Test
  void findsTheBearer() throws IOException {
    Tokens tokens =
        load(
            "# who may do what",
            "",
            "publish  prefill-*,decode-0  " + SECRET,
            "read * sha256:" + Tokens.digest("another-token-of-some-length"));
    Caller publisher = Objects.requireNonNull(tokens.callerOf(SECRET));
    assertThat(publisher.role()).isEqualTo(Role.PUBLISH);
    assertThat(publisher.owns("prefill-7")).isTrue();
    assertThat(publisher.owns("decode-0")).isTrue();
    assertThat(publisher.owns("decode-01")).isFalse();
    assertThat(publisher.subject()).startsWith("token:").doesNotContain(SECRET);
    Caller reader = Objects.requireNonNull(tokens.callerOf("another-token-of-some-length"));
    assertThat(reader.owns("prefill-7")).isFalse();
    assertThat(tokens.callerOf("wrong")).isNull();
    assertThat(tokens.callerOf("sha256:" + Tokens.digest(SECRET))).as("the digest is no token").isNull();
  }

  @ParameterizedTest
  @CsvSource({
      "a*, abc, true",
      "a*, a, true",
      "*, x, true",
      "a*c, abbc, true",
      "a*c, abcb, false",
      "*a*a*, xaya, true",
      "*a*a*, xay, false",
      "abc, abc, true",
      "abc, abcd, false",
      "a.c, abc, false",
  })
  void patterns(String pattern, String name, boolean matches) {
    assertThat(Caller.matches(pattern, name)).isEqualTo(matches);
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "read *                              | has 2 words; write ROLE NAMES TOKEN",
      "root * a-token-of-some-length       | the role is none of read, publish, admin",
      "read * short                        | at least 16 characters",
      "read * sha256:ABC                   | 64 hexadecimal digits",
      "read a/b a-token-of-some-length     | the names are not patterns",
      "# nothing                           | has no token",
  })
  void refusesLines(String line, String message) {
    assertThatThrownBy(() -> load(line))
        .isInstanceOf(TokenFileException.class)
        .hasMessageContaining(message)
        .hasMessageNotContaining("a-token");
  }

  @Test
  void refusesTheSameTokenTwice() {
    assertThatThrownBy(() -> load("read * " + SECRET, "admin * " + SECRET))
        .hasMessageContaining("line 2: the same token");
  }

  @Test
  void refusesWhatIsNoFile() throws IOException {
    Path missing = folder.resolve("none");
    assertThatThrownBy(() -> Tokens.load(missing)).hasMessageContaining("does not exist");
    Path binary = Files.write(folder.resolve("binary"), new byte[] {-1, -2});
    assertThatThrownBy(() -> Tokens.load(binary)).hasMessageContaining("not UTF-8");
  }

  private Tokens load(String... lines) throws IOException {
    return Tokens.load(Files.write(folder.resolve("tokens"), List.of(lines)));
  }
}
