/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** A way to a metadata service on which answers can be held up. */
final class GatedService implements AutoCloseable {
  private final URI service;
  private final ServerSocket listener;
  private final List<Socket> sockets = new ArrayList<>();
  private final CountDownLatch asked = new CountDownLatch(1);
  private final CountDownLatch open = new CountDownLatch(1);
  private volatile boolean shut;

  GatedService(URI service) {
    this.service = service;
    try {
      this.listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    Thread.startVirtualThread(this::accept);
  }

  String url() {
    return "http://127.0.0.1:" + listener.getLocalPort();
  }

  /** From now on requests pass, and their answers do not. */
  void shut() {
    shut = true;
  }

  /** Waits until a request has passed that gets no answer. */
  boolean awaitAsked() throws InterruptedException {
    return asked.await(20, TimeUnit.SECONDS);
  }

  void open() {
    open.countDown();
  }

  private void accept() {
    try {
      while (true) {
        Socket client = listener.accept();
        Socket server = new Socket(service.getHost(), service.getPort());
        synchronized (sockets) {
          sockets.add(client);
          sockets.add(server);
        }
        Thread.startVirtualThread(() -> pump(client, server, false));
        Thread.startVirtualThread(() -> pump(server, client, true));
      }
    } catch (IOException e) {
      open(); // closed: the test is over
    }
  }

  private void pump(Socket from, Socket to, boolean answers) {
    try (from; to) {
      InputStream in = from.getInputStream();
      OutputStream out = to.getOutputStream();
      byte[] bytes = new byte[8192];
      for (int count = in.read(bytes); count >= 0; count = in.read(bytes)) {
        if (answers && shut) {
          asked.countDown();
          open.await();
        }
        out.write(bytes, 0, count);
      }
    } catch (IOException e) {
      return; // one side has gone, and the other goes with it
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() {
    open();
    try {
      listener.close();
      synchronized (sockets) {
        for (Socket socket : sockets) {
          socket.close();
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
