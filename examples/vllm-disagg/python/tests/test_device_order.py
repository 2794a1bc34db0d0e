# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""What waits for a GPU: layers that it still computes are not sent, and blocks that it still uses are not received into."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, Iterator

import pytest

from hawser_vllm.errors import LayoutError
from hawser_vllm.incoming import Receiver
from hawser_vllm.messages import Message
from hawser_vllm.peers import Address
from hawser_vllm.plan import BlockMap
from hawser_vllm.pusher import Pusher, _Target

SECONDS = 20


class Device:
    """Computes one layer; says when somebody looks whether it has."""

    made: "list[Device]" = []

    def __init__(self) -> None:
        self.made.append(self)
        self.asked = threading.Event()
        self.computed = False
        self.failure: Any = None

    def query(self) -> bool:
        self.asked.set()
        if self.failure is not None:
            raise self.failure
        return self.computed


class Peers:
    """One consumer, whose transfers are over as soon as they are posted."""

    def __init__(self) -> None:
        self.agent = self
        self.geometry = SimpleNamespace(agent="producer")
        self.written: list[list[int]] = []
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.known = threading.Event()
        self.timeout = 5.0
        self.gone = True

    def is_gone(self, address: Address, instance: str) -> bool:
        return self.gone

    def engine(self, address: Address) -> Any:
        self.known.set()
        return SimpleNamespace(peers=["producer"], description=SimpleNamespace(workers=[], instance="i"))

    def sender(self, message: Message) -> Any:
        return message.peer

    def write(self, ours: Any, peer: Any, theirs: Any, **fields: Any) -> Any:
        self.written.append(list(fields["local_indices"]))
        info = SimpleNamespace(state="DONE", elapsed=0.0, total_bytes=1)
        return SimpleNamespace(poll=lambda: True, info=lambda: info)

    def send(self, peer: Any, kind: str, fields: dict[str, Any]) -> None:
        self.told.append((kind, fields))


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Stats:
    def transfer(self, *values: Any) -> None:
        pass

    def count(self, name: str) -> None:
        pass


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as threads:
        yield threads
        for device in Device.made:
            device.computed = True  # or a test that fails would not end


def begun(peers: Peers, executor: ThreadPoolExecutor, clock: Any = Clock()) -> Pusher:
    """A push of one layer, of which the engine has done its part."""
    pusher = Pusher(peers, Stats(), clock, executor, 30.0, list)  # type: ignore[arg-type]
    plan = SimpleNamespace(layers=lambda: ["layer"], indices=lambda blocks, layer: ([3], [4]))
    table = SimpleNamespace(plan=plan, ours=None, theirs=None)
    pusher.begin("t", [[1]], 8, "prompt")
    consumer: Any = SimpleNamespace(name="consumer")
    blocks = BlockMap(8, 0, ((1,),), ((2,),))
    pusher._open["t"].targets["consumer"] = _Target(consumer, table, 7, blocks, float("inf"))  # type: ignore[arg-type]
    pusher.finish("t")
    return pusher


def settle(executor: ThreadPoolExecutor) -> None:
    """All that was submitted before is done."""
    executor.submit(lambda: None).result(SECONDS)


def reasons(peers: Peers) -> list[str]:
    return [fields["reason"] for kind, fields in peers.told if kind == "refused"]


def test_blocks_are_kept_until_a_layer_that_is_waited_for_is_written(executor: ThreadPoolExecutor) -> None:
    peers, device = Peers(), Device()
    pusher = begun(peers, executor)
    pusher.computed("t", "layer", device.query)
    assert device.asked.wait(SECONDS)

    pusher.poll()
    assert pusher.take_finished() == set(), "the blocks are read only when the device is done"

    device.computed = True
    settle(executor)
    pusher.poll()
    assert peers.written == [[3]]
    assert pusher.take_finished() == {"t"}


def test_a_device_that_fails_ends_the_push_by_its_error(executor: ThreadPoolExecutor) -> None:
    peers, device = Peers(), Device()
    device.failure = RuntimeError("CUDA error: an illegal memory access was encountered")
    pusher = begun(peers, executor)
    pusher.computed("t", "layer", device.query)
    settle(executor)

    assert peers.written == []
    assert len(reasons(peers)) == 1 and "illegal memory access" in reasons(peers)[0]
    pusher.poll()
    assert pusher.take_finished() == {"t"}
    pusher.reserve(Message("reserve", "another", 1, {"id": "t"}, b""))
    assert "illegal memory access" in reasons(peers)[1], "who comes later hears the same"


@pytest.mark.parametrize("failure", [LayoutError("too few blocks"), IndexError("a group is missing")])
def test_a_layer_that_cannot_be_written_is_never_taken_for_one_that_was(executor: ThreadPoolExecutor, failure: Exception) -> None:
    peers, pusher = Peers(), None

    def indices(blocks: Any, layer: str) -> Any:
        raise failure

    pusher = begun(peers, executor)
    pusher._open["t"].targets["consumer"].table.plan.indices = indices  # type: ignore[union-attr]
    fail = pusher.fail

    def looked_at_before(transfer_id: str, reason: str) -> None:
        other = threading.Thread(target=pusher.poll)  # as the listener does; it has to wait for the lock
        other.start()
        other.join(0.2)
        fail(transfer_id, reason)
        others.append(other)

    others: list[threading.Thread] = []
    pusher.fail = looked_at_before  # type: ignore[method-assign]
    pusher.computed("t", "layer", None)
    settle(executor)
    for other in others:
        other.join(SECONDS)

    assert len(reasons(peers)) == 1 and str(failure) in reasons(peers)[0]


def test_a_consumer_that_gives_up_is_answered_while_the_device_is_late(executor: ThreadPoolExecutor) -> None:
    peers, device = Peers(), Device()
    pusher = begun(peers, executor)
    pusher.computed("t", "layer", device.query)
    assert device.asked.wait(SECONDS)

    pusher.abort(Message("abort", "consumer", 1, {"id": "t", "counter": 7}, b""))
    pusher.poll()
    assert [kind for kind, _ in peers.told] == ["aborted"]
    settle(executor)  # the thread has not stayed with a layer that nobody wants
    assert peers.written == []


def test_a_device_that_hangs_holds_a_push_no_longer_than_its_lease(executor: ThreadPoolExecutor) -> None:
    peers, device, clock = Peers(), Device(), Clock()
    pusher = begun(peers, executor, clock)
    pusher.computed("t", "layer", device.query)
    assert device.asked.wait(SECONDS)

    clock.now = 31.0
    settle(executor)
    assert peers.written == []
    assert len(reasons(peers)) == 1 and "GPU did not compute the layer within 31.0 s" in reasons(peers)[0]


def receiving(peers: Peers, device: Device, executor: ThreadPoolExecutor, clock: Clock, push: bool = False) -> tuple[Receiver, Any]:
    peers.geometry = SimpleNamespace(agent="consumer", layers=())
    receiver = Receiver(peers, Stats(), clock, executor, 1, dict)  # type: ignore[arg-type]
    blocks = BlockMap(8, 0, ((1,),), ((2,),))
    return receiver, receiver.receive("r", "t", Address("localhost", 1), blocks, push, 5.0, device.query)


def test_blocks_are_not_asked_for_while_the_device_may_write_to_them(executor: ThreadPoolExecutor) -> None:
    peers, device = Peers(), Device()
    receiver, _ = receiving(peers, device, executor, Clock())
    assert receiver.poll() == []
    settle(executor)  # nobody waits for the device there: it is free for other requests
    assert not peers.known.is_set()

    device.computed = True
    receiver.begin_waiting()
    assert peers.known.wait(SECONDS)


def test_a_device_that_fails_ends_a_reception_by_its_error(executor: ThreadPoolExecutor) -> None:
    peers, device = Peers(), Device()
    device.failure = RuntimeError("CUDA error: an illegal memory access was encountered")
    receiver, reception = receiving(peers, device, executor, Clock())

    assert "GPU failed before" in reception.error and "illegal memory access" in reception.error
    assert receiver.poll() == [reception]
    settle(executor)
    assert [kind for kind, _ in peers.told] == ["done"], "the producer need not wait"


def test_a_device_that_hangs_ends_a_reception_at_its_deadline(executor: ThreadPoolExecutor) -> None:
    peers, device, clock = Peers(), Device(), Clock()
    receiver, reception = receiving(peers, device, executor, clock)
    clock.now = 6.0

    assert receiver.poll() == [reception]
    assert "GPU did not finish" in reception.error and "nothing was asked for" in reception.error
    settle(executor)
    assert [kind for kind, _ in peers.told] == ["done"]


def test_a_request_that_is_aborted_while_the_device_is_late_frees_the_producer_once(executor: ThreadPoolExecutor) -> None:
    peers, device = Peers(), Device()
    receiver, reception = receiving(peers, device, executor, Clock())
    receiver.abort("t", "r")
    device.computed = True

    assert receiver.poll() == [reception]
    settle(executor)
    assert [kind for kind, _ in peers.told] == ["done"]
