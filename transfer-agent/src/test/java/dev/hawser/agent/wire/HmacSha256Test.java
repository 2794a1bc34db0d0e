/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.wire;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Random;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.Test;

class HmacSha256Test {
  /** RFC 4231, test cases 1, 2 and 6. */
  @Test
  void givesTheValuesOfTheRfc() {
    byte[] key1 = new byte[20];
    Arrays.fill(key1, (byte) 0x0b);
    assertThat(hex(key1, "Hi There")).isEqualTo("b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    assertThat(hex("Jefe".getBytes(StandardCharsets.US_ASCII), "what do ya want for nothing?"))
        .isEqualTo("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    byte[] key6 = new byte[131];
    Arrays.fill(key6, (byte) 0xaa);
    assertThat(hex(key6, "Test Using Larger Than Block-Size Key - Hash Key First"))
        .isEqualTo("60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  }

  @Test
  void agreesWithThePlatform() throws GeneralSecurityException {
    Random random = new Random(7);
    for (int round = 0; round < 200; round++) {
      byte[] key = new byte[1 + random.nextInt(150)];
      byte[] label = new byte[random.nextInt(20)];
      byte[] message = new byte[random.nextInt(300)];
      random.nextBytes(key);
      random.nextBytes(label);
      random.nextBytes(message);
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(key, "HmacSHA256"));
      mac.update(label);
      assertThat(HmacSha256.of(key, label, message, message.length)).isEqualTo(mac.doFinal(message));
    }
  }

  private static String hex(byte[] key, String message) {
    byte[] bytes = message.getBytes(StandardCharsets.US_ASCII);
    return HexFormat.of().formatHex(HmacSha256.of(key, new byte[0], bytes, bytes.length));
  }
}
