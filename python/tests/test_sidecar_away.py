# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""A sidecar that is stopped, and one that has died: what its workers are told, and for how long that holds them up."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable, Iterator

import pytest
from test_sidecar import STOP, start, stop

from hawser._pulse import Pulse

Program = Callable[..., subprocess.CompletedProcess]


@pytest.fixture
def sidecar(tmp_path: Path) -> Iterator[tuple[str, subprocess.Popen]]:
    path = str(tmp_path / "s")
    process = start("python -m hawser.sidecar", path)
    yield path, process
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)
    stop(process)


def passes(program: Program, sidecar: tuple[str, subprocess.Popen], source: str) -> str:
    """What a worker of the sidecar prints before it says that all was fine."""
    path, process = sidecar
    result = program((COMMON + source).replace("PROCESS", str(process.pid)), HAWSER_PYTHON_SIDECAR=path)
    assert result.returncode == 0 and result.stdout.endswith("fine\n"), (result.stdout, result.stderr)
    return result.stdout


COMMON = STOP.replace("SIDECAR", "PROCESS") + """
import asyncio, os, signal, sys, threading, time
import hawser
from hawser import BlockList

def go_on():
    os.kill(PROCESS, signal.SIGCONT)

def failed(*exception):
    go_on()  # or the end of this process would wait for it
    sys.__excepthook__(*exception)

sys.excepthook = failed

def raises(kind, call):
    began = time.monotonic()
    try:
        call()
    except kind as e:
        assert type(e) is kind, repr(e)
        return time.monotonic() - began
    raise AssertionError(f"it is answered: {getattr(call, '__code__', call)}")

async def answered(call):
    \"\"\"What a call returns once the sidecar answers, which a loop is told as well.\"\"\"
    deadline = time.monotonic() + 20
    while True:
        try:
            return call()
        except hawser.NotAnswering:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.01)
"""


LOOPED = """
import numpy as np
target, initiator = hawser.Agent("target"), hawser.Agent("initiator")
pool, sink = target.allocate(1 << 16, "kv"), initiator.allocate(1 << 16)
peer = initiator.add_peer(target.metadata())
blocks, theirs = sink.blocks(4096), peer.region("kv").blocks(4096)
initiator.read(blocks, peer, theirs).wait(20)
rows = np.tile(np.array([[sink.address, 1, 0]], dtype=np.uint64), (100_000, 1))

def calls():
    transfer = initiator.read(blocks, peer, theirs)
    while transfer.info().state == "ACTIVE":
        pass
    expected = target.expect(7, 1)
    return [
        lambda: transfer.post(),
        lambda: transfer.poll(),
        lambda: transfer.state,
        lambda: transfer.cancel(),
        lambda: transfer.wait(20),
        lambda: hawser.PollSet(initiator, [transfer]).wait(20),
        lambda: initiator.poll([transfer]),
        lambda: initiator.write(blocks, peer, theirs),
        lambda: initiator.notify(peer, b"x"),
        lambda: target.next_notification(timeout=0),
        lambda: target.next_notification(timeout=20),
        lambda: target.wait_published(20),
        lambda: expected.poll(),
        lambda: expected.wait(20),
        lambda: target.allocate(4096),
        lambda: target.grant(pool.blocks(4096)),
        lambda: peer.wait_connected(20),
        lambda: BlockList.from_triples(rows),  # more than a socket takes
        lambda: target.describe(),
        lambda: hawser.Agent("third"),
    ]

async def main():
    # Whichever is first finds that the sidecar does not answer; then all know it.
    for first in range(len(calls())):
        those = calls()
        stop()
        took = [raises(hawser.NotAnswering, call) for call in those[first:] + those[:first]]
        assert took[0] < 1, (first, took)
        again = sum(raises(hawser.NotAnswering, call) for _ in range(5) for call in those) + sum(took[1:])
        assert again < 2, (first, again)  # a tenth of a second each were twelve
        go_on()
        assert (await answered(target.describe))["name"] == "target"
        await answered(peer.wait_connected)  # these are the same next time: what comes for them is taken now
        await answered(target.wait_published)
    # One that answers is waited for as long as was asked for.
    raises(hawser.WaitTimeout, lambda: target.expect(8, 1).wait(0.5))
    assert target.next_notification(0.3) is None

asyncio.run(main())

# A thread without a connection, and without one that could be had.
transfer = initiator.read(blocks, peer, theirs)
def fresh():
    async def ask():
        stop()
        took = raises(hawser.NotAnswering, transfer.poll)
        assert took < 1, took
        assert raises(hawser.NotAnswering, lambda: initiator.poll([transfer])) < 1
        go_on()
        await answered(transfer.poll)
    asyncio.run(ask())
    done.append(1)
done = []
thread = threading.Thread(target=fresh)
thread.start(); thread.join(60)
assert done
print("fine")
"""


def test_a_call_holds_an_event_loop_up_for_a_moment_once(program: Program, sidecar: tuple[str, subprocess.Popen]) -> None:
    passes(program, sidecar, LOOPED)


UNOWNED = """
target, initiator = hawser.Agent("target"), hawser.Agent("initiator")
pool, sink = target.allocate(1 << 16, "kv"), initiator.allocate(1 << 16)
there, here = pool.buffer(), sink.buffer()
peer = initiator.add_peer(target.metadata())
blocks, theirs = sink.blocks(4096), peer.region("kv").blocks(4096)
initiator.write(blocks, peer, theirs).wait(20)

async def main():
    for round in range(1, 11):
        here[:4096] = bytes([round]) * 4096
        stop()
        raises(hawser.NotAnswering, lambda: initiator.write(blocks, peer, theirs, local_indices=[0], remote_indices=[0],
                                                           notification=b"given up"))
        go_on()
        # What is asked afterwards is done, and nothing else.
        other = await answered(lambda: initiator.write(blocks, peer, theirs, local_indices=[1], remote_indices=[1],
                                                       notification=b"%d" % round))
        await asyncio.wait_for(asyncio.ensure_future(ended(other)), 20)
        await asyncio.sleep(0.05)
        assert there[0] == 0, (round, there[0])
        payloads = [n.payload for n in await answered(target.notifications)]
        assert payloads == [b"%d" % round], payloads
        # A name that was given up is free, for nothing has it.
        stop()
        raises(hawser.NotAnswering, lambda: target.allocate(4096, "name"))
        go_on()
        (await answered(lambda: target.allocate(4096, "name"))).close()
        # What came for a call that had given up is the next one's, once.
        stop()
        raises(hawser.NotAnswering, lambda: target.next_notification(0))
        go_on()
        initiator_notified = await answered(lambda: initiator.notify(peer, b"kept"))
        await asyncio.wait_for(asyncio.ensure_future(ended(initiator_notified)), 20)
        assert (await answered(lambda: target.next_notification(5))).payload == b"kept"
        assert (await answered(lambda: target.next_notification(0))) is None
        # And what is dropped meanwhile is let go of later.
        dropped = [await answered(lambda: initiator.read(blocks, peer, theirs)) for _ in range(3)]
        for each in dropped:
            await each
        stop()
        raises(hawser.NotAnswering, sink.blocks)
        del dropped, each
        go_on()
        await answered(target.describe)
async def ended(transfer):
    await transfer

asyncio.run(main())

# Nor is a thread without a loop held up by what it merely drops.
dropped = [initiator.read(blocks, peer, theirs).wait(20) for _ in range(5)]
stop()
began = time.monotonic()
del dropped
assert time.monotonic() - began < 2
go_on()
print("fine")
"""


def test_what_was_given_up_is_not_done_and_nothing_is_lost(
    program: Program, sidecar: tuple[str, subprocess.Popen]
) -> None:
    passes(program, sidecar, UNOWNED)


CLOSED = """
agent = hawser.Agent("a")
region = agent.allocate(1 << 16, "kv")
address = agent.describe()["addresses"][0]

async def main():
    stop()
    assert raises(hawser.NotAnswering, agent.close) < 1
    assert agent.closed
    raises(hawser.AgentClosed, agent.describe)
    go_on()
    await answered(agent.close)
    agent.close()

asyncio.run(main())
print(address)
print("fine")
"""


def test_an_agent_whose_close_was_not_answered_can_be_closed_again(
    program: Program, sidecar: tuple[str, subprocess.Popen]
) -> None:
    source = CLOSED.replace("print(address)", "print(address, flush=True)\nimport socket\nhost, port = address.rsplit(':', 1)\n"
                            "raises(ConnectionRefusedError, lambda: socket.create_connection((host, int(port)), 5))")
    passes(program, sidecar, source)


ANEW = """
tcp = {"transports": "tcp"}
target, initiator = hawser.Agent("target", settings=tcp), hawser.Agent("initiator", settings=tcp)
MANY = 128 << 20
pool, sink = target.allocate(MANY, "kv"), initiator.allocate(MANY)
there, here = pool.buffer(), sink.buffer()
peer = initiator.add_peer(target.metadata())
pull = initiator.prepare("READ", sink.blocks(), peer, peer.region("kv").blocks())
pull.post().wait(60)

def has_moved(what):
    there[-1:] = what
    pull.post()
    while pull.info().state == "ACTIVE":
        time.sleep(0.001)

# What was asked about one post and is answered late says nothing of the next.
async def main():
    has_moved(b"1")
    stop()
    try:
        await asyncio.wait_for(ended(pull), 0.5)
        raise AssertionError("it is answered")
    except asyncio.TimeoutError:
        pass
    go_on()
    await answered(target.describe)
    there[-1:] = b"2"
    await answered(pull.post)
    await ended(pull)
    assert bytes(here[-1:]) == b"2", (bytes(here[-1:]), pull.info().state)

async def ended(transfer):
    await transfer

asyncio.run(main())
has_moved(b"3")
stop()
raises(hawser.NotAnswering, lambda: pull.wait(0.3))
go_on()
target.describe()
there[-1:] = b"4"
pull.post().wait(60)
assert bytes(here[-1:]) == b"4", (bytes(here[-1:]), pull.info().state)

# Nor is a peer connected that was when somebody asked.
stop()
raises(hawser.NotAnswering, lambda: peer.wait_connected(0.1))
go_on()
initiator.describe()
target.close()
try:
    peer.wait_connected(2)
    assert peer.connected
except (hawser.WaitTimeout, hawser.LinkError):
    pass
print("fine")
"""


def test_a_late_answer_says_nothing_of_what_came_since(program: Program, sidecar: tuple[str, subprocess.Popen]) -> None:
    passes(program, sidecar, ANEW)


KEPT = """
base = hawser.Agent("base")
table = hawser._runtime.Runtime.get().table
ask_for_mapping = table._map

async def main():
    # Agents take with them what was asked for them and is not answered.
    opened = []
    for round in range(8):
        agent = await answered(lambda: hawser.Agent("agent"))
        stop()
        raises(hawser.NotAnswering, lambda: agent.next_notification(0))
        go_on()
        await answered(base.describe)
        await answered(agent.close)
        opened.append(len(os.listdir("/proc/self/fd")))
    assert opened[-1] <= opened[1] + 2, opened

    # A name is free again though its allocation was given up between the two questions that it takes.
    def stopped_between(handle):
        table._map = ask_for_mapping
        stop()
        return ask_for_mapping(handle)
    table._map = stopped_between
    raises(hawser.NotAnswering, lambda: base.allocate(4096, "name"))
    go_on()
    await answered(lambda: base.allocate(4096, "name"))

    # A region whose close was not answered is in nobody's way.
    region = base.allocate(4096)
    stop()
    raises(hawser.NotAnswering, region.close)
    go_on()
    for _ in range(4):
        await answered(lambda: base.allocate(4096))
    region.close()

asyncio.run(main())
stop()  # and the end of this process waits for nobody who does not answer
print("fine")
"""


def test_what_was_given_up_is_in_nobodys_way(program: Program, sidecar: tuple[str, subprocess.Popen]) -> None:
    began = time.monotonic()
    passes(program, sidecar, KEPT)
    assert time.monotonic() - began < 25  # it was thirty seconds at the end alone


INTERRUPTED = """
import types
import hawser
target, initiator = hawser.Agent("target"), hawser.Agent("initiator")
peer = initiator.add_peer(target.metadata())

class Interrupt(Exception):
    pass

def interrupted(call):
    try:
        call()
    except Interrupt:
        return
    raise AssertionError("it was not interrupted")

# A signal's handler raises when the notification is there and has not been returned yet.
functions = target._functions
def taking():
    real = functions()
    def next_one(*arguments):
        found = real.notification_next(*arguments)
        if found:
            target._functions = functions
            raise Interrupt
        return found
    return types.SimpleNamespace(notification_next=next_one)
target._functions = taking
initiator.notify(peer, b"first").wait(20)
interrupted(lambda: target.next_notification(20))
assert target.next_notification(20).payload == b"first"
assert target.next_notification(0) is None
"""

WAITING = """
# And when the sidecar was asked, and its answer is waited for.
client = sys.modules["hawser._client"]
readable = client._is_readable
def waiting(connection, seconds):
    client._is_readable = readable
    raise Interrupt
client._is_readable = waiting
interrupted(lambda: target.next_notification(0))
initiator.notify(peer, b"second").wait(20)
assert target.next_notification(20).payload == b"second"
assert target.next_notification(0) is None
"""


def test_a_signal_within_a_call_loses_no_notification(program: Program, sidecar: tuple[str, subprocess.Popen]) -> None:
    passes(program, sidecar, INTERRUPTED + WAITING + "print('fine')\n")
    result = program(INTERRUPTED, HAWSER_PYTHON_SIDECAR="")
    assert result.returncode == 0, result.stderr


SLOW = """
import socket
silent = socket.create_server(("127.0.0.1", 0))  # a metadata service that says nothing

async def main():
    began = time.monotonic()
    raises(hawser.MetadataServiceError, lambda: hawser.Agent("a", metadata=f"http://127.0.0.1:{silent.getsockname()[1]}"))
    assert time.monotonic() - began > 0.5, "it was to take its time"

asyncio.run(main())
print("fine")
"""


def test_what_a_sidecar_works_at_may_take_its_time(program: Program, sidecar: tuple[str, subprocess.Popen]) -> None:
    passes(program, sidecar, SLOW)


def test_one_that_waits_for_a_core_is_told_from_one_that_is_stopped(tmp_path: Path) -> None:
    listening = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); print(flush=True)"
    path = str(tmp_path / "s")
    process = subprocess.Popen(
        [sys.executable, "-c", listening + "\nwhile True: pass", path], stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None and process.stdout.readline()
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(path)
            pulse = Pulse(connection)
            assert not pulse.beats(0.01) and not pulse.is_stopped() and not pulse.has_ended()
            process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
            assert not pulse.beats(0.01) and pulse.is_stopped() and not pulse.has_ended()
            process.kill()
            process.wait(20)
            assert pulse.has_ended()
            with pytest.raises(OSError):
                pulse.beats(1)
    finally:
        process.kill()
        process.communicate(timeout=20)


DEAD = """
old, other = hawser.Agent("old"), hawser.Agent("other")
pool = other.allocate(1 << 16, "kv")
sink = old.allocate(1 << 16, "sink")
peer = old.add_peer(other.metadata())
transfer = old.read(sink.blocks(4096), peer, peer.region("kv").blocks(4096)).wait(20)
prepared = old.prepare("READ", sink.blocks(4096), peer, peer.region("kv").blocks(4096))
expected = old.expect(1, 1)
calls = [
    old.poll, old.describe, prepared.poll, prepared.cancel, lambda: prepared.state, prepared.post, prepared.future,
    lambda: old.next_notification(1), lambda: expected.wait(1), lambda: old.allocate(4096), lambda: old.peer("x", 1),
    lambda: old.notify(peer, b"x"), sink.close, peer.describe, old.metadata,
]
blocks_alone = lambda: BlockList.strided(0, (), (), 1)  # which are no agent's
def elsewhere():
    failures = []
    def work():
        try:
            for call in calls:
                raises(hawser.AgentClosed, call)
        except BaseException as e:
            failures.append(e)
    thread = threading.Thread(target=work)
    thread.start(); thread.join(60)
    assert not failures, failures

async def looped():
    for call in calls:
        raises(hawser.AgentClosed, call)
    for thing in (prepared, expected):
        try:
            await thing
        except hawser.AgentClosed:
            pass
        else:
            raise AssertionError("it went on")

def all_told():
    for _ in range(3):
        for call in calls:
            raises(hawser.AgentClosed, call)
        elsewhere()
        asyncio.run(looped())
"""


def test_whoever_calls_a_sidecar_that_has_died_is_told_so_each_time(
    program: Program, sidecar: tuple[str, subprocess.Popen]
) -> None:
    source = """
os.kill(PROCESS, signal.SIGKILL)
all_told()
raises(hawser.AgentClosed, blocks_alone)
raises(hawser.RuntimeUnavailable, lambda: hawser.Agent("new"))
all_told()
old.close(); old.close()
raises(hawser.AgentClosed, old.poll)
print("fine")
"""
    passes(program, sidecar, DEAD + source)


def test_also_when_another_one_listens_there(program: Program, sidecar: tuple[str, subprocess.Popen]) -> None:
    source = """
import subprocess
os.kill(PROCESS, signal.SIGKILL)
while open("/proc/PROCESS/stat").read().rpartition(")")[2].split()[0] != "Z":
    time.sleep(0.001)
second = subprocess.Popen([sys.executable, "-m", "hawser.sidecar", os.environ["HAWSER_PYTHON_SIDECAR"]], stdout=subprocess.PIPE)
try:
    second.stdout.readline()
    all_told()
    raises(hawser.AgentClosed, blocks_alone)
    new = hawser.Agent("new")  # with a connection of this thread's to the one that died
    all_told()
    assert new.describe()["name"] == "new"
    old.close()
    assert new.describe()["name"] == "new"
    region = new.allocate(4096)
    new.close()
    print("fine")
finally:
    second.terminate()
    second.wait(60)
"""
    passes(program, sidecar, DEAD + source)


NIXL = """
import hawser.nixl_compat as compat
compat.install()
import numpy as np
from nixl._api import nixl_agent
from nixl._bindings import nixlBackendError, nixlRemoteDisconnectError
target, initiator = nixl_agent("target"), nixl_agent("initiator")
ours, theirs = (agent.agent._agent.allocate(4096) for agent in (initiator, target))
def rows(region):
    return np.array([[region.address, region.nbytes, 0]], dtype=np.uint64)
registered = initiator.register_memory(rows(ours), "DRAM")
target.register_memory(rows(theirs), "DRAM")
initiator.add_remote_agent(target.get_agent_metadata())
handle = initiator.initialize_xfer(
    "READ", initiator.get_xfer_descs(rows(ours), "DRAM"), target.get_xfer_descs(rows(theirs), "DRAM"), "target"
)
assert initiator.transfer(handle) in ("DONE", "PROC")

async def main():
    stop()
    for _ in range(3):
        # Not ended, as far as anybody knows.
        assert initiator.check_xfer_state(handle) in ("PROC", "DONE")
        raises(nixlBackendError, lambda: initiator.deregister_memory(registered))
        raises(nixlBackendError, initiator.get_agent_metadata)
        raises(nixlBackendError, initiator.get_new_notifs)
    go_on()
    deadline = time.monotonic() + 20
    while initiator.check_xfer_state(handle) != "DONE":
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)
    initiator.deregister_memory(registered)
    initiator.register_memory(rows(ours), "DRAM")

asyncio.run(main())
os.kill(PROCESS, signal.SIGKILL)
for _ in range(2):
    raises(nixlRemoteDisconnectError, initiator.get_agent_metadata)
    raises(nixlRemoteDisconnectError, initiator.get_new_notifs)
    raises(nixlRemoteDisconnectError, lambda: initiator.send_notif("target", b"x"))
initiator.release_xfer_handle(handle)
initiator.remove_remote_agent("target")
print("fine")
"""


def test_programs_for_nixl_are_told_in_its_words(program: Program, sidecar: tuple[str, subprocess.Popen]) -> None:
    passes(program, sidecar, NIXL)
