/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import static dev.hawser.metadata.store.Envelopes.shown;

import dev.hawser.metadata.store.Join;
import dev.hawser.metadata.store.JoinOutcome;
import dev.hawser.metadata.store.Meeting;
import dev.hawser.metadata.store.MeetingId;
import dev.hawser.metadata.store.Store;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpMethod;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** Rendezvous and barriers: a request waits until all members are there, or its time is up. */
final class MeetingApi {
  private static final int MAX_WAIT_MILLIS = 60_000;
  private static final int DEFAULT_WAIT_MILLIS = 30_000;

  /** How much longer than its request waits a member counts: time to ask again. */
  private static final int MARGIN_MILLIS = 60_000;

  /** How often those who wait look without being told, should a replica's watch have broken. */
  private static final long LOOK_MILLIS = 1_000;

  /** Missing ranks that an answer names. */
  private static final int NAMED = 32;

  private final Vertx vertx;
  private final Store store;
  private final MeetingHub hub;

  MeetingApi(Vertx vertx, Store store, MeetingHub hub) {
    this.vertx = vertx;
    this.store = store;
    this.hub = hub;
  }

  List<Route> routes() {
    return List.of(
        new Route(
            HttpMethod.POST, "/v1/rendezvous/{name}", Access.PUBLISHER, Join.MAX_DATA, "", this::rendezvous));
  }

  private Future<Void> rendezvous(Exchange exchange, Buffer body) {
    exchange.requireAccepts(Names.JSON, Names.BINARY);
    if (body.length() > 0 && !exchange.contentType().equals(Names.BINARY)) {
      throw Problem.unsupportedMediaType(shown(exchange.contentType()), Names.BINARY + ", or no body").exception();
    }
    String round = exchange.query("round");
    String wait = exchange.query("wait_millis");
    int waitMillis =
        wait == null ? DEFAULT_WAIT_MILLIS : Numbers.between("wait_millis", wait, 0, MAX_WAIT_MILLIS);
    Join join =
        new Join(
            new MeetingId(exchange.name(), round == null ? 0 : Numbers.unsigned("round", round)),
            Numbers.between("size", exchange.requiredQuery("size"), 1, Join.MAX_SIZE),
            Numbers.between("rank", exchange.requiredQuery("rank"), 0, Join.MAX_SIZE - 1),
            exchange.requiredQuery("member"),
            body,
            waitMillis + (long) MARGIN_MILLIS);
    Waiting waiting = new Waiting(exchange, join, System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(waitMillis));
    return store
        .meetings()
        .join(join)
        .compose(
            outcome -> {
              switch (outcome) {
                case JoinOutcome.Joined joined -> waiting.begin(joined.meeting(), waitMillis);
                case JoinOutcome.RankTaken taken -> throw Problem.rankTaken(join, taken.member()).exception();
                case JoinOutcome.SizeDiffers differs -> throw Problem.sizeDiffers(join, differs.size()).exception();
                case JoinOutcome.Full full -> throw Problem.storeFull(join.id().name(), full.why()).exception();
              }
              return Future.succeededFuture();
            });
  }

  /** One request that waits. */
  private final class Waiting {
    private final Exchange exchange;
    private final Join join;
    private final long deadline;
    private Runnable leave = () -> {};
    private long ticker = -1;
    private long timer = -1;
    private boolean done;
    private boolean looking;
    private boolean lookAgain;

    Waiting(Exchange exchange, Join join, long deadline) {
      this.exchange = exchange;
      this.join = join;
      this.deadline = deadline;
    }

    void begin(Meeting meeting, int waitMillis) {
      if (meeting.isComplete() || waitMillis == 0) {
        answer(meeting);
        return;
      }
      leave = hub.wait(join.id(), this::look);
      exchange.response().closeHandler(gone -> end());
      ticker = vertx.setPeriodic(LOOK_MILLIS, tick -> look());
      timer = vertx.setTimer(Math.max(1, waitMillis), late -> look());
      // Somebody may have come between joining and waiting.
      look();
    }

    private void look() {
      if (done) {
        return;
      }
      if (looking) {
        lookAgain = true;
        return;
      }
      looking = true;
      store
          .meetings()
          .look(join.id())
          .onComplete(
              meeting -> {
                looking = false;
                if (!done && (meeting.isComplete() || isLate())) {
                  answer(meeting);
                } else if (lookAgain) {
                  lookAgain = false;
                  look();
                }
              },
              failed -> {
                looking = false;
                if (!done && isLate()) {
                  end();
                  Front.fail(exchange, failed);
                }
              });
    }

    private boolean isLate() {
      return deadline - System.nanoTime() <= 0 || hub.isClosing();
    }

    private void answer(Meeting meeting) {
      end();
      if (meeting.isComplete() && meeting.size() == join.size()) {
        complete(exchange, join, meeting);
      } else {
        List<Integer> missing =
            new Meeting(join.size(), meeting.members()).missing(NAMED);
        exchange.response().headers().set(Names.MISSING_RANKS, text(missing));
        exchange.answer(202, Names.JSON, incomplete(join, meeting, missing));
      }
    }

    private void end() {
      done = true;
      leave.run();
      vertx.cancelTimer(ticker);
      vertx.cancelTimer(timer);
    }
  }

  private static void complete(Exchange exchange, Join join, Meeting meeting) {
    if (exchange.wantsBinary()) {
      Buffer frames = Buffer.buffer();
      meeting
          .members()
          .forEach((rank, member) -> frames.appendIntLE(member.data().length()).appendBuffer(member.data()));
      exchange.answer(200, Names.BINARY, frames);
      return;
    }
    exchange.answer(
        200,
        Names.JSON,
        JsonOutput.write(
            json -> {
              json.writeStartObject();
              json.writeStringField("name", join.id().name());
              JsonOutput.unsigned(json, "round", join.id().round());
              json.writeArrayFieldStart("members");
              for (Map.Entry<Integer, Meeting.Member> entry : meeting.members().entrySet()) {
                json.writeStartObject();
                json.writeNumberField("rank", entry.getKey());
                json.writeStringField("member", entry.getValue().name());
                json.writeBinaryField("data", entry.getValue().data().getBytes());
                json.writeEndObject();
              }
              json.writeEndArray();
              json.writeEndObject();
            }));
  }

  private static Buffer incomplete(Join join, Meeting meeting, List<Integer> missing) {
    return JsonOutput.write(
        json -> {
          json.writeStartObject();
          json.writeStringField("name", join.id().name());
          JsonOutput.unsigned(json, "round", join.id().round());
          json.writeNumberField("present", meeting.members().size());
          json.writeNumberField("size", join.size());
          json.writeArrayFieldStart("missing");
          for (int rank : missing) {
            json.writeNumber(rank);
          }
          json.writeEndArray();
          json.writeEndObject();
        });
  }

  private static String text(List<Integer> ranks) {
    return ranks.stream().map(String::valueOf).collect(Collectors.joining(","));
  }
}
