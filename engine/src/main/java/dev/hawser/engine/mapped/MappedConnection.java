/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import dev.hawser.engine.mapped.PathSegment.Side;
import dev.hawser.engine.spi.BootstrapStream;
import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.ConnectionEvents;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.WaitSet;
import dev.hawser.engine.spi.WorkStatus;
import org.jspecify.annotations.Nullable;

/** What both ends of a path have in common: the shared segment, its rings, the bell, and an eye on the other process. */
public abstract class MappedConnection implements Connection {
  public static final int MAX_MESSAGE_BYTES = 6144;
  public static final int MAX_SEGMENTS = 1 << 16;

  /** What must be free before data is accepted, so that messages still fit when it is not. */
  private static final long KEPT_RING_BYTES =
      (RESERVED_MESSAGES + 2L) * RecordWriter.recordBytes(MAX_MESSAGE_BYTES);

  private static final int KEPT_SLOTS = Completions.CAPACITY / 2;
  private static final int RECORDS_PER_POLL = 64;
  private static final int COMPLETIONS_PER_POLL = 256;
  private static final int POLLS_PER_LOOK = 4096;
  private static final int IDLE_POLLS_PER_LOOK = 1024;
  private static final int WAKES_PER_LOOK = 8;

  /** Descriptors are closed before a process counts as ended: so long the end is awaited that a lost stream announces. */
  private static final long ENDING_NANOS = 50_000_000;

  private final String transport;
  private final PathKey key;
  private final Side side;
  private final PathSegment segment;
  private final PeerProcess peer;
  private final Bell bell;
  private final BootstrapStream stream;
  private final RecordWriter writer;
  private final RecordReader reader;
  private final CommandRing outgoing;
  private final CommandRing incoming;
  private final Command command = new Command();
  private final Completions completions = new Completions();
  private final Unread unread;

  private @Nullable WaitSet waitSet;
  private boolean watchingStream;
  private boolean watchingPeer;
  private boolean armed;
  private boolean starved;
  private long starvedAt;
  private boolean closed;
  private long received;
  private int pollsSinceLook;
  private boolean ending;
  private long endingUntil;

  // Read by describe() on any thread.
  private volatile @Nullable PathFault fault;
  private boolean faultReported;
  private volatile boolean aborted;

  public MappedConnection(PathEnds ends) {
    this.transport = ends.transport();
    this.key = ends.key();
    this.side = ends.side();
    this.segment = ends.segment();
    this.peer = ends.peer();
    this.bell = ends.bell();
    this.stream = ends.stream();
    this.writer = new RecordWriter(segment, side);
    this.reader = new RecordReader(segment, side.peer(), MAX_MESSAGE_BYTES);
    this.unread = new Unread(completions, writer);
    this.outgoing = new CommandRing(segment, side);
    this.incoming = new CommandRing(segment, side.peer());
    peer.watchStream(stream.fd());
  }

  // ------------------------------------------------------------------------------------- for the two ends

  public final PathSegment segment() {
    return segment;
  }

  public final PeerProcess peer() {
    return peer;
  }

  public final Bell bell() {
    return bell;
  }

  public final RecordWriter writer() {
    return writer;
  }

  public final RecordReader reader() {
    return reader;
  }

  public final CommandRing outgoing() {
    return outgoing;
  }

  public final Completions completions() {
    return completions;
  }

  public final Unread unread() {
    return unread;
  }

  public final boolean isAborted() {
    return aborted;
  }

  /** Whether nothing new is accepted. */
  public final boolean isOver() {
    return aborted || fault != null;
  }

  /** Something could not be put into a ring: the owner wants to be woken when the peer has read. */
  public final void starved() {
    starved = true;
    starvedAt = writer.readHead();
  }

  /** The path fails; reported by the present or the next poll, once. */
  public final void fail(PathFault.Kind kind, String detail) {
    if (!isOver()) {
      fault = new PathFault(kind, describe() + ": " + detail);
      failed();
    }
  }

  /** The end's own part of a failure. */
  public abstract void failed();

  /** The end's own part of an abort. */
  public abstract void aborted();

  /** The peer's word. Returns what was done. */
  public abstract int look(long peerState);

  /** A command came. */
  public abstract void commanded(Command received, ConnectionEvents events);

  /** The end's own part of a poll, after everything that the peer sent. Returns what was done. */
  public abstract int work();

  /** Whether the end has something to do at once, apart from what the peer sent. */
  public abstract boolean hasWork();

  /** Whether the end waits for the peer to read. */
  public abstract boolean waitsForRoom();

  /** The end's own part of a close, while the segment is still mapped. */
  public abstract void release();

  // ------------------------------------------------------------------------------------------ posting

  /** Whether data may still be accepted, leaving room for messages. */
  public final boolean hasRoom(int outstanding) {
    return outstanding < KEPT_SLOTS && writer.hasRoom(KEPT_RING_BYTES);
  }

  @Override
  public final int maxSegments() {
    return MAX_SEGMENTS;
  }

  @Override
  public final void flushPosted() {
    bell.ringIfDue();
  }

  // ------------------------------------------------------------------------------------------ polling

  @Override
  public final int poll(ConnectionEvents events) {
    wake();
    if (ending) {
      seeTheEnd();
    }
    int done = look(segment.state(side.peer()));
    // The tail of the records is read before the commands are: those that precede a record are seen before it.
    boolean records = !isReadOut();
    done += takeCommands(events);
    if (records && mayTakeCommand()) {
      done += takeRecords(events);
    }
    done += work();
    done += completions.deliver(this, events, COMPLETIONS_PER_POLL);
    if (done == 0) {
      pollsSinceLook += POLLS_PER_LOOK / IDLE_POLLS_PER_LOOK;
    } else {
      pollsSinceLook++;
    }
    if (pollsSinceLook >= POLLS_PER_LOOK) {
      lookAtPeer();
    }
    PathFault failure = fault;
    if (failure != null && !faultReported) {
      faultReported = true;
      done++;
      if (!aborted) {
        events.failed(this, failure);
      }
    }
    bell.ringIfDue();
    return done;
  }

  private void wake() {
    if (armed) {
      armed = false;
      if (!bell.unpark()) {
        // Woken by another connection, or by the peer's end, which wakes us again until it is seen.
        pollsSinceLook += POLLS_PER_LOOK / WAKES_PER_LOOK;
      }
    }
  }

  @Override
  public final void lookAtPeer() {
    pollsSinceLook = 0;
    peer.look();
    WaitSet set = waitSet;
    if (peer.wasDead()) {
      if (set != null && watchingPeer) {
        watchingPeer = false;
        set.remove(peer.descriptor());
      }
      peerDied();
      fail(PathFault.Kind.RESET, peer + " ended");
    }
    if (peer.hungUp()) {
      if (set != null && watchingStream) {
        watchingStream = false;
        set.remove(stream.fd());
      }
      if (!isOver() && !peer.wasDead() && segment.state(side.peer()) != PathSegment.OVER) {
        ending = true;
        endingUntil = System.nanoTime() + ENDING_NANOS;
      }
      fail(PathFault.Kind.RESET, peer + " closed the path");
    }
  }

  /** The stream is gone without the peer's word: has its process ended meanwhile? */
  private void seeTheEnd() {
    lookAtPeer();
    ending = !peer.wasDead() && System.nanoTime() - endingUntil < 0;
  }

  /** Whether the peer's process is ending, it seems, and Linux does not say so yet. */
  public final boolean isPeerEnding() {
    return ending;
  }

  @Override
  public final String peerEnd() {
    return peer.wasDead() ? peer + " ended" : "";
  }

  /** The peer's process is gone: nothing of it stores any more. */
  public abstract void peerDied();

  private int takeCommands(ConnectionEvents events) {
    int taken = 0;
    while (taken < CommandRing.SLOTS && mayTakeCommand() && incoming.poll(command)) {
      taken++;
      received++;
      commanded(command, events);
    }
    if (taken > 0) {
      bell.ringForRoom();
    }
    return taken;
  }

  /** False while an answer to a command could not be sent. */
  public abstract boolean mayTakeCommand();

  private int takeRecords(ConnectionEvents events) {
    int taken = 0;
    while (taken < RECORDS_PER_POLL && !isStuck()) {
      int kind = reader.next();
      if (kind == RecordReader.NONE) {
        break;
      }
      if (kind == RecordReader.MALFORMED) {
        fail(PathFault.Kind.PROTOCOL, "the peer wrote into the ring what is no record: " + reader.complaint());
        break;
      }
      taken++;
      received++;
      if (kind == RecordWriter.MESSAGE) {
        events.received(this, reader.message());
      } else {
        events.flushArrived(this, reader.flushed(), kind == RecordWriter.ABORT_FLUSH);
      }
      // Only now: what the peer takes for received was reported.
      reader.consume();
    }
    if (taken > 0) {
      bell.ringForRoom();
    }
    return taken;
  }

  @Override
  public final void abort() {
    if (!aborted) {
      aborted = true;
      aborted();
      bell.due();
      bell.ringIfDue();
    }
  }

  // ------------------------------------------------------------------------------------------ sleeping

  @Override
  public final void attach(WaitSet set) {
    waitSet = set;
    set.add(bell.readable(), WaitSet.READ);
    set.add(stream.fd(), WaitSet.READ);
    set.add(peer.descriptor(), WaitSet.READ);
    watchingStream = true;
    watchingPeer = true;
  }

  @Override
  public final boolean arm() {
    bell.ringIfDue();
    armed = true;
    bell.park(starved || waitsForRoom() ? Bell.PARKED_FOR_ROOM : Bell.PARKED);
    // Whatever the peer did before it could see us parked is seen here.
    boolean fed = starved && writer.readHead() != starvedAt;
    starved = false;
    if (fed || hasWork() || isAnythingThere()) {
      armed = false;
      bell.unpark();
      return false;
    }
    return true;
  }

  private boolean isAnythingThere() {
    return !completions.isEmpty()
        || (fault != null && !faultReported)
        || !isReadOut()
        || (!incoming.isEmpty() && mayTakeCommand())
        || isNews(segment.state(side.peer()));
  }

  /** Whether a look at the peer's word would do something. */
  public abstract boolean isNews(long peerState);

  /** Whether everything was read that can be. */
  public final boolean isReadOut() {
    return isStuck() || reader.isEmpty();
  }

  /** Whether nothing can be read any more, for the ring is broken. */
  private boolean isStuck() {
    PathFault failure = fault;
    return failure != null && failure.kind() == PathFault.Kind.PROTOCOL;
  }

  // ------------------------------------------------------------------------------------------ the rest

  @Override
  public final PathKey key() {
    return key;
  }

  /** How many records and commands came from the peer. */
  public final long received() {
    return received;
  }

  @Override
  public final String describe() {
    PathFault failure = fault;
    String state = aborted ? "aborted" : failure != null ? "failed" : "open";
    return "%s path %s, %s to %s (%s)"
        .formatted(transport, key, side == Side.INITIATOR ? "initiator" : "target", peer, state);
  }

  public final void complete(long workId, WorkStatus status) {
    completions.add(workId, status);
  }

  @Override
  public final void close() {
    if (closed) {
      return;
    }
    closed = true;
    WaitSet set = waitSet;
    if (set != null) {
      set.remove(bell.readable());
      if (watchingStream) {
        set.remove(stream.fd());
      }
      if (watchingPeer) {
        set.remove(peer.descriptor());
      }
    }
    release();
    bell.close();
    peer.close();
    stream.close();
    segment.unmap();
  }
}
