/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg;

/**
 * Sends requests through a prefill and a decode worker, as vLLM's proxy does: it carries ids and grants between them, and
 * never a byte of the cache.
 */
final class Router {
  private final WorkerProcess prefill;
  private final WorkerProcess decode;
  private final Report report;
  private final int tokens;

  Router(WorkerProcess prefill, WorkerProcess decode, Report report, int tokens) {
    this.prefill = prefill;
    this.decode = decode;
    this.report = report;
    this.tokens = tokens;
  }

  /** Starts both workers, which takes a while, at the same time. */
  void start(Message prefillStart, Message decodeStart, boolean byHand) {
    prefill.send(prefillStart);
    decode.send(decodeStart);
    Message prefillStarted = prefill.receive();
    Message decodeStarted = decode.receive();
    prefill.ask(meet(decode, decodeStarted, byHand), "met");
    report.transport(decode.ask(meet(prefill, prefillStarted, byHand), "met").text("transports"));
  }

  private static Message meet(WorkerProcess other, Message started, boolean byHand) {
    Message meet = Message.of("meet").with("peer", other.name());
    return byHand ? meet.with("metadata", started.text("metadata")) : meet;
  }

  /** The decode worker reads the blocks under a grant, and the prefill worker frees them when it is told. */
  void pull(String request) {
    String grant = prefill.ask(aboutPrompt("prefill", request), "prefilled").text("grant");
    Message pulled = decode.ask(aboutPrompt("pull", request).with("grant", grant), "pulled");
    prefill.ask(about("release", request), "released");
    report.pulled(request, pulled.number("bytes"), pulled.number("nanos"));
  }

  /** The prefill worker writes each layer once it is computed, and the decode worker waits for them all. */
  void push(String request) {
    Message reserved = decode.ask(aboutPrompt("reserve", request), "reserved");
    decode.send(about("await", request));
    Message pushed = prefill.ask(aboutPrompt("push", request).with("blocks", reserved.text("blocks"))
        .with("counter", reserved.text("counter")), "pushed");
    decode.receive();
    report.pushed(request, pushed.number("bytes"), pushed.number("nanos"), pushed.number("tail"));
  }

  /** The decode worker comes too late: its read has to fail. It asks again, and gets what it needs. */
  void pullTooLate(String request) {
    String grant = prefill.ask(aboutPrompt("prefill", request), "prefilled").text("grant");
    prefill.ask(about("expire", request), "expired");
    report.stale(request, decode.ask(aboutPrompt("pull", request).with("grant", grant), "stale").text("message"));
    pull(request);
  }

  /** Damages one block on purpose, so that the audit can show that it sees that. */
  void corrupt(Corruption corruption) {
    switch (corruption) {
      case NONE -> {}
      case RECEIVED_BLOCK -> decode.ask(Message.of("corrupt-received"), "corrupted");
      case FREE_BLOCK -> decode.ask(Message.of("corrupt-free"), "corrupted");
    }
  }

  /**
   * Has both workers compare all of their pools.
   *
   * @param requests that the decode worker has received
   * @throws DemonstrationException if a block does not hold what it has to
   */
  void audit(int requests, KvShape shape) {
    prefill.send(Message.of("audit"));
    decode.send(Message.of("audit"));
    checkSound(prefill, 0);
    checkSound(decode, (long) requests * shape.blocksFor(tokens) * shape.planes());
  }

  private void checkSound(WorkerProcess worker, long owned) {
    Message audit = worker.receive();
    if (audit.number("damaged") != 0) {
      throw new DemonstrationException(
          worker.name() + ": " + audit.text("first") + " (" + audit.number("damaged") + " blocks are wrong in all)");
    }
    if (audit.number("owned") != owned) {
      throw new DemonstrationException(
          worker.name() + ": " + audit.number("owned") + " blocks belong to requests, and should be " + owned);
    }
    report.sound(worker.name(), owned, audit.number("others"));
  }

  private static Message about(String verb, String request) {
    return Message.of(verb).with("request", request);
  }

  private Message aboutPrompt(String verb, String request) {
    return about(verb, request).with("tokens", tokens);
  }
}
