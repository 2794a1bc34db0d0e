# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Memory of a worker's GPUs, through a sidecar: with fake drivers on both sides, and with real ones where there are some."""

from __future__ import annotations

import ctypes
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable, Iterator

import pytest

import hawser

Program = Callable[..., subprocess.CompletedProcess]

TESTS = str(Path(__file__).parent)
SOURCES = str(Path(hawser.__file__).parents[1])


def start(command: list[str], path: str) -> subprocess.Popen:
    """A sidecar that listens."""
    process = subprocess.Popen(
        [*command, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line == f"hawser agent: unix:{path}\n", (line, process.communicate(timeout=30))
    return process


def stop(process: subprocess.Popen) -> None:
    if process.poll() is None:
        process.terminate()
    process.communicate(timeout=60)


@pytest.fixture
def fakes(tmp_path: Path) -> Iterator[tuple[str, subprocess.Popen]]:
    """A sidecar on a machine with two fake GPUs."""
    line = shlex.split(os.environ.get("HAWSER_PYTHON_FAKE_GPUS", ""))
    if not line:
        pytest.skip("needs the Java tests' fake GPUs: HAWSER_PYTHON_FAKE_GPUS='java … FakeGpuAgent', which mvn verify sets")
    path = str(tmp_path / "s")
    process = start(line, path)
    yield path, process
    stop(process)


def opened(process: subprocess.Popen) -> tuple[int, int]:
    """How much memory of workers is open in a sidecar on fake GPUs, and how often some was opened."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("?")
    process.stdin.flush()
    now, ever = process.stdout.readline().split()
    return int(now), int(ever)


def await_none_open(process: subprocess.Popen) -> None:
    deadline = time.monotonic() + 20
    while opened(process)[0]:
        assert time.monotonic() < deadline, "memory of a worker that has gone is still open"
        time.sleep(0.02)


WORKER = """
import sys
sys.path.insert(0, TESTS)
import numpy as np
import fake_cuda
import hawser
from hawser import BlockList

def at(address, nbytes):
    return np.frombuffer((np.ctypeslib.ctypes.c_ubyte * nbytes).from_address(address), dtype=np.uint8)

driver = fake_cuda.install(1)  # as with CUDA_VISIBLE_DEVICES=1: what is 0 here is 1 there
whole = driver.allocate(1 << 20)
bytes_ = at(whole, 1 << 20)
bytes_[:] = np.random.default_rng(1).integers(0, 256, bytes_.size, dtype=np.uint8)
cache = fake_cuda.Array(whole + (1 << 18), (64, 4096))
ours = bytes_[1 << 18 : 1 << 19].reshape(64, 4096)

target, initiator = hawser.Agent("target"), hawser.Agent("initiator")
kv = target.register(cache, "kv")
assert (kv.address, kv.device, kv.nbytes) == (whole + (1 << 18), "cuda:0", 1 << 18), kv
again = target.register((whole, 4096, "cuda:0"), "again")
assert driver.exported == 2 and driver.contexts == []
sink = initiator.allocate(1 << 18)
theirs = np.frombuffer(sink.buffer(), dtype=np.uint8).reshape(64, 4096)
peer = initiator.add_peer(target.metadata())
remote = peer.region("kv").blocks(4096)

# Read and written by somebody else.
order = np.random.default_rng(2).permutation(64)
initiator.read(BlockList.of_tensor(theirs), peer, remote, remote_indices=order).wait(20)
assert (theirs == ours[order]).all()
initiator.write(BlockList.of_tensor(theirs), peer, remote, flush=True).wait(20)
assert (theirs == ours).all()

# As the local side: by the tensor, by the region, by rows, and by parts of both allocations.
second = driver.allocate(1 << 18)
others = at(second, 1 << 18).reshape(64, 4096)
target.register((second, 1 << 18, "cuda:0"))
rows = np.array([[whole + (1 << 18) + 4096 * i, 4096, 0] for i in order], dtype=np.uint64)
sink_region = initiator.register(theirs, "sink")
back = target.add_peer(initiator.metadata())
source, sink_blocks = back.region("sink").blocks(4096), back.region("sink").blocks()
for seed, (local, read) in enumerate((
    (BlockList.of_tensor(cache), lambda: ours),
    (kv.blocks(4096), lambda: ours),
    (BlockList.from_triples(rows, "cuda"), lambda: ours[order]),
)):
    theirs[:] = np.random.default_rng(10 + seed).integers(0, 256, theirs.shape, dtype=np.uint8)
    ours[:] = 0
    target.read(local, back, source).wait(20)
    assert (read() == theirs).all(), seed
half = BlockList.concat([BlockList.strided(second, (32,), (8192,), 4096, "cuda:0"), kv.blocks(4096, count=32)])
theirs[:] = np.random.default_rng(9).integers(0, 256, theirs.shape, dtype=np.uint8)
target.prepare("READ", half, back, source).post().wait(20)
assert (others[::2] == theirs[:32]).all() and (ours[:32] == theirs[32:]).all()
assert not others[1::2].any()

# Lent.
lent = initiator.accept(target.grant(BlockList.of_tensor(cache)).to_bytes())
theirs[:] = 0
initiator.read(BlockList.of_tensor(theirs), peer, lent.blocks, grant=lent).wait(20)
assert (theirs == ours).all()

def refused(call, kind, *words):
    try:
        call()
    except kind as e:
        for word in words:
            assert word in str(e), e
    else:
        raise AssertionError(words)

refused(lambda: target.prepare("READ", BlockList.of(whole + (1 << 19), 1 << 18, "cuda:0"), back, sink_blocks),
        hawser.UnresolvedBlocks, "not within one registered region")
refused(lambda: target.prepare("READ", BlockList.of(1 << 40, 1 << 18, "cuda:0"), back, sink_blocks), hawser.UnresolvedBlocks, "register it")
for kind, words in (
    (fake_cuda.POOL, "PYTORCH_CUDA_ALLOC_CONF=backend:native"),
    (fake_cuda.VIRTUAL, "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False"),
    (fake_cuda.MANAGED, "managed memory"),
):
    bad = driver.allocate(4096, kind=kind)
    refused(lambda: target.register((bad, 4096, "cuda:0")), hawser.InvalidArgument, words, hex(bad))
refused(lambda: target.register((whole, (1 << 20) + 1, "cuda:0")), hawser.InvalidArgument, "reach beyond their allocation")
refused(lambda: target.register((whole, 4096, "cuda:1")), hawser.InvalidArgument, "cuda:0, not of cuda:1")
refused(lambda: target.register((whole, 4096, "hip:0")), hawser.InvalidArgument, "AMD")
refused(lambda: target.register((1 << 40, 4096, "cuda:0")), hawser.InvalidArgument, "freed, or is the host's")
elsewhere = fake_cuda.FakeCuda.allocate(driver, 4096, ordinal=1)
driver.visible = (1, 7)
refused(lambda: target.register((elsewhere, 4096, "cuda:1")), hawser.MemoryUnavailable, "CUDA_VISIBLE_DEVICES", "does not see")
"""


def test_is_read_and_written_and_kept_open_while_it_is_registered(
    program: Program, fakes: tuple[str, subprocess.Popen]
) -> None:
    path, process = fakes
    ending = """
kv.close(); again.close()
print("closed", flush=True); sys.stdin.readline()
target.close(); initiator.close()
print("ended", flush=True); sys.stdin.readline()
"""
    env = {**os.environ, "PYTHONPATH": SOURCES, "HAWSER_PYTHON_SIDECAR": path}
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER.replace("TESTS", repr(TESTS)) + ending],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
    )
    assert worker.stdin is not None and worker.stdout is not None
    try:
        line = worker.stdout.readline()
        assert line == "closed\n", worker.communicate(timeout=60)
        assert opened(process) == (1, 2), "each allocation is opened once, and closed with its last region"
        worker.stdin.write("\n")
        worker.stdin.flush()
        assert worker.stdout.readline() == "ended\n"
        assert opened(process) == (0, 2)
        _, said = worker.communicate("\n", timeout=60)
        assert (worker.returncode, said) == (0, "")
    finally:
        worker.kill()


def test_goes_with_a_worker_that_was_killed(program: Program, fakes: tuple[str, subprocess.Popen]) -> None:
    path, process = fakes
    result = program(
        WORKER.replace("TESTS", repr(TESTS)) + "import os, signal\nprint('here', flush=True)\nos.kill(os.getpid(), signal.SIGKILL)",
        HAWSER_PYTHON_SIDECAR=path,
    )
    assert (result.returncode, result.stdout) == (-9, "here\n"), result.stderr
    await_none_open(process)


def test_reaches_a_process_of_its_own(program: Program, fakes: tuple[str, subprocess.Popen]) -> None:
    """Another process, over a network: the bytes are staged by the sidecar's driver."""
    source = """
import sys
sys.path.insert(0, TESTS)
import numpy as np
import fake_cuda, hawser
driver = fake_cuda.install(0)
address = driver.allocate(1 << 20)
memory = (np.ctypeslib.ctypes.c_ubyte * (1 << 20)).from_address(address)
memory[:] = bytes(range(256)) * 4096
with hawser.Agent("lender") as agent:
    agent.register((address, 1 << 20, "cuda:0"), "kv")
    print(agent.metadata().hex(), flush=True)
    sys.stdin.readline()
    print(bytes(memory[:4]).hex(), flush=True)
"""
    path, process = fakes
    env = {**os.environ, "PYTHONPATH": SOURCES, "HAWSER_PYTHON_SIDECAR": path}
    lender = subprocess.Popen(
        [sys.executable, "-c", source.replace("TESTS", repr(TESTS))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=env,
    )
    assert lender.stdin is not None and lender.stdout is not None
    try:
        blob = bytes.fromhex(lender.stdout.readline())
        with hawser.Agent("borrower", transports="tcp") as agent:
            sink = agent.allocate(1 << 20)
            peer = agent.add_peer(blob)
            theirs = peer.region("kv").blocks(4096)
            agent.read(sink.blocks(4096), peer, theirs).wait(20)
            assert sink.buffer() == bytes(range(256)) * 4096
            ctypes.memset(sink.address, 9, 1 << 20)
            agent.write(sink.blocks(4096), peer, theirs, flush=True).wait(20)
        assert lender.communicate("\n", timeout=60)[0] == "09090909\n"
    finally:
        lender.kill()
        lender.wait(60)
    await_none_open(process)


def test_a_sidecar_without_a_driver_says_so(program: Program, tmp_path: Path) -> None:
    line = shlex.split(os.environ.get("HAWSER_PYTHON_COMMAND_LINE", ""))
    if not line:
        pytest.skip("needs the command line: HAWSER_PYTHON_COMMAND_LINE='.../hawser', which mvn verify sets")
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        pass
    else:
        pytest.skip("there is a CUDA driver here: this is about where there is none")
    path = str(tmp_path / "s")
    process = start([*line, "agent", "--socket"], path)
    try:
        source = f"""
import sys
sys.path.insert(0, {TESTS!r})
import fake_cuda, hawser
agent = hawser.Agent("a")
address = fake_cuda.FakeCuda().allocate(4096)
for install, words in ((lambda: None, "NVIDIA's driver cannot be loaded here"), (fake_cuda.install, "the sidecar has no CUDA device: libcuda.so.1")):
    driver = install()
    address = (driver or fake_cuda.FakeCuda()).allocate(4096)
    try:
        agent.register((address, 4096, "cuda:0"))
    except hawser.MemoryUnavailable as e:
        assert words in str(e), e
    else:
        raise AssertionError(words)
print("fine")
"""
        result = program(source, HAWSER_PYTHON_SIDECAR=path)
        assert (result.returncode, result.stdout) == (0, "fine\n"), result.stderr
    finally:
        stop(process)


def test_real_gpus(tmp_path: Path) -> None:
    try:
        count = ctypes.c_int()
        driver = ctypes.CDLL("libcuda.so.1")
        if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
            raise OSError("no device")
    except OSError as e:
        pytest.skip(f"needs a CUDA device ({e}): perf/labs/gpu/run.sh runs real_cuda.py on a machine with one")
    line = shlex.split(os.environ.get("HAWSER_PYTHON_COMMAND_LINE", ""))
    if not line:
        pytest.skip("needs the command line: HAWSER_PYTHON_COMMAND_LINE='.../hawser', which mvn verify sets")
    path = str(tmp_path / "s")
    process = start([*line, "agent", "--socket"], path)
    try:
        result = subprocess.run(
            [sys.executable, str(Path(TESTS) / "real_cuda.py"), path],
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, "PYTHONPATH": SOURCES},
            check=False,
        )
        assert result.returncode == 0, result.stdout + result.stderr
    finally:
        stop(process)
