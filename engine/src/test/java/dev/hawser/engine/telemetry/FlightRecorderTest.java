/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.telemetry;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Transfers as the JDK's flight recorder gets them. */
class FlightRecorderTest {
  @Test
  void aRecordingThatIsStartedLaterGetsTransfers(@TempDir Path folder) throws IOException {
    assertThat(FlightRecorder.isOn()).isFalse();
    Path file = folder.resolve("transfers.jfr");
    try (Recording recording = new Recording()) {
      recording.enable("dev.hawser.Transfer");
      recording.start();

      assertThat(FlightRecorder.isOn()).isTrue();
      FlightRecorder.transfer("decode-0", 7, "r1", "READ", 4096, 1_000, "DONE", Map.of(1, 4096L));
      recording.stop();
      recording.dump(file);
    }

    List<RecordedEvent> events = RecordingFile.readAllEvents(file);
    assertThat(events).singleElement().satisfies(event -> {
      assertThat(event.getEventType().getName()).isEqualTo("dev.hawser.Transfer");
      assertThat(event.getString("peer")).isEqualTo("decode-0");
      assertThat(event.getLong("transfer")).isEqualTo(7);
      assertThat(event.getString("paths")).isEqualTo("{1=4096}");
    });
    assertThat(FlightRecorder.isOn()).isFalse();
  }
}
