/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.engine.LinkException;
import dev.hawser.engine.Priority;
import dev.hawser.engine.Transfer;
import dev.hawser.engine.TransferEnd;
import dev.hawser.engine.TransferEnd.Cause;
import dev.hawser.memory.Device;
import dev.hawser.memory.Region;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A transfer that is resolved once and posted any number of times, one post at a time. Posting it again allocates nothing.
 *
 * <p>What it carries is set while it is not under way and holds for the posts that follow. One thread sets and posts; any
 * thread may poll, await and cancel.
 */
public final class PreparedTransfer implements TransferHandle {
  private final Agent agent;
  private final Operation operation;
  private final Peer peer;
  private final long peerEpoch;
  private final Transfer transfer;
  private final Region[] regions;
  private final boolean carriesData;
  private final StreamOrder order = new StreamOrder();

  private @Nullable String requestId;
  private @Nullable Consumer<? super PreparedTransfer> callback;
  private final Runnable callbackTask = this::callBack;
  private @Nullable TransferFuture future;
  private final AtomicReference<@Nullable Runnable> watcher = new AtomicReference<>();
  private long postedAt;
  private volatile long endedAt;
  private boolean told = true;

  PreparedTransfer(Agent agent, Operation operation, Peer peer, long peerEpoch, Transfer transfer, Region[] regions) {
    this.agent = agent;
    this.operation = operation;
    this.peer = peer;
    this.peerEpoch = peerEpoch;
    this.transfer = transfer;
    this.regions = regions;
    this.carriesData = transfer.totalBytes() != 0;
    transfer.timeout(agent.config().transferTimeout()).onEnd(this::ended);
  }

  // ------------------------------------------------------------------------------------------------ what it carries

  /** The bytes that the peer gets after all the data: at most 4 KiB, copied; null for none. */
  public PreparedTransfer notification(byte @Nullable [] payload) {
    transfer.notification(payload);
    return this;
  }

  /** One arrival at a counter of the peer ({@link Agent#expect}) after all the data, instead of a notification. */
  public PreparedTransfer counter(@Nullable Long number) {
    transfer.count(number);
    return this;
  }

  /** Whether the end of a WRITE means visible at the peer, and not only received. */
  public PreparedTransfer flush(boolean flush) {
    transfer.flush(flush);
    return this;
  }

  /** Whose chunks go first where transfers to a peer wait for the same paths; BULK unless set. */
  public PreparedTransfer priority(Priority priority) {
    transfer.priority(priority);
    return this;
  }

  /** An id that appears in telemetry and errors on both sides: at most 64 bytes of UTF-8; null for none. */
  public PreparedTransfer requestId(@Nullable String id) {
    transfer.requestId(id);
    requestId = id;
    return this;
  }

  /** How long a post may take before it ends as FAILED(DEADLINE_EXCEEDED). */
  public PreparedTransfer timeout(Duration timeout) {
    transfer.timeout(timeout);
    return this;
  }

  /**
   * The grant under which the remote blocks were lent: a READ is checked against its generation after the data, and ends
   * as FAILED(STALE) if the owner has moved on. Null for none.
   *
   * @throws GrantException if it is another peer's, of another incarnation, or for the other direction
   */
  public PreparedTransfer withGrant(@Nullable LentBlocks lent) {
    if (lent == null) {
      transfer.grant(null);
      return this;
    }
    lent.check(operation, peer.name(), peerEpoch);
    transfer.grant(operation == Operation.READ ? lent.generationCheck() : null);
    return this;
  }

  /**
   * Each post begins only when a stream of the user has done what it was given before the post: nothing is read or written
   * earlier. The thread that moves the link looks for it, at no call of the driver.
   *
   * @param device of the stream
   * @param stream the driver's handle, as PyTorch's {@code torch.cuda.current_stream().cuda_stream}; 0 is the default stream
   * @throws dev.hawser.memory.DeviceAbsentException if there is no such device
   */
  public PreparedTransfer after(Device device, long stream) {
    order.after(agent.timelines().of(device, stream));
    transfer.startsWhen(order.condition());
    return this;
  }

  /**
   * What a stream of the user is given after a post waits until that post has ended. It goes on also if the post fails: then
   * {@link Agent#isPoisoned} tells, and what the stream did since is not to be trusted. The user's own calls that wait for the
   * device, as freeing memory does, must not come between the post and its end on the thread that would end it.
   *
   * @param device of the stream
   * @param stream the driver's handle
   * @throws dev.hawser.memory.DeviceAbsentException if there is no such device
   */
  public PreparedTransfer before(Device device, long stream) {
    order.before(agent.timelines().of(device, stream));
    return this;
  }

  /** Each post begins at once, and no stream waits for it. */
  public PreparedTransfer unordered() {
    order.after(null);
    order.before(null);
    transfer.startsWhen(null);
    return this;
  }

  /** Called with this at the end of each post, on the callback executor; null for none. */
  public PreparedTransfer onEnd(@Nullable Consumer<? super PreparedTransfer> newCallback) {
    if (transfer.end() == null && transfer.id() != 0) {
      throw new IllegalStateException("onEnd: " + this + " is under way; set it before the post, or after the end");
    }
    callback = newCallback;
    return this;
  }

  // ------------------------------------------------------------------------------------------------ posting

  /**
   * Starts it. A small request on mapped memory is complete when this returns.
   *
   * @throws IllegalStateException if the last post has not ended
   * @throws TransferException if the peer has restarted, a local region was closed, or the link is closed or refused
   * @throws AgentClosedException if the agent is closed
   */
  public void post() {
    begin();
    try {
      transfer.post();
    } catch (RuntimeException e) {
      release();
      throw refused(e);
    }
  }

  /**
   * Starts it and waits for its end on this thread, which is the way of the lowest latency.
   *
   * @throws AwaitTimeoutException if the time is over first; the transfer goes on
   * @throws TransferException if it failed or was cancelled, or could not be started
   */
  public void postAndAwait(Duration timeout) {
    begin();
    boolean over;
    try {
      over = transfer.postAndAwait(timeout);
    } catch (RuntimeException e) {
      release();
      throw refused(e);
    }
    if (!over) {
      throw notOver(timeout);
    }
    checkDone();
  }

  private void begin() {
    agent.checkOpen();
    if (peer.epochOrZero() != peerEpoch) {
      throw restarted();
    }
    for (int i = 0; i < regions.length; i++) {
      if (!regions[i].tryRetain()) {
        release(i);
        throw TransferException.failed(Cause.LOCAL_ACCESS,
            regions[i] + " is closed; prepare the transfer again with memory that is registered", operation,
            peer.name(),
            requestId);
      }
    }
    if (order.isSet()) {
      orderPost();
    }
    told = false;
    endedAt = 0;
    postedAt = System.nanoTime();
  }

  private void orderPost() {
    if (transfer.end() == null && transfer.id() != 0) {
      release();
      throw new IllegalStateException("post: " + this + " is under way; await its end before posting it again");
    }
    order.begin();
  }

  private RuntimeException refused(RuntimeException e) {
    told = true;
    order.end(true);
    if (!(e instanceof LinkException)) {
      return e;
    }
    if (agent.isClosed()) {
      return new AgentClosedException(agent.name());
    }
    if (peer.epochOrZero() != peerEpoch) {
      return restarted();
    }
    String message = e.getMessage();
    return TransferException.failed(peer.isRemoved() ? Cause.CLOSED : Cause.REFUSED,
        message == null ? "the link cannot be used" : message, operation, peer.name(), requestId);
  }

  private TransferException restarted() {
    long now = peer.epochOrZero();
    String what = peer.isRemoved()
        ? "the peer was removed from this agent; add it again, and prepare the transfer with it"
        : now == 0 ? "the peer's metadata was invalidated"
            : "the peer was prepared as epoch "
                + Long.toUnsignedString(peerEpoch) + " and is now of epoch " + Long.toUnsignedString(now);
    return TransferException.failed(peer.isRemoved() ? Cause.CLOSED : Cause.PEER_RESTARTED, what, operation,
        peer.name(),
        requestId);
  }

  /** On an engine thread: must be short, and must not call back into the engine. */
  private void ended(Transfer ended) {
    endedAt = System.nanoTime();
    order.end(!(ended.end() instanceof TransferEnd.Done));
    release();
    TransferFuture waiting = future;
    if (waiting != null) {
      waiting.ended();
    }
    if (callback != null) {
      agent.callbacks().run(callbackTask);
    }
    tellWatcher();
  }

  private void tellWatcher() {
    Runnable present = watcher.get() == null ? null : watcher.getAndSet(null);
    if (present != null) {
      agent.callbacks().run(present);
    }
  }

  private void callBack() {
    Consumer<? super PreparedTransfer> present = callback;
    if (present != null) {
      present.accept(this);
    }
  }

  private void release() {
    release(regions.length);
  }

  private void release(int count) {
    for (int i = 0; i < count; i++) {
      regions[i].release();
    }
  }

  void attach(TransferFuture newFuture) {
    future = newFuture;
  }

  // ------------------------------------------------------------------------------------------------ following

  @Override
  public boolean poll() {
    return transfer.poll();
  }

  /**
   * Waits for the end of the present post, helping the engine on this thread where possible.
   *
   * @throws AwaitTimeoutException if the time is over first; the transfer goes on: await again, or cancel
   * @throws TransferException if it failed or was cancelled
   */
  public void await(Duration timeout) {
    if (!transfer.await(timeout)) {
      throw notOver(timeout);
    }
    checkDone();
  }

  /**
   * Runs a task once, on the callback executor, when the present post has ended; soon if it has already. For those who
   * decide only after the post that they want to be told. A later call replaces a task that has not run.
   */
  public void whenEnded(Runnable task) {
    watcher.set(task);
    if (transfer.end() != null) {
      tellWatcher();
    }
  }

  /** From the post to the end; to now while it is under way; zero before the first post. */
  public Duration elapsed() {
    if (transfer.id() == 0) {
      return Duration.ZERO;
    }
    long until = endedAt;
    return Duration.ofNanos((until == 0 ? System.nanoTime() : until) - postedAt);
  }

  private AwaitTimeoutException notOver(Duration timeout) {
    if (transfer.id() == 0) {
      return new AwaitTimeoutException(this + " was not posted within " + timeout + "; post it, and await it then");
    }
    return new AwaitTimeoutException(this + " has not ended after " + timeout + ": " + transfer.acknowledgedBytes()
        + " of " + transfer.totalBytes() + " bytes are acknowledged; await it again, or cancel it");
  }

  /** Throws if the last post did not end well. */
  private void checkDone() {
    TransferEnd end = transfer.end();
    if (end != null && !(end instanceof TransferEnd.Done)) {
      throw TransferException.of(end, operation, peer.name(), requestId);
    }
  }

  /** Ended, and not told to a batch poll yet. */
  boolean takeEnded() {
    if (told || transfer.end() == null) {
      return false;
    }
    told = true;
    return true;
  }

  @Override
  public @Nullable TransferEnd end() {
    return transfer.end();
  }

  @Override
  public void cancel() {
    transfer.cancel();
  }

  @Override
  public Transfer.RemoteState remoteSettled() {
    return transfer.remoteSettled();
  }

  @Override
  public Operation operation() {
    return operation;
  }

  @Override
  public Peer peer() {
    return peer;
  }

  /** The incarnation of the peer that it was prepared for. */
  public long peerEpoch() {
    return peerEpoch;
  }

  /** The transfer's number within the link, new with every post; 0 before the first. */
  public long id() {
    return transfer.id();
  }

  @Override
  public @Nullable String requestId() {
    return requestId;
  }

  @Override
  public long totalBytes() {
    return transfer.totalBytes();
  }

  @Override
  public long acknowledgedBytes() {
    return transfer.acknowledgedBytes();
  }

  long postedAt() {
    return postedAt;
  }

  Transfer transfer() {
    return transfer;
  }

  @Override
  public String toString() {
    return (carriesData ? operation.toString() : "notification") + " with peer '" + peer.name() + "', "
        + totalBytes() + " bytes" + (requestId == null ? "" : ", request " + requestId);
  }
}
