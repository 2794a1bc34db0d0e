/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import dev.hawser.memory.Region;

/**
 * What a target moves by itself, for regions that the initiator cannot reach: from and to memory of the host that both have.
 * For the owner of the path only; nothing of it blocks or allocates in steady state.
 */
public interface TargetMover {
  /** The initiator reaches every region that is lent. */
  TargetMover NONE =
      new TargetMover() {
        @Override
        public boolean isReady(Region region, CommandRing toInitiator) {
          return true;
        }

        @Override
        public boolean canMove(Region region) {
          return true;
        }

        @Override
        public String move(Command command, LentRegions lent) {
          return "the initiator sent command " + command.kind;
        }

        @Override
        public int work(CommandRing toInitiator, boolean over) {
          return 0;
        }

        @Override
        public boolean hasWork() {
          return false;
        }

        @Override
        public boolean isIdle() {
          return true;
        }

        @Override
        public void end() {}
      };

  /**
   * Whether what a region needs was made, or could not be; begins to make it, and tells the initiator of it, for which there
   * is room.
   */
  boolean isReady(Region region, CommandRing toInitiator);

  /** Whether a region can be lent, which is {@linkplain #isReady ready}. */
  boolean canMove(Region region);

  /**
   * Takes a request.
   *
   * @return empty, or what is wrong with it: the path is of no use then
   */
  String move(Command command, LentRegions lent);

  /**
   * Begins what was asked for, and answers what is done.
   *
   * @param over whether nothing new may begin
   * @return how much was done
   * @throws dev.hawser.memory.DriverException what made a device fail
   */
  int work(CommandRing toInitiator, boolean over);

  /** Whether {@link #work} is to be called again soon. */
  boolean hasWork();

  /** Whether no device touches anything any more. */
  boolean isIdle();

  /** Gives back what it holds; it is idle, and the initiator touches none of it any more. */
  void end();
}
