/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.metadata.store.DeleteOutcome.Deleted;
import dev.hawser.metadata.store.PublishOutcome.Full;
import dev.hawser.metadata.store.PublishOutcome.Mismatch;
import dev.hawser.metadata.store.PublishOutcome.Published;
import dev.hawser.metadata.store.PublishOutcome.Superseded;
import dev.hawser.metadata.store.RenewOutcome.Renewed;
import io.vertx.core.buffer.Buffer;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

class MemoryStoreTest {
  private static final long FIRST = 1_000;

  private final FakeClock clock = new FakeClock();
  private final MemoryStore store = new MemoryStore(new StoreLimits(4, 1 << 20, 16), clock, FIRST);

  @Test
  void firstPublicationCreates() {
    assertThat(publish("a", 5)).isEqualTo(new Published(FIRST + 1, 0, true));
    assertThat(fetch("a"))
        .hasValueSatisfying(
            agent -> {
              assertThat(agent.publication().epoch()).isEqualTo(5);
              assertThat(agent.revision()).isEqualTo(FIRST + 1);
              assertThat(agent.expiresInMillis()).isEqualTo(1_000);
            });
  }

  @Test
  void greaterEpochSupersedes() {
    publish("a", 5);
    assertThat(publish("a", 6)).isEqualTo(new Published(FIRST + 2, 5, false));
    assertThat(publish("a", 5)).isEqualTo(new Superseded(6, "h:1"));
    assertThat(fetch("a").orElseThrow().publication().epoch()).isEqualTo(6);
  }

  @Test
  void epochsAreUnsigned() {
    publish("a", Long.MAX_VALUE);
    assertThat(publish("a", Long.MIN_VALUE)).isInstanceOf(Published.class);
    assertThat(publish("a", 7)).isEqualTo(new Superseded(Long.MIN_VALUE, "h:1"));
  }

  @Test
  void sameEpochReplacesTheBlob() {
    publish("a", 5);
    assertThat(publish(publication("a", 5, 1_000, "other"), Store.EXPECT_ANYTHING))
        .isEqualTo(new Published(FIRST + 2, 0, false));
    assertThat(fetch("a").orElseThrow().publication().blob()).isEqualTo(Buffer.buffer("other"));
  }

  @Test
  void repetitionRenewsAndTellsNobody() {
    publish("a", 5);
    clock.pass(900);
    assertThat(publish("a", 5)).isEqualTo(new Published(FIRST + 1, 0, false));
    clock.pass(900);
    assertThat(fetch("a")).isPresent();
    assertThat(kinds()).containsExactly(Event.Kind.PUT);
  }

  @Test
  void expectedEpochDecidesBetweenTwoNewcomers() {
    publish("a", 5);
    assertThat(publish(publication("a", 7), 5)).isEqualTo(new Published(FIRST + 2, 5, false));
    assertThat(publish(publication("a", 8), 5)).isEqualTo(new Mismatch(7, "h:1"));
    assertThat(publish(publication("a", 8), 0)).isEqualTo(new Mismatch(7, "h:1"));
    assertThat(publish(publication("b", 8), 7)).isEqualTo(new Mismatch(0, ""));
    assertThat(publish(publication("b", 8), 0)).isInstanceOf(Published.class);
  }

  @Test
  void repetitionSucceedsWhateverIsExpected() {
    publish(publication("a", 5), 0);
    assertThat(publish(publication("a", 5), 0)).isEqualTo(new Published(FIRST + 1, 0, false));
  }

  @Test
  void presenceEndsAtTheDeadlineAndNotBefore() {
    publish("a", 5);
    clock.pass(999);
    assertThat(fetch("a")).isPresent();
    assertThat(list().agents()).hasSize(1);
    clock.pass(1);
    assertThat(fetch("a")).as("nobody has swept yet").isEmpty();
    assertThat(list().agents()).isEmpty();
    assertThat(kinds()).containsExactly(Event.Kind.PUT);
    assertThat(store.expire()).isEqualTo(Long.MAX_VALUE);
    assertThat(kinds()).containsExactly(Event.Kind.PUT, Event.Kind.EXPIRE);
    assertThat(store.size()).isZero();
  }

  @Test
  void expireTellsWhenTheNextIsDue() {
    publish(publication("a", 1, 500, "x"), Store.EXPECT_ANYTHING);
    publish(publication("b", 1, 300, "x"), Store.EXPECT_ANYTHING);
    assertThat(store.expire()).isEqualTo(300_000_000);
    clock.pass(300);
    assertThat(store.expire()).isEqualTo(200_000_000);
  }

  @Test
  void expiryIsToldBeforeTheNextPublication() {
    publish("a", 5);
    clock.pass(5_000);
    publish("a", 6);
    assertThat(kinds()).containsExactly(Event.Kind.PUT, Event.Kind.EXPIRE, Event.Kind.PUT);
  }

  @Test
  void expiredIncarnationMayComeBackButNoOlderOne() {
    publish("a", 5);
    clock.pass(5_000);
    assertThat(publish("a", 4)).isEqualTo(new Superseded(5, ""));
    assertThat(publish("a", 5)).isEqualTo(new Published(FIRST + 3, 0, true));
  }

  @Test
  void greatestEpochIsForgottenAfterADay() {
    publish("a", 5);
    store.delete("a", 5);
    clock.pass(23 * 3_600_000L);
    store.expire();
    assertThat(publish("a", 4)).isInstanceOf(Superseded.class);
    clock.pass(2 * 3_600_000L);
    store.expire();
    assertThat(publish("a", 4)).isInstanceOf(Published.class);
  }

  @Test
  void renewalProlongs() {
    publish("a", 5);
    clock.pass(900);
    assertThat(renew("a", 5)).isEqualTo(new Renewed(FIRST + 1, 1_000));
    clock.pass(900);
    assertThat(fetch("a")).isPresent();
    assertThat(kinds()).containsExactly(Event.Kind.PUT);
  }

  @Test
  void renewalCanShortenTheTtlAndChangeTheSummary() {
    publish("a", 5);
    assertThat(outcome(new Renewal("a", 5, 200, "{}"))).isEqualTo(new Renewed(FIRST + 1, 200));
    assertThat(fetch("a").orElseThrow().publication().summary()).isEqualTo("{}");
    clock.pass(200);
    assertThat(fetch("a")).isEmpty();
  }

  @Test
  void renewalAtTheDeadlineIsTooLate() {
    publish("a", 5);
    clock.pass(1_000);
    assertThat(renew("a", 5)).isEqualTo(new NoEntry());
    assertThat(kinds()).containsExactly(Event.Kind.PUT, Event.Kind.EXPIRE);
  }

  @Test
  void renewalOfAnotherIncarnation() {
    publish("a", 5);
    assertThat(renew("a", 4)).isEqualTo(new Superseded(5, "h:1"));
    assertThat(renew("a", 6)).isEqualTo(new NoEntry());
    assertThat(renew("b", 6)).isEqualTo(new NoEntry());
    store.delete("a", 5);
    assertThat(renew("a", 4)).isEqualTo(new Superseded(5, ""));
  }

  @Test
  void deletionNeedsTheEpoch() {
    publish("a", 5);
    assertThat(delete("a", 4)).isEqualTo(new Superseded(5, "h:1"));
    assertThat(delete("a", 6)).isEqualTo(new NoEntry());
    assertThat(delete("a", 5)).isEqualTo(new Deleted(FIRST + 2));
    assertThat(delete("a", 5)).isEqualTo(new NoEntry());
    assertThat(fetch("a")).isEmpty();
    assertThat(kinds()).containsExactly(Event.Kind.PUT, Event.Kind.DELETE);
  }

  @Test
  void listsInOrderByLabelNameAndPage() {
    for (String name : List.of("c", "a", "b")) {
      publish(labelled(name, Map.of("role", name.equals("b") ? "prefill" : "decode")), Store.EXPECT_ANYTHING);
    }
    assertThat(names(store.list(Selector.ALL, "", 10).result())).containsExactly("a", "b", "c");
    Listing page = store.list(Selector.ALL, "", 2).result();
    assertThat(names(page)).containsExactly("a", "b");
    assertThat(page.more()).isTrue();
    Listing rest = store.list(Selector.ALL, "b", 2).result();
    assertThat(names(rest)).containsExactly("c");
    assertThat(rest.more()).isFalse();
    assertThat(rest.revision()).isEqualTo(FIRST + 3);
    assertThat(names(store.list(new Selector(Set.of("c", "x"), Set.of()), "", 10).result())).containsExactly("c");
    Selector decode = new Selector(Set.of(), Set.of(Map.entry("role", "decode")));
    assertThat(names(store.list(decode, "", 10).result())).containsExactly("a", "c");
  }

  @Test
  void numberOfAgentsIsBounded() {
    for (int i = 0; i < 4; i++) {
      publish("a" + i, 1);
    }
    assertThat(publish("b", 1)).isInstanceOf(Full.class);
    assertThat(publish("a0", 2)).isInstanceOf(Published.class);
    store.delete("a1", 1);
    assertThat(publish("b", 1)).isInstanceOf(Published.class);
  }

  @Test
  void memoryIsBoundedAndGivenBack() {
    String half = "x".repeat(600_000);
    assertThat(publish(publication("a", 1, 1_000, half), Store.EXPECT_ANYTHING)).isInstanceOf(Published.class);
    assertThat(publish(publication("b", 1, 1_000, half), Store.EXPECT_ANYTHING)).isInstanceOf(Full.class);
    assertThat(publish(publication("a", 2, 1_000, half), Store.EXPECT_ANYTHING)).isInstanceOf(Published.class);
    clock.pass(1_000);
    assertThat(publish(publication("b", 1, 1_000, half), Store.EXPECT_ANYTHING)).isInstanceOf(Published.class);
  }

  @Test
  void closedStoreIsNotReady() {
    assertThat(store.ready().succeeded()).isTrue();
    store.close();
    assertThat(store.ready().cause()).isInstanceOf(StoreException.class);
  }

  private PublishOutcome publish(String name, long epoch) {
    return publish(publication(name, epoch), Store.EXPECT_ANYTHING);
  }

  private PublishOutcome publish(Publication publication, long expected) {
    return store.publish(publication, expected).result();
  }

  private RenewOutcome renew(String name, long epoch) {
    return outcome(new Renewal(name, epoch, 0, null));
  }

  private RenewOutcome outcome(Renewal renewal) {
    return store.renew(List.of(renewal)).result().getFirst();
  }

  private DeleteOutcome delete(String name, long epoch) {
    return store.delete(name, epoch).result();
  }

  private Optional<Agent> fetch(String name) {
    return store.fetch(name).result();
  }

  private Listing list() {
    return store.list(Selector.ALL, "", 100).result();
  }

  private List<Event.Kind> kinds() {
    EventLog log = store.events();
    return log.read(log.after(FIRST), 100).events().stream().map(Event::kind).toList();
  }

  private static List<String> names(Listing listing) {
    return listing.agents().stream().map(agent -> agent.publication().name()).toList();
  }

  private static Publication publication(String name, long epoch) {
    return publication(name, epoch, 1_000, "blob");
  }

  private static Publication publication(String name, long epoch, long ttlMillis, String blob) {
    return new Publication(name, epoch, ttlMillis, "h:1", Labels.NONE, "", Buffer.buffer(blob));
  }

  private static Publication labelled(String name, Map<String, String> labels) {
    return new Publication(name, 1, 1_000, "h:1", Labels.of(labels), "", Buffer.buffer("blob"));
  }
}
