/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.capi;

import dev.hawser.agent.AgentClosedException;
import dev.hawser.agent.AgentSupersededException;
import dev.hawser.agent.AwaitTimeoutException;
import dev.hawser.agent.ExpectationCancelledException;
import dev.hawser.agent.GrantException;
import dev.hawser.agent.NameInUseException;
import dev.hawser.agent.PeerMetadataException;
import dev.hawser.agent.TransferException;
import dev.hawser.agent.UnknownPeerException;
import dev.hawser.agent.UnresolvedBlocksException;
import dev.hawser.agent.config.ConfigException;
import dev.hawser.agent.metadata.MetadataException;
import dev.hawser.engine.EngineException;
import dev.hawser.engine.LinkException;
import dev.hawser.memory.InvalidBlocksException;
import dev.hawser.memory.InvalidMemoryException;
import dev.hawser.memory.MemoryException;
import dev.hawser.memory.RegionInUseException;
import dev.hawser.memory.RegistryClosedException;

/** The errors of include/hawser.h. */
enum ErrorCode {
  ARGUMENT(-1), HANDLE(-2), UNRESOLVED_BLOCKS(-3), UNKNOWN_PEER(-4), PEER_METADATA(-5), NAME_IN_USE(-6), CLOSED(
      -7), SUPERSEDED(-8), TIMEOUT(-9), TRANSFER(
          -10), GRANT(-11), BUSY(-12), MEMORY(-13), METADATA_SERVICE(-14), LINK(-15), ENGINE(-16), INTERNAL(-99);

  private final int number;

  ErrorCode(int number) {
    this.number = number;
  }

  int number() {
    return number;
  }

  /** The code for what a call threw. */
  static ErrorCode of(Throwable thrown) {
    return switch (thrown) {
      case InvalidHandleException _ -> HANDLE;
      case TransferException _ -> TRANSFER;
      case ExpectationCancelledException _ -> TRANSFER;
      case AwaitTimeoutException _ -> TIMEOUT;
      case UnresolvedBlocksException _ -> UNRESOLVED_BLOCKS;
      case UnknownPeerException _ -> UNKNOWN_PEER;
      case PeerMetadataException _ -> PEER_METADATA;
      case NameInUseException _ -> NAME_IN_USE;
      case AgentClosedException _ -> CLOSED;
      case AgentSupersededException _ -> SUPERSEDED;
      case GrantException _ -> GRANT;
      case RegistryClosedException _ -> CLOSED;
      case RegionInUseException _ -> BUSY;
      case InvalidBlocksException _ -> ARGUMENT;
      case InvalidMemoryException _ -> ARGUMENT;
      case MemoryException _ -> MEMORY;
      case MetadataException _ -> METADATA_SERVICE;
      case LinkException _ -> LINK;
      case EngineException _ -> ENGINE;
      case ConfigException _ -> ARGUMENT;
      case IllegalArgumentException _ -> ARGUMENT;
      case IllegalStateException _ -> BUSY;
      case OutOfMemoryError _ -> MEMORY;
      case NoClassDefFoundError _ -> ENGINE;
      default -> INTERNAL;
    };
  }
}
