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

  /** Who had much under way so lately is busy still, while anything is: a few chunks may wait so long in a queue. */
  private static final long BUSY_NANOS = 500_000_000;

  /**
   * While a share holds us back, a path may have so many times what its own rate asks for. That rate is what its share of
   * the queue made it, so who has less would ask for less still, and would leave its share to the others.
   */
  private static final int BEYOND_ITS_RATE = 4;

  /**
   * A queue that is let run out has done so when so many times the least was posted: the second time behind acknowledgements
   * of the first, which found the way without it.
   */
  private static final int SEEN = 2;

  /** It ends then, whatever was not posted or did not come back. */
  private static final long RUN_OUT_NANOS = 500_000_000;

  private final ByteShares out;
  private final ByteShares in;
  private final ByteShares.Member writer = new ByteShares.Member();
  private final ByteShares.Member reader = new ByteShares.Member();

  /** So much may always be under way. */
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

  /** While a queue runs out: what may still be posted; 0 if none does. */
  private long runsOut;

  private long runsOutUntil;

  private long writesUntil;
  private long readsUntil;

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
   * @param least bytes that may always be under way
   */
  RouteFlight(ByteShares out, ByteShares in, int smallestChunk, long least, long now) {
    this.out = out;
    this.in = in;
    this.smallestChunk = smallestChunk;
    this.least = least;
    this.nextReport = now;
    this.writesUntil = now;
    this.readsUntil = now;
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
    runsOut = Math.max(0, runsOut - length);
    if (op == Op.READ) {
      reads += length;
    } else {
      writes += length;
    }
  }

  // ------------------------------------------------------------------ how much may be

  /**
   * Bytes that may be under way on one of its paths, for what that path is.
   *
   * @param limit at most
   */
  long flight(PathPace pace, long limit) {
    long alone = pace.flight(limit);
    boolean shared = Math.min(Math.min(writeShare, readShare), credit) != ByteShares.ALONE;
    return shared ? Math.min(limit, BEYOND_ITS_RATE * alone) : alone;
  }

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
        heldByWriteShare |= runsOut > 0 || Math.max(least, writeShare) - under < enough;
        heldByCredit |= runsOut > 0 || Math.max(least, credit) - under < enough;
      }
      return 0;
    }
    return Math.min(may - under, Math.max(smallestChunk, may / PARTS));
  }

  private long may(Op op) {
    if (runsOut > 0) {
      return least;
    }
    return Math.max(least, op == Op.READ ? readShare : Math.min(writeShare, credit));
  }

  /**
   * The target's word.
   *
   * @param bytes negative for no limit; {@link ByteShares#RUN_OUT}
   */
  void lent(long bytes, long now) {
    if (bytes == ByteShares.RUN_OUT) {
      letRunOut(now);
      return;
    }
    credit = bytes < 0 ? ByteShares.ALONE : bytes;
    creditUntil = now + ByteShares.LATELY_NANOS;
  }

  /** A new session: nothing is known of what the target lends. */
  void forgetCredit() {
    credit = ByteShares.ALONE;
  }

  /** The least is kept under way until what is there has gone, and what follows it has found how long the way is. */
  private void letRunOut(long now) {
    runsOut = SEEN * least;
    runsOutUntil = now + RUN_OUT_NANOS;
  }

  /** Our own rail's word. */
  private long share(long share, long before, long now) {
    if (share == ByteShares.RUN_OUT) {
      letRunOut(now);
      return before;
    }
    return share;
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
    if (runsOut > 0 && now - runsOutUntil >= 0) {
      runsOut = 0;
    }
    long both = mostWrites + mostReads;
    // Who has no more than the least since no more may be under way is as busy as one who has more.
    if (mostWrites > least || heldByWriteShare || heldByCredit) {
      writesUntil = now + BUSY_NANOS;
    }
    if (mostReads > least || heldByReadShare) {
      readsUntil = now + BUSY_NANOS;
    }
    if (mostWrites > 0 && now - writesUntil < 0) {
      long part = part(mostWrites, both);
      writeShare = share(out.report(writer, part, most, heldByWriteShare, now), writeShare, now);
      herald.demand(speaker, part, most, heldByCredit);
    } else {
      writeShare = ByteShares.ALONE;
    }
    readShare = mostReads > 0 && now - readsUntil < 0
        ? share(in.report(reader, part(mostReads, both), most, heldByReadShare, now), readShare, now)
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
