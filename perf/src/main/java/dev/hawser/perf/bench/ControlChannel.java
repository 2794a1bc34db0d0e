/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * Calls between nodes over notifications, which are at most 4 KiB: longer messages travel in parts. A part is
 *
 * <pre>
 * u64 call   the caller's number of the call
 * u32 part   from 0
 * u32 parts  how many there are, with the top bit set in a reply
 * bytes
 * </pre>
 *
 * <p>Thread-safe. {@link #received} returns at once: each call is answered on a virtual thread of its own.
 */
final class ControlChannel {
  private static final int MAX_NOTIFICATION = 4096;
  private static final int HEADER = 16;
  private static final int PART = MAX_NOTIFICATION - HEADER;
  private static final int MAX_PARTS = 1 << 12;
  private static final int REPLY = 1 << 31;
  private static final String FAILED = "failed";

  /** Sends one notification and returns when it is on its way. */
  interface Sender {
    void send(String peer, byte[] payload);
  }

  private record Key(String peer, long call, boolean reply) {}

  private static final class Parts {
    private final byte[][] parts;
    private int missing;

    Parts(int count) {
      parts = new byte[count][];
      missing = count;
    }

    /** The whole, once it is. */
    byte @Nullable [] add(int index, byte[] part) {
      if (parts[index] == null) {
        parts[index] = part;
        missing--;
      }
      if (missing > 0) {
        return null;
      }
      ByteArrayOutputStream whole = new ByteArrayOutputStream();
      for (byte[] each : parts) {
        whole.writeBytes(each);
      }
      return whole.toByteArray();
    }
  }

  private record Pending(String peer, CompletableFuture<Message> reply) {}

  private final Sender sender;
  private final BiFunction<String, Message, Message> handler;
  private final AtomicLong calls = new AtomicLong();
  private final Map<Long, Pending> pending = new ConcurrentHashMap<>();
  /** Why a peer counts as lost, until it is heard of again. */
  private final Map<String, String> lost = new ConcurrentHashMap<>();
  private final Map<Key, Parts> incomplete = new HashMap<>();

  /**
   * A channel.
   *
   * @param handler answers a peer's call; what it throws is told to the caller
   */
  ControlChannel(Sender sender, BiFunction<String, Message, Message> handler) {
    this.sender = sender;
    this.handler = handler;
  }

  /**
   * Calls a peer and waits for the answer.
   *
   * @throws BenchException if the peer says that it failed, is lost, or does not answer in time
   */
  Message call(String peer, Message request, Duration timeout) {
    long call = calls.incrementAndGet();
    CompletableFuture<Message> reply = new CompletableFuture<>();
    pending.put(call, new Pending(peer, reply));
    String reason = lost.get(peer);
    if (reason != null) {
      reply.completeExceptionally(new BenchException(reason));
    }
    try {
      if (reason == null) {
        send(peer, call, 0, request.encode());
      }
      Message answer = reply.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
      if (answer.verb().equals(FAILED)) {
        throw new BenchException("peer '" + peer + "': " + answer.text("message"));
      }
      return answer;
    } catch (TimeoutException e) {
      throw new BenchException("peer '" + peer + "' did not answer '" + request.verb() + "' within "
          + timeout.toMillis() + " ms; look at what it prints, and whether it still runs", e);
    } catch (ExecutionException e) {
      throw new BenchException("peer '" + peer + "' was lost before it answered '" + request.verb() + "': "
          + (e.getCause() == null ? e : e.getCause()).getMessage(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new BenchException("interrupted while peer '" + peer + "' was to answer '" + request.verb() + "'", e);
    } finally {
      pending.remove(call);
    }
  }

  /** A peer will not answer any more, unless something comes from it after all. */
  void lost(String peer, String reason) {
    lost.put(peer, reason);
    for (Pending each : pending.values()) {
      if (each.peer().equals(peer)) {
        each.reply().completeExceptionally(new BenchException(reason));
      }
    }
  }

  /** A notification came. */
  void received(String peer, byte[] payload) {
    ByteBuffer in = ByteBuffer.wrap(payload).order(ByteOrder.LITTLE_ENDIAN);
    if (in.remaining() < HEADER) {
      return; // Nobody of ours sent this.
    }
    long call = in.getLong();
    int part = in.getInt();
    int flagged = in.getInt();
    boolean reply = (flagged & REPLY) != 0;
    int parts = flagged & ~REPLY;
    if (parts < 1 || parts > MAX_PARTS || part < 0 || part >= parts) {
      return;
    }
    lost.remove(peer);
    byte[] bytes = new byte[in.remaining()];
    in.get(bytes);
    byte[] whole = whole(new Key(peer, call, reply), part, parts, bytes);
    if (whole == null) {
      return;
    }
    Message message = Message.decode(whole);
    if (!reply) {
      Thread.ofVirtual().name("bench-call-" + message.verb()).start(() -> answer(peer, call, message));
      return;
    }
    Pending waiting = pending.get(call);
    if (waiting != null && waiting.peer().equals(peer)) {
      waiting.reply().complete(message);
    }
  }

  private byte @Nullable [] whole(Key key, int part, int parts, byte[] bytes) {
    if (parts == 1) {
      return bytes;
    }
    synchronized (incomplete) {
      byte[] whole = incomplete.computeIfAbsent(key, _ -> new Parts(parts)).add(part, bytes);
      if (whole != null) {
        incomplete.remove(key);
      }
      return whole;
    }
  }

  private void answer(String peer, long call, Message request) {
    Message answer;
    try {
      answer = handler.apply(peer, request);
    } catch (RuntimeException e) {
      String message = e.getMessage() == null ? e.getClass().getName() : e.getMessage();
      answer = new Message(FAILED).put("message", message);
    }
    try {
      send(peer, call, REPLY, answer.encode());
    } catch (RuntimeException e) {
      System.getLogger(ControlChannel.class.getName()).log(System.Logger.Level.WARNING,
          "the answer to '" + request.verb() + "' did not reach '" + peer + "': " + e.getMessage());
    }
  }

  private void send(String peer, long call, int flag, byte[] whole) {
    int parts = Math.max(1, Math.ceilDiv(whole.length, PART));
    for (int part = 0; part < parts; part++) {
      int from = part * PART;
      int length = Math.min(PART, whole.length - from);
      ByteBuffer out = ByteBuffer.allocate(HEADER + length).order(ByteOrder.LITTLE_ENDIAN);
      out.putLong(call).putInt(part).putInt(parts | flag).put(whole, from, length);
      sender.send(peer, out.array());
    }
  }
}
