/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.sidecar;

import java.io.EOFException;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One connection of a worker, as the Python package has them. */
final class Worker implements AutoCloseable {
  private final SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);

  private Worker(Path socket) throws IOException {
    channel.connect(UnixDomainSocketAddress.of(socket));
  }

  /** A connection that has said nothing yet. */
  static Worker silent(Path socket) throws IOException {
    return new Worker(socket);
  }

  /** A connection of a worker with this key. */
  static Worker greeted(Path socket, int key) throws IOException {
    Worker worker = new Worker(socket);
    ByteBuffer answer = worker.ask(Message.HELLO, (long) Message.VERSION,
        Arrays.copyOf(Integer.toString(key).getBytes(StandardCharsets.US_ASCII), 16));
    if (answer.getLong() != Message.VERSION) {
      throw new IOException("another version");
    }
    return worker;
  }

  static int number(String function) {
    return Signature.ALL.stream().map(Signature::function).toList().indexOf(function);
  }

  /** Calls a function with numbers (Long), texts and bytes; null is for none of these. */
  ByteBuffer call(String function, @Nullable Object... arguments) throws IOException {
    return ask(number(function), arguments);
  }

  ByteBuffer ask(int number, @Nullable Object... arguments) throws IOException {
    send(number, arguments);
    return answer();
  }

  /** Asks for something whose answer is not waited for. */
  void send(int number, @Nullable Object... arguments) throws IOException {
    ByteBuffer body = ByteBuffer.allocate(1 << 16).order(ByteOrder.LITTLE_ENDIAN);
    for (@Nullable
    Object argument : arguments) {
      switch (argument) {
        case Long value -> body.putLong(value);
        case String text -> body.putInt(text.getBytes(StandardCharsets.UTF_8).length)
            .put(text.getBytes(StandardCharsets.UTF_8));
        case null -> body.putInt(Message.NONE);
        case byte[] content -> body.putInt(content.length).put(content);
        default -> throw new IllegalArgumentException(List.of(arguments).toString());
      }
    }
    body.flip();
    ByteBuffer head = ByteBuffer.allocate(6).order(ByteOrder.LITTLE_ENDIAN).putInt(body.remaining())
        .putShort((short) number).flip();
    write(head);
    write(body);
  }

  /** Has no answer come through any more; what is asked still goes out. */
  void hearNothing() throws IOException {
    channel.shutdownInput();
  }

  void write(ByteBuffer bytes) throws IOException {
    while (bytes.hasRemaining()) {
      channel.write(bytes);
    }
  }

  /** Waits until the sidecar takes nothing any more from here. */
  boolean isHungUpOn() throws IOException {
    long deadline = System.nanoTime() + 20_000_000_000L;
    while (System.nanoTime() < deadline) {
      try {
        write(ByteBuffer.wrap(new byte[1]));
        Thread.sleep(1);
      } catch (IOException e) {
        return true;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return false;
      }
    }
    return false;
  }

  /** The next answer; its number is not looked at. */
  ByteBuffer answer() throws IOException {
    int length = read(6).getInt();
    return read(length);
  }

  private ByteBuffer read(int bytes) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    while (buffer.hasRemaining()) {
      if (channel.read(buffer) < 0) {
        throw new EOFException("the sidecar hung up");
      }
    }
    return buffer.flip();
  }

  /** The text that comes next in an answer. */
  static String text(ByteBuffer answer) {
    byte[] text = new byte[answer.getInt()];
    answer.get(text);
    return new String(text, StandardCharsets.UTF_8);
  }

  /** Starts an agent; returns its handle. */
  long agent(String name, String settings) throws IOException {
    ByteBuffer answer = call("agent_start", name, settings);
    long result = answer.getLong();
    if (result < 0) {
      throw new IOException(result + ": " + text(answer));
    }
    return answer.getLong();
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
