/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.etcd;

import dev.hawser.metadata.store.Agent;
import dev.hawser.metadata.store.Listing;
import dev.hawser.metadata.store.Publication;
import dev.hawser.metadata.store.Selector;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.kv.GetResponse;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.OptionsUtil;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Reads entries. */
final class EtcdReader {
  /** Entries read at once when all are read. */
  private static final int PAGE = 256;

  /** etcd takes 128 operations in a transaction. */
  private static final int NAMES_AT_ONCE = 64;

  private final Etcd etcd;
  private final Keys keys;

  EtcdReader(Etcd etcd, Keys keys) {
    this.etcd = etcd;
    this.keys = keys;
  }

  /** How many entries there are, and the newest revision. */
  record Count(long agents, long revision) {}

  CompletableFuture<Count> count() {
    return etcd.get(keys.agents(), GetOption.builder().isPrefix(true).withCountOnly(true).build())
        .thenApply(now -> new Count(now.getCount(), now.getHeader().getRevision()));
  }

  /** All that is known of a name. */
  CompletableFuture<Seen> see(String name) {
    List<Op> gets =
        List.of(
            Op.get(keys.agent(name), GetOption.DEFAULT),
            Op.get(keys.epoch(name), GetOption.DEFAULT),
            Op.get(keys.summary(name), GetOption.DEFAULT));
    return etcd.read(gets)
        .thenApply(
            answer -> {
              KeyValue entry = first(answer.getGetResponses().get(0));
              KeyValue epoch = first(answer.getGetResponses().get(1));
              String summary = firstText(answer.getGetResponses().get(2));
              return new Seen(
                  entry == null ? null : Values.agent(name, entry.getValue(), summary),
                  entry == null ? 0 : entry.getModRevision(),
                  entry == null ? 0 : entry.getLease(),
                  epoch == null ? null : Values.epoch(name, epoch.getValue()),
                  epoch == null ? 0 : epoch.getModRevision(),
                  summary);
            });
  }

  /** Entries as they were at one revision. */
  CompletableFuture<Listing> listAll(Selector selector, String after, int limit, long revision) {
    ByteSequence from = after.isEmpty() ? keys.agents() : Keys.after(keys.agent(after));
    return page(new Collected(selector, limit, revision), from);
  }

  /** Likewise, those of given names. */
  CompletableFuture<Listing> listNames(Selector selector, String after, int limit) {
    List<String> names = List.copyOf(new TreeSet<>(selector.names()).tailSet(after, false));
    return names(new Collected(selector, limit, 0), names);
  }

  private CompletableFuture<Listing> page(Collected collected, ByteSequence from) {
    GetOption range =
        GetOption.builder()
            .withRange(OptionsUtil.prefixEndOf(keys.agents()))
            .withLimit(PAGE)
            .withRevision(collected.revision)
            .build();
    return etcd.get(from, range)
        .thenCompose(
            entries -> summaries(entries.getKvs(), collected.revision)
                .thenCompose(
                    summaries -> {
                      if (!collected.add(keys, entries.getKvs(), summaries) || !entries.isMore()) {
                        return CompletableFuture.completedFuture(collected.listing());
                      }
                      return page(collected, Keys.after(entries.getKvs().getLast().getKey()));
                    }));
  }

  private CompletableFuture<Listing> names(Collected collected, List<String> names) {
    List<String> part = names.subList(0, Math.min(names.size(), NAMES_AT_ONCE));
    GetOption option = GetOption.builder().withRevision(collected.revision).build();
    return etcd.read(part.stream().map(name -> (Op) Op.get(keys.agent(name), option)).toList())
        .thenCompose(
            answer -> {
              if (collected.revision == 0) {
                collected.revision = answer.getHeader().getRevision();
              }
              List<KeyValue> entries =
                  answer.getGetResponses().stream().flatMap(got -> got.getKvs().stream()).toList();
              return summaries(entries, collected.revision)
                  .thenCompose(
                      summaries -> {
                        if (!collected.add(keys, entries, summaries) || part.size() == names.size()) {
                          return CompletableFuture.completedFuture(collected.listing());
                        }
                        return names(collected, names.subList(part.size(), names.size()));
                      });
            });
  }

  /** Those of the entries, in their order. */
  private CompletableFuture<List<String>> summaries(List<KeyValue> entries, long revision) {
    CompletableFuture<List<String>> all = CompletableFuture.completedFuture(new ArrayList<>(entries.size()));
    GetOption option = GetOption.builder().withRevision(revision).build();
    for (int i = 0; i < entries.size(); i += NAMES_AT_ONCE) {
      List<Op> gets =
          entries.subList(i, Math.min(entries.size(), i + NAMES_AT_ONCE)).stream()
              .map(entry -> (Op) Op.get(keys.summary(keys.nameOfAgent(entry.getKey())), option))
              .toList();
      all =
          all.thenCombine(
              etcd.read(gets),
              (texts, answer) -> {
                answer.getGetResponses().forEach(got -> texts.add(firstText(got)));
                return texts;
              });
    }
    return all;
  }

  private static @Nullable KeyValue first(GetResponse response) {
    return response.getKvs().isEmpty() ? null : response.getKvs().getFirst();
  }

  private static String firstText(GetResponse response) {
    KeyValue first = first(response);
    return first == null ? "" : Keys.text(first.getValue());
  }

  /** What a list has found so far; used by one step at a time. */
  private static final class Collected {
    private final Selector selector;
    private final int limit;
    private final List<Agent> agents = new ArrayList<>();
    private long revision;
    private boolean more;

    Collected(Selector selector, int limit, long revision) {
      this.selector = selector;
      this.limit = limit;
      this.revision = revision;
    }

    /** Whether there is room for more. */
    boolean add(Keys keys, List<KeyValue> entries, List<String> summaries) {
      for (int i = 0; i < entries.size(); i++) {
        KeyValue entry = entries.get(i);
        Publication publication =
            Values.agent(keys.nameOfAgent(entry.getKey()), entry.getValue(), summaries.get(i));
        if (!selector.accepts(publication.name(), publication.labels())) {
          continue;
        }
        if (agents.size() == limit) {
          more = true;
          return false;
        }
        agents.add(new Agent(publication, entry.getModRevision(), publication.ttlMillis()));
      }
      return true;
    }

    Listing listing() {
      return new Listing(revision, agents, more);
    }
  }
}
