/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.http;

import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;
import org.jspecify.annotations.Nullable;

/**
 * One connection to a server, one request at a time. Every wait ends at the deadline that is given. Not thread-safe,
 * except {@link #close}, which ends whatever another thread waits for.
 */
public final class HttpConnection implements AutoCloseable {
  private static final int MAX_LINE = 16 << 10;
  private static final int MAX_HEADERS = 128;
  /** Longer bodies may not fit into the socket's buffer, so that writing them can block. */
  private static final int UNWATCHED_BYTES = 16 << 10;

  private final HttpTarget target;
  private final Socket socket;
  private final InputStream in;
  private long deadline;
  private boolean reusable = true;
  private boolean fresh = true;
  private @Nullable InputStream unread;

  private HttpConnection(HttpTarget target, Socket socket, long deadline) throws IOException {
    this.target = target;
    this.socket = socket;
    this.deadline = deadline;
    this.in = new BufferedInputStream(new TimedInput(socket.getInputStream()), 8192);
  }

  /**
   * Connects.
   *
   * @param deadline {@code System.nanoTime()} at which to give up
   * @param tls makes TLS sockets; used if the target wants TLS
   */
  public static HttpConnection open(HttpTarget target, long deadline, @Nullable SSLSocketFactory tls)
      throws IOException {
    IOException failure = null;
    InetAddress[] addresses = InetAddress.getAllByName(target.host());
    for (int i = 0; i < addresses.length; i++) {
      // Each address gets its share, so that one that swallows packets leaves time for the others.
      long share = (deadline - System.nanoTime()) / (addresses.length - i);
      Socket socket = new Socket();
      try {
        socket.connect(new InetSocketAddress(addresses[i], target.port()), millis(share));
        socket.setTcpNoDelay(true);
        return new HttpConnection(target, target.tls() ? encrypt(socket, target, tls, deadline) : socket, deadline);
      } catch (IOException e) {
        socket.close();
        if (failure != null) {
          e.addSuppressed(failure);
        }
        failure = e;
      }
    }
    throw failure == null ? new IOException(target.host() + " has no address") : failure;
  }

  private static Socket encrypt(Socket socket, HttpTarget target, @Nullable SSLSocketFactory factory, long deadline)
      throws IOException {
    SSLSocketFactory used = factory == null ? (SSLSocketFactory) SSLSocketFactory.getDefault() : factory;
    SSLSocket tls = (SSLSocket) used.createSocket(socket, target.host(), target.port(), true);
    SSLParameters parameters = tls.getSSLParameters();
    parameters.setEndpointIdentificationAlgorithm("HTTPS");
    tls.setSSLParameters(parameters);
    tls.setSoTimeout(millis(deadline - System.nanoTime()));
    tls.startHandshake();
    return tls;
  }

  /**
   * Sends a request and reads the head of its answer.
   *
   * @param newDeadline {@code System.nanoTime()} at which to give up
   * @throws StaleConnectionException if the server had closed this connection before it saw the request
   */
  public HttpReply send(HttpRequest request, long newDeadline) throws IOException {
    deadline = newDeadline;
    boolean wasFresh = fresh;
    fresh = false;
    reusable = false;
    byte[] body = request.body();
    try {
      Thread watchdog = body != null && body.length > UNWATCHED_BYTES ? startWatchdog(newDeadline) : null;
      try {
        byte[] head = request.head(target).getBytes(StandardCharsets.US_ASCII);
        if (body == null || body.length > UNWATCHED_BYTES) {
          socket.getOutputStream().write(head);
          if (body != null) {
            socket.getOutputStream().write(body);
          }
        } else {
          byte[] whole = java.util.Arrays.copyOf(head, head.length + body.length);
          System.arraycopy(body, 0, whole, head.length, body.length);
          socket.getOutputStream().write(whole);
        }
        socket.getOutputStream().flush();
      } finally {
        if (watchdog != null) {
          watchdog.interrupt();
        }
      }
      in.mark(1);
      if (in.read() < 0) {
        throw new EOFException(target + " closed the connection without an answer");
      }
      in.reset();
    } catch (SocketTimeoutException e) {
      throw e;
    } catch (IOException e) {
      if (!wasFresh) {
        throw new StaleConnectionException(e);
      }
      throw e;
    }
    return readReply(request.method().equals("HEAD"));
  }

  private HttpReply readReply(boolean headOnly) throws IOException {
    String statusLine = readLine();
    if (!statusLine.startsWith("HTTP/1.") || statusLine.length() < 12) {
      throw new IOException(target + " does not speak HTTP/1.1; it said '" + printable(statusLine) + "'");
    }
    int status = number(statusLine.substring(9, 12), 10, 999, "status");
    Map<String, String> headers = readHeaders();
    if (status >= 100 && status < 200) {
      return readReply(headOnly);
    }
    boolean close = statusLine.startsWith("HTTP/1.0")
        || headers.getOrDefault("connection", "").toLowerCase(Locale.ROOT).contains("close");
    InputStream body = headOnly ? new Limited(0) : body(status, headers);
    reusable = !close && !(body instanceof UntilClose);
    unread = body;
    return new HttpReply(status, headers, body);
  }

  private Map<String, String> readHeaders() throws IOException {
    Map<String, String> headers = new HashMap<>();
    for (String line = readLine(); !line.isEmpty(); line = readLine()) {
      int colon = line.indexOf(':');
      if (colon <= 0 || headers.size() >= MAX_HEADERS) {
        throw new IOException(target + " sent a bad header, or too many: '" + printable(line) + "'");
      }
      String name = line.substring(0, colon).toLowerCase(Locale.ROOT);
      String value = line.substring(colon + 1).strip();
      String before = headers.get(name);
      headers.put(name, before == null ? value : before + "," + value);
    }
    return headers;
  }

  private InputStream body(int status, Map<String, String> headers) throws IOException {
    if (status == 204 || status == 304) {
      return new Limited(0);
    }
    String encoding = headers.get("transfer-encoding");
    if (encoding != null) {
      if (!encoding.equalsIgnoreCase("chunked")) {
        throw new IOException(target + " answers in an unknown transfer encoding '" + printable(encoding) + "'");
      }
      return new Chunked();
    }
    String length = headers.get("content-length");
    return length == null ? new UntilClose() : new Limited(number(length, 10, Integer.MAX_VALUE, "Content-Length"));
  }

  /** Whether another request can follow: the server keeps the connection and the whole answer was read. */
  public boolean isReusable() {
    return reusable && !socket.isClosed() && switch (unread) {
      case Limited limited -> limited.left == 0;
      case Chunked chunked -> chunked.ended;
      case null, default -> false;
    };
  }

  /** Moves the deadline of what is read from now on; for streams that go on for long. */
  public void deadline(long newDeadline) {
    deadline = newDeadline;
  }

  @Override
  public void close() {
    try {
      socket.close();
    } catch (IOException e) {
      // The descriptor is released all the same, and nothing was under way that could still fail.
      reusable = false;
    }
  }

  private Thread startWatchdog(long until) {
    return Thread.ofVirtual().name("hawser-http-watchdog").start(() -> {
      while (!Thread.currentThread().isInterrupted()) {
        long left = until - System.nanoTime();
        if (left <= 0) {
          close(); // a write that blocks has no other way to end
          return;
        }
        LockSupport.parkNanos(this, left);
      }
    });
  }

  private String readLine() throws IOException {
    StringBuilder line = new StringBuilder(64);
    for (int c = in.read(); c != '\n'; c = in.read()) {
      if (c < 0) {
        throw new EOFException(target + " closed the connection in the middle of its answer");
      }
      if (line.length() >= MAX_LINE) {
        throw new IOException(target + " sent a line of more than " + MAX_LINE + " bytes");
      }
      line.append((char) c);
    }
    int end = line.length();
    return end > 0 && line.charAt(end - 1) == '\r' ? line.substring(0, end - 1) : line.toString();
  }

  private int number(String text, int radix, int most, String what) throws IOException {
    try {
      int value = Integer.parseInt(text, radix);
      if (value >= 0 && value <= most) {
        return value;
      }
    } catch (NumberFormatException e) {
      throw new IOException(target + " sent no number as " + what + ": '" + printable(text) + "'", e);
    }
    throw new IOException(target + " sent " + text + " as " + what);
  }

  private static String printable(String text) {
    String start = text.length() > 80 ? text.substring(0, 80) + "…" : text;
    return start.replaceAll("[^ -~…]", "?");
  }

  private static int millis(long nanos) throws SocketTimeoutException {
    if (nanos <= 0) {
      throw new SocketTimeoutException("no answer in time");
    }
    return (int) Math.min(Integer.MAX_VALUE, (nanos + 999_999) / 1_000_000);
  }

  /** Reads from the socket until the deadline. */
  private final class TimedInput extends InputStream {
    private final InputStream raw;

    TimedInput(InputStream raw) {
      this.raw = raw;
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
      socket.setSoTimeout(millis(deadline - System.nanoTime()));
      return raw.read(bytes, offset, length);
    }
  }

  /** A body of known length. */
  private final class Limited extends InputStream {
    private int left;

    Limited(int length) {
      left = length;
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
      if (left == 0) {
        return -1;
      }
      int read = in.read(bytes, offset, Math.min(left, length));
      if (read < 0) {
        throw new EOFException(target + " closed the connection " + left + " bytes before the end of its answer");
      }
      left -= read;
      return read;
    }
  }

  /** A body in chunks. */
  private final class Chunked extends InputStream {
    private int left;
    private boolean first = true;
    private boolean ended;

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
      if (left == 0 && !ended) {
        nextChunk();
      }
      if (ended) {
        return -1;
      }
      int read = in.read(bytes, offset, Math.min(left, length));
      if (read < 0) {
        throw new EOFException(target + " closed the connection in the middle of its answer");
      }
      left -= read;
      return read;
    }

    private void nextChunk() throws IOException {
      if (!first) {
        String between = readLine();
        if (!between.isEmpty()) {
          throw new IOException(target + " sent '" + printable(between) + "' behind a chunk");
        }
      }
      first = false;
      String line = readLine();
      int semicolon = line.indexOf(';');
      left = number((semicolon < 0 ? line : line.substring(0, semicolon)).strip(), 16, Integer.MAX_VALUE, "chunk size");
      if (left == 0) {
        ended = true;
        readHeaders(); // trailers, which say nothing that we use
      }
    }
  }

  /** A body that ends with the connection. */
  private final class UntilClose extends InputStream {
    @Override
    public int read() throws IOException {
      return in.read();
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
      return in.read(bytes, offset, length);
    }
  }
}
