# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Agents, their transfers, notifications, counters and grants."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import threading
import time
import weakref
from typing import Callable

import numpy as np
import pytest

import hawser
from hawser import Agent, BlockList, PollSet
from hawser._runtime import Runtime

BLOCK = 4096
COUNT = 64


def pattern(seed: int, count: int = COUNT) -> np.ndarray:
    """Blocks that depend on their position and on a seed, so that a swapped or stale one is seen."""
    return np.random.default_rng(seed).integers(0, 256, (count, BLOCK), dtype=np.uint8)


class Linked:
    """Two agents, the initiator knows the target's region 'kv'."""

    def __init__(self, target: Agent, initiator: Agent) -> None:
        self.target = target
        self.initiator = initiator
        self.theirs = pattern(1)
        self.ours = np.zeros_like(self.theirs)
        self.their_region = target.register(self.theirs, "kv")
        self.our_region = initiator.register(self.ours, "kv")
        self.peer = initiator.add_peer(target.metadata())
        self.local = BlockList.of_tensor(self.ours)
        self.remote = self.peer.region("kv").blocks(BLOCK)


@pytest.fixture
def linked(pair: tuple[Agent, Agent]) -> Linked:
    return Linked(*pair)


def test_reads_blocks(linked: Linked) -> None:
    info = linked.initiator.read(linked.local, linked.peer, linked.remote).result()

    assert (linked.ours == linked.theirs).all()
    assert (info.state, info.total_bytes, info.acknowledged_bytes) == ("DONE", COUNT * BLOCK, COUNT * BLOCK)
    assert 0 < info.elapsed < 20


def test_writes_blocks_in_another_order_and_notifies_behind_them(linked: Linked) -> None:
    linked.ours[:] = pattern(2)
    order = np.random.default_rng(3).permutation(COUNT)

    linked.initiator.write(
        linked.local, linked.peer, linked.remote, local_indices=order, notification=b"\x00layer 0", request_id="r-17"
    )
    notification = linked.target.next_notification(10)

    assert notification is not None
    assert (notification.peer, notification.payload, notification.request_id) == ("initiator", b"\x00layer 0", "r-17")
    assert (linked.theirs == linked.ours[order]).all()


def test_a_planted_corruption_would_be_seen(linked: Linked) -> None:
    order = list(range(COUNT))
    order[5], order[6] = order[6], order[5]

    linked.initiator.read(linked.local, linked.peer, linked.remote, remote_indices=order).wait()

    assert not (linked.ours == linked.theirs).all()
    assert (np.flatnonzero((linked.ours != linked.theirs).any(axis=1)) == [5, 6]).all()


def test_posts_a_prepared_transfer_many_times(linked: Linked) -> None:
    transfer = linked.initiator.prepare("READ", linked.local, linked.peer, linked.remote)
    assert transfer.state == "IDLE"

    for iteration in range(20):
        linked.theirs[:] = pattern(iteration)
        transfer.post(notification=str(iteration)).wait()
        assert (linked.ours == linked.theirs).all()
        notification = linked.target.next_notification(10)
        assert notification is not None and notification.payload == str(iteration).encode()


def test_sends_notifications_alone_even_empty_ones(linked: Linked) -> None:
    linked.initiator.notify(linked.peer, b"").wait()
    linked.initiator.notify(linked.peer, "text").wait()

    assert [n.payload for n in linked.target.notifications()] == [b"", b"text"]
    assert linked.target.next_notification() is None


def test_counts_arrivals(linked: Linked) -> None:
    expectation = linked.target.expect(7, 3)
    linked.initiator.write(linked.local, linked.peer, linked.remote, counter=7).wait()
    linked.initiator.notify(linked.peer, counter=7).wait()
    with pytest.raises(hawser.WaitTimeout, match="2 of 3"):
        expectation.wait(0.05)

    linked.initiator.notify(linked.peer, counter=7).wait()

    expectation.wait(10)
    assert expectation.poll()


def test_polls_many_at_once(linked: Linked) -> None:
    transfers = [
        linked.initiator.read(linked.local, linked.peer, linked.remote, local_indices=[i], remote_indices=[i])
        for i in range(COUNT)
    ]
    together = PollSet(linked.initiator, transfers)

    ended = together.wait(20)

    assert sorted(map(id, ended)) == sorted(map(id, transfers))
    assert len(together) == 0 and together.poll() == []
    assert (linked.ours == linked.theirs).all()
    assert set(linked.initiator.poll(transfers)) == set(transfers)


def test_awaits_transfers_and_expectations(linked: Linked) -> None:
    async def scenario() -> None:
        big = linked.initiator.read(linked.local, linked.peer, linked.remote)
        small = [
            linked.initiator.read(linked.local, linked.peer, linked.remote, local_indices=[i], remote_indices=[i], counter=9)
            for i in range(16)
        ]
        expectation = linked.target.expect(9, 16)
        done = await asyncio.wait_for(asyncio.gather(big, *small), 20)
        assert done[0] is big and all(t.state == "DONE" for t in done)
        await asyncio.wait_for(_as_task(expectation), 20)

    asyncio.run(scenario())
    # Another loop, the same agent.
    asyncio.run(scenario())


async def _as_task(thing: hawser.Expectation) -> None:
    await thing


def test_awaiting_a_transfer_that_fails_raises(linked: Linked) -> None:
    async def scenario() -> None:
        transfer = linked.initiator.prepare("READ", linked.local, linked.peer, linked.remote)
        linked.target.close()
        transfer.post(timeout=5)
        with pytest.raises(hawser.TransferError) as failure:
            await asyncio.wait_for(_awaited(transfer), 20)
        assert failure.value.cause in ("PEER_LOST", "DEADLINE_EXCEEDED", "REFUSED")

    asyncio.run(scenario())


async def _awaited(transfer: hawser.Transfer) -> hawser.Transfer:
    return await transfer


def test_waiting_for_a_transfer_that_was_never_posted_is_refused(linked: Linked) -> None:
    transfer = linked.initiator.prepare("READ", linked.local, linked.peer, linked.remote)

    with pytest.raises(hawser.Busy, match="never posted"):
        transfer.wait(5)
    with pytest.raises(hawser.Busy, match="never posted"):
        transfer.future()
    with pytest.raises(hawser.Busy, match="never posted"):
        asyncio.run(asyncio.wait_for(_awaited(transfer), 5))
    transfer.post()
    assert asyncio.run(_awaited(transfer)) is transfer


def test_makes_futures(linked: Linked) -> None:
    futures = [linked.initiator.read(linked.local, linked.peer, linked.remote).future() for _ in range(8)]

    done, pending = concurrent.futures.wait(futures, timeout=20)

    assert not pending and all(future.result().state == "DONE" for future in done)


def test_tells_futures_of_a_closed_agent(linked: Linked) -> None:
    future = linked.target.expect(1, 1)
    waiting = threading.Event()
    outcome: list[BaseException] = []

    def wait() -> None:
        waiting.set()
        try:
            future.wait(30)
        except hawser.HawserError as e:
            outcome.append(e)

    thread = threading.Thread(target=wait)
    thread.start()
    assert waiting.wait(10)
    linked.target.close()
    thread.join(10)

    assert not thread.is_alive()
    assert isinstance(outcome[0], hawser.AgentClosed)


def test_lends_blocks_and_notices_that_they_were_reused(linked: Linked) -> None:
    grant = linked.target.grant(linked.their_region.blocks(BLOCK))
    lent = linked.initiator.accept(grant.to_bytes())
    assert (lent.owner, lent.writable, len(lent.blocks)) == ("target", False, COUNT)

    linked.initiator.read(linked.local, linked.peer, lent.blocks, grant=lent).wait()
    assert (linked.ours == linked.theirs).all()

    grant.bump()
    with pytest.raises(hawser.TransferStale):
        linked.initiator.read(linked.local, linked.peer, lent.blocks, grant=lent).wait()

    grant.revoke()
    with pytest.raises(hawser.InvalidHandle):
        grant.to_bytes()


def test_refuses_a_damaged_grant(linked: Linked) -> None:
    blob = bytearray(linked.target.grant(linked.their_region.blocks(BLOCK)).to_bytes())
    blob[len(blob) // 2] ^= 1

    with pytest.raises(hawser.GrantError):
        linked.initiator.accept(bytes(blob))


def test_cancels(linked: Linked) -> None:
    transfer = linked.initiator.prepare("READ", linked.local, linked.peer, linked.remote)
    transfer.post()
    transfer.cancel()

    try:
        transfer.wait(10)
    except hawser.TransferCancelled:
        assert transfer.state == "CANCELLED"
    else:
        assert transfer.state == "DONE"  # it was faster


def test_a_transfer_that_is_dropped_under_way_ends_all_the_same(linked: Linked) -> None:
    linked.initiator.write(linked.local, linked.peer, linked.remote, notification=b"dropped")
    gc.collect()

    notification = linked.target.next_notification(10)

    assert notification is not None and notification.payload == b"dropped"


def test_keeps_registered_memory_alive(pair: tuple[Agent, Agent]) -> None:
    class Buffer(np.ndarray):
        pass

    values = pattern(4).view(Buffer)
    gone = weakref.ref(values)
    region = pair[0].register(values, "kept")
    del values
    gc.collect()
    assert gone() is not None

    region.close()
    gc.collect()
    assert gone() is None


def test_an_agent_that_nobody_has_any_more_still_serves(pair: tuple[Agent, Agent]) -> None:
    values = pattern(14)
    gone = weakref.ref(values)

    def start() -> bytes:
        agent = Agent("forgotten")
        agent.register(values, "kv")
        return agent.metadata()

    blob = start()
    expected = values.copy()
    del values
    gc.collect()
    sink = np.zeros_like(expected)
    region = pair[0].register(sink)
    peer = pair[0].add_peer(blob)
    pair[0].read(region.blocks(BLOCK), peer, peer.region("kv").blocks(BLOCK)).wait()
    assert gone() is not None
    assert (sink == expected).all()

    (forgotten,) = [agent for agent in Runtime.get().agents if agent.name == "forgotten"]
    forgotten.close()
    del forgotten
    gc.collect()
    assert gone() is None


def test_allocates_memory_that_is_a_buffer(pair: tuple[Agent, Agent]) -> None:
    region = pair[0].allocate(1 << 16, "pool")
    values = np.frombuffer(region.buffer(), dtype=np.uint32)
    assert values.shape == (1 << 14,) and not values.any()
    values[:] = np.arange(1 << 14)

    pair[1].allocate(1 << 16, "sink")
    peer = pair[1].add_peer(pair[0].metadata())
    sink = pair[1].register(np.zeros(1 << 14, dtype=np.uint32))
    pair[1].read(sink.blocks(), peer, peer.region("pool").blocks()).wait()
    assert sink._memory is not None and (sink._memory.owner == values).all()


def mapped(address: int) -> bool:
    """Whether something is mapped at an address of this process."""
    with open("/proc/self/maps") as maps:
        ranges = (line.split(" ", 1)[0].split("-") for line in maps)
        return any(int(start, 16) <= address < int(end, 16) for start, end in ranges)


def test_a_buffer_keeps_the_memory_of_a_region_that_is_closed(pair: tuple[Agent, Agent]) -> None:
    for closing in ("region", "agent"):
        agent = Agent("lender")
        region = agent.allocate(1 << 16)
        values = np.frombuffer(region.buffer(), dtype=np.uint32)
        half = values[100:]
        values[:] = np.arange(1 << 14)
        (region if closing == "region" else agent).close()
        agent.close()

        assert (half == np.arange(100, 1 << 14)).all() and mapped(region.address)
        half[:] = 0  # nobody else's memory is there meanwhile
        with pytest.raises(hawser.HawserError, match="closed"):
            region.buffer()
        del values, half
        gc.collect()
        assert not mapped(region.address)


def test_memory_without_a_buffer_goes_with_its_region(pair: tuple[Agent, Agent]) -> None:
    region = pair[0].allocate(1 << 16)
    region.buffer()[0] = 1
    assert mapped(region.address)
    region.close()
    assert not mapped(region.address)
    with pytest.raises(hawser.InvalidHandle, match="closed"):
        region.buffer()


def test_the_buffer_of_registered_memory_is_as_writable_and_as_alive_as_that(pair: tuple[Agent, Agent]) -> None:
    class Array(np.ndarray):
        pass

    values = np.arange(4096, dtype=np.uint8).view(Array)
    gone = weakref.ref(values)
    region = pair[0].register(values)
    view = region.buffer()
    del values
    region.close()
    gc.collect()
    assert gone() is not None and view[77] == 77
    del view, region
    gc.collect()
    assert gone() is None

    assert pair[0].register(b"constant", access=hawser.REMOTE_READ).buffer().readonly


def test_the_time_that_an_error_tells_is_the_callers(linked: Linked) -> None:
    with pytest.raises(hawser.WaitTimeout, match=r"had 0 of 1 arrivals after 0\.25 s;"):
        linked.initiator.expect(1, 1).wait(0.25)
    # What nobody answers: a peer that is not there yet.
    with Agent("absent") as absent:
        blob = absent.metadata()
    peer = linked.initiator.add_peer(blob)
    began = time.monotonic()
    with pytest.raises(hawser.LinkError):
        peer.wait_connected(0.3)
    assert time.monotonic() - began < 20
    transfer = linked.initiator.notify(peer, b"x", timeout=30)
    try:
        transfer.wait(0.25)
    except hawser.WaitTimeout as e:
        assert "has not ended after 0.25 s" in str(e)
    except hawser.TransferError:
        pass  # it was told that nobody is there
    transfer.cancel()


def test_tells_what_is_wrong_with_arguments_of_another_kind(linked: Linked) -> None:
    agent, local, peer, remote = linked.initiator, linked.local, linked.peer, linked.remote
    for call, what in (
        (lambda: agent.read(local, "target", remote), "peer: str is no Peer"),
        (lambda: agent.read(linked.ours, peer, remote), "local: ndarray is no BlockList"),
        (lambda: agent.read(None, peer, remote), "local: NoneType is no BlockList"),
        (lambda: agent.read(local, peer, remote, grant=b"x"), "grant: bytes is no Lent"),
        (lambda: agent.transfer(["READ"], local, peer, remote), "operation"),
        (lambda: agent.notify("target", b"x"), "peer: str is no Peer"),
        (lambda: agent.add_peer(None), "blob: NoneType has no bytes"),
        (lambda: agent.add_peer("x"), "blob: str has no bytes"),
        (lambda: agent.accept(None), "grant: NoneType has no bytes"),
        (lambda: agent.grant(linked.ours), "blocks: ndarray is no BlockList"),
        (lambda: agent.metadata(regions=[1]), "regions: int is no Region"),
        (lambda: peer.covers(linked.ours), "blocks: ndarray is no BlockList"),
        (lambda: peer.region(3), "name: 3 is no text"),
        (lambda: agent.allocate(1e3), "nbytes: 1000.0 is no integer"),
        (lambda: agent.allocate(2**64 + 5), "nbytes: .* is no integer of 64 bits"),
        (lambda: agent.register(bytearray(10), access="read"), "access: 'read' is no integer"),
        (lambda: agent.register(bytearray(10), access=99), "access: 99 is not within 0 and 3"),
        (lambda: agent.register((2**64 + linked.our_region.address, 100)), "address: .* is not within 0"),
        (lambda: agent.register((linked.our_region.address, 2**64 + 100)), "bytes: .* is no integer of 64 bits"),
        (lambda: agent.register(np.array([object()])), r"its elements \(\|O\) are no plain bytes"),
        (lambda: agent.expect(1, 2**64), "arrivals: .* is no integer of 64 bits"),
        (lambda: agent.expect("x", 1), "counter: 'x' is no integer"),
        (lambda: linked.our_region.blocks(1024.0), "block_bytes: 1024.0 is no integer"),
        (lambda: agent.read(local, peer, remote, request_id="\ud800"), "request_id: .*UTF-8"),
    ):
        with pytest.raises(hawser.InvalidArgument, match=what):
            call()
    # An array of times is plain bytes.
    assert agent.register(np.zeros(4, dtype="M8[ns]")).nbytes == 32


def test_tells_what_is_wrong_with_blocks(linked: Linked) -> None:
    with pytest.raises(hawser.InvalidArgument, match=r"remoteIndices\[1\].*64 blocks"):
        linked.initiator.read(linked.local, linked.peer, linked.remote, local_indices=[0, 1], remote_indices=[0, 64])
    with pytest.raises(hawser.InvalidArgument, match="as many on each side"):
        linked.initiator.read(linked.local, linked.peer, linked.remote, local_indices=[0])
    with pytest.raises(hawser.UnresolvedBlocks, match=r"local\[0\].*not within one registered region"):
        linked.initiator.read(BlockList.of_tensor(np.zeros((COUNT, BLOCK), np.uint8)), linked.peer, linked.remote)
    stray = BlockList.of(linked.their_region.address + COUNT * BLOCK - 1, BLOCK)
    with pytest.raises(hawser.UnresolvedBlocks, match=r"remote\[0\]"):
        linked.initiator.read(linked.local, linked.peer, stray, local_indices=[0])


def test_tells_what_may_not_be_done(pair: tuple[Agent, Agent]) -> None:
    pair[0].register(pattern(5), "read-only", access=hawser.REMOTE_READ)
    region = pair[1].register(pattern(6))
    peer = pair[1].add_peer(pair[0].metadata())

    with pytest.raises(hawser.UnresolvedBlocks, match="remote-read"):
        pair[1].write(region.blocks(BLOCK), peer, peer.region("read-only").blocks(BLOCK))
    assert peer.covers(peer.region("read-only").blocks(BLOCK), "READ")
    assert not peer.covers(peer.region("read-only").blocks(BLOCK), "WRITE")


def test_refuses_memory_that_has_gaps_or_may_not_be_written_to(pair: tuple[Agent, Agent]) -> None:
    with pytest.raises(hawser.InvalidArgument, match="has gaps"):
        pair[0].register(np.zeros((8, 8))[:, :4])
    with pytest.raises(hawser.InvalidArgument, match="read-only"):
        pair[0].register(b"constant")
    pair[0].register(b"constant", "text", access=hawser.REMOTE_READ)
    with pytest.raises(hawser.InvalidArgument, match="'text' is the name of"):
        pair[0].register(b"constant", "text", access=hawser.REMOTE_READ)


def test_tells_what_is_wrong_with_names_settings_and_metadata(pair: tuple[Agent, Agent]) -> None:
    with pytest.raises(hawser.InvalidArgument, match="cannot name an agent"):
        Agent("")
    with pytest.raises(hawser.InvalidArgument, match="there is no setting 'link_lease'"):
        Agent("x", settings={"link_lease": "2s"})
    with pytest.raises(hawser.InvalidArgument, match="link-lease"):
        Agent("x", settings={"link-lease": "soon"})
    with pytest.raises(hawser.PeerMetadataError):
        pair[0].add_peer(b"garbage")
    with pytest.raises(hawser.PeerMetadataError, match="its own"):
        pair[0].add_peer(pair[0].metadata())
    with pytest.raises(hawser.UnknownPeer):
        pair[0].peer("nobody", timeout=0.1)
    with pytest.raises(hawser.UnknownPeer, match="no region named"):
        pair[1].add_peer(pair[0].metadata()).region("none")


def test_takes_settings_from_the_program_and_from_the_present_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAWSER_LINK_LEASE", "9s")
    with Agent("configured", transports="tcp", settings={"labels": {"role": "decode"}}) as agent:
        facts = agent.describe()

    settings = {entry["key"]: entry for entry in facts["settings"]}
    assert facts["transports"] == ["tcp"]
    assert (settings["link-lease"]["value"], settings["labels"]["value"]) == ("9s", "role=decode")


def test_an_agent_that_is_closed_says_so(linked: Linked) -> None:
    prepared = linked.initiator.prepare("READ", linked.local, linked.peer, linked.remote)
    expectation = linked.initiator.expect(1, 1)
    grant = linked.initiator.grant(linked.local)
    linked.initiator.close()
    linked.initiator.close()

    assert linked.initiator.closed
    for call in (
        linked.initiator.metadata,
        lambda: linked.initiator.read(linked.local, linked.peer, linked.remote),
        lambda: linked.peer.epoch,
        linked.our_region.buffer,
        prepared.poll,
        lambda: prepared.wait(5),
        prepared.post,
        expectation.poll,
        lambda: expectation.wait(5),
        grant.to_bytes,
        lambda: linked.initiator.next_notification(5),
    ):
        with pytest.raises(hawser.AgentClosed, match="agent 'initiator' is closed.*start another"):
            call()
    linked.our_region.close()
    assert len(linked.local) == COUNT  # belongs to no agent


def test_awaiting_arrivals_that_cannot_come_any_more_is_no_success(pair: tuple[Agent, Agent]) -> None:
    target, initiator = pair

    async def awaited(agent: Agent, end: Callable[[hawser.Expectation], None]) -> None:
        expectation = agent.expect(3, 2)

        async def wait() -> None:
            await expectation

        waiting = asyncio.ensure_future(wait())
        await asyncio.sleep(0.05)
        assert not waiting.done()
        end(expectation)
        await asyncio.wait_for(waiting, 10)

    with pytest.raises(hawser.TransferError, match="cancelled"):
        asyncio.run(awaited(initiator, lambda expectation: expectation.cancel()))
    with pytest.raises(hawser.AgentClosed, match="closed"):
        asyncio.run(awaited(target, lambda expectation: target.close()))


def test_a_restarted_peer_is_noticed(linked: Linked) -> None:
    transfer = linked.initiator.prepare("READ", linked.local, linked.peer, linked.remote)
    linked.target.close()
    with Agent("target") as again:
        again.register(linked.theirs, "kv")
        assert linked.initiator.add_peer(again.metadata()) is linked.peer

        with pytest.raises(hawser.TransferError) as failure:
            transfer.post()
        assert failure.value.cause == "PEER_RESTARTED"

        linked.ours[:] = 0
        linked.initiator.read(linked.local, linked.peer, linked.peer.region("kv").blocks(BLOCK)).wait()
        assert (linked.ours == linked.theirs).all()


def test_many_threads_transfer_at_once(linked: Linked) -> None:
    failures: list[BaseException] = []

    def work(first: int) -> None:
        try:
            for i in range(first, COUNT, 4):
                linked.initiator.read(
                    linked.local, linked.peer, linked.remote, local_indices=[i], remote_indices=[i]
                ).wait()
        except BaseException as e:  # reported below
            failures.append(e)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert failures == []
    assert (linked.ours == linked.theirs).all()


def test_waits_let_other_threads_run(linked: Linked) -> None:
    ticks = 0
    stop = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not stop.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        assert linked.target.next_notification(0.3) is None
    finally:
        stop.set()
        thread.join()
    assert ticks > 20


def test_describes_peers(linked: Linked) -> None:
    linked.peer.wait_connected(10)
    facts = linked.peer.describe()

    assert facts["name"] == "target" and facts["connected"]
    assert [region["name"] for region in facts["regions"]] == ["kv"]
    assert any(path["up"] for path in facts["paths"])


def test_threads_that_take_notifications_at_once_get_each_once(linked: Linked) -> None:
    back = linked.target.add_peer(linked.initiator.metadata())
    count = 600
    taken: list[bytes] = []
    over = threading.Event()

    def take() -> None:
        while not over.is_set():
            notification = linked.initiator.next_notification()
            if notification is None:
                time.sleep(0.0005)
            else:
                taken.append(notification.payload)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for number in range(count):
            linked.target.notify(back, f"{number:06d}").wait(10)
        deadline = time.monotonic() + 10
        while len(taken) < count and time.monotonic() < deadline:
            time.sleep(0.01)
    finally:
        over.set()
        for thread in threads:
            thread.join(10)

    assert sorted(taken) == [f"{number:06d}".encode() for number in range(count)]


@pytest.mark.parametrize("timeout", [None, "5", float("nan")])
def test_refuses_what_is_no_time(linked: Linked, timeout: object) -> None:
    for wait in (
        linked.initiator.next_notification,
        linked.peer.wait_connected,
        linked.our_region.close,
        linked.initiator.notify(linked.peer, b"x").wait,
    ):
        with pytest.raises(hawser.InvalidArgument, match="timeout"):
            wait(timeout)  # type: ignore[arg-type]


def test_an_infinite_time_is_one(linked: Linked) -> None:
    linked.peer.wait_connected(float("inf"))
    linked.initiator.notify(linked.peer, b"x", timeout=float("inf")).wait(float("inf"))
    linked.our_region.close(float("inf"))


def test_refuses_what_the_c_abi_would_cut(linked: Linked) -> None:
    with pytest.raises(hawser.InvalidArgument, match="NUL"):
        Agent("a\0b")
    with pytest.raises(hawser.InvalidArgument, match="request_id"):
        linked.initiator.notify(linked.peer, b"x", request_id="a\0b")
    with pytest.raises(hawser.InvalidArgument, match="name"):
        linked.initiator.allocate(64, name="a\0b")
    with pytest.raises(hawser.InvalidArgument, match="64 bits"):
        linked.initiator.notify(linked.peer, counter=1 << 64)
    with pytest.raises(hawser.InvalidArgument, match="64 bits"):
        linked.initiator.expect(1 << 64, 1)
    with pytest.raises(hawser.InvalidArgument, match="notification"):
        linked.initiator.notify(linked.peer, 5)  # type: ignore[arg-type]


def test_refuses_numbers_that_would_be_read_as_others(linked: Linked) -> None:
    blocks = BlockList.of_tensor(linked.ours)
    theirs = linked.peer.region("kv").blocks(BLOCK)
    # Zero is zero in either order: it is the order that is refused.
    with pytest.raises(hawser.InvalidArgument, match="byte order"):
        linked.initiator.read(blocks, linked.peer, theirs, local_indices=np.zeros(1, ">i8"), remote_indices=[0])
    for rows in (np.ones((2, 3)), np.ones((2, 3), ">u8"), [(1, 1, 0, 1), (1, 1)], [(-1, 1, 0)]):
        with pytest.raises(hawser.InvalidArgument, match="rows"):
            BlockList.from_triples(rows)
