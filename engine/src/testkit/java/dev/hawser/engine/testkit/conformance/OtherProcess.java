/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import dev.hawser.engine.Link;
import dev.hawser.engine.Transfer;
import dev.hawser.engine.TransferEnd;
import dev.hawser.engine.TransferEnd.Failed;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.memory.Access;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The second process of {@link ProcessCases}: an agent that does what standard input says, one command a line, and answers
 * each with one line. It ends with its standard input.
 */
final class OtherProcess {
  static final int BYTES = 1 << 20;

  private final LiveAgent agent;
  private final Memory memory;
  private final Map<Integer, Memory> regions = new HashMap<>();
  private final List<Transfer> transfers = new ArrayList<>();

  private OtherProcess(LiveAgent agent) {
    this.agent = agent;
    this.memory = agent.memory(BYTES, Access.REMOTE_READ_WRITE);
  }

  /** The fixture's class, and a name. */
  public static void main(String[] arguments) throws ReflectiveOperationException, IOException {
    Constructor<? extends Fixture> constructor =
        Class.forName(arguments[0]).asSubclass(Fixture.class).getDeclaredConstructor();
    constructor.setAccessible(true); // a transport need not show its fixture to anyone else
    Fixture fixture = constructor.newInstance();
    AgentSetup setup = AgentSetup.named(fixture, arguments[1]).lease(AgentSetup.SHORT_LEASE);
    try (LiveAgent agent = LiveAgent.start(setup)) {
      OtherProcess process = new OtherProcess(agent);
      say(new Card(agent.description(), process.memory.remote()).encode());
      BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      for (String line = commands.readLine(); line != null; line = commands.readLine()) {
        String answer;
        try {
          answer = process.obey(line.split(" ", -1));
        } catch (RuntimeException | AssertionError e) {
          e.printStackTrace();
          answer = "failed " + e;
        }
        say(answer.replace('\n', ' '));
      }
      agent.engine().close();
      process.memory.close();
    }
  }

  private static void say(String answer) {
    System.out.println(answer);
    System.out.flush();
  }

  private String obey(String[] command) {
    return switch (command[0]) {
      // Moves its memory's bytes to or from the peer's, until something stops it.
      case "move" -> {
        Card card = Card.decode(command[2]);
        Link link = agent.engine().connect(card.peer());
        link.awaitUp(Waits.PATIENCE);
        Transfer transfer =
            link.prepare(Op.valueOf(command[1]), Copies.endless(memory, card.region())).timeout(Waits.PATIENCE);
        transfer.notification("too late".getBytes(StandardCharsets.UTF_8)).post();
        transfers.add(transfer);
        Ends.underWay(transfer);
        yield "moving";
      }
      // How those have ended.
      case "ends" -> {
        StringBuilder ends = new StringBuilder("ends");
        for (Transfer transfer : transfers) {
          TransferEnd end = Ends.within(Waits.PATIENCE, transfer);
          ends.append(' ').append(end instanceof Failed failed ? failed.cause() + ":" + failed.peer() : end);
        }
        transfers.clear();
        memory.awaitUnused();
        yield ends.toString();
      }
      // Waits until a peer is told to be lost; then the memory is its owner's again, and nothing may change in it.
      case "lost" -> {
        Inbox.Lost lost = agent.inbox().awaitLost(command[1], Waits.PATIENCE);
        memory.paint(7);
        memory.watch("after " + command[1] + " was lost", Waits.WATCH.multipliedBy(2));
        yield "lost " + lost.reason();
      }
      // A further region, its paint, what it holds now, and its end.
      case "region" -> {
        Memory region = agent.memory(Long.parseLong(command[1]), Access.REMOTE_READ_WRITE);
        regions.put(region.region().id(), region);
        yield "region " + new Card(agent.description(), region.remote()).encode();
      }
      case "paint" -> {
        region(command[1]).paint(Long.parseLong(command[2]));
        yield "painted";
      }
      case "sum" -> "sum " + FarMemory.sum(region(command[1]).bytes());
      case "close" -> {
        region(command[1]).close();
        regions.remove(Integer.valueOf(command[1]));
        yield "closed";
      }
      // What its application is told.
      case "next" -> "next " + new String(agent.inbox().next().payload(), StandardCharsets.UTF_8);
      case "waiting" -> "waiting " + agent.inbox().waiting();
      case "aborted" -> {
        agent.inbox().awaitAborted(command[1], Long.parseLong(command[2]));
        yield "aborted";
      }
      default -> "failed: no such command: " + command[0];
    };
  }

  private Memory region(String id) {
    Memory region = regions.get(Integer.valueOf(id));
    if (region == null) {
      throw new IllegalArgumentException("there is no region " + id);
    }
    return region;
  }
}
