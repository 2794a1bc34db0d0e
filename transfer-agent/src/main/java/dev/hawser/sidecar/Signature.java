/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.sidecar;

import java.util.List;

/**
 * How the arguments of a function travel, one letter for each:
 *
 * <pre>
 *   i  an integer                        s  a text or bytes, or none
 *   h  a place for a handle or number    a  8-byte numbers, or none
 *   o  a buffer to be written to, as large as the next argument says     u  the same, of 8-byte numbers
 *   t  as many bytes of states as the argument before says               b  rows of 24 bytes
 *   R P T N L  structs to be filled      Q  a request with its indices   O  options with what they point to
 * </pre>
 *
 * @param function its name in include/hawser.h
 * @param letters one for each argument
 */
record Signature(String function, String letters) {
  /** In the order of the header: what is sent is the place in this list. */
  static final List<Signature> ALL = List.of(
      new Signature("last_error", "oi"),
      new Signature("last_cause", ""),
      new Signature("release", "i"),
      new Signature("agent_start", "ssh"),
      new Signature("agent_close", "i"),
      new Signature("agent_describe", "ioi"),
      new Signature("agent_metadata", "iiaioi"),
      new Signature("agent_poll", "i"),
      new Signature("agent_await_published", "ii"),
      new Signature("agent_signal_to", "ii"),
      new Signature("agent_take_ended", "iui"),
      new Signature("region_register", "isiiiih"),
      new Signature("region_allocate", "isiih"),
      new Signature("region_describe", "iR"),
      new Signature("region_close", "ii"),
      new Signature("blocks_strided", "iiaaiih"),
      new Signature("blocks_triples", "biih"),
      new Signature("blocks_concat", "aih"),
      new Signature("blocks_count", "ih"),
      new Signature("peer_add", "isih"),
      new Signature("peer_get", "isih"),
      new Signature("peer_name", "ioi"),
      new Signature("peer_describe", "iP"),
      new Signature("peer_describe_json", "ioi"),
      new Signature("peer_region", "isR"),
      new Signature("peer_covers", "iii"),
      new Signature("peer_await_connected", "ii"),
      new Signature("peer_invalidate", "ii"),
      new Signature("peer_remove", "ii"),
      new Signature("transfer_prepare", "iQOh"),
      new Signature("transfer_start", "iQOh"),
      new Signature("transfer_post", "iO"),
      new Signature("transfer_poll", "i"),
      new Signature("transfers_poll", "iait"),
      new Signature("transfer_wait", "ii"),
      new Signature("transfer_describe", "iT"),
      new Signature("transfer_message", "ioi"),
      new Signature("transfer_cancel", "i"),
      new Signature("transfer_watch", "i"),
      new Signature("notification_next", "iiN"),
      new Signature("expect", "iiih"),
      new Signature("expectation_poll", "i"),
      new Signature("expectation_wait", "ii"),
      new Signature("expectation_cancel", "i"),
      new Signature("expectation_watch", "i"),
      new Signature("grant_make", "iiiih"),
      new Signature("grant_bytes", "ioi"),
      new Signature("grant_bump", "i"),
      new Signature("grant_revoke", "ii"),
      new Signature("grant_accept", "isih"),
      new Signature("lent_describe", "iL"),
      new Signature("collect_garbage", ""),
      new Signature("machine_describe", "oi"),
      new Signature("region_keep", "i"));
}
