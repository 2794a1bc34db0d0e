/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.etcd;

import dev.hawser.metadata.store.MeetingId;
import io.etcd.jetcd.ByteSequence;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Where things are in etcd.
 *
 * <pre>
 * PREFIX v1/agents/NAME      the entry, attached to its presence's lease
 * PREFIX v1/epochs/NAME      the greatest epoch accepted under this name; attached to a long lease once the entry is gone
 * PREFIX v1-soft/NAME        the summary, attached to the presence's lease; outside what is watched
 * PREFIX v1-meet/NAME/ROUND/RANK   a member of a meeting, attached to a lease of its own
 * </pre>
 */
final class Keys {
  private final String watched;
  private final String agents;
  private final String epochs;
  private final String summaries;
  private final String meetings;

  Keys(String prefix) {
    watched = prefix + "v1/";
    agents = watched + "agents/";
    epochs = watched + "epochs/";
    summaries = prefix + "v1-soft/";
    meetings = prefix + "v1-meet/";
  }

  ByteSequence watched() {
    return bytes(watched);
  }

  ByteSequence agents() {
    return bytes(agents);
  }

  ByteSequence epochs() {
    return bytes(epochs);
  }

  ByteSequence agent(String name) {
    return bytes(agents + name);
  }

  ByteSequence epoch(String name) {
    return bytes(epochs + name);
  }

  ByteSequence summary(String name) {
    return bytes(summaries + name);
  }

  boolean isAgent(String key) {
    return key.startsWith(agents);
  }

  boolean isEpoch(String key) {
    return key.startsWith(epochs);
  }

  String nameOfAgent(ByteSequence key) {
    return text(key).substring(agents.length());
  }

  String nameOfEpoch(ByteSequence key) {
    return text(key).substring(epochs.length());
  }

  ByteSequence meetings() {
    return bytes(meetings);
  }

  ByteSequence members(MeetingId id) {
    return bytes(meetings + id.name() + "/" + id.round() + "/");
  }

  ByteSequence member(MeetingId id, int rank) {
    return bytes(meetings + id.name() + "/" + id.round() + "/" + rank);
  }

  MeetingId meetingOf(ByteSequence member) {
    String[] parts = text(member).substring(meetings.length()).split("/", -1);
    return new MeetingId(parts[0], Long.parseLong(parts[1]));
  }

  int rankOf(ByteSequence member) {
    String key = text(member);
    return Integer.parseInt(key.substring(key.lastIndexOf('/') + 1));
  }

  /** The smallest key that is greater. */
  static ByteSequence after(ByteSequence key) {
    byte[] from = key.getBytes();
    return ByteSequence.from(Arrays.copyOf(from, from.length + 1));
  }

  static String text(ByteSequence bytes) {
    return bytes.toString(StandardCharsets.UTF_8);
  }

  private static ByteSequence bytes(String text) {
    return ByteSequence.from(text, StandardCharsets.UTF_8);
  }
}
