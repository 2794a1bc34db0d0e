/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import dev.hawser.engine.Transfer.RemoteState;
import dev.hawser.engine.wire.MessageWriter;
import dev.hawser.engine.wire.TargetState;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * What the initiator owes the target after a transfer's end: ABORT behind a flush of every path
 * that carried its data, or patience until the target says that it delivered. Only a transfer that
 * is settled on both sides is closed.
 */
final class Settlements {
  private final OutboundLink link;
  private final InitiatorRules rules;
  private final List<Settling> open = new ArrayList<>();
  private final ArrayDeque<Settling> pool = new ArrayDeque<>();
  private boolean dirty;

  Settlements(OutboundLink link, InitiatorRules rules) {
    this.link = link;
    this.rules = rules;
  }

  boolean isIdle() {
    return open.isEmpty();
  }

  /** It ended DONE with a record: the target delivers, and will say so. */
  void awaitDelivered(TransferState t) {
    Settling s = take(t, Settling.Kind.AWAIT_DELIVERED);
    s.askedOn = t.recordOn;
    if (s.askedOn == null || !s.askedOn.isUp()) {
      s.query = true;
      s.askedOn = null;
      dirty = true;
    }
    if (!rules.closeOnlySettled()) {
      close(s, RemoteState.DELIVERED);
    }
  }

  /** It ended otherwise: the target must give it up, unless it has delivered it. */
  void abort(TransferState t) {
    Settling s = take(t, Settling.Kind.ABORT);
    s.query = t.orphan;
    dirty = true;
  }

  private Settling take(TransferState t, Settling.Kind kind) {
    Settling s = pool.poll();
    if (s == null) {
      s = new Settling();
    }
    s.reset();
    s.transfer = t.id();
    s.kind = kind;
    s.handle = t;
    s.requestId = t.requestIdBytes();
    s.carried.setTo(t.carried);
    s.charged = t.charged;
    s.session = t.session;
    link.window().put(s.transfer, s);
    open.add(s);
    return s;
  }

  /** Sends what can be sent. */
  int drive() {
    if (!dirty) {
      return 0;
    }
    dirty = false;
    int work = 0;
    for (int i = 0; i < open.size(); i++) {
      Settling s = open.get(i);
      if (s.askedOn == null) {
        work += s.query || s.kind == Settling.Kind.AWAIT_DELIVERED ? query(s) : sendAbort(s);
      }
    }
    return work;
  }

  private int query(Settling s) {
    PathGeneration g = link.session() == 0 ? null : link.anyUp();
    if (g == null) {
      return 0; // a new path wakes us
    }
    if (!g.connection.postMessage(0, link.writer.query(link.session(), s.transfer, s.session))) {
      dirty = true;
      return 0;
    }
    g.connection.flushPosted();
    s.askedOn = g;
    return 1;
  }

  private int sendAbort(Settling s) {
    int named = 0;
    for (int i = s.carried.next(0); i >= 0; i = s.carried.next(i + 1)) {
      PathGeneration g = link.generation(i);
      if (g.isUp() && !s.flushed.contains(i)) {
        if (!g.postAbortFlush(s.transfer)) {
          dirty = true;
          return 0;
        }
        g.connection.flushPosted();
        s.flushed.add(i);
      }
      named += g.state == PathGeneration.State.FENCED ? 0 : 1;
    }
    if (named > MessageWriter.MAX_SET) {
      return 0; // the dead ones are being fenced; woken then
    }
    PathGeneration over = link.anyUp();
    if (over == null) {
      return 0;
    }
    link.writer.beginAbort(link.session(), s.transfer, link.window().base());
    for (int i = s.carried.next(0); i >= 0; i = s.carried.next(i + 1)) {
      PathGeneration g = link.generation(i);
      if (g.state != PathGeneration.State.FENCED && rules.abortNeedsFlush()) {
        link.writer.addGeneration(g.key.packed());
      }
    }
    if (!over.connection.postMessage(0, link.writer.endAbort(s.requestId))) {
      dirty = true;
      return 0;
    }
    over.connection.flushPosted();
    s.askedOn = over;
    return 1;
  }

  /**
   * The target's word about a transfer.
   *
   * @return false if it has not ended here
   */
  boolean state(long transfer, TargetState state) {
    if (!(link.window().get(transfer) instanceof Settling s)) {
      return false;
    }
    switch (state) {
      case DELIVERED -> close(s, RemoteState.DELIVERED);
      case ABORTED -> {
        if (s.charged && s.session == link.session()) {
          link.creditBack();
        }
        close(s, RemoteState.ABORTED);
      }
      case OPEN -> {
        // it will say so by itself; if that is lost with its path, generationDead() asks again
        if (s.kind == Settling.Kind.ABORT && s.query) {
          s.query = s.session != link.session();
          s.askedOn = null;
          dirty = true;
        }
      }
    }
    return true;
  }

  private void close(Settling s, RemoteState remote) {
    open.remove(s);
    link.window().close(s.transfer);
    TransferState handle = s.handle;
    if (handle != null) {
      handle.settle(s.transfer, remote);
    }
    s.reset();
    pool.add(s);
  }

  void generationDead(PathGeneration g) {
    for (int i = 0; i < open.size(); i++) {
      Settling s = open.get(i);
      if (s.askedOn == g) {
        s.askedOn = null; // question or answer may be lost with it
        dirty = true;
      }
    }
  }

  void generationFenced() {
    dirty = true;
  }

  void wakeAll() {
    dirty = true;
  }

  /** The target has fenced the session: nothing of it lands; it only has to be asked. */
  void sessionOver() {
    for (int i = 0; i < open.size(); i++) {
      Settling s = open.get(i);
      s.query = true;
      s.askedOn = null;
      s.charged = false;
      s.carried.clear();
    }
    dirty = true;
  }

  void newSession(int session) {
    dirty = session != 0;
  }

  /** The peer's epoch is over, or the link is: nobody will answer. */
  void forgetAll() {
    for (Settling s : List.copyOf(open)) {
      close(s, RemoteState.UNKNOWN);
    }
  }
}
