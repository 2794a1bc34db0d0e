/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.wire.MessageType;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.junit.jupiter.api.Test;

class SlotMessageTest {
  private final SlotMessage message = new SlotMessage();

  @Test
  void noneIsTakenForALinksMessage() {
    assertThat(SlotMessage.isOne(message.ask(3))).isTrue();
    for (MessageType type : MessageType.values()) {
      assertThat(SlotMessage.isOne(ByteBuffer.wrap(new byte[] {(byte) type.number()}))).isFalse();
    }
  }

  @Test
  void readsWhatItWrites() {
    ByteBuffer slots = message.slots(7, 0x7000_1234_5678L, 0xdeadbeef);
    assertThat(SlotMessage.isWellFormed(slots)).isTrue();
    assertThat(SlotMessage.type(slots)).isEqualTo(SlotMessage.SLOTS);
    assertThat(SlotMessage.device(slots)).isEqualTo(7);
    assertThat(SlotMessage.address(slots)).isEqualTo(0x7000_1234_5678L);
    assertThat(SlotMessage.key(slots)).isEqualTo(0xdeadbeef);
    ByteBuffer none = message.none(1, "no CUDA device");
    assertThat(SlotMessage.isWellFormed(none)).isTrue();
    assertThat(SlotMessage.reason(none)).isEqualTo("no CUDA device");
    ByteBuffer moved = message.moved(2, 15, SlotMessage.CLOSED);
    assertThat(SlotMessage.isWellFormed(moved)).isTrue();
    assertThat(SlotMessage.slot(moved)).isEqualTo(15);
    assertThat(SlotMessage.how(moved)).isEqualTo(SlotMessage.CLOSED);
  }

  @Test
  void aListOfPlacesEndsWhereTheMessageIsFull() {
    message.beginPlaces(1, 4, true);
    int places = 0;
    while (message.addPlace(4096L * places, 100 + places, 9)) {
      places++;
    }
    assertThat(places).isEqualTo(SlotMessage.MOST_PLACES);
    ByteBuffer full = message.endPlaces(false);
    assertThat(SlotMessage.isWellFormed(full)).isTrue();
    assertThat(SlotMessage.flags(full)).isEqualTo(SlotMessage.WRITE);
    assertThat(SlotMessage.places(full)).isEqualTo(places);
    assertThat(SlotMessage.placeAddress(full, 5)).isEqualTo(5 * 4096);
    assertThat(SlotMessage.placeBytes(full, 5)).isEqualTo(105);
    assertThat(SlotMessage.placeRegion(full, 5)).isEqualTo(9);
    message.beginPlaces(1, 4, false);
    assertThat(message.addPlace(1, 2, 3)).isTrue();
    assertThat(SlotMessage.flags(message.endPlaces(true))).isEqualTo(SlotMessage.LAST);
  }

  @Test
  void damagedOnesAreFoundOut() {
    for (int length = 1; length < 16; length++) {
      byte[] bytes = new byte[length];
      bytes[0] = (byte) SlotMessage.PLACES;
      assertThat(SlotMessage.isWellFormed(ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN))).isFalse();
    }
    ByteBuffer lying = ByteBuffer.allocate(64).order(ByteOrder.LITTLE_ENDIAN);
    lying.put(0, (byte) SlotMessage.PLACES).putInt(8, Integer.MAX_VALUE);
    assertThat(SlotMessage.isWellFormed(lying)).isFalse();
    lying.putInt(8, -1);
    assertThat(SlotMessage.isWellFormed(lying)).isFalse();
    lying.put(0, (byte) 0xff);
    assertThat(SlotMessage.isWellFormed(lying)).isFalse();
  }
}
