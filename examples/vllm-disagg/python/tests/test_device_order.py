# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""What waits for a GPU: layers that it still computes are not sent, and blocks that it still uses are not received into."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, Iterator

import pytest

from hawser_vllm.incoming import Receiver
from hawser_vllm.peers import Address
from hawser_vllm.plan import BlockMap
from hawser_vllm.pusher import Pusher, _Target

SECONDS = 20


class Device:
    """Computes one layer; says when somebody waits for it."""

    def __init__(self) -> None:
        self.asked, self.computed = threading.Event(), threading.Event()
        self.failure: Any = None

    def synchronize(self) -> None:
        self.asked.set()
        assert self.computed.wait(SECONDS)
        if self.failure is not None:
            raise self.failure


class Peers:
    """One consumer, whose transfers are over as soon as they are posted."""

    def __init__(self) -> None:
        self.agent = self
        self.geometry = SimpleNamespace(agent="producer")
        self.written: list[list[int]] = []
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.known = threading.Event()

    def engine(self, address: Address) -> Any:
        self.known.set()
        return SimpleNamespace(peers=[], description=SimpleNamespace(workers=[]))

    def write(self, ours: Any, peer: Any, theirs: Any, **fields: Any) -> Any:
        self.written.append(list(fields["local_indices"]))
        info = SimpleNamespace(state="DONE", elapsed=0.0, total_bytes=1)
        return SimpleNamespace(poll=lambda: True, info=lambda: info)

    def send(self, peer: Any, kind: str, fields: dict[str, Any]) -> None:
        self.told.append((kind, fields))


class Stats:
    def transfer(self, *values: Any) -> None:
        pass

    def count(self, name: str) -> None:
        pass


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as threads:
        yield threads


def begun(peers: Peers, executor: ThreadPoolExecutor) -> Pusher:
    """A push of one layer, of which the engine has done its part."""
    pusher = Pusher(peers, Stats(), lambda: 0.0, executor, 30.0, list)  # type: ignore[arg-type]
    plan = SimpleNamespace(layers=lambda: ["layer"], indices=lambda blocks, layer: ([3], [4]))
    table = SimpleNamespace(plan=plan, ours=None, theirs=None)
    pusher.begin("t", [[1]], 8)
    consumer: Any = SimpleNamespace(name="consumer")
    pusher._open["t"].targets["consumer"] = _Target(consumer, table, 7, BlockMap(8, 0, ((1,),), ((2,),)))  # type: ignore[arg-type]
    pusher.finish("t")
    return pusher


def test_blocks_are_kept_until_a_layer_that_is_waited_for_is_written(executor: ThreadPoolExecutor) -> None:
    peers, device = Peers(), Device()
    pusher = begun(peers, executor)
    pusher.computed("t", "layer", device.synchronize)
    assert device.asked.wait(SECONDS)

    pusher.poll()
    assert pusher.take_finished() == set(), "the blocks are read only when the device is done"

    device.computed.set()
    executor.submit(lambda: None).result(SECONDS)
    pusher.poll()
    assert peers.written == [[3]]
    assert pusher.take_finished() == {"t"}


def test_a_device_that_fails_ends_the_push_by_its_error(executor: ThreadPoolExecutor) -> None:
    peers, device = Peers(), Device()
    device.failure = RuntimeError("CUDA error: an illegal memory access was encountered")
    pusher = begun(peers, executor)
    device.computed.set()
    pusher.computed("t", "layer", device.synchronize)
    executor.submit(lambda: None).result(SECONDS)

    assert peers.written == []
    kind, fields = peers.told[0]
    assert kind == "refused" and "illegal memory access" in fields["reason"], peers.told
    pusher.poll()
    assert pusher.take_finished() == {"t"}


def test_blocks_are_not_asked_for_while_the_device_may_write_to_them(executor: ThreadPoolExecutor) -> None:
    peers, device = Peers(), Device()
    peers.geometry = SimpleNamespace(agent="consumer", layers=())
    receiver = Receiver(peers, Stats(), lambda: 0.0, executor, 1, dict)  # type: ignore[arg-type]
    blocks = BlockMap(8, 0, ((1,),), ((2,),))
    receiver.receive("r", "t", Address("localhost", 1), blocks, False, 5.0, device.synchronize)
    assert device.asked.wait(SECONDS)
    assert not peers.known.is_set()

    device.computed.set()
    assert peers.known.wait(SECONDS)


def test_a_device_that_fails_ends_a_reception_by_its_error(executor: ThreadPoolExecutor) -> None:
    peers, device = Peers(), Device()
    device.failure = RuntimeError("CUDA error: an illegal memory access was encountered")
    device.computed.set()
    peers.forget = lambda address: None  # type: ignore[attr-defined]
    receiver = Receiver(peers, Stats(), lambda: 0.0, executor, 1, dict)  # type: ignore[arg-type]
    reception = receiver.receive(
        "r", "t", Address("localhost", 1), BlockMap(8, 0, ((1,),), ((2,),)), False, 5.0, device.synchronize
    )
    executor.submit(lambda: None).result(SECONDS)

    assert not peers.known.is_set()
    assert reception.error is not None and "illegal memory access" in reception.error
