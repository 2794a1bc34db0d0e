# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""The connector under vLLM's hooks, of three ages of its base class, with several groups of a KV cache."""

from __future__ import annotations

import pickle
import threading
import time
from types import SimpleNamespace
from typing import Any, Iterator

import numpy as np
import pytest

import fake_vllm as fake
from hawser_disagg.processes import free_port
from hawser_vllm.params import digest

AGES = ["old", "present", "newest"]
BLOCKS = 24


@pytest.fixture(params=AGES)
def age(request: pytest.FixtureRequest) -> str:
    """Of vLLM."""
    return request.param


@pytest.fixture
def module(age: str) -> Iterator[Any]:
    """The connector's, loaded into such a vLLM."""
    with fake.installed(age) as loaded:
        yield loaded


def role(module: Any, name: str) -> Any:
    """A role of that vLLM's."""
    from hawser_vllm.base import KVConnectorRole

    return KVConnectorRole[name]


def caches_config() -> Any:
    """Full attention, a sliding window, and a state."""
    return SimpleNamespace(
        num_blocks=BLOCKS,
        kv_cache_groups=[
            SimpleNamespace(
                layer_names=["full.0", "full.1"],
                kv_cache_spec=fake.FullAttentionSpec(block_size=16, num_kv_heads=4, head_size=8, sliding_window=None),
            ),
            SimpleNamespace(
                layer_names=["window.0"],
                kv_cache_spec=fake.SlidingWindowSpec(block_size=16, num_kv_heads=4, head_size=8, sliding_window=20),
            ),
            SimpleNamespace(layer_names=["mamba.0"], kv_cache_spec=fake.MambaSpec(block_size=16, shapes=((3, 5), (2, 7)))),
        ],
    )


def tensors(seed: int) -> dict[str, Any]:
    """Caches, filled at random."""
    rng = np.random.default_rng(seed)

    def some(*shape: int) -> np.ndarray:
        return rng.integers(0, 1 << 16, shape, dtype=np.uint16)

    return {
        "full.0": some(BLOCKS, 4, 16, 16),
        "full.1": some(BLOCKS, 16, 4, 16).transpose(0, 2, 1, 3),
        "window.0": some(BLOCKS, 4, 16, 16),
        "mamba.0": [some(BLOCKS, 3, 5), some(BLOCKS, 2, 7)],
    }


class Engine:
    """One scheduler's half and one worker's, stepped by hand."""

    def __init__(self, module: Any, name: str, port: int, seed: int, **extra: Any) -> None:
        config = fake.config(name, port, agent_name=name, load_timeout_seconds=5, **extra)
        from hawser_vllm.caches import Ranks

        self.caches = tensors(seed)
        caches = caches_config()
        self.scheduler = module.HawserConnector(config, role(module, "SCHEDULER"), caches)
        self.worker = module.HawserConnector(config, role(module, "WORKER"), caches, ranks=Ranks(0, 0, 1, 4))
        self.worker.register_kv_caches(self.caches)
        self.scheduler.set_xfer_handshake_metadata({0: pickle.loads(pickle.dumps(self.worker.get_handshake_metadata()))})

    def step(self, output: Any = None, layers: bool = False) -> tuple[Any, Any, set[int]]:
        """One step; gives what has ended."""
        metadata = pickle.loads(pickle.dumps(self.scheduler.build_connector_meta(output or fake.step())))
        self.worker.bind_connector_metadata(metadata)
        self.worker.start_load_kv(SimpleNamespace())
        if layers:
            for name, tensor in self.caches.items():
                self.worker.wait_for_layer_load(name)
                self.worker.save_kv_layer(name, tensor, None)
        self.worker.wait_for_save()
        if hasattr(self.worker, "get_transfer_results"):
            results = self.worker.get_transfer_results(set())
            sent, received = results.finished_sending, results.finished_recving
            assert results.failed_recving <= received
        else:
            sent, received = self.worker.get_finished(set())
        invalid = self.worker.get_block_ids_with_load_errors()
        self.worker.clear_connector_metadata()
        self.scheduler.update_connector_output(SimpleNamespace(finished_sending=sent, finished_recving=received))
        return sent or set(), received or set(), invalid

    def until(self, what: int, request_id: str) -> set[int]:
        """Steps until a request was sent (0) or received (1); gives the blocks with errors."""
        deadline = time.monotonic() + 15
        invalid: set[int] = set()
        while time.monotonic() < deadline:
            ended = self.step()
            invalid |= ended[2]
            if request_id in ended[what]:
                return invalid
            time.sleep(0.005)
        raise AssertionError(f"request {request_id} did not end")

    def close(self) -> None:
        """Ends it."""
        self.worker.shutdown()
        self.scheduler.shutdown()


@pytest.fixture
def engines(module: Any) -> Iterator[tuple[Engine, Engine]]:
    """A producer and a consumer."""
    pair = Engine(module, "p", free_port(), 1), Engine(module, "d", free_port(), 2)
    yield pair
    for engine in pair:
        engine.close()


THEIRS = ([3, 9, 4, 17], [0, 0, 5, 6], [0, 0, 0, 8])
OURS = ([11, 2, 7, 13], [0, 0, 21, 3], [0, 0, 0, 20])


def finish(engine: Engine, request: Any, groups: Any) -> tuple[bool, Any]:
    """A request has finished, told as that vLLM does."""
    request.status = SimpleNamespace(name="FINISHED_LENGTH_CAPPED")
    return engine.scheduler.request_finished_all_groups(request, tuple(groups))


def test_pulls_all_groups(engines: tuple[Engine, Engine]) -> None:
    p, d = engines
    before = {name: pickle.loads(pickle.dumps(tensor)) for name, tensor in d.caches.items()}
    lent = fake.request("p-1", 60, {"do_remote_decode": True})
    assert p.scheduler.get_num_new_matched_tokens(lent, 0) == (0, False)
    p.scheduler.update_state_after_alloc(lent, fake.KVCacheBlocks(*THEIRS), 0)
    keep, params = finish(p, lent, THEIRS)
    assert keep and params["remote_block_ids"] == [list(group) for group in THEIRS] and params["remote_request_id"] == "p-1"
    p.step()

    wanted = fake.request("d-1", 60, params)
    for _ in range(3):  # it may be asked again and again
        assert d.scheduler.get_num_new_matched_tokens(wanted, 0) == (60, True)
    d.scheduler.update_state_after_alloc(wanted, fake.KVCacheBlocks(*OURS), 60)
    d.scheduler.update_state_after_alloc(wanted, fake.KVCacheBlocks(*OURS), 0)
    assert d.until(1, "d-1") == set()
    p.until(0, "p-1")

    for name in ("full.0", "full.1"):
        assert (d.caches[name][OURS[0]] == p.caches[name][THEIRS[0]]).all()
        others = [b for b in range(BLOCKS) if b not in OURS[0]]
        assert (d.caches[name][others] == before[name][others]).all()
    assert (d.caches["window.0"][[21, 3]] == p.caches["window.0"][[5, 6]]).all()
    for i in range(2):
        assert (d.caches["mamba.0"][i][20] == p.caches["mamba.0"][i][8]).all()
        others = [b for b in range(BLOCKS) if b != 20]
        assert (d.caches["mamba.0"][i][others] == before["mamba.0"][i][others]).all()
    assert not d.scheduler.has_pending_push_work()


def test_pulls_only_what_is_not_there(engines: tuple[Engine, Engine]) -> None:
    p, d = engines
    before = d.caches["full.0"].copy()
    lent = fake.request("p-1", 60, {"do_remote_decode": True, "transfer_id": "t"})
    _, params = finish(p, lent, THEIRS)
    p.step()
    wanted = fake.request("d-1", 60, params)

    assert d.scheduler.get_num_new_matched_tokens(wanted, 32) == (28, True)
    d.scheduler.update_state_after_alloc(wanted, fake.KVCacheBlocks(*OURS), 28)
    d.until(1, "d-1")

    assert (d.caches["full.0"][OURS[0][2:]] == p.caches["full.0"][THEIRS[0][2:]]).all()
    assert (d.caches["full.0"][OURS[0][:2]] == before[OURS[0][:2]]).all()
    p.until(0, "p-1")


def test_pushes_all_layers_as_they_are_computed(engines: tuple[Engine, Engine]) -> None:
    p, d = engines
    pushed = fake.request("p-1", 60, {"do_remote_decode": True, "transfer_id": "t", "transfer_mode": "push"})
    address = p.scheduler.scheduler.address()
    wanted = fake.request("d-1", 60, {"do_remote_prefill": True, "transfer_id": "t", "transfer_mode": "push", **address})
    assert d.scheduler.get_num_new_matched_tokens(wanted, 0) == (60, True)
    d.scheduler.update_state_after_alloc(wanted, fake.KVCacheBlocks(*OURS), 60)
    d.step()
    # In two chunks: only with the second all of a layer is there.
    p.scheduler.update_state_after_alloc(pushed, fake.KVCacheBlocks([3, 9], [0, 0], [0, 8]), 0)
    p.step(fake.step(new=[("p-1", ([3, 9], [0, 0], [0, 8]), 0)], scheduled={"p-1": 32}), layers=True)
    assert p.scheduler.has_pending_push_work()
    p.step(fake.step(cached=[("p-1", ([4, 17], [5, 6], [0, 8]), 32)], scheduled={"p-1": 28}), layers=True)
    keep, _ = finish(p, pushed, THEIRS)
    assert keep

    assert d.until(1, "d-1") == set()
    p.until(0, "p-1")
    assert (d.caches["full.1"][OURS[0]] == p.caches["full.1"][THEIRS[0]]).all()
    assert (d.caches["window.0"][[21, 3]] == p.caches["window.0"][[5, 6]]).all()
    assert (d.caches["mamba.0"][1][20] == p.caches["mamba.0"][1][8]).all()
    assert not p.scheduler.has_pending_push_work()


def test_a_request_that_is_not_lent_fails_with_its_blocks(engines: tuple[Engine, Engine]) -> None:
    p, d = engines
    lent = fake.request("p-1", 60, {"do_remote_decode": True, "transfer_id": "t"})
    _, params = finish(p, lent, THEIRS)
    p.step()
    p.worker.worker.kv.lender.drop("t", "its lease has expired")
    wanted = fake.request("d-1", 60, params)
    d.scheduler.get_num_new_matched_tokens(wanted, 16)
    d.scheduler.update_state_after_alloc(wanted, fake.KVCacheBlocks(*OURS), 44)

    invalid = d.until(1, "d-1")

    # Block 11 was there before, and others may use it as a prefix, too.
    assert invalid == {2, 7, 13, 21, 3, 20}
    assert "its lease has expired" in d.worker.worker.failed["d-1"]


def test_a_request_that_is_aborted_in_the_queue_frees_its_producer(engines: tuple[Engine, Engine]) -> None:
    p, d = engines
    _, params = finish(p, fake.request("p-1", 60, {"do_remote_decode": True}), THEIRS)
    p.step()
    wanted = fake.request("d-1", 60, params)
    d.scheduler.on_new_request(wanted)
    wanted.status = SimpleNamespace(name="FINISHED_ABORTED")
    assert d.scheduler.request_finished(wanted, []) == (False, None)
    d.step()

    p.until(0, "p-1")


def test_an_aborted_prefill_is_not_lent(engines: tuple[Engine, Engine]) -> None:
    p, _ = engines
    aborted = fake.request("p-1", 60, {"do_remote_decode": True}, "FINISHED_ABORTED")

    assert p.scheduler.request_finished_all_groups(aborted, THEIRS) == (False, None)


def test_without_parameters_nothing_is_done(engines: tuple[Engine, Engine]) -> None:
    p, _ = engines
    plain = fake.request("p-1", 60, None, "FINISHED_STOPPED")

    assert p.scheduler.get_num_new_matched_tokens(plain, 0) == (0, False)
    p.scheduler.update_state_after_alloc(plain, fake.KVCacheBlocks(*THEIRS), 0)
    assert p.scheduler.request_finished(plain, list(THEIRS)) == (False, None)
    assert p.step() == (set(), set(), set())


def test_wrong_parameters_mean_to_compute(engines: tuple[Engine, Engine]) -> None:
    _, d = engines
    wanted = fake.request("d-1", 60, {"do_remote_prefill": True, "remote_host": "h"})
    assert d.scheduler.get_num_new_matched_tokens(wanted, 0) == (0, False)
    other = {"do_remote_prefill": True, "remote_host": "127.0.0.1", "remote_port": 9, "remote_block_ids": [[1]], "remote_num_tokens": 5}
    assert d.scheduler.get_num_new_matched_tokens(fake.request("d-2", 60, other), 0) == (0, False)


def test_settings_are_checked(module: Any) -> None:
    with pytest.raises(ValueError, match="unknown key 'side_chanel_port'"):
        module.HawserConnector(fake.config("e", 1, side_chanel_port=2), role(module, "SCHEDULER"), None)
    with pytest.raises(ValueError, match="transfer_mode 'tow'"):
        module.HawserConnector(fake.config("e", 1, transfer_mode="tow"), role(module, "SCHEDULER"), None)


def test_hooks_of_the_class(module: Any, age: str) -> None:
    connector = module.HawserConnector
    assert connector.get_required_kvcache_layout(fake.config("e", 1)) == "HND"
    assert connector.requires_piecewise_for_cudagraph({"transfer_mode": "push"})
    assert not connector.requires_piecewise_for_cudagraph({})
    stats = connector.build_kv_connector_stats({"bytes_transferred": [1]})
    if age == "old":
        assert stats is None
    else:
        other = connector.build_kv_connector_stats({"bytes_transferred": [2]})
        assert stats.aggregate(other).data == {"bytes_transferred": [1, 2]} and not stats.is_empty()


def test_hooks_of_the_wrong_half_say_so(module: Any) -> None:
    scheduler = module.HawserConnector(fake.config("e", 1), role(module, "SCHEDULER"), None)
    with pytest.raises(RuntimeError, match="worker"):
        scheduler.get_handshake_metadata()
    worker = module.HawserConnector(fake.config("e", 1), role(module, "WORKER"), None)
    with pytest.raises(RuntimeError, match="scheduler"):
        worker.build_connector_meta(fake.step())
    assert worker.get_finished(set()) == (None, None)


def test_two_requests_that_want_the_same_transfer_do_not_take_it_from_each_other(engines: tuple[Engine, Engine]) -> None:
    """As with n=2, or what a client sends again."""
    p, d = engines
    _, params = finish(p, fake.request("p-1", 60, {"do_remote_decode": True, "transfer_id": "t"}), THEIRS)
    p.step()
    first, second, third = (fake.request(f"d-{i}", 60, dict(params)) for i in range(3))
    for request in (first, second, third):
        d.scheduler.on_new_request(request)
        assert d.scheduler.get_num_new_matched_tokens(request, 0) == (60, True)
    d.scheduler.update_state_after_alloc(first, fake.KVCacheBlocks(*OURS), 60)
    assert d.scheduler.get_num_new_matched_tokens(second, 0) == (0, False), "it is computed here"
    d.scheduler.update_state_after_alloc(second, fake.KVCacheBlocks([1, 5], [0, 0], [0]), 0)
    for request in (second, third):  # one that runs, and one that is still queued
        request.status = SimpleNamespace(name="FINISHED_ABORTED")
        assert d.scheduler.request_finished(request, []) == (False, None)

    assert d.until(1, "d-0") == set()
    assert (d.caches["full.0"][OURS[0]] == p.caches["full.0"][THEIRS[0]]).all()
    p.until(0, "p-1")
    assert not d.scheduler.scheduler._receiving and not d.scheduler.scheduler._waiting


@pytest.mark.parametrize("mode", ["pull", "push"])
def test_two_requests_under_one_transfer_id_are_not_lent_for_each_other(engines: tuple[Engine, Engine], mode: str) -> None:
    p, d = engines
    wish = {"do_remote_decode": True, "transfer_id": "t", "transfer_mode": mode}
    first, second = fake.request("p-1", 60, dict(wish)), fake.request("p-2", 60, dict(wish))
    aborted = fake.request("p-3", 60, dict(wish))
    others = ([1, 2, 5, 6], [0, 0, 1, 2], [0, 0, 0, 1])
    for request, groups in ((first, THEIRS), (second, others), (aborted, others)):
        p.scheduler.update_state_after_alloc(request, fake.KVCacheBlocks(*groups), 0)
        p.step(fake.step(new=[(request.request_id, groups, 0)], scheduled={request.request_id: 60}), layers=True)
        if request is aborted:
            aborted.status = SimpleNamespace(name="FINISHED_ABORTED")
            assert p.scheduler.request_finished_all_groups(aborted, groups) == (False, None)
        else:
            keep, told = finish(p, request, groups)
            assert keep == (request is first) and (told is not None) == keep
            params = told or params  # noqa: F821
    p.step()

    wanted = fake.request("d-1", 60, params)
    d.scheduler.get_num_new_matched_tokens(wanted, 0)
    d.scheduler.update_state_after_alloc(wanted, fake.KVCacheBlocks(*OURS), 60)
    assert d.until(1, "d-1") == set()
    assert (d.caches["full.0"][OURS[0]] == p.caches["full.0"][THEIRS[0]]).all()
    p.until(0, "p-1")
    assert not p.scheduler.has_pending_push_work()

    keep, _ = finish(p, fake.request("p-4", 60, dict(wish, transfer_mode="pull")), THEIRS)
    assert keep, "the id is free again"


def pushed(p: Engine, request: Any) -> tuple[bool, Any]:
    """A producer computes a request and has finished with it."""
    p.scheduler.update_state_after_alloc(request, fake.KVCacheBlocks(*THEIRS), 0)
    p.step(fake.step(new=[(request.request_id, THEIRS, 0)], scheduled={request.request_id: 60}), layers=True)
    return finish(p, request, THEIRS)


def to_be_pushed(p: Engine) -> tuple[Any, dict[str, Any]]:
    """A request of the producer's, and by what parameters its consumer means it."""
    request = fake.request("p-1", 60, {"do_remote_decode": True, "transfer_id": "t", "transfer_mode": "push"})
    return request, {"do_remote_prefill": True, "transfer_id": "t", "transfer_mode": "push", **p.scheduler.scheduler.address()}


def take(d: Engine, request: Any) -> None:
    """A consumer begins to receive a request."""
    assert d.scheduler.get_num_new_matched_tokens(request, 0) == (60, True)
    d.scheduler.update_state_after_alloc(request, fake.KVCacheBlocks(*OURS), 60)


@pytest.mark.parametrize("mode", ["pull", "push"])
def test_blocks_are_kept_for_the_second_request_under_the_id_of_one_that_was_pushed(engines: tuple[Engine, Engine], mode: str) -> None:
    p, d = engines
    wish = {"do_remote_decode": True, "transfer_id": "t", "transfer_mode": "push"}
    _, params = pushed(p, fake.request("p-1", 60, dict(wish)))
    take(d, fake.request("d-1", 60, dict(params)))
    assert d.until(1, "d-1") == set()
    p.until(0, "p-1")

    keep, params = pushed(p, fake.request("p-2", 60, dict(wish, transfer_mode=mode)))
    assert keep
    for _ in range(5):
        assert p.step() == (set(), set(), set()), "nobody has them yet: they must not be used for others"
    take(d, fake.request("d-2", 60, dict(params)))
    assert d.until(1, "d-2") == set()
    p.until(0, "p-2")
    assert (d.caches["full.0"][OURS[0]] == p.caches["full.0"][THEIRS[0]]).all()


@pytest.mark.parametrize("told", ["resumed_req_ids", "resumed_from_preemption"])
def test_what_is_preempted_between_two_chunks_is_pushed_from_the_blocks_that_it_has_then(
    engines: tuple[Engine, Engine], told: str
) -> None:
    p, d = engines
    request, wish = to_be_pushed(p)
    take(d, fake.request("d-1", 60, wish))
    d.step()
    p.scheduler.update_state_after_alloc(request, fake.KVCacheBlocks([1, 2], [0, 0], [0, 1]), 0)
    p.step(fake.step(new=[("p-1", ([1, 2], [0, 0], [0, 1]), 0)], scheduled={"p-1": 32}), layers=True)
    p.step()
    p.scheduler.update_state_after_alloc(request, fake.KVCacheBlocks([3, 9], [0, 0], [0, 8]), 0)
    resumed = fake.step(cached=[("p-1", ([3, 9], [0, 0], [0, 8]), 0)], scheduled={"p-1": 32})
    setattr(resumed.scheduled_cached_reqs, told, {"p-1"} if told == "resumed_req_ids" else [True])
    p.step(resumed, layers=True)
    p.step(fake.step(cached=[("p-1", ([4, 17], [5, 6], [0, 8]), 32)], scheduled={"p-1": 28}), layers=True)
    assert finish(p, request, THEIRS)[0]

    assert d.until(1, "d-1") == set()
    p.until(0, "p-1")
    assert (d.caches["full.0"][OURS[0]] == p.caches["full.0"][THEIRS[0]]).all()


@pytest.mark.parametrize("reserved", [False, True])
def test_what_is_preempted_when_its_push_has_begun_is_not_written_from_blocks_of_others(
    engines: tuple[Engine, Engine], reserved: bool
) -> None:
    p, d = engines
    request, wish = to_be_pushed(p)
    wanted = fake.request("d-1", 60, wish)
    p.scheduler.update_state_after_alloc(request, fake.KVCacheBlocks(*THEIRS), 0)
    p.step(fake.step(new=[("p-1", THEIRS, 0)], scheduled={"p-1": 60}), layers=True)
    request.status = SimpleNamespace(name="PREEMPTED")
    if reserved:
        p.worker.worker.kv.pusher._executor.submit(time.sleep, 0.5)  # the thread that writes is busy
        take(d, wanted)
        d.step()
        time.sleep(0.2)
    p.step()
    for tensor in p.caches.values():
        for part in tensor if isinstance(tensor, list) else [tensor]:
            part[:] = 7
    if not reserved:
        take(d, wanted)

    assert d.until(1, "d-1") == {11, 2, 7, 13, 21, 3, 20}
    assert "preempted" in d.worker.worker.failed["d-1"]
    assert not (d.caches["full.0"][OURS[0]] == 7).all()
    request.status = SimpleNamespace(name="RUNNING")
    p.scheduler.update_state_after_alloc(request, fake.KVCacheBlocks(*THEIRS), 0)
    p.step(fake.step(cached=[("p-1", THEIRS, 0)], scheduled={"p-1": 60}), layers=True)
    assert finish(p, request, THEIRS)[0]
    p.until(0, "p-1")
    assert not p.scheduler.has_pending_push_work()


@pytest.mark.parametrize("why", ["aborted", "all of it is here"])
def test_a_push_that_nobody_reserves_for_frees_its_producer(engines: tuple[Engine, Engine], why: str) -> None:
    p, d = engines
    _, params = pushed(p, fake.request("p-1", 60, {"do_remote_decode": True, "transfer_id": "t", "transfer_mode": "push"}))
    wanted = fake.request("d-1", 60, params)
    d.scheduler.on_new_request(wanted)
    if why == "aborted":
        wanted.status = SimpleNamespace(name="FINISHED_ABORTED")
        assert d.scheduler.request_finished(wanted, []) == (False, None)
    else:
        assert d.scheduler.get_num_new_matched_tokens(wanted, 60) == (0, False)
        d.scheduler.update_state_after_alloc(wanted, fake.KVCacheBlocks(*OURS), 0)
    d.step()

    p.until(0, "p-1")


def test_a_request_is_lent_although_another_under_its_id_was_aborted_in_the_same_step(engines: tuple[Engine, Engine]) -> None:
    p, d = engines
    wish = {"do_remote_decode": True, "transfer_id": "t"}
    assert p.scheduler.request_finished_all_groups(fake.request("p-1", 60, wish, "FINISHED_ABORTED"), THEIRS) == (False, None)
    keep, params = finish(p, fake.request("p-2", 60, wish), THEIRS)
    assert keep
    p.step()

    take(d, fake.request("d-1", 60, params))
    assert d.until(1, "d-1") == set()
    p.until(0, "p-2")


@pytest.mark.parametrize("mode", ["pull", "push"])
def test_a_request_that_is_queued_keeps_its_lease_alive(module: Any, mode: str) -> None:
    p, d = [Engine(module, name, free_port(), seed, lease_seconds=1.2) for seed, name in enumerate("pd")]
    try:
        _, params = pushed(p, fake.request("p-1", 60, {"do_remote_decode": True, "transfer_id": "t", "transfer_mode": mode}))
        p.step()
        wanted = fake.request("d-1", 60, params)
        d.scheduler.on_new_request(wanted)
        queued_until = time.monotonic() + 2
        while time.monotonic() < queued_until:
            d.step()
            assert p.step()[0] == set(), "it is still meant to be read"
            time.sleep(0.02)
        take(d, wanted)
        assert d.until(1, "d-1") == set()
        p.until(0, "p-1")
    finally:
        p.close()
        d.close()


def test_a_late_reader_is_not_lent_what_is_held_for_another_under_the_same_id(engines: tuple[Engine, Engine]) -> None:
    p, d = engines
    wish = {"do_remote_decode": True, "transfer_id": "t"}
    _, old = finish(p, fake.request("p-1", 60, dict(wish)), THEIRS)
    p.step()
    p.worker.worker.kv.lender.drop("t", "its lease has expired")
    p.until(0, "p-1")
    others = ([1, 2, 5, 6], [0, 0, 1, 2], [0, 0, 0, 1])
    keep, new = finish(p, fake.request("p-2", 60, dict(wish)), others)
    assert keep
    p.step()

    take(d, fake.request("d-1", 60, old))
    assert d.until(1, "d-1") == {11, 2, 7, 13, 21, 3, 20}
    assert "another request" in d.worker.worker.failed["d-1"]
    assert p.step()[0] == set(), "nor does its giving up free them"
    take(d, fake.request("d-2", 60, new))
    assert d.until(1, "d-2") == set()
    assert (d.caches["full.0"][OURS[0]] == p.caches["full.0"][others[0]]).all()
    p.until(0, "p-2")


@pytest.mark.parametrize("tokens", [50, 60])
def test_nothing_is_pushed_for_another_prompt_under_the_same_id(engines: tuple[Engine, Engine], tokens: int) -> None:
    p, d = engines
    _, params = pushed(p, fake.request("p-1", 60, {"do_remote_decode": True, "transfer_id": "t", "transfer_mode": "push"}))
    del params["remote_num_tokens"]  # as a proxy asks both at once, which does not know it
    wanted = fake.request("d-1", tokens, dict(params))
    wanted.prompt_token_ids[3] = 99
    assert d.scheduler.get_num_new_matched_tokens(wanted, 0) == (tokens, True)
    d.scheduler.update_state_after_alloc(wanted, fake.KVCacheBlocks(*OURS), tokens)
    assert d.until(1, "d-1") == {11, 2, 7, 13, 21, 3, 20}
    assert "its prompt is another" in d.worker.worker.failed["d-1"]

    take(d, fake.request("d-2", 60, params))
    assert d.until(1, "d-2") == set()
    p.until(0, "p-1")


class Slow:
    """A write that is being sent, and ends a while after it was cancelled."""

    def __init__(self) -> None:
        self.over = threading.Event()

    def poll(self) -> bool:
        return self.over.is_set()

    def cancel(self) -> None:
        threading.Timer(0.3, self.over.set).start()

    def info(self) -> Any:
        return SimpleNamespace(state="CANCELLED", remote="ABORTED")


def test_a_step_that_preempts_a_request_waits_for_what_is_read_of_its_blocks(engines: tuple[Engine, Engine]) -> None:
    p, d = engines
    request, wish = to_be_pushed(p)
    slow: list[Slow] = []
    pusher = p.worker.worker.kv.pusher
    pusher._post = lambda transfer, target, layer: (slow.append(Slow()), target.under_way.append((slow[-1], 1)))
    take(d, fake.request("d-1", 60, wish))
    d.step()
    p.scheduler.update_state_after_alloc(request, fake.KVCacheBlocks(*THEIRS), 0)
    p.step(fake.step(new=[("p-1", THEIRS, 0)], scheduled={"p-1": 60}), layers=True)
    until = time.monotonic() + 5
    while not slow and time.monotonic() < until:
        time.sleep(0.005)
    request.status = SimpleNamespace(name="PREEMPTED")
    p.step()
    assert slow and all(write.over.is_set() for write in slow), "others write to these blocks from now on"
    assert d.until(1, "d-1") == {11, 2, 7, 13, 21, 3, 20}


@pytest.mark.parametrize("told", ["new", "resumed_req_ids", "resumed_from_preemption"])
def test_what_is_preempted_and_resumed_between_two_steps_is_not_pushed_from_blocks_of_others(
    engines: tuple[Engine, Engine], told: str
) -> None:
    p, d = engines
    request, wish = to_be_pushed(p)
    p.scheduler.update_state_after_alloc(request, fake.KVCacheBlocks(*THEIRS), 0)
    p.step(fake.step(new=[("p-1", THEIRS, 0)], scheduled={"p-1": 60}), layers=True)
    again = ([1, 2, 5, 6], [0, 0, 1, 2], [0, 0, 0, 1])  # all were preempted, as when the prefix cache is emptied
    p.scheduler.update_state_after_alloc(request, fake.KVCacheBlocks(*again), 0)
    resumed = fake.step(scheduled={"p-1": 60}, **{"new" if told == "new" else "cached": [("p-1", again, 0)]})
    if told != "new":
        setattr(resumed.scheduled_cached_reqs, told, {"p-1"} if told == "resumed_req_ids" else [True])
    p.step(resumed, layers=True)
    p.caches["full.0"][THEIRS[0]] = 7
    take(d, fake.request("d-1", 60, wish))

    assert d.until(1, "d-1") == {11, 2, 7, 13, 21, 3, 20}
    assert "preempted" in d.worker.worker.failed["d-1"]
    assert finish(p, request, again)[0]
    p.until(0, "p-1")
    assert not p.scheduler.has_pending_push_work()


def test_an_abort_that_comes_late_is_not_of_the_next_request_under_the_same_transfer(engines: tuple[Engine, Engine]) -> None:
    p, d = engines
    wish = {"do_remote_decode": True, "transfer_id": "t"}
    _, params = finish(p, fake.request("p-1", 60, dict(wish)), THEIRS)
    p.step()
    first = fake.request("d-1", 60, dict(params))
    take(d, first)
    over = d.worker.get_finished if not hasattr(d.worker, "get_transfer_results") else d.worker.get_transfer_results
    d.worker.bind_connector_metadata(d.scheduler.build_connector_meta(fake.step()))
    d.worker.start_load_kv(SimpleNamespace())
    until = time.monotonic() + 5
    while d.worker.worker.kv.receiver.pending and time.monotonic() < until:
        over(set())
        time.sleep(0.005)
    p.until(0, "p-1")
    _, params = finish(p, fake.request("p-2", 60, dict(wish)), THEIRS)
    p.step()

    first.status = SimpleNamespace(name="FINISHED_ABORTED")  # while the step is under way in which it was received
    d.scheduler.request_finished_all_groups(first, OURS)
    d.scheduler.update_connector_output(SimpleNamespace(finished_sending=set(), finished_recving={"d-1"}))
    take(d, fake.request("d-2", 60, params))
    assert d.until(1, "d-2") == set()
    p.until(0, "p-2")


def of_media(name: str, request_id: str, params: Any) -> Any:
    """A request with an image, told as two versions of vLLM do, or for an adapter."""
    made = fake.request(request_id, 60, params)
    made.mm_features = [SimpleNamespace(identifier=name)]
    return made


def of_media_before(name: str, request_id: str, params: Any) -> Any:
    made = fake.request(request_id, 60, params)
    made.mm_hashes = [name]
    return made


def of_adapter(name: str, request_id: str, params: Any) -> Any:
    made = fake.request(request_id, 60, params)
    made.lora_request = SimpleNamespace(lora_name=name)
    return made


@pytest.mark.parametrize("made", [of_media, of_media_before, of_adapter])
def test_equal_tokens_of_another_image_or_for_another_adapter_are_another_prompt(engines: tuple[Engine, Engine], made: Any) -> None:
    p, d = engines
    _, params = pushed(p, made("one", "p-1", {"do_remote_decode": True, "transfer_id": "t", "transfer_mode": "push"}))
    take(d, made("two", "d-1", dict(params)))
    assert d.until(1, "d-1") == {11, 2, 7, 13, 21, 3, 20}
    assert "its prompt is another" in d.worker.worker.failed["d-1"]

    take(d, made("one", "d-2", params))
    assert d.until(1, "d-2") == set()
    p.until(0, "p-1")


def test_images_that_each_engine_names_by_its_request_do_not_make_another_prompt() -> None:
    ours, theirs = of_media("cmpl-7-image-0", "cmpl-7-aaaaaaaa", None), of_media("cmpl-8-image-0", "cmpl-8-bbbbbbbb", None)
    assert digest(ours) == digest(theirs)


def test_a_prompt_of_embeddings_is_computed_where_it_is(engines: tuple[Engine, Engine]) -> None:
    p, _ = engines
    for params in ({"do_remote_decode": True}, {"do_remote_prefill": True, **p.scheduler.scheduler.address()}):
        request = fake.request("p-1", 60, params)
        request.prompt_token_ids = None
        p.scheduler.on_new_request(request)
        assert p.scheduler.get_num_new_matched_tokens(request, 0) == (0, False)
        p.scheduler.update_state_after_alloc(request, fake.KVCacheBlocks(*OURS), 0)
        assert finish(p, request, OURS) == (False, None)


def test_what_was_to_be_pushed_and_could_not_be_can_be_pulled(engines: tuple[Engine, Engine]) -> None:
    p, d = engines
    wish = {"do_remote_decode": True, "transfer_id": "t", "transfer_mode": "push"}
    _, params = pushed(p, fake.request("p-1", 60, dict(wish)))
    second = fake.request("p-2", 60, dict(wish))
    p.scheduler.update_state_after_alloc(second, fake.KVCacheBlocks(*THEIRS), 0)
    p.step(fake.step(new=[("p-2", THEIRS, 0)], scheduled={"p-2": 60}), layers=True)
    take(d, fake.request("d-1", 60, params))
    assert d.until(1, "d-1") == set()
    p.until(0, "p-1")

    keep, params = finish(p, second, THEIRS)  # the id is free by now
    assert keep and params["transfer_mode"] == "pull"
    p.step()
    take(d, fake.request("d-2", 60, params))
    assert d.until(1, "d-2") == set()
    p.until(0, "p-2")


def test_who_reserved_for_a_prefill_that_is_aborted_hears_of_it(engines: tuple[Engine, Engine]) -> None:
    p, d = engines
    wish = {"do_remote_prefill": True, "transfer_id": "t", "transfer_mode": "push", **p.scheduler.scheduler.address()}
    take(d, fake.request("d-1", 60, wish))
    d.step()
    early = p.worker.worker.kv.pusher._early
    until = time.monotonic() + 5
    while not early and time.monotonic() < until:
        time.sleep(0.005)
    given_up = fake.request("p-1", 60, {"do_remote_decode": True, "transfer_id": "t", "transfer_mode": "push"}, "FINISHED_ABORTED")
    assert p.scheduler.request_finished_all_groups(given_up, THEIRS) == (False, None)
    p.step()
    d.until(1, "d-1")
    assert "its prefill was aborted" in d.worker.worker.failed["d-1"]


@pytest.mark.parametrize("age", ["present"])
def test_a_producer_that_never_hears_that_its_push_is_given_up_writes_nothing_to_blocks_of_others(module: Any) -> None:
    p, d = [Engine(module, name, free_port(), seed, handshake_timeout_seconds=0.5) for seed, name in enumerate("pd")]
    try:
        computed = threading.Event()
        p.worker.worker.pushed_event = lambda: computed.is_set
        p.worker.worker.kv._handlers["abort"] = lambda message: None
        wish = {"do_remote_prefill": True, "transfer_id": "t", "transfer_mode": "push", **p.scheduler.scheduler.address()}
        wanted = fake.request("d-1", 60, wish)
        take(d, wanted)
        d.step()
        request = fake.request("p-1", 60, {"do_remote_decode": True, "transfer_id": "t", "transfer_mode": "push"})
        p.scheduler.update_state_after_alloc(request, fake.KVCacheBlocks(*THEIRS), 0)
        p.step(fake.step(new=[("p-1", THEIRS, 0)], scheduled={"p-1": 60}), layers=True)
        pushes = p.worker.worker.kv.pusher._open
        until = time.monotonic() + 5
        while not pushes["t"].targets and time.monotonic() < until:
            time.sleep(0.005)
        wanted.status = SimpleNamespace(name="FINISHED_ABORTED")
        d.scheduler.request_finished_all_groups(wanted, OURS)
        d.until(1, "d-1")
        for name in ("full.0", "full.1"):
            d.caches[name][:] = 7  # others' by now
        computed.set()
        until = time.monotonic() + 10
        while pushes and time.monotonic() < until:
            p.step()
            time.sleep(0.005)
        assert not pushes
        assert (d.caches["full.0"] == 7).all() and (d.caches["full.1"] == 7).all()
    finally:
        p.close()
        d.close()


@pytest.mark.parametrize("other", ["prompt", "blocks"])
def test_nothing_is_pulled_for_another_prompt_or_from_other_blocks_than_were_lent(engines: tuple[Engine, Engine], other: str) -> None:
    p, d = engines
    keep, params = finish(p, fake.request("p-1", 60, {"do_remote_decode": True}), THEIRS)
    p.step()
    mistaken = fake.request("d-1", 60, {**params, "remote_block_ids": [list(group) for group in params["remote_block_ids"]]})
    if other == "prompt":
        mistaken.prompt_token_ids[3] = 99
    else:
        mistaken.kv_transfer_params["remote_block_ids"][0][1] = 8
    take(d, mistaken)
    assert d.until(1, "d-1") == {11, 2, 7, 13, 21, 3, 20}
    assert "its prompt or its blocks are others" in d.worker.worker.failed["d-1"]


@pytest.mark.parametrize("age", ["present"])
@pytest.mark.parametrize("reserved", ["before", "after"])
def test_what_a_window_has_left_behind_as_its_request_finished_is_not_pushed(engines: tuple[Engine, Engine], reserved: str) -> None:
    """vLLM frees it then, although a consumer computes the last token again, which sees it."""
    p, d = engines
    request = fake.request("p-1", 66, {"do_remote_decode": True, "transfer_id": "t", "transfer_mode": "push"})
    wish = {"do_remote_prefill": True, "transfer_id": "t", "transfer_mode": "push", **p.scheduler.scheduler.address()}
    wanted = fake.request("d-1", 66, wish)
    theirs, ours = ([3, 9, 4, 17, 18], [0, 0, 5, 6, 7], [0, 0, 0, 8]), ([11, 2, 7, 13, 14], [0, 0, 21, 3, 4], [0, 0, 0, 20])
    computed = threading.Event()

    def take_it() -> None:
        assert d.scheduler.get_num_new_matched_tokens(wanted, 0) == (66, True)
        d.scheduler.update_state_after_alloc(wanted, fake.KVCacheBlocks(*ours), 66)
        d.step()

    p.worker.worker.pushed_event = lambda: computed.is_set
    p.scheduler.update_state_after_alloc(request, fake.KVCacheBlocks(*theirs), 0)
    p.step(fake.step(new=[("p-1", theirs, 0)], scheduled={"p-1": 66}), layers=True)
    if reserved == "before":
        take_it()
        pushes = p.worker.worker.kv.pusher._open
        until = time.monotonic() + 5
        while not pushes["t"].targets and time.monotonic() < until:
            time.sleep(0.005)
    assert finish(p, request, (theirs[0], [0, 0, 0, 6, 7], theirs[2]))[0]
    sent = p.step()[0]
    p.caches["window.0"][5] = 7  # others' from now on
    computed.set()
    if reserved == "after":
        take_it()
    assert d.until(1, "d-1") == {11, 2, 7, 13, 14, 21, 3, 4, 20}
    assert "were freed" in d.worker.worker.failed["d-1"]
    assert sent or p.until(0, "p-1") == set()
