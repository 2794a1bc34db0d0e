/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import dev.hawser.engine.InboundHandler;
import dev.hawser.engine.InboundNotification;
import dev.hawser.engine.bootstrap.Hello;
import dev.hawser.engine.bootstrap.HelloReply;
import dev.hawser.engine.bootstrap.Refusal;
import dev.hawser.engine.bootstrap.Welcome;
import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.wire.Capabilities;
import dev.hawser.engine.wire.CloseKind;
import dev.hawser.engine.wire.MessageReader;
import dev.hawser.engine.wire.MessageType;
import dev.hawser.engine.wire.MessageWriter;
import dev.hawser.engine.wire.TargetState;
import dev.hawser.engine.wire.WireException;
import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jctools.queues.MessagePassingQueue;
import org.jctools.queues.atomic.MpscUnboundedAtomicArrayQueue;
import org.jspecify.annotations.Nullable;

/**
 * The target's side of a link: one per initiator's name. It delivers each transfer once, fences
 * what it is asked to fence, and ends the session when the initiator is silent for its lease.
 */
public final class InboundLink {

  private enum State {
    /** No session: the next HELLO begins one. */
    IDLE,
    /** A session is up. */
    ACTIVE,
    /** We end it: CLOSE is on its way behind what was posted before, for the drain time at most. */
    PARTING,
    /** The session is over and is being fenced, path by path. */
    LAPSING
  }

  /** HELLOs that wait for a fence; more are told to come again. */
  private static final int MAX_WAITING = 64;

  private record Waiting(Hello hello, HelloReply reply) {}

  private final LinkHost host;
  private final LinkSettings settings;
  private final RailShares shares;
  private final TargetRules rules;
  private final InboundHandler handler;
  private final String initiator;
  private final long localEpoch;
  private final MessagePassingQueue<Runnable> mailbox =
      new MpscUnboundedAtomicArrayQueue<>(256);

  private State state = State.IDLE;
  private long initiatorEpoch;
  private int session;
  /** From before this link was made anew; null once its first session has begun. */
  private @Nullable DepartedInitiator before;
  /** Whether the initiator has said that the session is over: then it asks about none of its transfers any more. */
  private boolean left;
  private String lapseReason = "";
  private CloseKind partingKind = CloseKind.SESSION;
  private long partingUntil;
  private long promisesEndAt;
  private boolean mentioned;
  private boolean joined;
  private final List<InboundGeneration> generations = new ArrayList<>();
  private final List<InboundGeneration> strays = new ArrayList<>();
  private final Set<Integer> fenced = new HashSet<>();
  private final Set<Integer> used = new HashSet<>();
  /**
   * Generations that were welcomed and are not connected here yet, with the paths on which their fence was asked for. The
   * initiator may have posted on them already, and a NIC have acknowledged it: no fence and no end of a session passes them
   * over.
   */
  private final Map<Integer, List<InboundGeneration>> promised = new HashMap<>();
  private final List<Waiting> waiting = new ArrayList<>();
  /** Told when the present session is fenced, whether or not the next one has begun by then. */
  private final List<Runnable> whenLapsed = new ArrayList<>();
  /** Of a session that is over: told when the last connection that came too late is gone as well. */
  private final List<Runnable> whenGone = new ArrayList<>();
  private TransferWindow<InboundTransfer> window = new TransferWindow<>(0);
  private final ArrayDeque<InboundTransfer> pool = new ArrayDeque<>();

  private final MessageWriter writer = new MessageWriter();
  private final MessageReader reader = new MessageReader();
  private final Map<String, Loan> loans = new HashMap<>();
  private final AtomicInteger unconsumed = new AtomicInteger();
  private final AtomicInteger consumed = new AtomicInteger();
  private int grantBase;
  private int grantSaid;
  private int deliveredInSession;

  private long now;
  private long lastHeard;
  private long nextEvent;

  /**
   * The target's side for one initiator; idle until its first HELLO.
   *
   * @param shares the rails that its initiator shares with others
   * @param before what an earlier link of that name left behind
   */
  public InboundLink(
      LinkHost host,
      LinkSettings settings,
      RailShares shares,
      InboundHandler handler,
      String initiator,
      long localEpoch,
      DepartedInitiator before) {
    this(host, settings, shares, TargetRules.PROTOCOL, handler, initiator, localEpoch, before);
  }

  InboundLink(
      LinkHost host,
      LinkSettings settings,
      RailShares shares,
      TargetRules rules,
      InboundHandler handler,
      String initiator,
      long localEpoch,
      DepartedInitiator before) {
    this.before = before;
    this.initiatorEpoch = before.epoch();
    this.session = before.session();
    this.lapseReason = before.reason();
    this.host = host;
    this.settings = settings;
    this.shares = shares;
    this.rules = rules;
    this.handler = handler;
    this.initiator = initiator;
    this.localEpoch = localEpoch;
    this.now = host.nanoTime();
    this.nextEvent = now;
  }

  // ------------------------------------------------------------------ any thread

  public String initiator() {
    return initiator;
  }

  /** A HELLO of this initiator; answered by the owner, perhaps later. */
  public void hello(Hello hello, HelloReply reply) {
    tell(() -> decide(hello, reply));
  }

  /** The welcomed generation is connected. */
  public void connected(Hello hello, Welcome welcome, Connection connection) {
    tell(() -> join(hello, welcome, connection));
  }

  /** The welcomed generation will not be connected. */
  public void abandoned(Hello hello, Welcome welcome) {
    tell(() -> withdraw(hello, welcome));
  }

  /**
   * Ends the session, after telling the initiator so; {@code done} runs when it is completely fenced.
   *
   * @param kind whether another session may follow
   */
  public void end(CloseKind kind, String reason, Runnable done) {
    tell(
        () -> {
          if (state == State.IDLE) {
            whenGone.add(done);
          } else {
            whenLapsed.add(done);
            part(kind, reason);
          }
        });
  }

  /** The owner's work threw: its session ends, at once if it throws again. Owner only. */
  public void crashed(Throwable cause) {
    String why = "internal error: " + cause;
    if (state == State.ACTIVE) {
      host.log(Level.ERROR, "session %d of %s is given up after an %s".formatted(session, initiator, why));
      part(CloseKind.SESSION, why);
    } else {
      lapse(why);
    }
  }

  private void tell(Runnable command) {
    mailbox.offer(command);
    host.wake();
  }

  // ------------------------------------------------------------------ the owner's work

  /**
   * Moves everything that can move.
   *
   * @return how much was done
   */
  public int doWork() {
    now = host.nanoTime();
    if (state == State.ACTIVE && now - nextEvent > settings.heartbeatNanos()) {
      lastHeard += now - nextEvent; // we come later than we meant to: that is not the initiator's silence
    }
    int work = 0;
    for (Runnable command = mailbox.poll(); command != null; command = mailbox.poll()) {
      command.run();
      work++;
    }
    for (int i = 0; i < generations.size(); i++) {
      InboundGeneration g = generations.get(i);
      if (g.state == InboundGeneration.State.FENCED) {
        continue;
      }
      work += poll(g);
      if (g.end.isBroken()) {
        continue;
      }
      long progress = g.connection.progress();
      if (progress != g.lastProgress) {
        g.lastProgress = progress;
        if (state == State.ACTIVE) {
          lastHeard = now;
        }
      }
      g.connection.flushPosted();
    }
    work += finishFences();
    work += closeStrays();
    if (state == State.ACTIVE) {
      sayCredit();
      if (now - nextEvent >= 0) {
        nextEvent = lastHeard + settings.leaseNanos() + 1;
        if (now - lastHeard > settings.leaseNanos()) {
          lapse(
              "%s gave no sign of life for %d ms"
                  .formatted(initiator, (now - lastHeard) / 1_000_000));
          work++;
        }
      }
    } else if (state == State.PARTING) {
      work += lapseWhenHeard();
    } else if (state == State.LAPSING) {
      work += finishLapse();
    }
    if (!whenGone.isEmpty() && strays.isEmpty()) {
      List<Runnable> told = List.copyOf(whenGone);
      whenGone.clear();
      told.forEach(Runnable::run);
    }
    return work;
  }

  /**
   * Polls a path. Memory that is gone where nobody expected it ends this path only; anything else is the session's end, and
   * from then on that of each path that goes on so, for its initiator must be answered.
   */
  private int poll(InboundGeneration g) {
    if (g.end.isBroken()) {
      return 0;
    }
    try {
      return g.connection.poll(g);
    } catch (RuntimeException | Error e) {
      if (g.state != InboundGeneration.State.OPEN) {
        g.end.broke(e);
      } else if (e instanceof InternalError) {
        host.log(Level.WARNING, "%s from %s: registered memory is gone: %s".formatted(g, initiator, e.getMessage()));
        broke(g, new PathFault(PathFault.Kind.WORK_ERROR, "registered memory is gone: " + e.getMessage()));
      } else {
        throw e;
      }
      return 1;
    }
  }

  /** For {@link ConnectionEnd}: what a mapped peer may still write to stays in quarantine. */
  void endBroke(InboundGeneration g, Throwable cause) {
    host.log(Level.ERROR, "%s from %s cannot be drained after an internal error: %s".formatted(g, initiator, cause));
  }

  /** When {@link #doWork} must be called again even if nothing happens. */
  public long nextTimer() {
    return switch (state) {
      case ACTIVE -> nextEvent;
      case PARTING -> partingUntil;
      case LAPSING -> now + 1_000_000;
      case IDLE -> strays.isEmpty() ? now + settings.leaseNanos() : now + 1_000_000;
    };
  }

  /** True if the owner should look again soon without being woken. */
  public boolean isBusy() {
    return !mailbox.isEmpty() || state == State.LAPSING || !strays.isEmpty();
  }

  /** True if nothing is held for this initiator. */
  public boolean isIdle() {
    return state == State.IDLE && strays.isEmpty() && mailbox.isEmpty();
  }

  /**
   * True if this link can be dropped, and {@link #departed} be kept in its place: there is no session, nothing of an
   * earlier one is open, nobody waits for anything, and the application has taken every notification, or a successor
   * would lend its credit a second time. Owner only.
   */
  public boolean isForgettable() {
    return isIdle() && waiting.isEmpty() && whenLapsed.isEmpty() && whenGone.isEmpty() && unconsumed.get() == 0;
  }

  /** What the next link of this name must know. Owner only. */
  public DepartedInitiator departed() {
    if (before != null) {
      return before; // no session has begun since
    }
    List<Long> delivered = new ArrayList<>();
    if (!left && rules.rememberDeparted()) {
      window.forEach(
          t -> {
            if (t.state == TargetState.DELIVERED) {
              delivered.add(t.number);
            }
          });
    }
    return new DepartedInitiator(initiatorEpoch, session, lapseReason, delivered);
  }

  /** Asks every connection to wake the owner; false if one has something already. */
  public boolean arm() {
    if (!mailbox.isEmpty()) {
      return false;
    }
    for (int i = 0; i < generations.size(); i++) {
      InboundGeneration g = generations.get(i);
      if (g.state != InboundGeneration.State.FENCED && !g.end.isBroken() && !g.connection.arm()) {
        return false;
      }
    }
    return true;
  }

  /**
   * The worker has ended: closes what is still open. What a mapped peer that was stopped may still write to stays in
   * quarantine, until this process ends.
   */
  public void abandon() {
    for (Runnable command = mailbox.poll(); command != null; command = mailbox.poll()) {
      command.run(); // a connection that came in the last moment is closed, too
    }
    for (InboundGeneration g : generations) {
      if (g.state != InboundGeneration.State.FENCED) {
        g.end.close();
      }
    }
    generations.clear();
    strays.forEach(g -> g.end.close());
    strays.clear();
  }

  // ------------------------------------------------------------------ sessions

  private void decide(Hello hello, HelloReply reply) {
    if (Long.compareUnsigned(hello.initiatorEpoch(), initiatorEpoch) < 0) {
      reply.refuse(
          new Refusal(
              Refusal.Code.SUPERSEDED,
              "a newer incarnation of %s is known here: epoch %s, not %s"
                  .formatted(
                      initiator,
                      Long.toUnsignedString(initiatorEpoch),
                      Long.toUnsignedString(hello.initiatorEpoch()))));
      return;
    }
    boolean newEpoch = isNewEpoch(hello);
    if (hello.leaves()) {
      if (!newEpoch && hello.session() == session && isUp()) {
        left = true;
        lapse(initiator + " closed: its link, or the agent, is closed");
      }
      reply.refuse(new Refusal(Refusal.Code.LEFT, "session " + hello.session() + " is left"));
      return;
    }
    // an older session than ours is a HELLO that was overtaken: it may join; 0 wants a new one, which one is that nobody
    // has joined yet
    if (isUp() && (newEpoch || (hello.session() == 0 && joined))) {
      lapse(
          state == State.PARTING
              ? lapseReason
              : newEpoch
                  ? initiator + " restarted with epoch " + Long.toUnsignedString(hello.initiatorEpoch())
                  : initiator + " began a new session");
    }
    if ((state == State.LAPSING || state == State.PARTING) && !rules.answerHelloBeforeFenced()) {
      if (waiting.size() == MAX_WAITING) {
        reply.refuse(new Refusal(Refusal.Code.FENCING, "the last session is still being fenced"));
        return;
      }
      waiting.add(new Waiting(hello, reply));
      return;
    }
    answer(hello, reply);
  }

  private boolean isNewEpoch(Hello hello) {
    return Long.compareUnsigned(hello.initiatorEpoch(), initiatorEpoch) > 0;
  }

  private void answer(Hello hello, HelloReply reply) {
    if (Long.compareUnsigned(hello.initiatorEpoch(), initiatorEpoch) < 0) {
      decide(hello, reply);
      return;
    }
    if (isNewEpoch(hello)) {
      initiatorEpoch = hello.initiatorEpoch();
      window = new TransferWindow<>(hello.firstTransfer());
      session = 0;
      before = null;
    }
    restore(hello);
    if (state == State.IDLE || (state == State.LAPSING && rules.answerHelloBeforeFenced())) {
      beginSession();
    }
    if (!used.add(hello.key().packed())) {
      reply.refuse(
          new Refusal(
              Refusal.Code.STALE_GENERATION,
              "path generation %s was used before in session %d".formatted(hello.key(), session)));
      return;
    }
    promised.put(hello.key().packed(), new ArrayList<>(0));
    reply.welcome(
        new Welcome(
            localEpoch,
            session,
            (int) (settings.leaseNanos() / 1_000_000),
            notificationLimit(),
            Capabilities.ALL));
  }

  /** The same incarnation as before this link was made anew: what was delivered to it stays delivered. */
  private void restore(Hello hello) {
    DepartedInitiator kept = before;
    if (kept == null) {
      return;
    }
    before = null;
    window = new TransferWindow<>(hello.firstTransfer());
    for (long number : kept.delivered()) {
      if (!window.isClosed(number) && !window.isTooFar(number)) {
        InboundTransfer t = new InboundTransfer();
        t.reset(number);
        t.state = TargetState.DELIVERED;
        window.put(number, t);
      }
    }
  }

  private void beginSession() {
    session++;
    left = false;
    state = State.ACTIVE;
    fenced.clear();
    used.clear();
    promised.clear();
    lastHeard = now;
    nextEvent = now;
    mentioned = false;
    joined = false;
    grantBase = settings.notificationCredits() - unconsumed.get();
    consumed.set(0);
    deliveredInSession = 0;
    grantSaid = grantBase;
  }

  private void join(Hello hello, Welcome welcome, Connection connection) {
    InboundGeneration g =
        new InboundGeneration(
            this, hello.key(), welcome.session(), hello.transport() + ":" + hello.remoteRail(), connection);
    connection.attach(host.waitSet());
    List<InboundGeneration> asked = keepPromise(hello, welcome);
    if (asked == null || state == State.IDLE || fenced.contains(hello.key().packed())) {
      g.postClose(writer, CloseKind.SESSION, lapseReason);
      connection.abort(); // nothing of it may land: whether the word comes through or not
      g.state = InboundGeneration.State.FENCING;
      g.stray = true;
      strays.add(g);
      return;
    }
    g.lastProgress = connection.progress();
    lastHeard = now;
    joined = true;
    generations.add(g);
    g.askedOn.addAll(asked);
    if (state == State.LAPSING) {
      g.postClose(writer, CloseKind.SESSION, lapseReason);
    }
    if (state == State.LAPSING || !asked.isEmpty()) {
      startFence(g);
    }
  }

  /** Where the fence of a generation of the present session was asked for; null if nothing was promised. */
  private @Nullable List<InboundGeneration> keepPromise(Hello hello, Welcome welcome) {
    return welcome.session() == session && hello.initiatorEpoch() == initiatorEpoch
        ? promised.remove(hello.key().packed())
        : null;
  }

  private void withdraw(Hello hello, Welcome welcome) {
    List<InboundGeneration> asked = keepPromise(hello, welcome);
    if (asked == null || asked.isEmpty()) {
      return;
    }
    fenced.add(hello.key().packed());
    completeAll();
    for (InboundGeneration over : asked) {
      say(over, writer.fenceAck(session, hello.key().packed()));
    }
  }

  private int closeStrays() {
    int work = 0;
    for (int i = strays.size() - 1; i >= 0; i--) {
      InboundGeneration g = strays.get(i);
      work += poll(g);
      if (g.end.isDrained()) {
        g.end.close();
        strays.remove(i);
        work++;
      }
    }
    return work;
  }

  private void part(CloseKind kind, String reason) {
    if (state != State.ACTIVE) {
      return;
    }
    state = State.PARTING;
    partingKind = kind;
    lapseReason = reason;
    partingUntil = now + settings.drainNanos();
  }

  /** Lapses as soon as the initiator has received CLOSE on every path that is left, or when the drain time is over. */
  private int lapseWhenHeard() {
    boolean heard = true;
    for (int i = 0; i < generations.size(); i++) {
      InboundGeneration g = generations.get(i);
      if (g.state == InboundGeneration.State.OPEN) {
        g.postClose(writer, partingKind, lapseReason);
        heard &= g.isCloseHeard();
      }
    }
    if (!heard && now - partingUntil < 0) {
      return 0;
    }
    lapse(lapseReason);
    return 1;
  }

  private boolean isUp() {
    return state == State.ACTIVE || state == State.PARTING;
  }

  /** The session ends by our own decision: everything of it is fenced before anyone is told. */
  private void lapse(String reason) {
    if (!isUp()) {
      return;
    }
    state = State.LAPSING;
    lapseReason = reason;
    promisesEndAt = now + settings.leaseNanos() + settings.connectTimeoutNanos();
    if (!rules.processReceivedOnLapse()) {
      abortOpen(); // only a planted fault gives up before what was received is processed
    }
    for (InboundGeneration g : generations) {
      startFence(g);
    }
  }

  private int finishLapse() {
    for (InboundGeneration g : generations) {
      if (g.state != InboundGeneration.State.FENCED) {
        return 0;
      }
    }
    if (!promised.isEmpty() && now - promisesEndAt < 0) {
      return 0;
    }
    promised.clear();
    generations.clear();
    state = State.IDLE;
    // A HELLO that waits begins the next session below.
    whenGone.addAll(whenLapsed);
    whenLapsed.clear();
    abortOpen();
    if (!mentioned) {
      mentioned = true;
      host.log(
          left ? Level.DEBUG : Level.INFO, // that somebody leaves in good order is told by our own link to it, if at all
          "session %d of %s is over: %s".formatted(session, initiator, lapseReason));
    }
    handler.peerLost(initiator, initiatorEpoch, lapseReason);
    List<Waiting> answered = List.copyOf(waiting);
    waiting.clear();
    for (Waiting w : answered) {
      if (state == State.ACTIVE && isNewEpoch(w.hello())) {
        decide(w.hello(), w.reply());
      } else {
        answer(w.hello(), w.reply());
      }
    }
    return 1;
  }

  /** What the session did not deliver is never delivered: its application is told. */
  private void abortOpen() {
    window.forEach(
        t -> {
          if (t.state == TargetState.OPEN) {
            t.state = TargetState.ABORTED;
            handler.aborted(initiator, initiatorEpoch, t.number, t.requestId());
          }
        });
  }

  // ------------------------------------------------------------------ fences

  void broke(InboundGeneration g, PathFault fault) {
    if (g.state != InboundGeneration.State.OPEN) {
      return;
    }
    g.state = InboundGeneration.State.BROKEN;
    if (fault.kind() == PathFault.Kind.PROTOCOL) {
      host.log(Level.WARNING, "%s from %s: %s".formatted(g, initiator, fault.detail()));
    }
    g.end.abort();
  }

  private void startFence(InboundGeneration g) {
    if (g.state == InboundGeneration.State.OPEN || g.state == InboundGeneration.State.BROKEN) {
      g.state = InboundGeneration.State.FENCING;
      g.end.abort();
    }
  }

  private int finishFences() {
    int work = 0;
    for (int i = generations.size() - 1; i >= 0; i--) {
      InboundGeneration g = generations.get(i);
      if (g.state == InboundGeneration.State.BROKEN && g.end.isDrained()) {
        // nobody asked for its fence yet, perhaps nobody ever will: remember only that it is quiet
        g.end.close();
        generations.remove(i);
        work++;
      } else if (g.state == InboundGeneration.State.FENCING && isQuiet(g)) {
        g.state = InboundGeneration.State.FENCED;
        fenced.add(g.key.packed());
        if (g.end.isDrained()) {
          g.end.close();
        } else {
          strays.add(g); // only a planted fault leaves it undrained
        }
        if (isUp()) {
          generations.remove(i);
        }
        completeAll();
        for (InboundGeneration asked : g.askedOn) {
          say(asked, writer.fenceAck(session, g.key.packed()));
        }
        work++;
      }
    }
    return work;
  }

  private boolean isQuiet(InboundGeneration g) {
    return g.end.isDrained()
        || !rules.drainBeforeFenceAck()
        || (state == State.LAPSING
            && (!rules.waitForMappedPeer() || !rules.processReceivedOnLapse()));
  }

  private void fence(InboundGeneration over, int packedKey) {
    for (int i = 0; i < generations.size(); i++) {
      InboundGeneration g = generations.get(i);
      if (g.key.packed() == packedKey) {
        g.askedOn.add(over);
        startFence(g);
        return; // answered when it is fenced
      }
    }
    List<InboundGeneration> asked = promised.get(packedKey);
    if (asked != null) {
      asked.add(over);
      return; // likewise
    }
    // fenced before, or broken and quiet since, or it never came about: then it must not any more
    fenced.add(packedKey);
    completeAll();
    say(over, writer.fenceAck(session, packedKey));
  }

  // ------------------------------------------------------------------ transfers

  void flushArrived(InboundGeneration g, long carried, boolean abort) {
    if (g.session != session) {
      return;
    }
    long number = number(carried);
    InboundTransfer t = entry(number);
    if (t == null) {
      return;
    }
    if (abort) {
      t.flushArrived(g.key.packed());
    } else {
      t.commitArrived(g.key.packed());
    }
    complete(t, false);
  }

  /** NICs carry 31 bits of a transfer's number: the nearest one to the window is meant. */
  private long number(long carried) {
    long base = window.base();
    int difference = ((int) carried - (int) base) << 1 >> 1;
    return base + difference;
  }

  void refused(long number) {
    InboundTransfer t = entry(number);
    if (t != null) {
      t.refusedChunk = true;
    }
  }

  private @Nullable InboundTransfer entry(long number) {
    if (window.isClosed(number)) {
      return null;
    }
    if (window.isTooFar(number)) {
      throw new WireException(
          "transfer %d is too far ahead of %d".formatted(number, window.base()));
    }
    InboundTransfer t = window.get(number);
    if (t == null) {
      t = pool.poll();
      if (t == null) {
        t = new InboundTransfer();
      }
      t.reset(number);
      window.put(number, t);
    }
    return t;
  }

  private void closeBelow(long number) {
    if (number - window.base() <= 0) {
      return;
    }
    if (number - window.base() > TransferWindow.MAX_SPAN) {
      window.closeBelow(number);
      return;
    }
    for (long n = window.base(); n - number < 0 && n - window.end() < 0; n++) {
      InboundTransfer t = window.get(n);
      if (t != null) {
        pool.add(t);
      }
    }
    window.closeBelow(number);
  }

  void received(InboundGeneration g, ByteBuffer message) {
    MessageType type = reader.read(message);
    if (reader.session() != session || g.session != session) {
      return;
    }
    switch (type) {
      case HEARTBEAT -> {
        closeBelow(reader.closedBelow());
        say(g, writer.heartbeatAck(session, notificationLimit()));
      }
      case RECORD -> {
        closeBelow(reader.closedBelow());
        InboundTransfer t = entry(reader.transfer());
        if (t != null && !t.hasRecord() && t.state == TargetState.OPEN) {
          t.record(reader);
        }
        if (t != null) {
          t.asked(g);
          complete(t, true);
        }
      }
      case ABORT -> {
        closeBelow(reader.closedBelow());
        InboundTransfer t = entry(reader.transfer());
        if (t != null) {
          t.abort(reader);
          t.asked(g);
          complete(t, true);
        }
      }
      case FENCE -> fence(g, reader.packedKey());
      case DEMAND -> lend(g);
      case QUERY -> {
        InboundTransfer t =
            reader.ranIn() == session ? entry(reader.transfer()) : window.get(reader.transfer());
        if (t != null) {
          t.asked(g);
        }
        say(g, writer.state(session, reader.transfer(), stateOf(reader.transfer(), reader.ranIn())));
      }
      case CLOSE -> {
        left = true;
        lapse(initiator + " closed: " + reader.reason());
      }
      default -> throw new WireException(type + " arrived at the target");
    }
  }

  private TargetState stateOf(long number, int ranIn) {
    if (window.isClosed(number)) {
      return TargetState.DELIVERED; // closed means settled; the initiator does not ask any more
    }
    InboundTransfer t = window.get(number);
    if (t != null) {
      return t.state;
    }
    return ranIn == session ? TargetState.OPEN : TargetState.ABORTED;
  }

  private void completeAll() {
    window.forEach(t -> complete(t, false));
  }

  private void complete(InboundTransfer t, boolean repeated) {
    if (t.state != TargetState.OPEN) {
      if (repeated) {
        sayState(t); // a repeated record or abort: say it again
      }
      return;
    }
    if (t.hasRecord() && !t.refusedChunk && isComplete(t)) {
      deliver(t);
      sayState(t);
    } else if (t.hasAbort() && isFlushed(t)) {
      t.state = TargetState.ABORTED;
      handler.aborted(initiator, initiatorEpoch, t.number, t.requestId());
      sayState(t);
    }
  }

  private boolean isComplete(InboundTransfer t) {
    int covered = 0;
    for (int i = 0; i < t.namedCount(); i++) {
      int key = t.named(i);
      covered += t.commitArrivedOn(key) || fenced.contains(key) ? 1 : 0;
    }
    return rules.complete(t.namedCount(), covered, t.arrivals);
  }

  private boolean isFlushed(InboundTransfer t) {
    for (int i = 0; i < t.abortNamedCount(); i++) {
      int key = t.abortNamed(i);
      if (!t.flushArrivedOn(key) && !fenced.contains(key) && rules.abortWaitsForFlush()) {
        return false;
      }
    }
    return true;
  }

  private void deliver(InboundTransfer t) {
    t.state = TargetState.DELIVERED;
    switch (t.kind()) {
      case FLUSH -> {}
      case COUNT -> handler.counted(initiator, initiatorEpoch, t.counter(), t.requestId());
      case NOTIFICATION -> {
        unconsumed.incrementAndGet();
        deliveredInSession++;
        handler.notification(
            new Delivered(initiator, initiatorEpoch, t.number, t.requestId(), t.payload()));
      }
    }
    if (!rules.rememberDelivered()) {
      window.remove(t.number); // only a planted fault forgets what it delivered
    }
  }

  /**
   * Says what became of a transfer on every path on which the initiator spoke of it: what it said may arrive in another
   * order than it was said, and on a path of which it has not spoken the word could be lost unnoticed.
   */
  private void sayState(InboundTransfer t) {
    for (int i = 0; i < t.askedOn.size(); i++) {
      InboundGeneration over = t.askedOn.get(i);
      if (over.state == InboundGeneration.State.OPEN) {
        say(over, writer.state(session, t.number, t.state));
      }
    }
  }

  private @Nullable InboundGeneration anyOpen() {
    for (int i = 0; i < generations.size(); i++) {
      if (generations.get(i).state == InboundGeneration.State.OPEN) {
        return generations.get(i);
      }
    }
    return null;
  }

  /**
   * Says something; what is lost with its path is asked for again by the initiator, and what finds
   * no room is a reason to give the path up: it does not take anything any more.
   */
  private void say(InboundGeneration wanted, ByteBuffer message) {
    InboundGeneration over =
        wanted.state == InboundGeneration.State.OPEN ? wanted : anyOpen();
    if (over == null) {
      return;
    }
    if (!over.connection.postMessage(0, message)) {
      broke(over, new PathFault(PathFault.Kind.TIMED_OUT, "the initiator takes no messages"));
    }
  }

  // ------------------------------------------------------------------ credits

  private int notificationLimit() {
    return grantBase + consumed.get();
  }

  private void sayCredit() {
    int limit = notificationLimit();
    int news = limit - grantSaid;
    int some = Math.max(1, settings.notificationCredits() / 4);
    boolean runsLow = grantSaid - deliveredInSession < some;
    if (news <= 0 || (news < some && !runsLow && unconsumed.get() > 0)) {
      return;
    }
    InboundGeneration over = anyOpen();
    if (over != null) {
      grantSaid = limit;
      say(over, writer.credit(session, limit));
    }
  }

  /**
   * Lends bytes under way towards a rail. Said as long as there is a limit, since it holds only while it is renewed, and
   * once more when there is none any more.
   */
  private void lend(InboundGeneration g) {
    Loan loan = loans.computeIfAbsent(g.rail, rail -> new Loan(shares.in(rail)));
    long share =
        loan.shares.report(loan.member, reader.wantedBytes(), reader.mostBytes(), reader.isHeld(), now);
    boolean limited = share != ByteShares.ALONE;
    if (limited || loan.limited) {
      loan.limited = limited;
      say(g, writer.byteCredit(session, limited ? share : -1));
    }
  }

  /** What is lent of one rail. */
  private static final class Loan {
    final ByteShares shares;
    final ByteShares.Member member = new ByteShares.Member();
    boolean limited;

    Loan(ByteShares shares) {
      this.shares = shares;
    }
  }

  private final class Delivered implements InboundNotification {
    private final String peer;
    private final long epoch;
    private final long transfer;
    private final @Nullable String requestId;
    private final byte[] payload;
    private final AtomicBoolean taken = new AtomicBoolean();

    Delivered(
        String peer, long epoch, long transfer, @Nullable String requestId, byte[] payload) {
      this.peer = peer;
      this.epoch = epoch;
      this.transfer = transfer;
      this.requestId = requestId;
      this.payload = payload;
    }

    @Override
    public String peer() {
      return peer;
    }

    @Override
    public long peerEpoch() {
      return epoch;
    }

    @Override
    public long transfer() {
      return transfer;
    }

    @Override
    public @Nullable String requestId() {
      return requestId;
    }

    @Override
    public byte[] payload() {
      return payload;
    }

    @Override
    public void consumed() {
      if (taken.compareAndSet(false, true)) {
        unconsumed.decrementAndGet();
        consumed.incrementAndGet();
        host.wake(); // the initiator may be waiting for this credit
      }
    }
  }

  /** For tests: what is still held. */
  String holdings() {
    return "%s session=%d generations=%s strays=%s window=[%d,%d) unconsumed=%d"
        .formatted(
            state, session, generations, strays, window.base(), window.end(), unconsumed.get());
  }
}
