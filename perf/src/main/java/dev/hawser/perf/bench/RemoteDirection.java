/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** A direction whose initiator is another node, which does as it is told over the control channel. */
final class RemoteDirection implements Direction {
  private static final Duration TIMEOUT = Duration.ofMinutes(5);

  private final ControlChannel control;
  private final String node;
  private final long drive;
  private final String name;

  RemoteDirection(ControlChannel control, String node, String target, long drive) {
    this.control = control;
    this.node = node;
    this.drive = drive;
    this.name = node + " -> " + target;
  }

  private Message call(Message message) {
    return control.call(node, message.put("drive", drive), TIMEOUT);
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public void prepare(RowPlan plan) {
    Message message = new Message("drive.prepare");
    plan.writeTo(message);
    call(message);
  }

  @Override
  public void arm(long generation) {
    call(new Message("drive.arm").put("generation", generation));
  }

  @Override
  public Round go(long nanos) {
    Message answer = call(new Message("drive.go").put("nanos", nanos));
    return new Round(answer.number("requests"), answer.number("nanos"), answer.textOrNull("failure"));
  }

  @Override
  public @Nullable String check(long generation) {
    return call(new Message("drive.check").put("generation", generation)).textOrNull("wrong");
  }

  @Override
  public void forget() {
    call(new Message("drive.forget"));
  }

  @Override
  public Timings timings() {
    return Timings.readFrom(call(new Message("drive.timings")));
  }

  @Override
  public RailBytes railBytes() {
    return RailBytes.readFrom(call(new Message("drive.rails")));
  }

  @Override
  public void close() {
    call(new Message("drive.close"));
  }

  /** The other end: does with a direction what the message says. */
  static Message serve(Direction direction, Message message) {
    switch (message.verb()) {
      case "drive.prepare" -> direction.prepare(RowPlan.readFrom(message));
      case "drive.arm" -> direction.arm(message.number("generation"));
      case "drive.go" -> {
        Round round = direction.go(message.number("nanos"));
        Message answer = done().put("requests", round.requests()).put("nanos", round.nanos());
        return round.failure() == null ? answer : answer.put("failure", round.failure());
      }
      case "drive.check" -> {
        String wrong = direction.check(message.number("generation"));
        return wrong == null ? done() : done().put("wrong", wrong);
      }
      case "drive.forget" -> direction.forget();
      case "drive.timings" -> {
        Message answer = done();
        direction.timings().writeTo(answer);
        return answer;
      }
      case "drive.rails" -> {
        Message answer = done();
        direction.railBytes().writeTo(answer);
        return answer;
      }
      default -> throw new BenchException("'" + message.verb() + "' is not known; both sides must be of one version");
    }
    return done();
  }

  private static Message done() {
    return new Message("done");
  }
}
