# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Consumers of a push that give up, whatever they had asked for by then: nothing is written for them, and nothing waits."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from test_device_order import SECONDS, Clock, Device, Peers, Stats, receiving, settle

from hawser import HawserError
from hawser_vllm import handshake
from hawser_vllm import pusher as module
from hawser_vllm.errors import HandshakeError
from hawser_vllm.incoming import Receiver, _Leg
from hawser_vllm.messages import Message
from hawser_vllm.peers import Address
from hawser_vllm.peers import Peers as RealPeers
from hawser_vllm.pusher import Pusher


class Producer(Peers):
    """One that knows two consumers, each of which shares all of its layers."""

    def __init__(self) -> None:
        super().__init__()
        self.geometry = SimpleNamespace(agent="producer")

    def engine(self, address: Any) -> Any:
        workers = [SimpleNamespace(agent=name) for name in ("one", "two")]
        peers = [SimpleNamespace(name=worker.agent) for worker in workers]
        return SimpleNamespace(peers=peers, description=SimpleNamespace(workers=workers, engine_id="consumer"))

    def table(self, engine: Any, index: int, shares: Any, direction: str) -> Any:
        plan = SimpleNamespace(layers=lambda: ["layer"], indices=lambda blocks, layer: ([3], [4]))
        return SimpleNamespace(plan=plan, ours=None, theirs=None)


@pytest.fixture
def executor() -> Any:
    with ThreadPoolExecutor(1) as threads:
        yield threads


@pytest.fixture
def producer(monkeypatch: pytest.MonkeyPatch, executor: ThreadPoolExecutor) -> Any:
    monkeypatch.setattr(module, "shares", lambda theirs, own: [SimpleNamespace(source=0)])
    peers = Producer()
    clock = Clock()
    pusher = Pusher(peers, Stats(), clock, executor, 30.0, lambda: [peers.geometry])  # type: ignore[arg-type, list-item, return-value]
    return SimpleNamespace(peers=peers, clock=clock, pusher=pusher)


def reserve(peer: str, counter: int, of: int = 1) -> Message:
    fields = {"id": "t", "counter": counter, "of": of, "ids": [[2]], "skip": 0, "prompt": "prompt", "within": 60.0}
    address = {"remote_host": "h", "remote_port": 1, "remote_engine_id": "consumer", "remote_instance": "i"}
    return Message("reserve", peer, 1, {**fields, **address}, b"")


def abort(peer: str, counter: int, of: int = 1) -> Message:
    return Message("abort", peer, 1, {"id": "t", "counter": counter, "of": of}, b"")


def computed(producer: Any) -> None:
    producer.pusher.begin("t", [[1]], 8, "prompt")
    producer.pusher.computed("t", "layer", None)
    producer.pusher.finish("t")


def kinds(peers: Peers) -> list[str]:
    return [kind for kind, _ in peers.told]


def test_nothing_is_written_for_who_was_told_that_nothing_will_be(producer: Any, executor: ThreadPoolExecutor) -> None:
    computed(producer)
    settle(executor)
    go = threading.Event()
    executor.submit(go.wait, SECONDS)  # the thread that writes is busy, as with a layer of another request
    producer.pusher.reserve(reserve("one", 7))
    producer.pusher.abort(abort("one", 7))
    producer.pusher.poll()
    assert kinds(producer.peers) == ["aborted"], "from now on the consumer uses its blocks for others"

    go.set()
    settle(executor)
    producer.pusher.poll()
    assert producer.peers.written == []
    assert producer.pusher.take_finished() == {"t"}


def test_word_that_a_consumer_gives_up_may_come_before_what_it_asked_for(producer: Any, executor: ThreadPoolExecutor) -> None:
    computed(producer)
    producer.pusher.abort(abort("one", 7, of=2))
    producer.pusher.reserve(reserve("one", 7, of=2))
    settle(executor)
    assert producer.peers.written == []

    producer.pusher.reserve(reserve("one", 8, of=2))  # the same request, once more
    producer.pusher.reserve(reserve("two", 9, of=2))
    settle(executor)
    producer.pusher.poll()
    assert producer.peers.written == [[3], [3]]
    assert producer.pusher.take_finished() == {"t"}


def test_a_consumer_that_gives_up_before_it_asks_frees_the_producer(producer: Any, executor: ThreadPoolExecutor) -> None:
    computed(producer)
    producer.pusher.reserve(reserve("one", 7, of=2))
    settle(executor)
    producer.pusher.poll()
    assert producer.pusher.take_finished() == set()

    producer.pusher.abort(abort("two", 0, of=2))
    producer.pusher.poll()
    assert producer.pusher.take_finished() == {"t"}
    assert producer.peers.written == [[3]]


def test_who_gives_up_before_the_request_is_computed_is_remembered(producer: Any, executor: ThreadPoolExecutor) -> None:
    producer.pusher.reserve(reserve("one", 7, of=2))
    producer.pusher.reserve(reserve("two", 8, of=2))
    producer.pusher.abort(abort("one", 7, of=2))
    computed(producer)
    settle(executor)
    producer.pusher.poll()
    assert producer.peers.written == [[3]], "the other is still there, and waits"
    assert producer.pusher.take_finished() == {"t"}


def test_who_gave_up_is_not_told_that_the_request_was_not_computed(producer: Any) -> None:
    producer.pusher.abort(abort("one", 7))
    producer.clock.now = 31.0
    producer.pusher.poll()
    assert kinds(producer.peers) == ["aborted"]
    assert producer.pusher._early == {}


def test_a_push_of_which_nothing_was_asked_for_is_given_up(executor: ThreadPoolExecutor) -> None:
    peers, device = Peers(), Device()
    receiver, reception = receiving(peers, device, executor, Clock(), push=True)
    receiver.abort("t", "r")

    assert receiver.poll() == [reception]
    settle(executor)
    assert peers.told == [("abort", {"id": "t", "of": 1, "counter": 0})]


@pytest.mark.parametrize("push", [False, True])
def test_a_producer_that_answers_too_late_is_not_left_waiting(executor: ThreadPoolExecutor, push: bool) -> None:
    peers, device, clock, go = Peers(), Device(), Clock(), threading.Event()
    device.computed = True
    answers, engine = [go], peers.engine

    def late(address: Any) -> Any:
        if answers:
            answers.pop().wait(SECONDS)
        return engine(address)

    peers.engine = late  # type: ignore[method-assign]
    peers.forget = lambda address: None  # type: ignore[attr-defined]
    receiver, reception = receiving(peers, device, executor, clock, push)
    clock.now = 6.0
    assert receiver.poll() == [reception]
    go.set()
    settle(executor)
    settle(executor)
    assert kinds(peers) == ["abort" if push else "done"]


def test_who_gives_up_when_all_is_written_is_answered_too(producer: Any, executor: ThreadPoolExecutor) -> None:
    computed(producer)
    producer.pusher.reserve(reserve("one", 7, of=2))
    settle(executor)
    producer.pusher.poll()
    assert producer.peers.written == [[3]]

    producer.pusher.abort(abort("one", 7, of=2))
    producer.pusher.poll()
    assert kinds(producer.peers) == ["aborted"], "or it fences us, and with us what others receive"


@pytest.mark.parametrize("failure", [HawserError("it is stopped"), RuntimeError("of another kind")])
def test_a_producer_that_has_to_be_fenced_does_not_hold_up_the_engine(executor: ThreadPoolExecutor, failure: Exception) -> None:
    peers, device, clock, answers = Peers(), Device(), Clock(), [failure, None]
    asked, go, grants = threading.Semaphore(0), threading.Semaphore(0), []

    def revoke(timeout: float) -> None:
        asked.release()
        assert go.acquire(timeout=SECONDS)
        answer = answers.pop(0)
        if answer is not None:
            raise answer

    def grant(*blocks: Any, **options: Any) -> Any:
        grants.append(blocks)
        return SimpleNamespace(revoke=revoke)

    peers.grant = grant  # type: ignore[attr-defined]
    peers.forget = lambda address: None  # type: ignore[attr-defined]
    receiver, reception = receiving(peers, device, executor, clock, push=True)
    reception.legs["producer"] = _Leg(SimpleNamespace(name="producer"), SimpleNamespace(ours=None))  # type: ignore[arg-type]
    reception.idle = None
    receiver.abort("t", "r")
    assert receiver.poll() == [], "it may still say itself that it has stopped"
    for _ in range(2):
        clock.now += 2.5
        polling = threading.Thread(target=receiver.poll)
        polling.start()
        assert asked.acquire(timeout=SECONDS)
        polling.join(SECONDS / 4)
        held_up = polling.is_alive()
        go.release()
        polling.join(SECONDS)
        assert not held_up, "the engine steps on"
        settle(executor)
        ended = receiver.poll()
    assert ended == [reception] and len(grants) == 1


def test_giving_up_is_of_one_reservation_and_not_of_the_next_under_the_same_id(producer: Any, executor: ThreadPoolExecutor) -> None:
    computed(producer)
    settle(executor)
    go = threading.Event()
    executor.submit(go.wait, SECONDS)
    producer.pusher.reserve(reserve("one", 8))
    target = []
    post = producer.pusher._post

    def late(transfer_id: str, written: Any, layer: str) -> None:
        target.append(written)
        producer.pusher.abort(abort("one", 7))  # its consumer has fenced us since, and asks again
        post(transfer_id, written, layer)

    producer.pusher._post = late
    go.set()
    settle(executor)
    assert producer.peers.told == [("aborted", {"id": "t", "counter": 7})]
    assert not target[0].aborting


def test_an_answer_to_an_earlier_request_under_the_same_id_frees_nothing(executor: ThreadPoolExecutor) -> None:
    peers, device = Peers(), Device()
    peers.forget = lambda address: None  # type: ignore[attr-defined]
    receiver, reception = receiving(peers, device, executor, Clock(), push=True)
    reception.legs["producer"] = _Leg(SimpleNamespace(name="producer"), SimpleNamespace(ours=None))  # type: ignore[arg-type]
    reception.idle, reception.counter = None, 8
    receiver.abort("t", "r")
    receiver.aborted(Message("aborted", "producer", 1, {"id": "t", "counter": 7}, b""))
    assert receiver.poll() == [], "it may still write for this one"

    receiver.aborted(Message("aborted", "producer", 1, {"id": "t", "counter": 8}, b""))
    assert receiver.poll() == [reception]


class Engines(Peers):
    """Producers, some of which do not answer the handshake."""

    def __init__(self, stopped: dict[str, Any], known: set[str]) -> None:
        super().__init__()
        self.stopped = stopped
        self.remember = known
        self.asked: list[str] = []

    def remembered(self, address: Address) -> Any:
        return SimpleNamespace(peers=[address.host]) if address.host in self.remember else None

    def engine(self, address: Address) -> Any:
        self.asked.append(address.host)
        failure = self.stopped.get(address.host)
        if isinstance(failure, threading.Event):
            failure.wait(SECONDS)
        elif failure is not None:
            raise failure
        return SimpleNamespace(peers=[address.host])

    def send(self, peer: Any, kind: str, fields: dict[str, Any]) -> None:
        self.told.append((peer, fields))


def test_producers_that_do_not_answer_keep_no_others_from_being_told_that_they_are_waited_for() -> None:
    go = threading.Event()
    peers = Engines({"stopped": go, "bad": UnicodeError("label too long")}, {"known"})
    with ThreadPoolExecutor(2) as threads:
        receiver = Receiver(peers, Stats(), Clock(), threads, 1, dict)  # type: ignore[arg-type]
        for _ in range(5):
            receiver.keep_alive({Address(host, 1): ["t"] for host in ("stopped", "bad", "new", "known")})
        assert [peer for peer, _ in peers.told] == ["known"] * 5
        threads.submit(lambda: None).result(SECONDS / 4)  # a thread is left for requests
        go.set()
    assert {"new", "stopped"} <= {peer for peer, _ in peers.told}
    assert len(peers.asked) <= 6, "each of them is asked for once"


def test_a_host_that_can_be_none_is_an_engine_that_does_not_answer() -> None:
    for host in ("a" * 70, "a\0b", "\udc80"):
        with pytest.raises(HandshakeError, match="does not answer"):
            handshake.fetch(host, 1, "", {}, 1.0)


@pytest.mark.parametrize("end", ["it answers", "it has ended", "all is over"])
def test_a_fence_is_not_the_end_while_a_producer_may_come_back_that_has_not_heard(executor: ThreadPoolExecutor, end: str) -> None:
    peers, clock, revoked = Peers(), Clock(), []
    peers.grant = lambda *blocks, **options: SimpleNamespace(revoke=lambda timeout: revoked.append(clock.now))  # type: ignore[attr-defined]
    peers.forget = lambda address: None  # type: ignore[attr-defined]
    peers.gone = False
    receiver, reception = receiving(peers, Device(), executor, clock, push=True)
    reception.legs["producer"] = _Leg(SimpleNamespace(name="producer"), SimpleNamespace(ours=None))  # type: ignore[arg-type]
    reception.idle, reception.counter = None, 7
    receiver.abort("t", "r")

    def later() -> list[Any]:
        clock.now += 2.5
        ended = receiver.poll()
        settle(executor)
        return ended + receiver.poll()

    assert later() == [] and later() == [] and later() == []
    assert len(revoked) == 1 and kinds(peers) == ["abort"] * 4, "it is told again, over what it may have connected since"
    if end == "it answers":
        receiver.aborted(Message("aborted", "producer", 1, {"id": "t", "counter": 7}, b""))
        assert receiver.poll() == [reception]
    elif end == "it has ended":
        peers.gone = True
        assert later() == [reception]
    else:
        assert later() + later() == [reception]
        assert len(revoked) == 2, "what it began meanwhile is ended, too"


def test_nothing_is_written_when_its_consumer_has_given_up_by_its_own_clock(producer: Any, executor: ThreadPoolExecutor) -> None:
    go = threading.Event()
    executor.submit(go.wait, SECONDS)
    producer.pusher.begin("t", [[1]], 8, "prompt")
    message = reserve("one", 7)
    message.fields["within"] = 5.0  # type: ignore[index]
    producer.pusher.reserve(message)
    producer.pusher.computed("t", "layer", None)
    producer.clock.now = 6.0
    go.set()
    settle(executor)
    assert producer.peers.written == []
    assert kinds(producer.peers) == ["refused"]


def test_no_more_than_one_thread_waits_for_an_engine_that_may_be_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    geometry: Any = SimpleNamespace(agent="consumer")
    peers, go, asked = RealPeers(None, geometry, (), {}, 1.0), threading.Event(), threading.Semaphore(0)  # type: ignore[arg-type]

    def stopped(*told: Any) -> Any:
        asked.release()
        go.wait(SECONDS)
        raise TimeoutError

    monkeypatch.setattr(socket, "create_connection", stopped)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(peers.is_gone, Address("h", 1), "i")
        assert asked.acquire(timeout=SECONDS)
        assert threads.submit(peers.is_gone, Address("h", 1), "i").result(SECONDS / 4) is False
        go.set()
        assert first.result(SECONDS) is False


@pytest.mark.parametrize(("told", "gone"), [("i", False), ("another", True), (None, True)])
def test_an_engine_is_gone_when_nobody_or_another_incarnation_answers(told: Any, gone: bool) -> None:
    server = handshake.HandshakeServer("127.0.0.1", 0)
    server.describe(SimpleNamespace(to_bytes=lambda: b""))  # type: ignore[arg-type]
    if told is None:
        server.close()
    peers = RealPeers(None, SimpleNamespace(agent="consumer"), (), {}, 1.0)  # type: ignore[arg-type]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(handshake, "fetch", lambda *asked: SimpleNamespace(instance=told))
        assert peers.is_gone(Address("127.0.0.1", server.port), "i") is gone
    if told is not None:
        server.close()
