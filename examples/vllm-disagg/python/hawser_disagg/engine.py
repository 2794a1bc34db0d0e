# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""An engine: a scheduler and workers that step, and call the connector's hooks as vLLM does."""

from __future__ import annotations

import enum
import logging
import queue
import threading
import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Callable, Optional, Sequence

import numpy as np

from hawser_vllm.base import KVConnectorRole
from hawser_vllm.caches import Ranks
from hawser_vllm.connector import HawserConnector

from .backend import Backend
from .blocks import BlockIds, OutOfBlocks
from .model import LlamaShape
from .pool import EnginePool, RequestStore, layer_name

logger = logging.getLogger("hawser.disagg")


class Status(enum.Enum):
    """A request's, with vLLM's names."""

    WAITING = 1
    WAITING_FOR_REMOTE_KVS = 2
    RUNNING = 3
    FINISHED_STOPPED = 4
    FINISHED_LENGTH_CAPPED = 5
    FINISHED_ABORTED = 6
    FINISHED_ERROR = 7


@dataclass
class Request:
    """One request. What the engine computes goes to ``out``: token ids, then an :class:`Outcome`."""

    request_id: str
    prompt_token_ids: list[int]
    max_tokens: int
    kv_transfer_params: Optional[dict[str, Any]]
    out: "queue.SimpleQueue[Any]" = field(default_factory=queue.SimpleQueue)
    status: Status = Status.WAITING
    table: list[int] = field(default_factory=list)
    computed: int = 0
    tokens: list[int] = field(default_factory=list)
    aborted: bool = False
    kept: bool = False
    first_logits: Optional[bytes] = None
    digests: Optional[list[str]] = None
    error: Optional[str] = None
    recomputed: bool = False
    scheduled: bool = False


@dataclass(frozen=True)
class Outcome:
    """How a request ended."""

    finish_reason: str
    error: Optional[str]
    kv_transfer_params: Optional[dict[str, Any]]
    recomputed: bool


@dataclass(frozen=True)
class EngineConfig:
    """An engine's settings; those of the connector are vLLM's kv_connector_extra_config."""

    engine_id: str
    model: LlamaShape = LlamaShape()
    backend: Backend = Backend()
    layout: str = "HND"
    dtype: str = "float32"
    blocks: int = 256
    block_tokens: int = 16
    tp: int = 1
    pp: int = 1
    seed: int = 1
    chunk_tokens: int = 0
    load_failure_policy: str = "fail"
    reuse_prefixes: bool = True
    digest_unit: int = 0
    extra: dict[str, Any] = field(default_factory=dict)


def _nobody(layer: int) -> None:
    pass


class _Blocks:
    """What vLLM's manager gives to a connector."""

    def __init__(self, ids: Sequence[int]) -> None:
        self._ids = list(ids)

    def get_block_ids(self) -> tuple[list[int], ...]:
        """One list for each group."""
        return (self._ids,)


class Engine:
    """Steps in a thread of its own, as long as there is work, and now and then without any."""

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.model = config.backend.model(config.model, config.dtype)
        self.pool = EnginePool(
            config.model,
            config.layout,
            config.blocks,
            config.block_tokens,
            config.tp,
            config.pp,
            config.backend.arrays(config.dtype),
        )
        self.ids = BlockIds(config.blocks, config.block_tokens, config.seed, config.reuse_prefixes)
        vllm = _vllm_config(config)
        self.scheduler = HawserConnector(vllm, KVConnectorRole.SCHEDULER, _caches_config(config, 0))
        self.workers: list[tuple[tuple[int, int], HawserConnector]] = []
        for stage, ranks in enumerate(self.pool.workers):
            for rank, pool in enumerate(ranks):
                caches = _caches_config(config, stage)
                place = Ranks(stage, rank, config.tp, config.model.kv_heads)
                connector = HawserConnector(vllm, KVConnectorRole.WORKER, caches, ranks=place)
                connector.register_kv_caches(pool.caches)
                self.workers.append(((stage, rank), connector))
        self.scheduler.set_xfer_handshake_metadata_pp_aware(
            {place: worker.get_handshake_metadata() for place, worker in self.workers}
        )
        self._incoming: "queue.SimpleQueue[Request]" = queue.SimpleQueue()
        self._waiting: list[Request] = []
        self._running: list[Request] = []
        self._remote: dict[str, Request] = {}
        self._kept: dict[str, Request] = {}
        self._reports: dict[tuple[str, str], int] = {}
        self._failed: dict[str, set[int]] = {}
        self._wake = threading.Event()
        self._closing = False
        # For tests that prove that a fault is noticed.
        self.fault: Optional[str] = None
        self.on_freed: Optional[Callable[[list[int]], None]] = None
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._thread.start()

    # ----------------------------------------------------------------------------------------- for servers

    def submit(self, request: Request) -> None:
        """Queues a request."""
        self._incoming.put(request)
        self._wake.set()

    def abort(self, request: Request) -> None:
        """Gives a request up."""
        request.aborted = True
        self._wake.set()

    def state(self) -> dict[str, Any]:
        """What is in it."""
        return {
            "waiting": len(self._waiting),
            "running": len(self._running),
            "receiving": len(self._remote),
            "kept": len(self._kept),
            "free_blocks": self.ids.free,
            "blocks": self.config.blocks - 1,
        }

    def strays(self) -> list[int]:
        """Blocks that nobody was given, and that are written to all the same."""
        return sorted({b for stage in self.pool.workers for pool in stage for b in pool.strays(self.ids.ever)})

    def close(self) -> None:
        """Stops. Requests that are here end with an error."""
        self._closing = True
        self._wake.set()
        self._thread.join(10)
        for _, worker in self.workers:
            worker.shutdown()
        self.scheduler.shutdown()

    # --------------------------------------------------------------------------------------------- the loop

    def _run(self) -> None:
        while not self._closing:
            try:
                busy = self._step()
            except Exception as e:
                logger.exception("a step failed")
                for request in self._waiting + self._running + list(self._remote.values()):
                    request.error = f"{type(e).__name__}: {e}"
                    request.out.put(Outcome("error", request.error, None, False))
                self._waiting, self._running, self._remote = [], [], {}
                busy = False
            if not busy:
                # Without requests a step is only to hear what the connector has ended.
                self._wake.wait(0.002 if self._remote or self._kept else 0.05)
                self._wake.clear()
        for request in self._waiting + self._running + list(self._remote.values()):
            request.out.put(Outcome("error", "the engine is shutting down", None, False))

    def _step(self) -> bool:
        while not self._incoming.empty():
            request = self._incoming.get()
            self.scheduler.on_new_request(request)
            self._waiting.append(request)
        self._sweep_aborted()
        self._admit()
        scheduled = self._schedule()
        output = SimpleNamespace(
            num_scheduled_tokens={r.request_id: n for r, n, _ in scheduled},
            scheduled_new_reqs=[
                SimpleNamespace(req_id=r.request_id, block_ids=(list(r.table),), num_computed_tokens=r.computed)
                for r, _, new in scheduled
                if new
            ],
            scheduled_cached_reqs=SimpleNamespace(
                req_ids=[r.request_id for r, _, new in scheduled if not new],
                new_block_ids=[None for _, _, new in scheduled if not new],
                num_computed_tokens=[r.computed for r, _, new in scheduled if not new],
            ),
        )
        metadata = self.scheduler.build_connector_meta(output)
        for _, worker in self.workers:
            worker.bind_connector_metadata(metadata)
            worker.start_load_kv(None)
        if self.fault == "no-wait":
            for request in list(self._remote.values()):
                self._received(request, failed=False)
        self._forward([(request, count) for request, count, _ in scheduled])
        self._after_forward()
        return bool(scheduled)

    def _after_forward(self) -> None:
        sent: set[str] = set()
        received: set[str] = set()
        for _, worker in self.workers:
            worker.wait_for_save()
            sending, receiving = worker.get_finished(set())
            invalid = worker.get_block_ids_with_load_errors()
            worker.clear_connector_metadata()
            for kind, ids, done in (("sent", sending, sent), ("received", receiving, received)):
                for request_id in ids or ():
                    reports = self._reports.get((kind, request_id), 0) + 1
                    self._reports[(kind, request_id)] = reports
                    if reports == len(self.workers):
                        del self._reports[(kind, request_id)]
                        done.add(request_id)
            if invalid:
                for request in self._remote.values():
                    if invalid & set(request.table):
                        self._failed.setdefault(request.request_id, set()).update(invalid)
        self.scheduler.update_connector_output(SimpleNamespace(finished_sending=sent, finished_recving=received))
        for request_id in sent:
            request = self._kept.pop(request_id, None)
            if request is not None:
                self._free(request)
        for request_id in received:
            request = self._remote.get(request_id)
            if request is not None:
                self._received(request, failed=request_id in self._failed)
            self._failed.pop(request_id, None)

    # --------------------------------------------------------------------------------------- the scheduling

    def _admit(self) -> None:
        for request in list(self._waiting):
            tokens = request.prompt_token_ids
            prefix = self.ids.prefix(tokens)
            local = len(prefix) * self.config.block_tokens
            external, beside = self.scheduler.get_num_new_matched_tokens(request, local)
            try:
                needed = -(-(len(tokens) + request.max_tokens) // self.config.block_tokens)
                request.table = prefix + self.ids.take(needed - len(prefix))
            except OutOfBlocks as e:
                self.ids.give_back(prefix)
                if not self._running and not self._remote and not self._kept:
                    self._waiting.remove(request)
                    self._fail(request, str(e))
                return
            self._waiting.remove(request)
            prompt_blocks = -(-len(tokens) // self.config.block_tokens)
            self.scheduler.update_state_after_alloc(request, _Blocks(request.table[:prompt_blocks]), external or 0)
            request.computed = local
            if external and beside:
                request.status = Status.WAITING_FOR_REMOTE_KVS
                self._remote[request.request_id] = request
            else:
                request.status = Status.RUNNING
                self._running.append(request)

    def _schedule(self) -> list[tuple[Request, int, bool]]:
        """Requests of this step, and how many tokens of each: a prompt in chunks, then one by one."""
        scheduled = []
        for request in self._running:
            left = len(request.prompt_token_ids) - request.computed
            count = 1 if left <= 0 else min(left, self.config.chunk_tokens or left)
            scheduled.append((request, count, not request.scheduled))
            request.scheduled = True
        return scheduled

    def _forward(self, batch: list[tuple[Request, int]]) -> None:
        """Computes the requests of a step, one after another: a layer's hook is called when the last of them has it."""
        logits = []
        for i, (request, count) in enumerate(batch):
            known = request.prompt_token_ids + request.tokens
            first = request.computed
            on_layer = self._layer_computed if i == len(batch) - 1 else _nobody
            store = RequestStore(self.pool, request.table)
            logits.append(self.model.forward(known[first : first + count], first, store, on_layer))
        for (request, count), of_last in zip(batch, logits):
            self._computed(request, count, of_last)

    def _layer_computed(self, layer: int) -> None:
        name = layer_name(layer)
        for (stage, _), worker in self.workers:
            if name in self.pool.workers[stage][0].caches:
                worker.save_kv_layer(name, None, None)

    def _computed(self, request: Request, count: int, logits: np.ndarray) -> None:
        known = request.prompt_token_ids + request.tokens
        request.computed += count
        if request.computed < len(known):
            return
        if request.first_logits is None:
            request.first_logits = logits.tobytes()
            if self.config.digest_unit and request.digests is None:
                request.digests = self._digests(request)
        if not np.isfinite(logits).all():
            self._fail(request, "the logits are not finite: the KV cache of the request is not what was computed")
            return
        token = int(logits.argmax())
        request.tokens.append(token)
        request.out.put(token)
        if len(request.tokens) >= request.max_tokens:
            self._finish(request, Status.FINISHED_LENGTH_CAPPED)

    def _digests(self, request: Request) -> list[str]:
        return self.pool.digests(request.table, len(request.prompt_token_ids), self.config.digest_unit)

    def _received(self, request: Request, failed: bool) -> None:
        del self._remote[request.request_id]
        if request.aborted:
            self._finish(request, Status.FINISHED_ABORTED)
            return
        if failed:
            request.error = self._why(request)
            self.ids.forget(request.table)
            if self.config.load_failure_policy != "recompute":
                self._fail(request, request.error)
                return
            request.recomputed = True  # from the first block that is invalid: the front was here
        else:
            if self.fault == "flip-byte":
                bits = self.pool.arrays.bits(self.pool.of_layer(1)[0].vectors(1)[0])
                bits[request.table[0], 3, 0, 0] ^= 0x1000
            # The last token is computed again, for its logits.
            request.computed = len(request.prompt_token_ids) - 1
            if self.config.digest_unit:
                request.digests = self._digests(request)
        request.status = Status.RUNNING
        self._running.append(request)

    def _why(self, request: Request) -> str:
        reasons = [w.worker.failed.pop(request.request_id, None) for _, w in self.workers]
        return next((reason for reason in reasons if reason), "the KV cache could not be received")

    def _sweep_aborted(self) -> None:
        for request in [r for r in self._waiting if r.aborted]:
            self._waiting.remove(request)
            self._finish(request, Status.FINISHED_ABORTED)
        for request in [r for r in self._running if r.aborted]:
            self._finish(request, Status.FINISHED_ABORTED)
        for request in self._remote.values():
            if request.aborted and request.status is Status.WAITING_FOR_REMOTE_KVS and not request.kept:
                # Its blocks are free when nothing can land there any more: then the connector reports it.
                request.kept = True
                self.scheduler.request_finished(request, (list(request.table),))

    def _fail(self, request: Request, error: str) -> None:
        request.error = error
        self._finish(request, Status.FINISHED_ERROR)

    def _finish(self, request: Request, status: Status) -> None:
        request.status = status
        if request in self._running:
            self._running.remove(request)
        prompt_blocks = -(-len(request.prompt_token_ids) // self.config.block_tokens)
        told = request.table[:prompt_blocks]
        keep, params = (False, None) if request.kept else self.scheduler.request_finished_all_groups(request, (told,))
        if status in (Status.FINISHED_LENGTH_CAPPED, Status.FINISHED_STOPPED):
            self.ids.keep_prefix(request.prompt_token_ids + request.tokens[:-1], request.table)
        if keep:
            self._kept[request.request_id] = request
        else:
            self._free(request)
        names = {Status.FINISHED_LENGTH_CAPPED: "length", Status.FINISHED_STOPPED: "stop", Status.FINISHED_ABORTED: "abort"}
        request.out.put(Outcome(names.get(status, "error"), request.error, params, request.recomputed))

    def _free(self, request: Request) -> None:
        table, request.table = request.table, []
        freed = self.ids.give_back(table)
        if self.on_freed is not None:
            self.on_freed(freed)

    def wait_idle(self, timeout: float) -> bool:
        """Waits until no request is here and all blocks are free."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            state = self.state()
            if not (state["waiting"] or state["running"] or state["receiving"] or state["kept"]):
                return True
            self._wake.wait(0.01)
        return False


def _vllm_config(config: EngineConfig) -> Any:
    """As much of vLLM's configuration as the connector reads."""
    shape = config.model
    return SimpleNamespace(
        kv_transfer_config=SimpleNamespace(
            engine_id=config.engine_id, kv_role="kv_both", kv_connector_extra_config=dict(config.extra)
        ),
        parallel_config=SimpleNamespace(tensor_parallel_size=config.tp, pipeline_parallel_size=config.pp, data_parallel_rank=0),
        model_config=SimpleNamespace(
            model=f"random-llama-{shape.seed}",
            dtype="float32",
            use_mla=False,
            get_total_num_kv_heads=lambda: shape.kv_heads,
            get_head_size=lambda: shape.head_dim,
            get_total_num_hidden_layers=lambda: shape.layers,
        ),
        cache_config=SimpleNamespace(cache_dtype=config.dtype, block_size=config.block_tokens),
    )


class FullAttentionSpec(SimpleNamespace):
    """What vLLM says of a group's layers."""


def _caches_config(config: EngineConfig, stage: int) -> Any:
    layers = config.model.layers // config.pp
    spec = FullAttentionSpec(
        block_size=config.block_tokens,
        num_kv_heads=config.model.kv_heads // config.tp,
        head_size=config.model.head_dim,
        sliding_window=None,
    )
    names = [layer_name(i) for i in range(stage * layers, (stage + 1) * layers)]
    return SimpleNamespace(
        num_blocks=config.blocks, kv_cache_groups=[SimpleNamespace(layer_names=names, kv_cache_spec=spec)]
    )
