/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.Link;
import dev.hawser.engine.Transfer;
import dev.hawser.engine.TransferEnd;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.Region;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * What a transport must bear on a network that a lab spoils: the property {@code hawser.conformance.lab} names the file into
 * which a line is written for that, {@code cable 0 down} or {@code loss 1%}. Skipped where there is no lab.
 */
public abstract class LabConformance extends FarTests {
  private static final int BYTES = 1 << 20;
  private static final int LONG = 96;
  private static final int BLOCKS = 64;
  private static final int BLOCK = 64 << 10; // sixteen packets
  private static final Duration FAILOVER = Duration.ofSeconds(2);
  private static final Duration LONG_PATIENCE = Duration.ofSeconds(90);

  /** For a transport's own class. */
  protected LabConformance(Fixture fixture) {
    super(fixture);
  }

  @BeforeAll
  final void needsALab() {
    Assumptions.assumeFalse(
        SuiteProperties.lab().isEmpty(), "this is for a lab that spoils the network: perf/labs/rdma/run.sh two");
  }

  private static void ask(String line) {
    try {
      Files.write(
          Path.of(SuiteProperties.lab()), (line + "\n").getBytes(StandardCharsets.US_ASCII), StandardOpenOption.WRITE);
    } catch (IOException e) {
      throw new UncheckedIOException("the lab does not take '" + line + "'", e);
    }
  }

  private LiveAgent here(List<String> rails) {
    return LiveAgent.start(AgentSetup.of(fixture(), "near").ways(2, rails));
  }

  private static List<Link.PathReport> on(Link link, String rail) {
    return link.paths().stream().filter(path -> path.rail().equals(rail)).toList();
  }

  private static boolean isUp(Link link, String rail) {
    return on(link, rail).stream().allMatch(Link.PathReport::up);
  }

  private static long carried(Link link, String rail) {
    return on(link, rail).stream().mapToLong(Link.PathReport::bytesWritten).sum();
  }

  @Test
  void survivesARailThatIsCut() {
    List<String> rails = fixture().railChoices().getLast();
    assertThat(rails).as("rails").hasSizeGreaterThan(1);
    String cut = rails.getFirst();
    try (LiveAgent here = here(rails);
        FarMemory far = FarMemory.of(child(), BYTES);
        Memory near = here.memory(BYTES, Access.LOCAL)) {
      Link link = here.engine().connect(child().card().peer());
      link.awaitUp(Waits.PATIENCE);
      Waits.until("both rails are up", () -> rails.stream().allMatch(rail -> isUp(link, rail)));
      near.paint(seed());
      far.expect(0, near.bytes());
      Transfer transfer =
          link.prepare(Op.WRITE, Copies.repeated(near.region(), far.remote(), LONG))
              .timeout(LONG_PATIENCE)
              .notification("behind it".getBytes(StandardCharsets.UTF_8));
      transfer.post();
      Ends.underWay(transfer);
      long before = carried(link, cut);
      ask("cable 0 down");
      long pause = longestPause(transfer);
      assertThat(transfer.end()).isEqualTo(new TransferEnd.Done());
      child().tell("next", "next behind it");
      far.verify("after a rail was cut");
      assertThat(on(link, cut)).as("paths of the rail that was cut").noneMatch(Link.PathReport::up);
      assertThat(on(link, cut)).allMatch(path -> !path.lastFault().isEmpty());
      System.out.printf("cut: the longest pause was %d ms; %s%n", pause / 1_000_000,
          on(link, cut).getFirst().lastFault());
      assertThat(Duration.ofNanos(pause)).as("the longest time without progress").isLessThan(FAILOVER);

      ask("cable 0 up");
      long mended = System.nanoTime();
      Waits.until(LONG_PATIENCE, () -> "the rail is back: " + link.paths(), () -> isUp(link, cut));
      System.out.printf("mended: back after %d ms%n", (System.nanoTime() - mended) / 1_000_000);
      transfer.post();
      assertThat(Ends.within(LONG_PATIENCE, transfer)).isEqualTo(new TransferEnd.Done());
      child().tell("next", "next behind it");
      assertThat(carried(link, cut)).as("bytes by the rail that came back").isGreaterThan(before);
      far.verify("after the rail came back");
    }
  }

  /** Watches a transfer until its end; the longest time in which nothing was acknowledged. */
  private static long longestPause(Transfer transfer) {
    long deadline = System.nanoTime() + LONG_PATIENCE.toNanos();
    long longest = 0;
    long last = System.nanoTime();
    long bytes = transfer.acknowledgedBytes();
    while (!transfer.poll() && System.nanoTime() - deadline < 0) {
      long now = System.nanoTime();
      long seen = transfer.acknowledgedBytes();
      if (seen != bytes) {
        bytes = seen;
        last = now;
      }
      longest = Math.max(longest, now - last);
      LockSupport.parkNanos(1_000_000);
    }
    return longest;
  }

  @Test
  void losesNothingWhereOnePacketInAHundredIsLost() throws IOException, InterruptedException {
    List<String> rails = fixture().railChoices().getLast();
    ask("loss 1%");
    try (LiveAgent here = here(rails);
        FarMemory far = FarMemory.of(child(), 2L * BLOCKS * BLOCK);
        Memory near = here.memory(2L * BLOCKS * BLOCK, Access.LOCAL)) {
      Link link = here.engine().connect(child().card().peer());
      link.awaitUp(Waits.PATIENCE);
      for (Op op : Op.values()) {
        near.paint(seed());
        far.paint(seed());
        for (int i = 0; i < BLOCKS; i++) {
          long at = 2L * i * BLOCK;
          if (op == Op.WRITE) {
            far.expect(at, near.bytes().asSlice(at, BLOCK));
          } else {
            near.expect(near.address() + at, far.image().asSlice(at, BLOCK));
          }
        }
        TransferPlan plan =
            new TransferPlan(
                BlockPairs.of(
                    BlockList.strided(near.address(), 2 * BLOCK, BLOCK, BLOCKS),
                    BlockList.strided(far.address(), 2 * BLOCK, BLOCK, BLOCKS)),
                new Region[] {near.region()},
                new RemoteRegion[] {far.remote()});
        Transfer transfer = link.prepare(op, plan).timeout(LONG_PATIENCE).flush(op == Op.WRITE);
        transfer.post();
        assertThat(Ends.within(LONG_PATIENCE, transfer)).isEqualTo(new TransferEnd.Done());
        far.verify(op + " where packets are lost");
        near.verify(op + " where packets are lost, here");
      }
      assertThat(lost()).as("packets that were lost").isPositive();
    } finally {
      ask("loss none");
    }
  }

  private static long lost() throws IOException, InterruptedException {
    Process tc = new ProcessBuilder("tc", "-s", "qdisc", "show").redirectErrorStream(true).start();
    String text = new String(tc.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(tc.waitFor(20, TimeUnit.SECONDS)).isTrue();
    long lost = 0;
    Matcher dropped = Pattern.compile("qdisc netem[^\n]*\n[^\n]*dropped ([0-9]+)").matcher(text);
    while (dropped.find()) {
      lost += Long.parseLong(dropped.group(1));
    }
    return lost;
  }
}
