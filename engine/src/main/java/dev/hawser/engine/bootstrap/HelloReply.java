/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

/** The answer to one HELLO; used once, from any thread, never blocks. */
public interface HelloReply {

  /** Accepts: the transport's answer is made and sent, then the connection is handed over. */
  void welcome(Welcome welcome);

  /** Refuses. */
  void refuse(Refusal refusal);
}
