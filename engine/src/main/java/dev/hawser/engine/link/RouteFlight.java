/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import dev.hawser.engine.spi.DataRequest.Op;
import org.jspecify.annotations.Nullable;

/**
 * What is under way on all paths of one route, and how much may be: what the other links of this agent leave on our rail,
 * and of WRITEs what the target lends us of its own. No limit while nobody competes. Owned by the link's owner.
 *
 * <p>What is lent is soft: it holds while it is renewed, so nothing that is lost on the way holds a link back for longer
 * than {@value ByteShares#LATELY_NANOS} ns.
 */
final class RouteFlight {
  /** How often it is reported while there is much under way. */
  private static final long REPORT_NANOS = 10_000_000;

  /** A chunk is at most this part of what may be under way, so that little is enough to keep a path busy. */
  private static final int PARTS = 4;

  private final ByteShares out;
  private final ByteShares in;
  private final ByteShares.Member writer = new ByteShares.Member();
  private final ByteShares.Member reader = new ByteShares.Member();

  /** Two chunks may always be under way, however little others leave: else it waited until what was lent is forgotten. */
  private final long least;

  private final int smallestChunk;

  private long writes;
  private long reads;
  private long mostWrites;
  private long mostReads;
  private double wanted;
  private long most;
  private @Nullable PathGeneration speaker;
  private long nextReport;

  private long writeShare = ByteShares.ALONE;
  private long readShare = ByteShares.ALONE;
  private long credit = ByteShares.ALONE;
  private long creditUntil;

  /** Carries what we would have under way to the target. */
  interface Herald {
    /**
     * Says it.
     *
     * @param over the generation that is to carry it; null if none is up
     */
    void demand(@Nullable PathGeneration over, long wanted, long most, boolean held);
  }

  /** What held a chunk back since the last report. */
  private boolean heldByWriteShare;

  private boolean heldByReadShare;
  private boolean heldByCredit;

  /**
   * A route without anything under way.
   *
   * @param out what leaves by our rail
   * @param in what arrives by it
   * @param smallestChunk as it is posted, but for a transfer's last
   */
  RouteFlight(ByteShares out, ByteShares in, int smallestChunk, long now) {
    this.out = out;
    this.in = in;
    this.smallestChunk = smallestChunk;
    this.least = 2L * smallestChunk;
    this.nextReport = now;
  }

  // ------------------------------------------------------------------ what is under way

  void clear() {
    writes = 0;
    reads = 0;
    wanted = 0;
    most = 0;
    speaker = null;
  }

  /**
   * Adds a generation that is up.
   *
   * @param mayHave bytes that may be under way on it at most
   */
  void add(PathGeneration g, long mayHave) {
    add(g.bytesInFlight - g.readBytesInFlight, g.readBytesInFlight, g.path.pace.wanted(mayHave), mayHave);
    if (speaker == null || g.bytesInFlight < speaker.bytesInFlight) {
      speaker = g;
    }
  }

  void add(long written, long read, long wantedHere, long mayHave) {
    writes += written;
    reads += read;
    wanted += wantedHere;
    most += mayHave;
  }

  void posted(Op op, long length) {
    if (op == Op.READ) {
      reads += length;
    } else {
      writes += length;
    }
  }

  // ------------------------------------------------------------------ how much may be

  /** Bytes that can still be posted; what is not enough for a chunk is noted as holding it back. */
  long left(Op op, long wantedNow) {
    long may = may(op);
    if (may == ByteShares.ALONE) {
      return may;
    }
    long under = op == Op.READ ? reads : writes;
    long enough = Math.min(wantedNow, smallestChunk);
    if (may - under < enough) {
      if (op == Op.READ) {
        heldByReadShare = true;
      } else {
        heldByWriteShare |= Math.max(least, writeShare) - under < enough;
        heldByCredit |= Math.max(least, credit) - under < enough;
      }
      return 0;
    }
    return Math.min(may - under, Math.max(smallestChunk, may / PARTS));
  }

  private long may(Op op) {
    return Math.max(least, op == Op.READ ? readShare : Math.min(writeShare, credit));
  }

  /**
   * The target's word.
   *
   * @param bytes negative for no limit
   */
  void lent(long bytes, long now) {
    credit = bytes < 0 ? ByteShares.ALONE : bytes;
    creditUntil = now + ByteShares.LATELY_NANOS;
  }

  /** A new session: nothing is known of what the target lends. */
  void forgetCredit() {
    credit = ByteShares.ALONE;
  }

  // ------------------------------------------------------------------ reports

  /** Reports what is under way, if it is time. */
  void report(Herald herald, long now) {
    mostWrites = Math.max(mostWrites, writes);
    mostReads = Math.max(mostReads, reads);
    if (now - nextReport < 0) {
      return;
    }
    nextReport = now + REPORT_NANOS;
    if (credit != ByteShares.ALONE && now - creditUntil >= 0) {
      credit = ByteShares.ALONE;
    }
    long both = mostWrites + mostReads;
    if (mostWrites > least) {
      long part = part(mostWrites, both);
      writeShare = out.report(writer, part, most, heldByWriteShare, now);
      herald.demand(speaker, part, most, heldByCredit);
    } else {
      writeShare = ByteShares.ALONE;
    }
    readShare = mostReads > least
        ? in.report(reader, part(mostReads, both), most, heldByReadShare, now)
        : ByteShares.ALONE;
    heldByWriteShare = false;
    heldByReadShare = false;
    heldByCredit = false;
    mostWrites = 0;
    mostReads = 0;
  }

  private long part(long of, long both) {
    return Math.max(least, (long) (wanted * of / both));
  }
}
