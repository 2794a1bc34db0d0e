/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.telemetry;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;

/** One transfer that ended, for Java's flight recorder. */
@Name("dev.hawser.Transfer")
@Label("Transfer")
@Category("Hawser")
@Description("A transfer that ended")
@StackTrace(false)
final class TransferEvent extends Event {
  @Label("Peer")
  String peer = "";

  @Label("Transfer Number")
  long transfer;

  @Label("Request Id")
  String requestId = "";

  @Label("Operation")
  String operation = "";

  @Label("Bytes")
  @DataAmount
  long bytes;

  @Label("Post To End")
  @Timespan(Timespan.NANOSECONDS)
  long took;

  @Label("End")
  String end = "";

  @Label("Bytes By Path")
  String paths = "";
}
