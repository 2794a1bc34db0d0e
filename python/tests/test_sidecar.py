# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Workers without a JVM, whose agents live in a sidecar."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable, Iterator

import pytest

import hawser

Program = Callable[..., subprocess.CompletedProcess]


COMMAND = "hawser agent"


def start(kind: str, path: str) -> subprocess.Popen:
    """A sidecar of a kind, that listens."""
    env = {**os.environ, "PYTHONPATH": str(Path(hawser.__file__).parents[1])}
    if kind == COMMAND:
        line = shlex.split(os.environ.get("HAWSER_PYTHON_COMMAND_LINE", ""))
        if not line:
            pytest.skip("needs the command line: HAWSER_PYTHON_COMMAND_LINE='.../hawser', which mvn verify sets")
        command, ready = [*line, "agent", "--socket", path], f"hawser agent: unix:{path}\n"
    else:
        command, ready = [sys.executable, "-m", "hawser.sidecar", path], f"hawser sidecar: {path}\n"
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line == ready, (line, process.communicate(timeout=30))
    return process


def stop(process: subprocess.Popen) -> None:
    if process.poll() is None:
        process.terminate()
    process.communicate(timeout=60)


def await_its_end(address: str, patience: float) -> None:
    """Until nobody listens there: the listener goes with its agent. One that came just before is reset."""
    host, _, port = address.rpartition(":")
    deadline = time.monotonic() + patience
    while True:
        try:
            socket.create_connection((host, int(port)), timeout=5).close()
        except ConnectionRefusedError:
            return
        except ConnectionResetError:
            pass
        assert time.monotonic() < deadline, "the agent of a killed worker is still there"
        time.sleep(0.02)


@pytest.fixture(params=["python -m hawser.sidecar", COMMAND])
def kind(request: pytest.FixtureRequest) -> str:
    """Both serve the same."""
    return request.param


@pytest.fixture
def sidecar(tmp_path: Path, kind: str) -> Iterator[tuple[str, subprocess.Popen]]:
    path = str(tmp_path / "s")
    process = start(kind, path)
    yield path, process
    stop(process)


WORKER = """
import asyncio, gc, threading
import numpy as np
import hawser
from hawser import BlockList

target, initiator = hawser.Agent("target"), hawser.Agent("initiator")
pool, sink = target.allocate(1 << 18, "kv"), initiator.allocate(1 << 18, "sink")
theirs = np.frombuffer(pool.buffer(), dtype=np.uint8).reshape(64, 4096)
ours = np.frombuffer(sink.buffer(), dtype=np.uint8).reshape(64, 4096)
theirs[:] = np.random.default_rng(1).integers(0, 256, theirs.shape, dtype=np.uint8)
peer = initiator.add_peer(target.metadata())
assert peer.name == "target" and peer.describe()["regions"][0]["name"] == "kv"
remote = peer.region("kv").blocks(4096)

order = np.random.default_rng(2).permutation(64)
info = initiator.read(BlockList.of_tensor(ours), peer, remote, remote_indices=order, notification=b"\\0got", request_id="r").result()
assert (ours == theirs[order]).all() and info.total_bytes == 1 << 18
n = target.next_notification(10)
assert (n.peer, n.payload, n.request_id) == ("initiator", b"\\0got", "r"), n
rows = np.array([[ours[i].ctypes.data, 4096, 0] for i in range(64)], dtype=np.uint64)
initiator.read(BlockList.from_triples(rows), peer, remote, counter=5).wait()
assert (ours == theirs).all()
target.expect(5, 1).wait(10)

transfers = [initiator.read(BlockList.of_tensor(ours), peer, remote, local_indices=[i], remote_indices=[i]) for i in range(64)]
assert len(hawser.PollSet(initiator, transfers).wait(20)) == 64

async def awaited():
    await asyncio.wait_for(wrapped(initiator.read(BlockList.of_tensor(ours), peer, remote)), 20)
async def wrapped(transfer):
    await transfer
asyncio.run(awaited())
assert initiator.read(BlockList.of_tensor(ours), peer, remote).future().result(20).state == "DONE"

grant = target.grant(pool.blocks(4096))
lent = initiator.accept(grant.to_bytes())
initiator.read(BlockList.of_tensor(ours), peer, lent.blocks, grant=lent).wait()
grant.bump()
for call, kind in (
    (lambda: initiator.read(BlockList.of_tensor(ours), peer, lent.blocks, grant=lent).wait(), hawser.TransferStale),
    (lambda: initiator.read(BlockList.of_tensor(ours), peer, remote, local_indices=[64], remote_indices=[0]), hawser.InvalidArgument),
    (lambda: initiator.register(np.zeros(4096, dtype=np.uint8)), hawser.InvalidArgument),
    (lambda: initiator.add_peer(b"garbage"), hawser.PeerMetadataError),
    (lambda: target.expect(6, 1).wait(0.2), hawser.WaitTimeout),
    (lambda: initiator.peer("nobody", 0.1), hawser.UnknownPeer),
):
    try:
        call()
    except kind as e:
        assert str(e)
    else:
        raise AssertionError(kind)
spare = initiator.allocate(1 << 16)
kept = np.frombuffer(spare.buffer(), dtype=np.uint8)
kept[:] = 7
spare.close()
assert (kept == 7).all()
try:
    spare.buffer()
except hawser.InvalidHandle:
    pass
else:
    raise AssertionError("the buffer of a closed region")
part = initiator.register(ours[:4], "part")
assert part.nbytes == 4 * 4096

failures = []
def work(first):
    try:
        for i in range(first, 64, 4):
            initiator.read(BlockList.of_tensor(ours), peer, remote, local_indices=[i], remote_indices=[i]).wait()
    except BaseException as e:
        failures.append(e)
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
[t.start() for t in threads]; [t.join(60) for t in threads]
assert not failures, failures
assert "libjvm" not in open("/proc/self/maps").read()
print("heap", hawser.machine()["heapUsed"] > 0)
"""


def test_does_everything_without_a_jvm_in_the_worker(program: Program, sidecar: tuple[str, subprocess.Popen]) -> None:
    for ending in ("", "target.close(); initiator.close()"):
        result = program(WORKER + ending, HAWSER_PYTHON_SIDECAR=sidecar[0])
        assert result.returncode == 0, result.stderr
        assert result.stdout == "heap True\n"
        assert result.stderr == ""


def test_two_workers_meet(program: Program, sidecar: tuple[str, subprocess.Popen], tmp_path: Path) -> None:
    source = """
import sys, hawser, hawser.sidecar
hawser.sidecar.use(sys.argv[1])
with hawser.Agent("lender") as agent:
    pool = agent.allocate(1 << 16, "kv")
    pool.buffer()[:] = bytes(range(256)) * 256
    print(agent.metadata().hex(), flush=True)
    sys.stdin.read()
"""
    env = {**os.environ, "PYTHONPATH": str(Path(hawser.__file__).parents[1])}
    lender = subprocess.Popen(
        [sys.executable, "-c", source, sidecar[0]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
    )
    assert lender.stdin is not None and lender.stdout is not None
    try:
        # The other one has a JVM of its own: it cannot tell the difference.
        with hawser.Agent("borrower") as agent:
            sink = agent.allocate(1 << 16)
            peer = agent.add_peer(bytes.fromhex(lender.stdout.readline()))
            agent.read(sink.blocks(4096), peer, peer.region("kv").blocks(4096)).wait(20)
            assert sink.buffer() == bytes(range(256)) * 256
    finally:
        lender.stdin.close()
        assert lender.wait(60) == 0


def test_closes_the_agents_of_a_worker_that_was_killed(program: Program, sidecar: tuple[str, subprocess.Popen]) -> None:
    source = """
import os, signal, hawser
agent = hawser.Agent("victim")
agent.allocate(1 << 16, "kv")
print(agent.describe()["addresses"][0], flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    victim = program(source, HAWSER_PYTHON_SIDECAR=sidecar[0])
    assert victim.returncode == -9
    await_its_end(victim.stdout.strip(), 30)


def test_says_that_the_sidecar_is_not_there_or_gone(program: Program, sidecar: tuple[str, subprocess.Popen]) -> None:
    result = program("import hawser\nhawser.Agent('a')", HAWSER_PYTHON_SIDECAR="/nowhere/s")
    assert result.returncode == 1 and "start one with hawser agent --socket /nowhere/s, or python -m" in result.stderr

    second = subprocess.run(
        [sys.executable, "-m", "hawser.sidecar", sidecar[0]],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(Path(hawser.__file__).parents[1])},
        check=False,
    )
    assert second.returncode == 1 and "another agent listens" in second.stderr

    source = f"""
import os, signal, hawser
agent = hawser.Agent("a")
os.kill({sidecar[1].pid}, signal.SIGKILL)
try:
    while True:
        agent.poll()
except hawser.AgentClosed as e:
    print("gone", "start it again" in str(e))
"""
    result = program(source, HAWSER_PYTHON_SIDECAR=sidecar[0])
    assert (result.stdout, result.stderr) == ("gone True\n", "")


RESTARTED = """
import sys, threading
import numpy as np
import hawser

def told(call):
    try:
        call()
    except hawser.AgentClosed as e:
        assert "make new agents" in str(e), e
    else:
        raise AssertionError("it went on")

old, other = hawser.Agent("old"), hawser.Agent("other")
kept = old.allocate(1 << 16, "kept")
bytes_ = np.frombuffer(kept.buffer(), dtype=np.uint8)
bytes_[:] = 7
blocks = kept.blocks(4096)
go, done = threading.Event(), threading.Event()
def elsewhere():  # a thread whose connection is to the sidecar that ends
    old.describe()
    done.set()
    go.wait()
    assert new.describe()["name"] == "new"
    done.set()
thread = threading.Thread(target=elsewhere)
thread.start(); done.wait(); done.clear()

print("ready", flush=True)
sys.stdin.readline()  # until it has been started again

told(old.poll)
new = hawser.Agent("new")
told(old.describe)  # and not of the agent that is at that place by now
told(lambda: old.allocate(4096))
told(kept.close)
go.set(); thread.join(30)
assert done.is_set()
old.close()
assert old.closed and (bytes_ == 7).all()
del blocks
sink, source = new.allocate(1 << 16), new.allocate(1 << 16, "kv")
target = hawser.Agent("target")
pool = target.allocate(1 << 16, "kv")
pool.buffer()[:] = bytes(range(256)) * 256
peer = new.add_peer(target.metadata())
new.read(sink.blocks(4096), peer, peer.region("kv").blocks(4096)).wait(20)
assert bytes(sink.buffer()) == bytes(range(256)) * 256
print("fine", flush=True)
# "other" is closed at exit, and says nothing
"""


def test_agents_of_a_sidecar_that_was_started_again_are_told_apart(tmp_path: Path, kind: str) -> None:
    path = str(tmp_path / "s")
    first = start(kind, path)
    env = {**os.environ, "PYTHONPATH": str(Path(hawser.__file__).parents[1]), "HAWSER_PYTHON_SIDECAR": path}
    worker = subprocess.Popen(
        [sys.executable, "-c", RESTARTED],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
    )
    assert worker.stdout is not None
    second = None
    try:
        assert worker.stdout.readline() == "ready\n", worker.communicate(timeout=30)
        first.kill()
        stop(first)
        second = start(kind, path)  # the socket that was left is taken over
        assert worker.communicate("go\n", timeout=60) == ("fine\n", "")
        assert worker.returncode == 0
    finally:
        worker.kill()
        stop(first)
        if second is not None:
            stop(second)


def test_a_process_names_its_sidecar_with_the_first_agent(program: Program, sidecar: tuple[str, subprocess.Popen]) -> None:
    source = """
import sys, hawser
agent = hawser.Agent("a", sidecar="unix:" + sys.argv[1])
assert hawser.Agent("b", sidecar=sys.argv[1]).describe()["name"] == "b"
assert "libjvm" not in open("/proc/self/maps").read()
try:
    hawser.Agent("c", sidecar="unix:/elsewhere")
except hawser.RuntimeUnavailable as e:
    assert f"agents are at {sys.argv[1]} already" in str(e), e
else:
    raise AssertionError("in two places")
print("fine")
"""
    result = program(source.replace("sys.argv[1]", repr(sidecar[0])))
    assert (result.returncode, result.stdout, result.stderr) == (0, "fine\n", "")
    within = """
import hawser
agent = hawser.Agent("a")
try:
    hawser.Agent("b", sidecar="unix:/elsewhere")
except hawser.RuntimeUnavailable as e:
    assert "in this process already" in str(e), e
else:
    raise AssertionError("in two places")
print("fine")
"""
    result = program(within)
    assert (result.returncode, result.stdout, result.stderr) == (0, "fine\n", "")


def test_its_socket_is_its_users_and_goes_with_it(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "s"
    path.write_text("precious")
    refused = subprocess.run(
        [*shlex.split(os.environ.get("HAWSER_PYTHON_COMMAND_LINE", "false")), "agent", "--socket", str(path)]
        if kind == COMMAND
        else [sys.executable, "-m", "hawser.sidecar", str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(Path(hawser.__file__).parents[1])},
        check=False,
    )
    assert refused.returncode == 1 and path.read_text() == "precious"
    assert "is no socket" in refused.stderr or (kind == COMMAND and "HAWSER_PYTHON_COMMAND_LINE" not in os.environ)
    path.unlink()

    process = start(kind, str(path))
    try:
        mode = path.stat().st_mode
        assert stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o600
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        assert process.returncode == 143  # as a JVM says
        assert not path.exists()
    finally:
        stop(process)


def test_a_worker_is_told_that_its_agent_is_being_ended(tmp_path: Path, kind: str) -> None:
    path = str(tmp_path / "s")
    process = start(kind, path)
    env = {**os.environ, "PYTHONPATH": str(Path(hawser.__file__).parents[1]), "HAWSER_PYTHON_SIDECAR": path}
    worker = subprocess.Popen(
        [sys.executable, "-c", "import hawser\nagent = hawser.Agent('a')\nprint('ready', flush=True)\n"
         "try:\n    while True: agent.next_notification(1)\nexcept hawser.AgentClosed as e: print('told', flush=True)"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
    )
    try:
        assert worker.stdout is not None and worker.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert worker.communicate(timeout=60) == ("told\n", "")
        process.communicate(timeout=60)
        assert process.returncode == 143
    finally:
        worker.kill()
        stop(process)


INTERRUPTED = """
import signal, threading
import hawser

agent, other = hawser.Agent("interrupted"), hawser.Agent("other")

class Stop(Exception): pass
def stop(*_): raise Stop
def ask(*_):
    assert other.describe()["name"] == "other"
    asked.append(1)

# An exception out of a handler leaves an answer on its way, which belongs to nobody.
signal.signal(signal.SIGALRM, stop)
for round in range(10):
    signal.setitimer(signal.ITIMER_REAL, 0.03)
    try:
        agent.next_notification(5)
        raise AssertionError("not interrupted")
    except Stop:
        pass
    assert agent.describe()["name"] == "interrupted", round

# A handler, like a finalizer, may call while a call of the same thread is under way.
asked = []
signal.signal(signal.SIGALRM, ask)
signal.setitimer(signal.ITIMER_REAL, 0.03, 0.03)
for round in range(5):
    assert agent.next_notification(0.2) is None
    assert agent.describe()["name"] == "interrupted", round
signal.setitimer(signal.ITIMER_REAL, 0)
assert asked
print("fine")
"""


def test_registers_memory_that_the_worker_shares(program: Program, sidecar: tuple[str, subprocess.Popen]) -> None:
    source = """
import mmap, os
from multiprocessing import shared_memory
import numpy as np
import hawser

target, initiator = hawser.Agent("target"), hawser.Agent("initiator")
named = shared_memory.SharedMemory(create=True, size=1 << 16)
theirs = np.frombuffer(named.buf, dtype=np.uint8)
theirs[:] = np.random.default_rng(1).integers(0, 256, theirs.size, dtype=np.uint8)
descriptor = os.memfd_create("ours")
os.truncate(descriptor, 1 << 16)
ours = np.frombuffer(mmap.mmap(descriptor, 1 << 16), dtype=np.uint8)

# Two regions in one mapping, one of which goes before the other.
first, second = target.register(theirs[: 1 << 15], "first"), target.register(theirs, "kv")
first.close()
sink = initiator.register(ours)
peer = initiator.add_peer(target.metadata())
initiator.read(sink.blocks(4096), peer, peer.region("kv").blocks(4096)).wait(20)
assert (ours == theirs).all()
sink.close()
again = initiator.register(ours)
initiator.write(again.blocks(4096), peer, peer.region("kv").blocks(4096), remote_indices=range(15, -1, -1)).wait(20)
assert (theirs.reshape(16, 4096) == ours.reshape(16, 4096)[::-1]).all()

private = np.zeros(1 << 16, dtype=np.uint8)
class Gpu:
    __cuda_array_interface__ = {"data": (1 << 40, False), "shape": (64,), "typestr": "|u1", "version": 3}
for call, words in (
    (lambda: initiator.register(private), "tensor.share_memory_()"),
    (lambda: initiator.register(Gpu()), "within this process"),
):
    try:
        call()
    except (hawser.InvalidArgument, hawser.MemoryUnavailable) as e:
        assert words in str(e), e
    else:
        raise AssertionError(words)
target.close(); initiator.close()
del theirs
named.close(); named.unlink()
print("fine")
"""
    result = program(source, HAWSER_PYTHON_SIDECAR=sidecar[0])
    assert (result.returncode, result.stdout) == (0, "fine\n"), result.stderr
    # Nothing of it is left in the sidecar.
    maps = Path(f"/proc/{sidecar[1].pid}/maps")
    deadline = time.monotonic() + 20
    while "memfd:ours" in maps.read_text() or "psm_" in maps.read_text():
        assert time.monotonic() < deadline, "memory that a worker shared is still mapped"
        time.sleep(0.02)


def test_whoever_awaits_is_told_that_the_sidecar_has_ended(program: Program, sidecar: tuple[str, subprocess.Popen]) -> None:
    path, process = sidecar
    source = """
import asyncio, os, signal, sys, time, hawser
agent, other = hawser.Agent("a"), hawser.Agent("b")
async def wait():
    await agent.expect(9, 1)
async def main():
    waiting = asyncio.ensure_future(wait())
    await asyncio.sleep(0.2)
    os.kill(int(sys.argv[1]), signal.SIGKILL)
    try:
        await asyncio.wait_for(waiting, 20)
    except hawser.HawserError as e:
        print("told:", type(e).__name__)
asyncio.run(main())
agent.close()  # what is gone is closed
other.close()
print("closed", end="")
"""
    result = program(source.replace("sys.argv[1]", repr(str(process.pid))), HAWSER_PYTHON_SIDECAR=path)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("told: ") and result.stdout.endswith("closed"), result.stdout + result.stderr
    assert result.stderr == ""


def test_a_sidecar_of_another_version_and_a_fork_are_refused(
    program: Program, sidecar: tuple[str, subprocess.Popen]
) -> None:
    other = """
import hawser, hawser._remote
hawser._remote.VERSION = 99
hawser.Agent("a")
"""
    result = program(other, HAWSER_PYTHON_SIDECAR=sidecar[0])
    assert result.returncode == 1 and "this package 99: use one build" in result.stderr, result.stderr

    forked = """
import os, hawser
agent = hawser.Agent("a")
child = os.fork()
if child == 0:
    try:
        agent.describe()
    except hawser.RuntimeUnavailable as e:
        os._exit(7 if "spawn" in str(e) else 8)
    os._exit(9)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert agent.describe()["name"] == "a"
print("fine")
"""
    result = program(forked, HAWSER_PYTHON_SIDECAR=sidecar[0])
    assert (result.returncode, result.stdout) == (0, "fine\n"), result.stderr


def test_waits_longer_than_a_sidecar_may_be_silent(program: Program, sidecar: tuple[str, subprocess.Popen]) -> None:
    source = """
import time
import hawser, hawser._client
hawser._client._PATIENCE = 2.0
target, initiator = hawser.Agent("target"), hawser.Agent("initiator")
began = time.monotonic()
try:
    target.expect(1, 1).wait(5)
except hawser.WaitTimeout as e:
    assert "after 5 s" in str(e), e
assert target.next_notification(3) is None
try:
    target.peer("nobody", 3)
except hawser.UnknownPeer:
    pass
target.wait_published(3)
print("fine", time.monotonic() - began >= 5)
"""
    result = program(source, HAWSER_PYTHON_SIDECAR=sidecar[0])
    assert (result.returncode, result.stdout) == (0, "fine True\n"), result.stderr


def test_many_threads_connect_at_once(program: Program, sidecar: tuple[str, subprocess.Popen]) -> None:
    source = """
import threading, hawser
agent = hawser.Agent("a")
at_once, failures = threading.Barrier(300), []
def work():
    try:
        at_once.wait()
        assert agent.describe()["name"] == "a"
    except BaseException as e:
        failures.append(e)
threads = [threading.Thread(target=work) for _ in range(300)]
[t.start() for t in threads]; [t.join(80) for t in threads]
assert not failures, failures[:3]
print("fine")
"""
    result = program(source, HAWSER_PYTHON_SIDECAR=sidecar[0])
    assert (result.returncode, result.stdout) == (0, "fine\n"), result.stderr


def test_waits_while_a_sidecar_lets_nobody_in(tmp_path: Path) -> None:
    """Where more wait than may: Linux lets nobody wait then who has a time limit."""
    from hawser import _client

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(tmp_path / "s"))
        listening.listen(0)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as first:
            first.connect(str(tmp_path / "s"))
            began = time.monotonic()
            table = _client.SidecarTable.__new__(_client.SidecarTable)
            table.path, table._session, table._open = str(tmp_path / "s"), b"0" * 16, set()  # type: ignore[assignment]
            with pytest.raises(hawser.NotAnswering, match="does not answer for 0.5 s, but has not ended"):
                table._connect(0.5)
            assert 0.5 <= time.monotonic() - began < 5


STOP = """
import os, signal, time

def stop():
    os.kill(SIDECAR, signal.SIGSTOP)
    for task in os.listdir("/proc/SIDECAR/task"):  # each of its threads stops when it next looks
        while open(f"/proc/SIDECAR/task/{task}/stat").read().rpartition(")")[2].split()[0] != "T":
            time.sleep(0.001)
"""


STOPPED = STOP + """
import os, signal, sys, threading, time
import hawser
target, initiator = hawser.Agent("target"), hawser.Agent("initiator")
pool, sink = target.allocate(1 << 16, "kv"), initiator.allocate(1 << 16)
peer = initiator.add_peer(target.metadata())
blocks, theirs = sink.blocks(4096), peer.region("kv").blocks(4096)
initiator.read(blocks, peer, theirs, notification=b"first").wait(20)
assert target.next_notification(10).payload == b"first"
done = initiator.read(blocks, peer, theirs)
expected = target.expect(7, 1)

def unanswered(call, seconds):
    began = time.monotonic()
    try:
        call()
    except hawser.WaitTimeout as e:
        assert isinstance(e, hawser.NotAnswering) and "does not answer for" in str(e) and "stopped" in str(e), e
    else:
        raise AssertionError("it is answered")
    assert seconds <= time.monotonic() - began <= seconds + 1.5, (seconds, time.monotonic() - began)

stop()
try:
    for seconds in (0.0, 1.0):
        unanswered(lambda: target.next_notification(timeout=seconds), seconds)
    unanswered(lambda: done.wait(2), 2)
    unanswered(lambda: expected.wait(0.5), 0.5)
    unanswered(lambda: hawser.PollSet(initiator, [done]).wait(0.5), 0.5)
    unanswered(lambda: peer.wait_connected(0.5), 0.5)
    fresh = []
    thread = threading.Thread(target=lambda: (unanswered(lambda: done.wait(0.5), 0.5), fresh.append(1)))
    thread.start(); thread.join(20)
    assert fresh, "a thread without a connection"
finally:
    os.kill(SIDECAR, signal.SIGCONT)

assert target.describe()["name"] == "target" and initiator.describe()["name"] == "initiator"
done.wait(20)
try:
    expected.wait(0.2)
except hawser.NotAnswering:
    raise
except hawser.WaitTimeout as e:
    assert "after 0.2 s" in str(e), e
# What comes to those who had given up is not lost, and nothing comes twice.
for round in range(20):
    stop()
    unanswered(lambda: target.next_notification(0.1), 0.1) if round % 5 == 0 else None
    os.kill(SIDECAR, signal.SIGCONT)
    initiator.read(blocks, peer, theirs, notification=b"%d" % round, counter=None).wait(20)
    assert target.next_notification(10).payload == b"%d" % round
assert target.next_notification(0.3) is None
sink.close(); pool.close()
print("fine")
"""


def test_a_stopped_sidecar_does_not_answer_and_has_not_ended(
    program: Program, sidecar: tuple[str, subprocess.Popen]
) -> None:
    path, process = sidecar
    try:
        result = program(STOPPED.replace("SIDECAR", str(process.pid)), HAWSER_PYTHON_SIDECAR=path)
    finally:
        process.send_signal(signal.SIGCONT)
    assert (result.returncode, result.stdout, result.stderr) == (0, "fine\n", "")


AWAITED = STOP + """
import asyncio, os, signal, time
import hawser
target, initiator = hawser.Agent("target"), hawser.Agent("initiator")
pool, sink = target.allocate(1 << 16, "kv"), initiator.allocate(1 << 16)
peer = initiator.add_peer(target.metadata())
blocks, theirs = sink.blocks(4096), peer.region("kv").blocks(4096)
initiator.read(blocks, peer, theirs).wait(20)
done = initiator.read(blocks, peer, theirs)
done_too = [initiator.read(blocks, peer, theirs) for _ in range(50)]
expected = [target.expect(counter, 1) for counter in range(50)]
futures = [initiator.read(blocks, peer, theirs).future() for _ in range(5)]

async def wrapped(thing):
    return await thing

async def main():
    held = [0.0]
    async def tick():
        last = time.monotonic()
        while True:
            await asyncio.sleep(0.01)
            now = time.monotonic()
            held[0], last = max(held[0], now - last), now
    ticking = asyncio.ensure_future(tick())
    stop()
    began = time.monotonic()
    try:
        await asyncio.wait_for(wrapped(done), 1.5)
        raise AssertionError("a stopped sidecar answers")
    except asyncio.TimeoutError:
        assert time.monotonic() - began < 3, time.monotonic() - began
    waiting = [asyncio.ensure_future(wrapped(thing)) for thing in (*done_too, *expected)]
    await asyncio.sleep(1)
    assert not any(w.done() for w in waiting)
    assert held[0] < 1, f"the loop was held up for {held[0]} s"
    os.kill(SIDECAR, signal.SIGCONT)
    await asyncio.wait_for(wrapped(done), 20)
    for transfer in waiting[:50]:
        assert await asyncio.wait_for(transfer, 20) in done_too
    for counter in range(50):
        initiator.notify(peer, counter=counter)
    for expectation in waiting[50:]:
        await asyncio.wait_for(expectation, 20)
    # What is told just before it stops is not lost.
    for round in range(20):
        transfer = initiator.read(blocks, peer, theirs)
        awaited = asyncio.ensure_future(wrapped(transfer))
        await asyncio.sleep(0)
        stop()
        await asyncio.sleep(0.05)
        os.kill(SIDECAR, signal.SIGCONT)
        await asyncio.wait_for(awaited, 20)
    ticking.cancel()

asyncio.run(main())
assert all(future.result(20) for future in futures)
print("fine")
"""


def test_an_event_loop_goes_on_while_a_sidecar_is_stopped(program: Program, sidecar: tuple[str, subprocess.Popen]) -> None:
    path, process = sidecar
    try:
        result = program(AWAITED.replace("SIDECAR", str(process.pid)), HAWSER_PYTHON_SIDECAR=path)
    finally:
        process.send_signal(signal.SIGCONT)
    assert (result.returncode, result.stdout, result.stderr) == (0, "fine\n", "")


def test_a_child_does_not_keep_what_its_dead_parent_had(program: Program, sidecar: tuple[str, subprocess.Popen]) -> None:
    source = """
import os, signal, threading, time, hawser
agent = hawser.Agent("parent")
thread = threading.Thread(target=agent.describe); thread.start(); thread.join()
child = os.fork()
if child == 0:
    time.sleep(60)
    os._exit(0)
print(agent.describe()["addresses"][0], child, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    file = Path(sidecar[0]).parent / "parent.py"
    file.write_text(source)
    env = {**os.environ, "PYTHONPATH": str(Path(hawser.__file__).parents[1]), "HAWSER_PYTHON_SIDECAR": sidecar[0]}
    parent = subprocess.Popen([sys.executable, str(file)], stdout=subprocess.PIPE, text=True, env=env)
    assert parent.stdout is not None
    address, child = parent.stdout.readline().split()
    try:
        assert parent.wait(30) == -9
        await_its_end(address, 20)
    finally:
        os.kill(int(child), signal.SIGKILL)
        parent.stdout.close()


def test_waits_for_files_while_too_many_are_open(tmp_path: Path, kind: str) -> None:
    path = str(tmp_path / "s")
    process = start(kind, path)
    try:
        import resource

        in_use = len(os.listdir(f"/proc/{process.pid}/fd"))
        before = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (in_use + 4, before[1]))
        connections = []
        for _ in range(12):
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.connect(path)
            connections.append(connection)
        deadline = time.monotonic() + 20
        while len(os.listdir(f"/proc/{process.pid}/fd")) < in_use + 4:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        time.sleep(0.5)  # it tries again and again, and says so once
        assert process.poll() is None
        for connection in connections:
            connection.close()
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, before)
        env = {**os.environ, "PYTHONPATH": str(Path(hawser.__file__).parents[1]), "HAWSER_PYTHON_SIDECAR": path}
        source = "import hawser; print(hawser.Agent('a').describe()['name'])"
        worker = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, env=env, timeout=60, check=False)
        assert (worker.returncode, worker.stdout) == (0, "a\n"), worker.stderr
        process.terminate()
        _, said = process.communicate(timeout=60)
        assert said.count("workers have to wait") == 1, said
    finally:
        stop(process)


def test_calls_that_are_interrupted_or_nested_get_their_own_answers(
    sidecar: tuple[str, subprocess.Popen], program: Program
) -> None:
    path, _ = sidecar
    result = program(INTERRUPTED, HAWSER_PYTHON_SIDECAR=path)

    assert (result.returncode, result.stdout) == (0, "fine\n"), result.stderr
