/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.etcd;

import dev.hawser.metadata.store.Join;
import dev.hawser.metadata.store.JoinOutcome;
import dev.hawser.metadata.store.Meeting;
import dev.hawser.metadata.store.MeetingId;
import dev.hawser.metadata.store.Meetings;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.Watch;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.DeleteOption;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.PutOption;
import io.etcd.jetcd.options.WatchOption;
import io.etcd.jetcd.watch.WatchEvent;
import io.vertx.core.Future;
import java.util.Comparator;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;

/**
 * Meetings in etcd: a key for each member, attached to a lease of its own. The member that came first decides the size.
 * A watch that breaks costs time, not a meeting: those who wait ask again.
 */
final class EtcdMeetings implements Meetings, AutoCloseable {
  private static final System.Logger LOG = System.getLogger(EtcdMeetings.class.getName());

  private final Etcd etcd;
  private final Keys keys;
  private final List<Consumer<MeetingId>> listeners = new CopyOnWriteArrayList<>();
  private final Watch.Watcher watcher;

  EtcdMeetings(Etcd etcd, Keys keys) {
    this.etcd = etcd;
    this.keys = keys;
    WatchOption option = WatchOption.builder().isPrefix(true).withNoDelete(true).build();
    this.watcher =
        etcd.watch()
            .watch(
                keys.meetings(),
                option,
                response -> response.getEvents().forEach(this::joined),
                broken -> LOG.log(System.Logger.Level.INFO, "The watch on meetings broke: {0}", broken));
  }

  private void joined(WatchEvent event) {
    MeetingId id = keys.meetingOf(event.getKeyValue().getKey());
    listeners.forEach(listener -> listener.accept(id));
  }

  @Override
  public Future<JoinOutcome> join(Join join) {
    return OnContext.of(etcd.grant((join.ttlMillis() + 999) / 1000).thenCompose(lease -> join(join, lease)));
  }

  private CompletableFuture<JoinOutcome> join(Join join, long lease) {
    Op put =
        Op.put(
            keys.member(join.id(), join.rank()),
            Values.member(join),
            PutOption.builder().withLeaseId(lease).build());
    return etcd.write(List.of(Conditions.atRevision(keys.member(join.id(), join.rank()), 0)), put)
        .thenCompose(
            written -> all(join.id())
                .thenCompose(
                    members -> written.isSucceeded()
                        ? newcomer(join, members)
                        : rival(join, members, lease)));
  }

  /** It has written itself in, which it takes back when the meeting is another than it thought. */
  private CompletableFuture<JoinOutcome> newcomer(Join join, List<KeyValue> members) {
    int size = sizeOf(members, join.size());
    if (size == join.size()) {
      return CompletableFuture.completedFuture(new JoinOutcome.Joined(meeting(size, members)));
    }
    return etcd.write(List.of(), Op.delete(keys.member(join.id(), join.rank()), DeleteOption.DEFAULT))
        .thenApply(deleted -> new JoinOutcome.SizeDiffers(size));
  }

  /** Somebody has the rank: it itself, earlier, or another. */
  private CompletableFuture<JoinOutcome> rival(Join join, List<KeyValue> members, long lease) {
    CompletableFuture<Void> _ = etcd.revoke(lease).exceptionally(failed -> null);
    int size = sizeOf(members, join.size());
    if (size != join.size()) {
      return CompletableFuture.completedFuture(new JoinOutcome.SizeDiffers(size));
    }
    for (KeyValue member : members) {
      if (keys.rankOf(member.getKey()) == join.rank()) {
        String holder = Values.member(member.getValue()).member().name();
        if (!holder.equals(join.member())) {
          return CompletableFuture.completedFuture(new JoinOutcome.RankTaken(holder));
        }
        return etcd.keepAlive(member.getLease())
            .thenApply(alive -> new JoinOutcome.Joined(meeting(size, members)));
      }
    }
    // It has just ended: the next question makes it a member again.
    return CompletableFuture.completedFuture(new JoinOutcome.Joined(meeting(size, members)));
  }

  @Override
  public Future<Meeting> look(MeetingId id) {
    return OnContext.of(
        all(id)
            .thenApply(
                members -> members.isEmpty() ? new Meeting(0, new TreeMap<>()) : meeting(sizeOf(members, 0), members)));
  }

  @Override
  public Runnable listen(Consumer<MeetingId> listener) {
    listeners.add(listener);
    return () -> listeners.remove(listener);
  }

  @Override
  public void close() {
    watcher.close();
  }

  private CompletableFuture<List<KeyValue>> all(MeetingId id) {
    return etcd.get(keys.members(id), GetOption.builder().isPrefix(true).build()).thenApply(found -> found.getKvs());
  }

  private static int sizeOf(List<KeyValue> members, int otherwise) {
    return members.stream()
        .min(Comparator.comparingLong(KeyValue::getCreateRevision))
        .map(first -> Values.member(first.getValue()).size())
        .orElse(otherwise);
  }

  private Meeting meeting(int size, List<KeyValue> members) {
    TreeMap<Integer, Meeting.Member> byRank = new TreeMap<>();
    for (KeyValue member : members) {
      Values.Seat seat = Values.member(member.getValue());
      if (seat.size() == size) {
        byRank.put(keys.rankOf(member.getKey()), seat.member());
      }
    }
    return new Meeting(size, byRank);
  }
}
