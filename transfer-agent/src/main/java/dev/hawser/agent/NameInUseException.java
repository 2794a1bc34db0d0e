/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

/** Another living agent has the name. */
public final class NameInUseException extends AgentException {
  private static final long serialVersionUID = 1L;

  private final String host;
  private final long pid;

  NameInUseException(String name, String address, String host, long pid) {
    super("the name '" + name + "' is in use: process " + pid + " on host " + host + " answers for it at " + address
        + "; end that process, or choose another name (HAWSER_NAME)");
    this.host = host;
    this.pid = pid;
  }

  NameInUseException(String name, String address) {
    super("the name '" + name + "' is in use: who answers at " + address
        + " does not say who it is, for its cluster secret is another one; set the same HAWSER_SECRET, or choose another name"
        + " (HAWSER_NAME)");
    this.host = "";
    this.pid = 0;
  }

  /** The host that the other one runs on, as it calls itself; empty if it does not say. */
  public String host() {
    return host;
  }

  /** Its process there; 0 if it does not say. */
  public long pid() {
    return pid;
  }
}
