/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.engine.net.MessageHeader;
import dev.hawser.engine.net.NativeBlock;
import dev.hawser.engine.net.Sockets;
import dev.hawser.engine.spi.BootstrapStream;
import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.ConnectionEvents;
import dev.hawser.engine.spi.DataRequest;
import dev.hawser.engine.spi.NetworkReport;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.WaitSet;
import dev.hawser.engine.staging.PathStaging;
import dev.hawser.memory.DriverException;
import dev.hawser.memory.ffi.Errno;
import java.nio.ByteBuffer;
import javax.net.ssl.SSLEngine;
import org.jspecify.annotations.Nullable;

/**
 * What both ends of a path have in common: frames out, frames in, messages, and answers to the other end's requests.
 * Everything happens on the thread that calls; after an end by {@link #abort} or a failure no system call touches user
 * memory any more.
 */
abstract sealed class TcpConnection implements Connection permits InitiatorConnection, TargetConnection {
  /** Control bytes kept back for messages and answers: a message more than promised, and what is lost at the ring's end. */
  static final int RESERVED_CONTROL_BYTES =
      (RESERVED_MESSAGES + 2) * (FrameLayout.HEADER_BYTES + FrameLayout.MAX_MESSAGE_BYTES)
          + Outstanding.SLOTS * FrameLayout.HEADER_BYTES;

  /** Places kept back for the same. */
  static final int RESERVED_PLACES = 4 * RESERVED_MESSAGES;

  /** Moved in one poll at most, in each direction, so that other connections get their turn. */
  private static final long POLL_BYTES = 4 << 20;

  private static final int POLL_READS = 16;
  private static final int POLL_REPORTS = 256;

  private enum State {
    OPEN, FAILED, ABORTED, CLOSED
  }

  private final PathKey key;
  private final BootstrapStream stream;
  private final Wire wire;
  private final NativeBlock block;
  final long extra; // native memory of the subclass
  final SendQueue out;
  final Receiver in;
  final Outstanding outstanding = new Outstanding();
  final Answers answers = new Answers();
  final PathStaging staging;
  final StagedOutput stagedOut = new StagedOutput();
  final StagedInput stagedIn = new StagedInput(this::placed);

  // Written by the owner, read by whoever describes.
  private volatile State state = State.OPEN;
  private @Nullable PathFault fault;
  private boolean faultReported;
  private @Nullable WaitSet waitSet;
  private int interest = WaitSet.READ;
  private long received;
  private boolean unread; // the last poll stopped before the socket was empty
  private boolean stalled; // the next frame waits for a device
  private long taken; // the highest sequence number that came in
  private boolean letGoOfDevices;

  TcpConnection(PathKey key, BootstrapStream stream, long extraBytes, PathStaging staging) {
    this.key = key;
    this.staging = staging;
    this.stream = stream;
    this.block = NativeBlock.map(extraBytes + SendQueue.NATIVE_BYTES + Receiver.NATIVE_BYTES + MessageHeader.BYTES);
    this.extra = block.address();
    long offset = extraBytes;
    long placesOffset = offset;
    long controlOffset = placesOffset + (long) SendQueue.PLACES * Places.BYTES;
    this.out =
        new SendQueue(
            block.address() + placesOffset,
            block.address() + controlOffset,
            block.view(controlOffset, SendQueue.CONTROL_BYTES));
    offset += SendQueue.NATIVE_BYTES;
    this.in =
        new Receiver(
            block.address() + offset,
            block.address() + offset + Receiver.STAGING_BYTES,
            block.view(offset, Receiver.STAGING_BYTES));
    offset += Receiver.NATIVE_BYTES;
    SSLEngine tls = stream.tls();
    this.wire =
        tls == null
            ? new PlainWire(stream.fd(), MessageHeader.at(block.address() + offset))
            : new TlsWire(stream.fd(), tls);
  }

  @Override
  public final PathKey key() {
    return key;
  }

  @Override
  public final String describe() {
    return "tcp path " + key + " " + stream.description() + " (" + state + ")";
  }

  @Override
  public final int maxSegments() {
    return FrameLayout.MAX_SEGMENTS;
  }

  @Override
  public int segmentBudget() {
    return 0;
  }

  @Override
  public boolean postData(long workId, DataRequest request) {
    throw new IllegalStateException(describe() + ": only the initiator's end posts requests");
  }

  @Override
  public boolean postFlush(long workId, long transfer, boolean abort) {
    throw new IllegalStateException(describe() + ": only the initiator's end posts flushes");
  }

  @Override
  public final boolean postMessage(long workId, ByteBuffer message) {
    int length = message.remaining();
    if (length > FrameLayout.MAX_MESSAGE_BYTES) {
      throw new IllegalArgumentException(
          "a message of " + length + " bytes; at most " + FrameLayout.MAX_MESSAGE_BYTES + " are carried");
    }
    int bytes = FrameLayout.HEADER_BYTES + length;
    if (!isOpen() || !outstanding.hasMessageSlot() || out.freePlaces() == 0 || out.freeControl() < bytes) {
      return false;
    }
    long sequence = outstanding.post(workId, Outstanding.Kind.MESSAGE, null);
    long at = out.control(bytes);
    FrameLayout.writeHeader(at, FrameLayout.MESSAGE, 0, 0, 0, sequence, length, 0);
    out.copy(message, at + FrameLayout.HEADER_BYTES);
    out.append(at, bytes);
    return true;
  }

  @Override
  public final void flushPosted() {
    if (isOpen() && !out.isBlocked()) {
      try {
        send();
      } catch (DriverException e) {
        deviceFailed(e);
      }
    }
  }

  /** What fails is told by the next poll. */
  private void deviceFailed(DriverException e) {
    fail(new PathFault(PathFault.Kind.WORK_ERROR, describe() + ": " + e.getMessage()));
  }

  @Override
  public final int poll(ConnectionEvents events) {
    int work = 0;
    if (isOpen()) {
      try {
        work += move(events);
      } catch (DriverException e) {
        deviceFailed(e);
      }
    }
    if (!isOpen()) {
      letGoOfDevices();
    }
    // What ended well is told before the failure.
    work += outstanding.report(this, events, false, POLL_REPORTS);
    PathFault failed = fault;
    if (failed != null && !faultReported) {
      faultReported = true;
      work++;
      events.failed(this, failed);
    }
    return state == State.OPEN ? work : work + outstanding.report(this, events, true, POLL_REPORTS);
  }

  private int move(ConnectionEvents events) {
    int work = send();
    work += receive(events);
    if (isOpen()) {
      work += stagedIn.move();
      answers.queue(out);
      serve();
      if (!out.isBlocked()) {
        work += send();
      }
    }
    return work;
  }

  /** Uses of memory that devices may be at are given back when they are not: a device cannot be called back. */
  private void letGoOfDevices() {
    if (!letGoOfDevices && staging.isIdle()) {
      letGoOfDevices = true;
      stagedIn.close();
      staging.close();
      release();
    }
  }

  /** The bytes of a request that came through a slot are in their places. */
  abstract void placed(long sequence);

  /** Whether a frame has to wait until what came before it is in its place. */
  abstract boolean waits(int type);

  /** A frame has to wait for a device, or for a slot: nothing more is taken in until then. */
  final void stall() {
    stalled = true;
  }

  /** A sequence number has been taken in, and all that belongs to it was done. */
  void processed(long sequence) {
    taken = sequence;
    answers.processed(sequence);
  }

  /** A sequence number has been taken in; the other end is told later. */
  final void taken(long sequence) {
    taken = sequence;
  }

  final long taken() {
    return taken;
  }

  /** Does what the other end asked for and what has room now. */
  void serve() {}

  /** True if {@link #serve} would do something. */
  boolean canServe() {
    return false;
  }

  /** A place in the send queue is not there any more. */
  abstract void lost(long place);

  /** Data has left: what was held for it can go. */
  void sent() {}

  private int send() {
    if (!wire.flush()) {
      return 0;
    }
    if (out.isEmpty()) {
      return 0;
    }
    stagedOut.open(out);
    long n = out.send(wire, POLL_BYTES);
    if (n == -Errno.EFAULT) {
      long place = out.firstUnreadable();
      if (place >= 0) {
        lost(place);
        return 1;
      }
    }
    if (n < 0) {
      // What has arrived is processed first: it may be the acknowledgement of what was posted.
      writeFailure = (int) -n;
      return 1;
    }
    if (n > 0) {
      stagedOut.release(out);
      sent();
    }
    return n > 0 ? 1 : 0;
  }

  private int writeFailure;

  private int receive(ConnectionEvents events) {
    int work = 0;
    long budget = POLL_BYTES;
    int reads = 0;
    unread = false;
    while (true) {
      work += frames(events);
      if (!isOpen()) {
        return work;
      }
      if (stalled) {
        break;
      }
      if (budget <= 0 || reads == POLL_READS) {
        unread = true;
        break;
      }
      if (answers.isFull()) {
        break; // the other end refuses to take its refusals: nothing more is read
      }
      long n = in.read(wire, neededBytes());
      reads++;
      if (n == -Errno.EAGAIN) {
        break;
      }
      if (n <= 0) {
        work++;
        ended((int) -n);
        return work;
      }
      received += n;
      budget -= n;
      work++;
      if (in.socketIsEmpty() && !wire.holdsInput()) {
        work += frames(events);
        break;
      }
    }
    if (writeFailure != 0 && isOpen() && !unread) {
      ended(writeFailure);
    }
    return work;
  }

  /** Processes the frames that are complete. */
  private int frames(ConnectionEvents events) {
    int frames = 0;
    stalled = false;
    while (isOpen() && !answers.isFull() && !stalled) {
      if (!in.payloadIsComplete()) {
        return frames;
      }
      if (payloadExpected) {
        payloadExpected = false;
        payloadCame(events);
        frames++;
        continue;
      }
      if (in.staged() < neededBytes()) {
        return frames;
      }
      if (waits(FrameLayout.type(in.at()))) {
        stall();
        return frames;
      }
      frame(events);
      frames += stalled ? 0 : 1;
    }
    return frames;
  }

  /** Payload is on its way: {@link #payloadCame} is called when it is complete. */
  final void expectPayload() {
    payloadExpected = true;
  }

  private boolean payloadExpected;

  /** Bytes that must be in the buffer before the next step. */
  private int neededBytes() {
    if (in.staged() < FrameLayout.HEADER_BYTES) {
      return FrameLayout.HEADER_BYTES;
    }
    long at = in.at();
    int type = FrameLayout.type(at);
    // A header that breaks the rules is looked at as soon as it is there.
    if (type == FrameLayout.MESSAGE) {
      long length = FrameLayout.length(at);
      return length < 0 || length > FrameLayout.MAX_MESSAGE_BYTES
          ? FrameLayout.HEADER_BYTES
          : FrameLayout.HEADER_BYTES + (int) length;
    }
    int segments = type == FrameLayout.WRITE || type == FrameLayout.READ ? FrameLayout.segments(at) : 0;
    return segments > FrameLayout.MAX_SEGMENTS
        ? FrameLayout.HEADER_BYTES
        : FrameLayout.HEADER_BYTES + segments * FrameLayout.SEGMENT_BYTES;
  }

  private void frame(ConnectionEvents events) {
    long at = in.at();
    int type = FrameLayout.type(at);
    int segments = FrameLayout.segments(at);
    long length = FrameLayout.length(at);
    boolean hasSegments = type == FrameLayout.WRITE || type == FrameLayout.READ;
    if (length < 0 || (segments != 0 && !hasSegments) || segments > FrameLayout.MAX_SEGMENTS) {
      protocolError(FrameLayout.name(type) + " with " + segments + " segments and a length of " + length);
      return;
    }
    switch (type) {
      case FrameLayout.MESSAGE -> message(at, length, events);
      case FrameLayout.ACK -> acknowledged(at);
      default -> request(type, at, events);
    }
  }

  private void message(long at, long length, ConnectionEvents events) {
    if (length > FrameLayout.MAX_MESSAGE_BYTES || FrameLayout.flags(at) != 0) {
      protocolError("a MESSAGE of " + length + " bytes; at most " + FrameLayout.MAX_MESSAGE_BYTES + " are allowed");
      return;
    }
    if (!inSequence(at)) {
      return;
    }
    events.received(this, in.view(FrameLayout.HEADER_BYTES, (int) length));
    in.consume(FrameLayout.HEADER_BYTES + (int) length);
    processed(taken + 1);
  }

  private void acknowledged(long at) {
    long sequence = FrameLayout.sequence(at);
    if (!outstanding.acknowledge(sequence)) {
      protocolError("ACK of " + sequence + ", which is not under way");
      return;
    }
    in.consume(FrameLayout.HEADER_BYTES);
  }

  /** A frame that only one of the ends gets; its header and segments are in the buffer. */
  abstract void request(int type, long at, ConnectionEvents events);

  /** The payload that was expected is complete. */
  abstract void payloadCame(ConnectionEvents events);

  /** True if the frame is the next one; else the connection fails. */
  final boolean inSequence(long at) {
    long sequence = FrameLayout.sequence(at);
    if (sequence != taken + 1) {
      protocolError(FrameLayout.name(FrameLayout.type(at)) + " " + sequence + " behind " + taken);
      return false;
    }
    return true;
  }

  final void protocolError(String what) {
    fail(new PathFault(PathFault.Kind.PROTOCOL, describe() + ": the peer sent " + what));
  }

  private void ended(int errno) {
    if (errno == 0) {
      fail(new PathFault(PathFault.Kind.RESET, describe() + ": the peer closed the connection"));
      return;
    }
    fail(new PathFault(kind(errno), describe() + ": " + wire.describe(errno)));
  }

  private static PathFault.Kind kind(int errno) {
    return switch (errno) {
      case Sockets.EPIPE, Sockets.ECONNRESET, Sockets.ENOTCONN -> PathFault.Kind.RESET;
      case Sockets.ETIMEDOUT -> PathFault.Kind.TIMED_OUT;
      case Sockets.ENETDOWN -> PathFault.Kind.PORT_DOWN;
      case Sockets.ENETUNREACH, Sockets.EHOSTUNREACH -> PathFault.Kind.UNREACHABLE;
      case Sockets.EPROTO -> PathFault.Kind.PROTOCOL;
      default -> PathFault.Kind.WORK_ERROR;
    };
  }

  final void fail(PathFault why) {
    if (state == State.OPEN) {
      state = State.FAILED;
      fault = why;
      letGo();
    }
  }

  BootstrapStream stream() {
    return stream;
  }

  final boolean isOpen() {
    return state == State.OPEN;
  }

  @Override
  public final long progress() {
    return received;
  }

  @Override
  public long signsOfLife() {
    return isOpen() ? received + Sockets.segmentsIn(stream.fd()) : received;
  }

  @Override
  public final @Nullable NetworkReport network() {
    return isOpen() ? Sockets.network(stream.fd()) : null;
  }

  @Override
  public final void abort() {
    if (state == State.OPEN) {
      state = State.ABORTED;
      letGo();
    } else if (state == State.FAILED) {
      state = State.ABORTED;
    }
  }

  /** From here on no byte of user memory is read or written for this connection. */
  private void letGo() {
    in.forgetPlaces();
    letGoOfDevices();
    WaitSet set = waitSet;
    if (set != null) {
      // A dead socket is always ready: it would keep the sleeper awake.
      waitSet = null;
      set.remove(stream.fd());
    }
    // Not a polite end: what the kernel still holds must not arrive later.
    Sockets.reset(stream.fd());
  }

  /** Gives back the uses of regions. */
  void release() {}

  @Override
  public final boolean drained() {
    return state != State.OPEN && letGoOfDevices && outstanding.isEmpty()
        && (fault == null || faultReported || state != State.FAILED);
  }

  @Override
  public final void attach(WaitSet set) {
    waitSet = set;
    set.add(stream.fd(), interest);
  }

  @Override
  public final boolean arm() {
    if (state != State.OPEN) {
      return letGoOfDevices && outstanding.isEmpty() && (fault == null || faultReported);
    }
    // A device is asked, and a slot may come free.
    if (stalled || stagedIn.isAtDevice() || staging.isMaking()) {
      return false;
    }
    if (unread || outstanding.hasEnded() || wire.holdsInput() || (canServe() && !out.isBlocked())) {
      return false;
    }
    boolean output = !out.isEmpty() || !wire.flush();
    if (output && !out.isBlocked() && !out.isEmpty()) {
      return false;
    }
    int wanted = (answers.isFull() ? 0 : WaitSet.READ) | (output ? WaitSet.WRITE : 0);
    WaitSet set = waitSet;
    if (set != null && wanted != interest) {
      interest = wanted;
      set.modify(stream.fd(), wanted);
    }
    return true;
  }

  @Override
  public final void close() {
    if (state == State.CLOSED) {
      return;
    }
    abort();
    state = State.CLOSED;
    stream.close();
    block.close();
  }
}
