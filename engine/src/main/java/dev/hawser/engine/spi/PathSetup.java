/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.spi;

/**
 * One side of a path generation that is being set up. Exactly one of {@link #connect} and {@link
 * #close} is called.
 */
public interface PathSetup extends AutoCloseable {

  /** The offer (initiator) or the answer (target) for the other side, at most 4 KiB. */
  byte[] message();

  /**
   * Ends the set-up once both messages were exchanged and the peers authenticated each other.
   *
   * @param peerMessage the other side's {@link #message()}
   * @param stream the connected bootstrap stream; ownership passes to the transport, which keeps it
   *     as the data path (tcp) or as a liveness signal, or closes it
   * @return a connection that is ready for posting; nothing is polled on it before the engine does
   */
  Connection connect(byte[] peerMessage, BootstrapStream stream);

  /** Gives the attempt up and releases everything. */
  @Override
  void close();
}
