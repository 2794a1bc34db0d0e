# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Programs written for NIXL, on Hawser."""

from __future__ import annotations

import enum
import importlib
import inspect
import json
import os
import pickle
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable, Iterator

import pytest

np = pytest.importorskip("numpy", reason="nixl_compat needs numpy: pip install numpy")

import hawser.nixl_compat as compat  # noqa: E402
from hawser.nixl_compat import _bindings as bindings  # noqa: E402
from hawser.nixl_compat import nixl_agent, nixl_agent_config  # noqa: E402

PATIENCE = 20


@pytest.fixture
def two() -> Iterator[tuple[nixl_agent, nixl_agent]]:
    target = nixl_agent("target", nixl_agent_config(capture_telemetry=True))
    initiator = nixl_agent("initiator", nixl_agent_config(capture_telemetry=True))
    yield target, initiator
    initiator.agent._close()
    target.agent._close()


def rows(array: np.ndarray, count: int = 1) -> np.ndarray:
    size = array.nbytes // count
    return np.array([[array.ctypes.data + i * size, size, 0] for i in range(count)], dtype=np.uint64)


def until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come within {PATIENCE} s"
        time.sleep(0.002)


def finish(agent: nixl_agent, handle: object) -> None:
    until(lambda: agent.check_xfer_state(handle) == "DONE", "the end of the transfer")


def pattern(seed: int, count: int = 16) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, 4096), dtype=np.uint8)


RECORDED = json.loads(Path(__file__).with_name("nixl_names.json").read_text())


def test_has_every_public_name_of_nixl() -> None:
    telemetry = bindings.nixlXferTelemetry
    instances = {"nixlAgentConfig": bindings.nixlAgentConfig(), "nixlXferTelemetry": telemetry(0, 0, 0, 0, 0)}
    missing = []
    for module, names in RECORDED["modules"].items():
        ours = importlib.import_module(f"hawser.nixl_compat.{module}")
        for name, members in names.items():
            if not hasattr(ours, name):
                missing.append(f"{module}.{name}")
                continue
            thing = getattr(ours, name)
            if isinstance(thing, type) and issubclass(thing, enum.Enum):
                thing = next(iter(thing))
            thing = instances.get(name, thing)
            missing += [f"{module}.{name}.{member}" for member in members if not hasattr(thing, member)]
    assert not missing
    assert sum(map(len, RECORDED["modules"].values())) > 60  # the record is not empty


def test_takes_the_parameters_that_nixl_takes() -> None:
    differing = []
    for path, parameters in RECORDED["parameters"].items():
        module, *rest = path.split(".")
        thing = importlib.import_module(f"hawser.nixl_compat.{module}")
        for name in rest:
            thing = getattr(thing, name)
        ours = list(inspect.signature(thing).parameters)
        if ours[: len(parameters)] != parameters:
            differing.append((path, parameters, ours))
    assert not differing


@pytest.mark.parametrize("operation", ["READ", "WRITE"])
def test_transfers_lists(two: tuple[nixl_agent, nixl_agent], operation: str) -> None:
    target, initiator = two
    theirs, ours = pattern(1), pattern(2)
    before = {"READ": theirs.copy(), "WRITE": ours.copy()}[operation]
    target.register_memory(rows(theirs), "DRAM")
    initiator.register_memory([(ours.ctypes.data, ours.nbytes, 0, "")], "DRAM")
    assert initiator.add_remote_agent(target.get_agent_metadata()) == b"target"
    local, remote = initiator.get_xfer_descs(rows(ours, 16), "DRAM"), initiator.get_xfer_descs(rows(theirs, 16), "DRAM")

    handle = initiator.initialize_xfer(operation, local, remote, "target", b"UUID")
    with pytest.raises(bindings.nixlNotPostedError):
        initiator.check_xfer_state(handle)
    assert initiator.transfer(handle) in ("DONE", "PROC")
    finish(initiator, handle)

    assert (ours == before).all() and (theirs == before).all()
    until(lambda: target.check_remote_xfer_done("initiator", b"UUID"), "the notification")
    assert target.get_new_notifs() == {}
    telemetry = initiator.get_xfer_telemetry(handle)
    assert (telemetry.totalBytes, telemetry.descCount) == (ours.nbytes, 16)
    assert telemetry.xferDuration > 0 and telemetry.startTime > 0
    assert initiator.query_xfer_backend(handle) == "UCX"
    initiator.release_xfer_handle(handle)


@pytest.mark.parametrize("indices", [list, np.array, lambda order: np.array(order, dtype=np.int32)])
def test_transfers_prepared_lists_by_index_again_and_again(two: tuple[nixl_agent, nixl_agent], indices: Callable) -> None:
    target, initiator = two
    theirs, ours = pattern(3), np.zeros((16, 4096), dtype=np.uint8)
    target.register_memory(rows(theirs), "DRAM")
    initiator.register_memory(rows(ours), "DRAM")
    initiator.add_remote_agent(target.get_agent_metadata())
    local = initiator.prep_xfer_dlist("NIXL_INIT_AGENT", rows(ours, 16), "DRAM")
    remote = initiator.prep_xfer_dlist("target", rows(theirs, 16), "DRAM")
    order = [5, 1, 15, 0]

    handle = initiator.make_prepped_xfer("READ", local, indices([0, 1, 2, 3]), remote, indices(order), b"first")
    for iteration in range(5):
        theirs[:] = pattern(10 + iteration)
        initiator.transfer(handle, b"" if iteration == 0 else f"n{iteration}".encode())
        finish(initiator, handle)
        assert (ours[:4] == theirs[order]).all()
    assert not ours[4:].any()
    got: list[bytes] = []
    until(lambda: got.extend(target.get_new_notifs().get("initiator", [])) or len(got) == 5, "five notifications")
    assert got == [b"first", b"n1", b"n2", b"n3", b"n4"]

    with pytest.raises(bindings.nixlInvalidParamError):
        initiator.make_prepped_xfer("READ", local, [0, 1], remote, [0])
    with pytest.raises(bindings.nixlInvalidParamError):
        initiator.make_prepped_xfer("READ", local, [0], remote, [16])
    with pytest.raises(bindings.nixlInvalidParamError):
        initiator.make_prepped_xfer("READ", remote, [0], local, [0])
    handle.release()
    local.release()
    initiator.release_dlist_handle(remote)
    with pytest.raises(bindings.nixlInvalidParamError):
        initiator.make_prepped_xfer("READ", local, [0], remote, [0])


def test_takes_strided_lists(two: tuple[nixl_agent, nixl_agent]) -> None:
    target, initiator = two
    theirs, ours = pattern(4), np.zeros((8, 4096), dtype=np.uint8)
    target.register_memory(rows(theirs), "DRAM")
    initiator.register_memory(rows(ours), "DRAM")
    initiator.add_remote_agent(target.get_agent_metadata())
    every_other = np.array([[theirs.ctypes.data, 4096, 0, 8192, 8]], dtype=np.uint64)
    dense = np.array([[ours.ctypes.data, 4096, 0, 4096, 8]], dtype=np.uint64)
    with pytest.raises(ValueError, match="mem type"):
        initiator.prep_xfer_dlist("", dense)
    local = initiator.prep_xfer_dlist("", dense, "DRAM")
    remote = initiator.prep_xfer_dlist("target", every_other, "DRAM")

    handle = initiator.make_prepped_xfer("READ", local, list(range(8)), remote, list(range(8)))
    initiator.transfer(handle)
    finish(initiator, handle)

    assert (ours == theirs[::2]).all()


def test_transfers_to_itself() -> None:
    agent = nixl_agent("alone")
    one, other = pattern(5), np.zeros((16, 4096), dtype=np.uint8)
    agent.register_memory(rows(one), "DRAM")
    agent.register_memory(rows(other), "DRAM")
    local = agent.prep_xfer_dlist("", rows(one, 16), "DRAM")
    remote = agent.prep_xfer_dlist("alone", rows(other, 16), "DRAM")

    handle = agent.make_prepped_xfer("WRITE", local, list(range(16)), remote, list(reversed(range(16))), b"to myself")
    agent.transfer(handle)
    finish(agent, handle)

    assert (other == one[::-1]).all()
    until(lambda: agent.check_remote_xfer_done("alone", b"to myself"), "the notification")
    agent.send_notif("alone", b"again")
    until(lambda: agent.get_new_notifs() == {"alone": [b"again"]}, "the notification")
    agent.agent._close()


def test_sends_notifications_both_ways(two: tuple[nixl_agent, nixl_agent]) -> None:
    target, initiator = two
    initiator.add_remote_agent(target.get_agent_metadata())
    target.add_remote_agent(initiator.get_agent_metadata())
    initiator.send_notif("target", b"\x00bytes")
    initiator.send_notif("target", "text")
    target.send_notif("initiator", b"")

    until(lambda: len(target.update_notifs().get("initiator", [])) == 2, "two notifications")
    assert not target.check_remote_xfer_done("initiator", b"ytes")
    assert target.check_remote_xfer_done("initiator", b"ytes", tag_is_prefix=False)
    assert target.notifs == {"initiator": [b"text"]}
    until(lambda: initiator.get_new_notifs() == {"target": [b""]}, "the empty notification")


def test_tells_of_parts_of_its_memory(two: tuple[nixl_agent, nixl_agent]) -> None:
    target, initiator = two
    one, other = pattern(6), pattern(7)
    first = target.register_memory(rows(one), "DRAM")
    second = target.register_memory(rows(other), "DRAM")
    descs_one, descs_other = first.trim(), second.trim()
    nothing = bindings.nixlRegDList(bindings.DRAM_SEG)

    assert not initiator.check_remote_metadata("target")
    initiator.add_remote_agent(target.get_partial_agent_metadata(nothing, True))
    assert initiator.check_remote_metadata("target")
    assert not initiator.check_remote_metadata("target", descs_one)
    initiator.add_remote_agent(target.get_partial_agent_metadata(first))
    assert initiator.check_remote_metadata("target", descs_one)
    assert not initiator.check_remote_metadata("target", descs_other)
    initiator.add_remote_agent(target.get_partial_agent_metadata(second, True))
    assert initiator.check_remote_metadata("target", descs_other)
    initiator.make_connection("target")

    initiator.remove_remote_agent("target")
    assert not initiator.check_remote_metadata("target")
    with pytest.raises(bindings.nixlNotFoundError):
        initiator.send_notif("target", b"gone")


def test_registers_and_deregisters_again_and_again(two: tuple[nixl_agent, nixl_agent]) -> None:
    target, _ = two
    pool = np.zeros(128 * 4096, dtype=np.uint8)
    seconds = []
    for _ in range(16):
        began = time.perf_counter()
        registered = target.register_memory(rows(pool, 128), "DRAM")
        seconds.append(time.perf_counter() - began)
        target.deregister_memory(registered)
    with pytest.raises(bindings.nixlNotFoundError):
        target.deregister_memory(registered)
    assert len(target.get_agent_metadata()) < 2000


def test_refuses_what_nixl_refuses(two: tuple[nixl_agent, nixl_agent]) -> None:
    target, initiator = two
    ours = pattern(8)
    initiator.register_memory(rows(ours), "DRAM")
    with pytest.raises(ValueError):
        nixl_agent("")
    with pytest.raises(TypeError, match="sync_mode"):
        nixl_agent_config(sync_mode=1)
    with pytest.raises(bindings.nixlInvalidParamError):
        initiator.create_backend("UCX")
    with pytest.raises(bindings.nixlNotFoundError):
        nixl_agent("other", nixl_agent_config(backends=[])).create_backend("NOPE")
    with pytest.raises(bindings.nixlMismatchError):
        initiator.add_remote_agent(b"garbage")
    with pytest.raises(bindings.nixlInvalidParamError):
        initiator.add_remote_agent(initiator.get_agent_metadata())
    with pytest.raises(bindings.nixlNotFoundError):
        initiator.prep_xfer_dlist("", [(1, 2, 0)], "DRAM")
    with pytest.raises(bindings.nixlNotFoundError):
        initiator.prep_xfer_dlist("nobody", rows(ours), "DRAM")
    with pytest.raises(bindings.nixlNotFoundError):
        initiator.register_memory([(1, 2, 3, "")], "FILE")
    with pytest.raises(bindings.nixlNotSupportedError):
        initiator.query_memory([(1, 2, 3, "")], "UCX", "DRAM")
    with pytest.raises(bindings.nixlNotSupportedError):
        initiator.prep_mem_view(bindings.nixlXferDList(bindings.DRAM_SEG))
    with pytest.raises(KeyError):
        initiator.initialize_xfer("NOP", None, None, "target")
    with pytest.raises(bindings.nixlInvalidParamError):
        initiator.send_local_metadata()
    assert initiator.get_xfer_descs([(1, 2)], "DRAM") is None
    assert initiator.get_xfer_descs([(1, 2, 3)]) is None
    assert initiator.get_reg_descs([(1, 2, 3)], "DRAM") is None
    assert initiator.get_plugin_params("GDS") == {} and initiator.get_backend_mem_types("GDS") == []
    assert initiator.get_plugin_mem_types("UCX") == ["DRAM_SEG", "VRAM_SEG"]


def test_telemetry_is_off_unless_asked_for() -> None:
    agent = nixl_agent("quiet")
    ours = pattern(9)
    agent.register_memory(rows(ours), "DRAM")
    descs = agent.get_xfer_descs(rows(ours), "DRAM")
    handle = agent.initialize_xfer("WRITE", descs, descs, "quiet")
    agent.transfer(handle)
    with pytest.raises(bindings.nixlNoTelemetryError):
        agent.get_xfer_telemetry(handle)
    agent.agent._close()


def test_a_peer_that_is_gone_is_a_disconnect(two: tuple[nixl_agent, nixl_agent]) -> None:
    target, initiator = two
    theirs, ours = pattern(10), pattern(11)
    target.register_memory(rows(theirs), "DRAM")
    initiator.register_memory(rows(ours), "DRAM")
    initiator.add_remote_agent(target.get_agent_metadata())
    local, remote = initiator.get_xfer_descs(rows(ours), "DRAM"), initiator.get_xfer_descs(rows(theirs), "DRAM")
    handle = initiator.initialize_xfer("READ", local, remote, "target")
    initiator.transfer(handle)
    finish(initiator, handle)

    target.agent._close()
    with pytest.raises((bindings.nixlRemoteDisconnectError, bindings.nixlBackendError)):
        initiator.transfer(handle)
        finish(initiator, handle)


def test_descriptor_lists() -> None:
    made = bindings.nixlXferDList(bindings.DRAM_SEG, [(10, 20, 0), (5, 6, 1)])
    made.addDesc((1, 2, 3))
    assert (made.descCount(), made[2], made.index((5, 6, 1)), made.getType()) == (3, (1, 2, 3), 1, bindings.DRAM_SEG)
    made.remDesc(0)
    made[0] = (7, 8, 9)
    assert [made[i] for i in range(2)] == [(7, 8, 9), (1, 2, 3)]
    with pytest.raises(bindings.nixlNotFoundError):
        made.index((0, 0, 0))
    with pytest.raises(IndexError):
        made[2]
    registered = bindings.nixlRegDList(bindings.VRAM_SEG, [(10, 20, 0, "meta")])
    assert registered[0] == (10, 20, 0, b"meta")
    assert registered.trim() == bindings.nixlXferDList(bindings.VRAM_SEG, [(10, 20, 0)])
    assert registered != bindings.nixlRegDList(bindings.VRAM_SEG, [(10, 20, 0, "other")])
    made.clear()
    assert made.isEmpty()


def test_serialised_lists_are_numbers_and_run_nothing() -> None:
    agent = nixl_agent("serial", nixl_agent_config(backends=[]))
    for made in (
        bindings.nixlXferDList(bindings.DRAM_SEG, rows(pattern(12), 16)),
        bindings.nixlRegDList(bindings.VRAM_SEG, [(1, 2, 3, b"meta")]),
    ):
        assert agent.deserialize_descs(agent.get_serialized_descs(made)) == made

    class Evil:
        def __reduce__(self) -> tuple:
            return (os.system, ("true",))

    with pytest.raises(pickle.UnpicklingError, match="not part of a descriptor list"):
        agent.deserialize_descs(pickle.dumps(Evil()))
    agent.agent._close()


@pytest.mark.parametrize("name", ["with space", "ünïcode", "_first", "-x", "x-nixl-y", "a/b", "@"])
def test_agents_may_have_names_that_hawser_does_not_allow(name: str) -> None:
    odd, plain = nixl_agent(name), nixl_agent("plain")
    assert plain.add_remote_agent(odd.get_agent_metadata()) == name.encode()
    odd.add_remote_agent(plain.get_agent_metadata())
    odd.send_notif("plain", b"hello")
    until(lambda: plain.get_new_notifs() == {name: [b"hello"]}, "the notification")
    plain.agent._close()
    odd.agent._close()


def test_listeners_hand_out_and_take_metadata() -> None:
    target = nixl_agent("listening", nixl_agent_config(enable_listen_thread=True, listen_port=0))
    initiator = nixl_agent("asking", nixl_agent_config(enable_listen_thread=True, listen_port=0))
    port = target.agent._listener.port

    initiator.fetch_remote_metadata("listening", "127.0.0.1", port)
    initiator.send_local_metadata("127.0.0.1", port)
    until(lambda: initiator.check_remote_metadata("listening"), "the fetched metadata")
    until(lambda: target.check_remote_metadata("asking"), "the sent metadata")
    target.send_notif("asking", b"hello")
    until(lambda: initiator.get_new_notifs() == {"listening": [b"hello"]}, "the notification")
    initiator.invalidate_local_metadata("127.0.0.1", port)
    until(lambda: not target.check_remote_metadata("asking"), "the invalidation")
    # Nobody is there: it is logged, not waited for.
    began = time.monotonic()
    initiator.send_local_metadata("127.0.0.1", 1)
    assert time.monotonic() - began < 1
    initiator.agent._close()
    target.agent._close()


def test_the_metadata_service_takes_the_place_of_etcd(monkeypatch: pytest.MonkeyPatch) -> None:
    url = os.environ.get("HAWSER_PYTHON_METADATA")
    if not url:
        pytest.skip("needs a metadata service: set HAWSER_PYTHON_METADATA to the URL of 'hawser metadata'")
    monkeypatch.setenv("HAWSER_METADATA", url)
    target, initiator = nixl_agent("etcd-target"), nixl_agent("etcd-initiator")
    theirs = pattern(13)
    registered = target.register_memory(rows(theirs), "DRAM")

    initiator.fetch_remote_metadata("etcd-target")  # waits for it to be published
    target.send_local_metadata()
    until(lambda: initiator.check_remote_metadata("etcd-target", registered.trim()), "the metadata")
    with pytest.raises(bindings.nixlInvalidParamError, match="label"):
        target.send_partial_agent_metadata(registered)
    target.send_partial_agent_metadata(registered, True, label="part")
    other = nixl_agent("etcd-other")
    other.fetch_remote_metadata("etcd-target", label="part")
    until(lambda: other.check_remote_metadata("etcd-target", registered.trim()), "the part")

    target.invalidate_local_metadata()
    until(lambda: not initiator.check_remote_metadata("etcd-target"), "the invalidation")
    for agent in (other, initiator, target):
        agent.agent._close()


PROGRAM = '''
import sys
import numpy as np
import nixl
from nixl._api import nixl_agent, nixl_agent_config
import nixl._bindings as bindings, nixl._utils as utils
from nixl.logging import get_logger
import rixl._api
assert rixl._api.nixl_agent is nixl_agent is nixl.nixl_agent
one, other = utils.malloc_passthru(256), utils.malloc_passthru(256)
utils.ba_buf(one, 256)
a, b = nixl_agent("A"), nixl_agent("B")
a.register_memory([(one, 256, 0, "")], "DRAM"); b.register_memory([(other, 256, 0, "")], "DRAM")
b.add_remote_agent(a.get_agent_metadata())
h = b.initialize_xfer("READ", b.get_xfer_descs([(other, 256, 0)], "DRAM"), b.get_xfer_descs([(one, 256, 0)], "DRAM"), "A")
b.transfer(h)
while b.check_xfer_state(h) != "DONE": pass
utils.verify_transfer(one, other, 256)
print("ran", sys.argv[1:])
'''


def test_runs_a_program_that_imports_nixl(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(PROGRAM)
    env = {**os.environ, "PYTHONPATH": str(Path(compat.__file__).parents[2])}
    for command in ([str(script)], ["-m", "script"]):
        ran = subprocess.run(
            [sys.executable, "-m", "hawser.nixl_compat", *command, "an", "argument"],
            capture_output=True,
            text=True,
            timeout=90,
            env=env,
            cwd=tmp_path,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout == "ran ['an', 'argument']\n"


CHILDREN = """
import importlib.util, multiprocessing, subprocess, sys
def child(queue):
    from nixl._api import nixl_agent
    queue.put(nixl_agent.__module__)
if __name__ == "__main__":
    assert importlib.util.find_spec("nixl") is not None and importlib.util.find_spec("rixl") is not None
    for name in ("nixl", "rixl"):
        told = "import %s, %s._api as a; print(a.nixl_agent.__module__, %s.nixl_agent is a.nixl_agent)" % (name, name, name)
        print(subprocess.run([sys.executable, "-c", told], stdout=subprocess.PIPE, text=True, check=True).stdout.strip())
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    print(queue.get(timeout=60))
    process.join(60)
"""


def test_its_children_find_it_too(tmp_path: Path) -> None:
    script = tmp_path / "children.py"
    script.write_text(CHILDREN)
    env = {**os.environ, "PYTHONPATH": str(Path(compat.__file__).parents[2])}
    ran = subprocess.run(
        [sys.executable, "-m", "hawser.nixl_compat", str(script)],
        capture_output=True,
        text=True,
        timeout=120,
        env=env,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == ["hawser.nixl_compat._api True"] * 2 + ["hawser.nixl_compat._api"]


def test_does_not_mix_with_nixl_itself(tmp_path: Path) -> None:
    (tmp_path / "nixl.py").write_text("")
    source = "import nixl, hawser.nixl_compat as c\ntry: c.install()\nexcept RuntimeError as e: print(e)"
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{Path(compat.__file__).parents[2]}"}
    ran = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=60, env=env, check=False)
    assert "before anything imports it" in ran.stdout, ran.stderr
