/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.spi;

import java.util.List;
import java.util.Objects;

/**
 * One side of a path generation that is being set up. Exactly one of {@link #connect} and {@link
 * #close} is called.
 */
public interface PathSetup extends AutoCloseable {

  /** The offer (initiator) or the answer (target) for the other side, at most 4 KiB. */
  byte[] message();

  /**
   * Initiator: which of the target's addresses to dial, and from where. Asked once, before dialling. A transport whose
   * data stays on the bootstrap's socket keeps to its rails here; the others take any way there is.
   *
   * @param targetAddresses where the target's bootstrap listens, numeric {@code host:port}, in order of preference
   * @throws PathSetupException if none of them will do
   */
  default Dial dial(List<String> targetAddresses) {
    return new Dial(targetAddresses, "");
  }

  /**
   * How to dial.
   *
   * @param addresses of those given, at least one, in the order in which they are tried
   * @param localHost the numeric local address to dial from; empty for any
   */
  record Dial(List<String> addresses, String localHost) {
    public Dial {
      Objects.requireNonNull(localHost, "localHost");
      addresses = List.copyOf(addresses);
    }
  }

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
