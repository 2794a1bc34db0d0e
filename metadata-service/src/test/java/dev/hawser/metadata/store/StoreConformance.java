/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.metadata.store.DeleteOutcome.Deleted;
import dev.hawser.metadata.store.PublishOutcome.Mismatch;
import dev.hawser.metadata.store.PublishOutcome.Published;
import dev.hawser.metadata.store.PublishOutcome.Superseded;
import dev.hawser.metadata.store.RenewOutcome.Renewed;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** What every store does. Two handles on one store stand for two replicas; a memory store has the same one twice. */
public abstract class StoreConformance {
  private static final long DEADLINE_SECONDS = 30;
  private static final long LONG = 60_000;

  /** A time to live that this store can keep, and that a test can wait for. */
  protected abstract long shortMillis();

  protected abstract Store store();

  /** Another replica's. */
  protected abstract Store other();

  @Test
  void createsReplacesAndRefuses() {
    Published created = (Published) publish("a", 5);
    assertThat(created.created()).isTrue();
    Published replaced = (Published) get(other().publish(publication("a", 7), Store.EXPECT_ANYTHING));
    assertThat(replaced.replacedEpoch()).isEqualTo(5);
    assertThat(replaced.created()).isFalse();
    assertThat(replaced.revision()).isGreaterThan(created.revision());
    assertThat(publish("a", 6)).isEqualTo(new Superseded(7, "h:1"));
    assertThat(fetch("a").orElseThrow().publication().epoch()).isEqualTo(7);
    assertThat(fetch("a").orElseThrow().revision()).isEqualTo(replaced.revision());
  }

  @Test
  void keepsEveryField() {
    byte[] blob = new byte[5_000];
    new Random(3).nextBytes(blob);
    Publication all =
        new Publication(
            "a.b:c@d_e-0",
            -3L,
            LONG,
            "[::1]:7301",
            Labels.of(Map.of("role", "prefill", "gpu", "0000:17:00.0")),
            "{\"n\":1}",
            Buffer.buffer(blob));
    get(store().publish(all, 0));
    Agent agent = get(other().fetch("a.b:c@d_e-0")).orElseThrow();
    assertThat(agent.publication()).isEqualTo(all);
    assertThat(agent.expiresInMillis()).isBetween(1L, LONG);
    Agent listed = get(other().list(Selector.ALL, "", 10)).agents().getFirst();
    assertThat(listed.publication()).isEqualTo(all);
  }

  @Test
  void epochsAreUnsigned() {
    publish("a", Long.MAX_VALUE);
    assertThat(publish("a", Long.MIN_VALUE)).isInstanceOf(Published.class);
    assertThat(publish("a", 7)).isEqualTo(new Superseded(Long.MIN_VALUE, "h:1"));
  }

  @Test
  void repetitionChangesNothing() {
    Published first = (Published) get(store().publish(publication("a", 5), 0));
    assertThat(get(other().publish(publication("a", 5), 0))).isEqualTo(new Published(first.revision(), 0, false));
  }

  @Test
  void expectedEpochIsCompared() {
    publish("a", 5);
    assertThat(get(store().publish(publication("a", 7), 5))).isInstanceOf(Published.class);
    assertThat(get(store().publish(publication("a", 8), 5))).isEqualTo(new Mismatch(7, "h:1"));
    assertThat(get(store().publish(publication("b", 8), 7))).isEqualTo(new Mismatch(0, ""));
  }

  @Test
  void renewalKeepsAndCarriesASummary() throws InterruptedException {
    Published published = (Published) get(store().publish(shortLived("a", 5), Store.EXPECT_ANYTHING));
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(2 * shortMillis());
    while (System.nanoTime() < end) {
      assertThat(renew(new Renewal("a", 5, 0, "{\"beat\":1}")))
          .isEqualTo(new Renewed(published.revision(), shortMillis()));
      TimeUnit.MILLISECONDS.sleep(shortMillis() / 5);
    }
    Agent agent = fetch("a").orElseThrow();
    assertThat(agent.publication().summary()).isEqualTo("{\"beat\":1}");
    assertThat(agent.revision()).as("no news for watchers").isEqualTo(published.revision());
    renew(new Renewal("a", 5, 0, ""));
    assertThat(fetch("a").orElseThrow().publication().summary()).isEmpty();
  }

  @Test
  void renewalChangesTheTtl() {
    get(store().publish(shortLived("a", 5), Store.EXPECT_ANYTHING));
    assertThat(((Renewed) renew(new Renewal("a", 5, LONG, "{}"))).ttlMillis()).isEqualTo(LONG);
    assertThat(fetch("a").orElseThrow().publication().ttlMillis()).isEqualTo(LONG);
    assertThat(fetch("a").orElseThrow().publication().summary()).isEqualTo("{}");
  }

  @Test
  void renewalOfAnotherIncarnation() {
    publish("a", 5);
    assertThat(renew(new Renewal("a", 4, 0, null))).isEqualTo(new Superseded(5, "h:1"));
    assertThat(renew(new Renewal("a", 6, 0, null))).isEqualTo(new NoEntry());
    assertThat(renew(new Renewal("b", 6, 0, null))).isEqualTo(new NoEntry());
    assertThat(get(store().renew(List.of(new Renewal("a", 5, 0, null), new Renewal("b", 1, 0, null)))))
        .hasExactlyElementsOfTypes(Renewed.class, NoEntry.class);
  }

  @Test
  void presenceEnds() throws InterruptedException {
    Events events = new Events(other().events());
    get(store().publish(shortLived("a", 5), Store.EXPECT_ANYTHING));
    assertThat(events.next().kind()).isEqualTo(Event.Kind.PUT);
    assertThat(events.next())
        .extracting(Event::kind, Event::name, Event::epoch, Event::address)
        .containsExactly(Event.Kind.EXPIRE, "a", 5L, "h:1");
    assertThat(fetch("a")).isEmpty();
    assertThat(renew(new Renewal("a", 5, 0, null))).isEqualTo(new NoEntry());
    assertThat(publish("a", 4)).as("an older incarnation does not come back").isEqualTo(new Superseded(5, ""));
    assertThat(publish("a", 5)).as("the same one does").isInstanceOf(Published.class);
  }

  @Test
  void replacesOnlyWhatWasRead() {
    Publication first = publication("a", 5);
    Published one = (Published) publish("a", 5);
    Publication longer = first.append(Buffer.buffer("y"));
    Published two = (Published) get(other().replace(longer, one.revision()));

    assertThat(two.revision()).isGreaterThan(one.revision());
    assertThat(two.created()).isFalse();
    assertThat(get(store().fetch("a")).orElseThrow().publication().blob()).isEqualTo(longer.blob());
    assertThat(get(store().replace(first.append(Buffer.buffer("z")), one.revision())))
        .as("made from what is no more")
        .isEqualTo(new PublishOutcome.Moved());
    assertThat(get(store().replace(publication("none", 5), one.revision()))).isEqualTo(new PublishOutcome.Moved());
    assertThat(get(store().fetch("a")).orElseThrow().publication().blob()).isEqualTo(longer.blob());
  }

  @Test
  void deletionNeedsTheEpoch() throws InterruptedException {
    Events events = new Events(other().events());
    publish("a", 5);
    assertThat(get(store().delete("a", 4))).isEqualTo(new Superseded(5, "h:1"));
    assertThat(get(store().delete("a", 6))).isEqualTo(new NoEntry());
    Deleted deleted = (Deleted) get(store().delete("a", 5));
    assertThat(get(store().delete("a", 5))).isEqualTo(new NoEntry());
    assertThat(get(other().fetch("a"))).isEmpty();
    assertThat(publish("a", 4)).isEqualTo(new Superseded(5, ""));
    assertThat(events.next().kind()).isEqualTo(Event.Kind.PUT);
    Event event = events.next();
    assertThat(event)
        .extracting(Event::kind, Event::revision, Event::epoch)
        .containsExactly(Event.Kind.DELETE, deleted.revision(), 5L);
  }

  @Test
  void eventsTellRevisionsAndLabels() throws InterruptedException {
    Events events = new Events(other().events());
    Publication labelled =
        new Publication("a", 5, LONG, "h:1", Labels.of(Map.of("role", "decode")), "", Buffer.buffer("x"));
    Published first = (Published) get(store().publish(labelled, 0));
    Published second = (Published) publish("a", 6);
    assertThat(events.next())
        .isEqualTo(new Event(first.revision(), Event.Kind.PUT, "a", 5, "h:1", labelled.labels()));
    assertThat(events.next()).isEqualTo(new Event(second.revision(), Event.Kind.PUT, "a", 6, "h:1", Labels.NONE));
    EventLog log = other().events();
    assertThat(log.read(log.after(first.revision()), 10).events()).extracting(Event::epoch).containsExactly(6L);
    assertThat(get(other().revision())).isGreaterThanOrEqualTo(second.revision());
  }

  @Test
  void listsInOrder() {
    List<String> names = new ArrayList<>();
    for (int i = 0; i < 300; i++) {
      String name = "n%03d".formatted(i);
      names.add(name);
      get(store().publish(
          new Publication(
              name,
              1,
              LONG,
              "",
              Labels.of(Map.of("parity", i % 2 == 0 ? "even" : "odd")),
              "{\"i\":" + i + "}",
              Buffer.buffer("x")),
          0));
    }
    Listing all = get(other().list(Selector.ALL, "", 1_000));
    assertThat(names(all)).isEqualTo(names);
    assertThat(all.more()).isFalse();
    assertThat(all.agents().get(299).publication().summary()).isEqualTo("{\"i\":299}");
    Listing page = get(store().list(Selector.ALL, "n099", 100));
    assertThat(names(page)).isEqualTo(names.subList(100, 200));
    assertThat(page.more()).isTrue();
    Selector odd = new Selector(Set.of(), Set.of(Map.entry("parity", "odd")));
    assertThat(get(store().list(odd, "", 1_000)).agents()).hasSize(150);
    assertThat(names(get(store().list(odd, "", 3)))).containsExactly("n001", "n003", "n005");
    Selector named = new Selector(Set.copyOf(names.subList(0, 200)), Set.of(Map.entry("parity", "even")));
    assertThat(get(store().list(named, "", 1_000)).agents()).hasSize(100);
    assertThat(names(get(store().list(named, "n100", 2)))).containsExactly("n102", "n104");
    assertThat(all.revision()).isLessThanOrEqualTo(get(store().revision()));
  }

  @Test
  void staleEpochNeverWins() throws InterruptedException, ExecutionException, TimeoutException {
    AtomicLong acknowledged = new AtomicLong();
    AtomicLong epochs = new AtomicLong(1_000);
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<java.util.concurrent.Future<?>> ends = new ArrayList<>();
      for (int i = 0; i < 6; i++) {
        Store through = i % 2 == 0 ? store() : other();
        Random random = new Random(i);
        ends.add(threads.submit(() -> contend(through, random, epochs, acknowledged)));
      }
      for (java.util.concurrent.Future<?> end : ends) {
        end.get(DEADLINE_SECONDS, TimeUnit.SECONDS);
      }
    }
    assertThat(fetch("a").orElseThrow().publication().epoch()).isEqualTo(acknowledged.get());
  }

  private static void contend(Store store, Random random, AtomicLong epochs, AtomicLong acknowledged) {
    for (int round = 0; round < 30; round++) {
      long before = acknowledged.get();
      long epoch = epochs.incrementAndGet() - random.nextInt(8);
      PublishOutcome outcome = get(store.publish(publication("a", epoch), Store.EXPECT_ANYTHING));
      if (outcome instanceof Published) {
        assertThat(epoch).isGreaterThanOrEqualTo(before);
        acknowledged.accumulateAndGet(epoch, Math::max);
      } else {
        assertThat(((Superseded) outcome).recordedEpoch()).isGreaterThan(epoch);
      }
      long known = acknowledged.get();
      assertThat(get(store.fetch("a")).orElseThrow().publication().epoch()).isGreaterThanOrEqualTo(known);
    }
  }

  @Test
  void membersMeetThroughAnyReplica() throws InterruptedException {
    MeetingId id = new MeetingId("group", 7);
    BlockingQueue<MeetingId> told = new LinkedBlockingQueue<>();
    Runnable leave = other().meetings().listen(told::add);
    assertThat(get(other().meetings().look(id)).members()).isEmpty();
    JoinOutcome.Joined first = (JoinOutcome.Joined) join(store(), id, 2, 0, "m0");
    assertThat(first.meeting().isComplete()).isFalse();
    assertThat(first.meeting().missing(9)).containsExactly(1);
    assertThat(told.poll(DEADLINE_SECONDS, TimeUnit.SECONDS)).isEqualTo(id);
    assertThat(join(other(), id, 2, 0, "rival")).isEqualTo(new JoinOutcome.RankTaken("m0"));
    assertThat(join(other(), id, 3, 1, "m1")).isEqualTo(new JoinOutcome.SizeDiffers(2));
    assertThat(join(other(), id, 2, 0, "m0")).as("repeated").isInstanceOf(JoinOutcome.Joined.class);
    JoinOutcome.Joined second = (JoinOutcome.Joined) join(other(), id, 2, 1, "m1");
    assertThat(second.meeting().isComplete()).isTrue();
    Meeting seen = get(store().meetings().look(id));
    assertThat(seen).isEqualTo(second.meeting());
    assertThat(seen.members().values()).extracting(Meeting.Member::data).last().isEqualTo(Buffer.buffer("data of m1"));
    assertThat(get(store().meetings().look(new MeetingId("group", 70))).members()).isEmpty();
    leave.run();
  }

  @Test
  void memberThatDoesNotComeBackIsMissed() throws InterruptedException {
    MeetingId id = new MeetingId("group", 0);
    get(store().meetings().join(new Join(id, 2, 0, "m0", Buffer.buffer(), shortMillis())));
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(DEADLINE_SECONDS);
    while (!get(other().meetings().look(id)).members().isEmpty() && System.nanoTime() < end) {
      TimeUnit.MILLISECONDS.sleep(20);
    }
    assertThat(((JoinOutcome.Joined) join(store(), id, 3, 1, "m1")).meeting().missing(9)).containsExactly(0, 2);
  }

  private static JoinOutcome join(Store store, MeetingId id, int size, int rank, String member) {
    return get(store.meetings().join(new Join(id, size, rank, member, Buffer.buffer("data of " + member), LONG)));
  }

  @Test
  void isReady() {
    get(store().ready());
    publish("a", 1);
    get(store().ready());
    assertThat(store().size()).isEqualTo(1);
  }

  private PublishOutcome publish(String name, long epoch) {
    return get(store().publish(publication(name, epoch), Store.EXPECT_ANYTHING));
  }

  private Optional<Agent> fetch(String name) {
    return get(store().fetch(name));
  }

  private RenewOutcome renew(Renewal renewal) {
    return get(store().renew(List.of(renewal))).getFirst();
  }

  private Publication shortLived(String name, long epoch) {
    return new Publication(name, epoch, shortMillis(), "h:1", Labels.NONE, "", Buffer.buffer("blob"));
  }

  private static Publication publication(String name, long epoch) {
    return new Publication(name, epoch, LONG, "h:1", Labels.NONE, "", Buffer.buffer("blob"));
  }

  private static List<String> names(Listing listing) {
    return listing.agents().stream().map(agent -> agent.publication().name()).toList();
  }

  protected static <T> T get(Future<T> future) {
    try {
      return future.toCompletionStage().toCompletableFuture().get(DEADLINE_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException | ExecutionException | TimeoutException failed) {
      throw new AssertionError(failed);
    }
  }

  /** Those that come from now on. */
  private static final class Events {
    private final EventLog log;
    private final BlockingQueue<Event> queue = new LinkedBlockingQueue<>();
    private long cursor;

    Events(EventLog log) {
      this.log = log;
      this.cursor = log.present().cursor();
      log.listen(this::read);
    }

    private synchronized void read() {
      EventLog.Batch batch = log.read(cursor, 1_000);
      cursor = batch.next();
      queue.addAll(batch.events());
    }

    Event next() throws InterruptedException {
      Event event = queue.poll(DEADLINE_SECONDS, TimeUnit.SECONDS);
      if (event == null) {
        throw new AssertionError("no event came");
      }
      return event;
    }
  }
}
