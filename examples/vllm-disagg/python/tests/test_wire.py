# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Messages, parameters and the handshake: what comes from outside is read with care."""

from __future__ import annotations

import json
import random

import pytest

from hawser_vllm import handshake
from hawser_vllm.errors import HandshakeError, IncompatibleEngine, ParametersError
from hawser_vllm.geometry import LayerGeometry, WorkerGeometry
from hawser_vllm.messages import Assembly, encode
from hawser_vllm.params import Remote, transfer_id
from hawser_vllm.peers import Address, request_label
from hawser_vllm.stats import TransferStats, reduce


def test_a_short_message_is_one_notification() -> None:
    (part,) = encode("lend", {"id": "r1"}, b"body")
    message = Assembly().take("p", 7, part)

    assert message is not None
    assert (message.kind, message.peer, message.peer_epoch, message.fields, message.body) == ("lend", "p", 7, {"id": "r1"}, b"body")


def test_long_messages_come_together_in_any_order() -> None:
    parts = encode("reserve", {"ids": list(range(3000))}, b"x" * 9000, number=4)
    others = encode("reserve", {"ids": list(range(2000))}, number=5)
    assert len(parts) > 4 and all(len(part) <= 4096 for part in parts)
    assembly = Assembly()
    mixed = [(part, 1) for part in parts + others]
    random.Random(3).shuffle(mixed)

    found = [m for part, epoch in mixed for m in [assembly.take("p", epoch, part)] if m is not None]

    assert sorted((len(m.fields["ids"]), len(m.body)) for m in found) == [(2000, 0), (3000, 9000)]


def test_parts_of_two_incarnations_are_not_mixed() -> None:
    parts = encode("reserve", {}, b"x" * 5000, number=1)
    assembly = Assembly()

    assert assembly.take("p", 1, parts[0]) is None
    assert assembly.take("p", 2, parts[1]) is None


@pytest.mark.parametrize("payload", [b"", b"hello, this is somebody else's", b"HVK1" + b"\xff" * 16, encode("a", {})[0][:-3]])
def test_what_is_no_message_is_refused(payload: bytes) -> None:
    with pytest.raises(HandshakeError):
        Assembly().take("p", 1, payload)


def test_forgotten_parts_do_not_pile_up() -> None:
    assembly = Assembly()
    for number in range(10_000):
        assembly.take("p", 1, encode("a", {}, b"x" * 5000, number=number)[0])
    assert len(assembly._open) <= 300


GOOD = {"remote_host": "h", "remote_port": 1, "remote_block_ids": [[1, 2], [3]], "remote_engine_id": "e", "transfer_id": "t"}


def test_parameters_of_a_pull() -> None:
    remote = Remote.of(GOOD, "mine")

    assert remote == Remote("t", Address("h", 1, "e", ""), ((1, 2), (3,)), None, False)
    assert Remote.of({**GOOD, "remote_block_ids": [4, 5]}, "mine").blocks == ((4, 5),)
    assert Remote.of({**GOOD, "transfer_mode": "push"}, "mine").push


@pytest.mark.parametrize(
    "wrong",
    [
        {"remote_host": None},
        {"remote_port": 0},
        {"remote_port": "1"},
        {"remote_port": True},
        {"remote_block_ids": [[True]]},
        {"remote_block_ids": None},
        {"remote_block_ids": []},
        {"remote_block_ids": [["a"]]},
        {"remote_block_ids": [[-1]]},
        {"transfer_id": "half a pair \ud800"},
        {"remote_request_id": {"a": 1}},
        {"remote_request_id": "r" * 1025},
        {"remote_num_tokens": 0},
        {"transfer_mode": "tow"},
        {"transfer_id": "x" * 300},
        {"transfer_id": 5},
    ],
)
def test_wrong_parameters_are_named(wrong: dict) -> None:
    with pytest.raises(ParametersError, match=next(iter(wrong)).replace("remote_host", "remote_port")):
        Remote.of({**GOOD, **wrong}, "mine")


def test_ids_of_transfers() -> None:
    assert transfer_id({}, "mine") == "mine"
    assert transfer_id({"remote_request_id": "theirs"}, "mine") == "theirs"
    assert request_label("é" * 100) == "é" * 32


WORKER = WorkerGeometry("a", 0, 0, (4096,), (LayerGeometry("l", 0, 0, 0, 2, 16, 1, 0, 2, 1, 32, 1024, 32, 512, 0),))


def test_an_engine_tells_what_it_is() -> None:
    facts = {"model": "m", "layers": 2}
    server = handshake.HandshakeServer("127.0.0.1", 0)
    try:
        expected = handshake.compatibility_hash(facts)
        with pytest.raises(HandshakeError, match="503"):
            handshake.fetch("127.0.0.1", server.port, expected, facts, 5)
        server.describe(handshake.describe("e", "i", facts, [(WORKER, b"blob")]))
        told = handshake.fetch("127.0.0.1", server.port, expected, facts, 5)
        assert (told.engine_id, told.instance, told.workers, told.blobs) == ("e", "i", (WORKER,), (b"blob",))
        other = {"model": "n", "layers": 2}
        with pytest.raises(IncompatibleEngine, match="model is 'm' there, 'n' here"):
            handshake.fetch("127.0.0.1", server.port, handshake.compatibility_hash(other), other, 5)
    finally:
        server.close()
    with pytest.raises(HandshakeError, match="does not answer"):
        handshake.fetch("127.0.0.1", server.port, expected, facts, 1)


@pytest.mark.parametrize(
    "change", [{"wire": 99}, {"workers": []}, {"blobs": []}, {"workers": [{"agent": "a"}]}, {"blobs": ["%"]}, {"instance": None}]
)
def test_wrong_answers_are_refused(change: dict) -> None:
    facts = {"model": "m"}
    answer = json.loads(handshake.describe("e", "i", facts, [(WORKER, b"blob")]).to_bytes())
    answer.update(change)
    if change.get("instance", 0) is None:
        del answer["instance"]
    with pytest.raises(HandshakeError):
        handshake.EngineDescription.from_bytes(json.dumps(answer).encode(), answer["compatibility"], facts, "it")
    with pytest.raises(HandshakeError):
        handshake.EngineDescription.from_bytes(b"[1]", "", facts, "it")


def test_statistics_have_the_names_of_vllm() -> None:
    stats = TransferStats()
    assert stats.take() == {}
    stats.transfer(0.5, 0.001, 10_000_000, 4)
    stats.count("num_kv_expired_reqs")
    values = stats.take()
    figures = reduce(values)

    assert stats.take() == {}
    assert figures["Num successful transfers"] == 1 and figures["Throughput (MB/s)"] == 20.0
    assert figures["num_kv_expired_reqs"] == 1 and values["bytes_transferred"] == [10_000_000]
