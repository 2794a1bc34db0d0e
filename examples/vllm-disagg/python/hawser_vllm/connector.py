# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""HawserConnector: the class that vLLM loads."""

from __future__ import annotations

import logging
from typing import Any, Callable, Mapping, Optional

from hawser import Agent

from . import handshake
from .base import KVConnectorBase_V1, SupportsHMA, TransferResults
from .caches import Ranks, register
from .config import ConnectorConfig
from .incoming import Reception
from .metadata import HawserHandshakeMetadata, HawserMetadata
from .scheduling import SchedulerHalf, groups_of
from .stats import reduce
from .worker import KvWorker

logger = logging.getLogger("hawser.vllm")

_REMEMBERED = 1024


class HawserConnector(KVConnectorBase_V1, SupportsHMA):
    """Moves KV caches between vLLM engines through Hawser: pulled under grants, or pushed layer by layer.

    ::

        vllm serve MODEL --kv-transfer-config '{"kv_connector": "HawserConnector",
            "kv_connector_module_path": "hawser_vllm.connector", "kv_role": "kv_both",
            "kv_connector_extra_config": {"metadata": "http://metadata:7300"}}'

    One object per process: in the scheduler's, and in each worker's. Hooks that a version of vLLM does not call are not
    missed; those that it calls and that are not here are the base class's.
    """

    def __init__(self, vllm_config: Any, role: Any, kv_cache_config: Any = None, **more: Any) -> None:
        """Made by vLLM."""
        try:
            super().__init__(vllm_config, role, kv_cache_config)
        except TypeError:  # vLLM before the third argument
            super().__init__(vllm_config, role)
        self._config = ConnectorConfig.of(vllm_config)
        self._vllm = vllm_config
        self._caches_config = kv_cache_config
        self._ranks: Optional[Ranks] = more.get("ranks")
        self._scheduler: Optional[SchedulerHalf] = None
        self._worker: Optional[_WorkerHalf] = None
        if getattr(role, "name", "") == "SCHEDULER":
            self._scheduler = SchedulerHalf(self._config)

    # ------------------------------------------------------------------------------------------ the class

    @classmethod
    def get_required_kvcache_layout(cls, vllm_config: Any) -> Optional[str]:
        """Heads before tokens: then a head range of a block is one run, and other tensor-parallel degrees are cheap."""
        if getattr(vllm_config.model_config, "use_mla", False):
            return None
        return "HND"

    @classmethod
    def requires_piecewise_for_cudagraph(cls, extra_config: Mapping[str, Any]) -> bool:
        """A replayed graph calls no layer's hook, and the push of layers hangs on them."""
        return extra_config.get("transfer_mode") == "push"

    @classmethod
    def build_kv_connector_stats(cls, data: Any = None) -> Any:
        """Statistics as vLLM aggregates them; None where it has no such class."""
        from .vllm_stats import HawserStats

        return None if HawserStats is None else HawserStats(data=data or {})

    # -------------------------------------------------------------------------------------- the scheduler's

    @property
    def scheduler(self) -> SchedulerHalf:
        """The scheduler's half.

        Raises:
            RuntimeError: if this is a worker's.
        """
        if self._scheduler is None:
            raise RuntimeError("HawserConnector: a hook of the scheduler was called in a worker")
        return self._scheduler

    def set_xfer_handshake_metadata(self, metadata: Mapping[int, HawserHandshakeMetadata]) -> None:
        """All workers, by tensor-parallel rank."""
        self.scheduler.workers_known(metadata)

    def set_xfer_handshake_metadata_pp_aware(self, metadata: Mapping[tuple[int, int], HawserHandshakeMetadata]) -> None:
        """All workers, by pipeline and tensor-parallel rank."""
        self.scheduler.workers_known(metadata)

    def on_new_request(self, request: Any) -> None:
        """A request has come."""
        self.scheduler.new_request(request)

    def get_num_new_matched_tokens(self, request: Any, num_computed_tokens: int) -> tuple[Optional[int], bool]:
        """Tokens of the prompt whose keys and values another engine has."""
        return self.scheduler.matched(request, num_computed_tokens)

    def update_state_after_alloc(self, request: Any, blocks: Any, num_external_tokens: int) -> None:
        """There are blocks for them."""
        self.scheduler.allocated(request, blocks, num_external_tokens)

    def build_connector_meta(self, scheduler_output: Any) -> HawserMetadata:
        """What the workers are told in this step."""
        return self.scheduler.build(scheduler_output)

    def update_connector_output(self, connector_output: Any) -> None:
        """What the workers have ended."""
        self.scheduler.workers_did(
            getattr(connector_output, "finished_sending", None), getattr(connector_output, "finished_recving", None)
        )

    def request_finished(self, request: Any, block_ids: Any) -> tuple[bool, Optional[dict[str, Any]]]:
        """A request has finished; True keeps its blocks until it is among those that were sent."""
        return self.scheduler.finished(request, groups_of(block_ids))

    def request_finished_all_groups(self, request: Any, block_ids: Any) -> tuple[bool, Optional[dict[str, Any]]]:
        """The same, with several groups of the KV cache."""
        return self.scheduler.finished(request, groups_of(block_ids))

    def has_pending_push_work(self) -> bool:
        """Whether the engine is to step although no request runs."""
        return self._scheduler is not None and self._scheduler.pushes_pending

    def get_finished_count(self) -> Optional[int]:
        """How many workers tell of a request until it is finished: all of them."""
        return None

    # ------------------------------------------------------------------------------------------- a worker's

    @property
    def worker(self) -> "_WorkerHalf":
        """The worker's half.

        Raises:
            RuntimeError: if this is the scheduler's, or there are no KV caches yet.
        """
        if self._worker is None:
            raise RuntimeError("HawserConnector: a hook of a worker was called before register_kv_caches, or in the scheduler")
        return self._worker

    def register_kv_caches(self, kv_caches: Mapping[str, Any]) -> None:
        """Registers the layers' memory, and starts this worker's agent."""
        if self._worker is not None:
            raise RuntimeError("HawserConnector: register_kv_caches was called twice")
        self._worker = _WorkerHalf(self._config, self._vllm, self._caches_config, kv_caches, self._ranks)

    def get_handshake_metadata(self) -> HawserHandshakeMetadata:
        """What the scheduler's half is to know of this worker."""
        return self.worker.told()

    def start_load_kv(self, forward_context: Any, **kwargs: Any) -> None:
        """Begins what the scheduler's half told for this step."""
        metadata = self._get_connector_metadata()
        if isinstance(metadata, HawserMetadata) and self._worker is not None:
            self._worker.begin(metadata)

    def wait_for_layer_load(self, layer_name: str) -> None:
        """Nothing: requests run when all of their KV cache is there."""

    def save_kv_layer(self, layer_name: str, kv_layer: Any, attn_metadata: Any, **kwargs: Any) -> None:
        """A layer is computed: in a push it is written now."""
        if self._worker is not None:
            self._worker.layer_computed(layer_name)

    def wait_for_save(self) -> None:
        """Ends a step's push."""
        if self._worker is not None:
            self._worker.step_computed()

    def get_finished(self, finished_req_ids: set[str]) -> tuple[Optional[set[str]], Optional[set[str]]]:
        """Requests whose blocks are free, and requests whose KV cache is there (or failed). Never blocks."""
        if self._worker is None:
            return None, None
        sent, received, _ = self._worker.ended()
        return sent, received

    if TransferResults is not None:

        def get_transfer_results(self, finished_req_ids: set[str]) -> Any:
            """The same for a vLLM that asks which of those that were received have failed."""
            sent, received, failed = (None, None, None) if self._worker is None else self._worker.ended()
            return TransferResults(
                finished_sending=sent or set(), finished_recving=received or set(), failed_recving=failed or set()
            )

    def get_block_ids_with_load_errors(self) -> set[int]:
        """Blocks of the requests that the last :meth:`get_finished` told of, and that do not hold what they should."""
        return set() if self._worker is None else self._worker.take_invalid()

    def get_kv_connector_stats(self) -> Any:
        """Statistics since the last call."""
        values = {} if self._worker is None else self._worker.kv.stats.take()
        return self.build_kv_connector_stats(values) if values else None

    def shutdown(self) -> None:
        """Ends all transfers."""
        if self._worker is not None:
            self._worker.kv.close()
            self._worker = None
        if self._scheduler is not None:
            self._scheduler.close()


class _WorkerHalf:
    """What a worker's connector does beyond :class:`KvWorker`: vLLM's request ids, and the order of its hooks."""

    def __init__(
        self, config: ConnectorConfig, vllm_config: Any, caches_config: Any, caches: Mapping[str, Any], ranks: Optional[Ranks]
    ) -> None:
        self._config = config
        ranks = ranks or _ranks_of_vllm(config, vllm_config)
        name = f"{config.agent_prefix}-pp{ranks.pp_rank}-tp{ranks.tp_rank}"
        agent = Agent(name, metadata=config.metadata, **config.agent)
        try:
            geometry, regions = register(agent, caches, caches_config, vllm_config, ranks)
        except BaseException:
            agent.close()
            raise
        self._own: Optional[handshake.EngineDescription] = None
        self._caches = caches  # what is registered stays
        self._sending: dict[str, str] = {}
        self._pushed: set[str] = set()  # begun, and not yet finished by the engine
        self._ended_early: set[str] = set()  # of these
        self._pushing: list[str] = []
        self._invalid: set[int] = set()
        self.failed: dict[str, str] = {}
        self.kv = KvWorker(
            agent,
            geometry,
            regions,
            config.facts,
            world_size=config.world_size,
            lease=config.lease,
            handshake_timeout=config.handshake_timeout,
            our_address=self._address,
            own_workers=lambda: self._engine().workers,
        )
        gpu = _gpu_of(caches)
        self.stream_event: Callable[[], Optional[Callable[[], bool]]] = lambda: stream_event(gpu)
        # For tests that prove that a fault is noticed: what is recorded behind a layer that is pushed.
        self.pushed_event = self.stream_event

    def told(self) -> HawserHandshakeMetadata:
        """This worker."""
        return HawserHandshakeMetadata(self.kv.geometry, self.kv.agent.metadata())

    def _engine(self) -> handshake.EngineDescription:
        """This worker's own engine, as others see it."""
        if self._own is None:
            config = self._config
            expected = handshake.compatibility_hash(config.facts)
            self._own = handshake.fetch(
                config.side_channel_host, config.side_channel_port, expected, config.facts, config.handshake_timeout
            )
        return self._own

    def _address(self) -> dict[str, Any]:
        return {
            "remote_host": self._config.side_channel_host,
            "remote_port": self._config.side_channel_port,
            "remote_engine_id": self._config.engine_id,
            "remote_instance": self._engine().instance,
        }

    def begin(self, step: HawserMetadata) -> None:
        """Begins a step."""
        for transfer, request in step.hold.items():
            self._sending[transfer] = request
        for transfer, reason in step.drop.items():
            self.kv.pusher.fail(transfer, reason)
            self.kv.lender.drop(transfer, reason)
        for transfer in step.drop.keys() - step.hold.keys():  # preempted: this step may write to its blocks
            self.kv.pusher.await_stopped(transfer)
        for transfer, request in step.hold.items():
            pushed = transfer in self._pushed
            self._pushed.discard(transfer)
            if transfer in step.drop:
                continue
            if pushed:
                self.kv.pusher.finish(transfer, groups=step.kept.get(transfer))
            else:
                self.kv.lender.hold(transfer, request, prompt=step.lent.get(transfer, ""))
        # With asynchronous scheduling a step may still be under way that writes to blocks which are free by now.
        idle = self.stream_event() if step.receive else None
        for item in step.receive:
            self.kv.receiver.receive(
                item.request_id,
                item.transfer_id,
                item.source,
                item.blocks,
                item.push,
                self._config.load_timeout,
                idle,
                item.remote_request,
                item.prompt,
            )
        for request, transfer in step.abort.items():
            self.kv.receiver.abort(transfer, request)
        for remote in step.release:
            self.kv.receiver.notify_only(remote.transfer_id, remote.address, remote.push, remote.request)
        if step.alive:
            self.kv.receiver.keep_alive(step.alive)
        for sending in step.push:
            self._pushed.add(sending.transfer_id)
            self.kv.pusher.begin(sending.transfer_id, sending.groups, sending.tokens, sending.prompt)
        self._pushing = [sending.transfer_id for sending in step.push]

    def layer_computed(self, layer: str) -> None:
        """A layer of this step's requests is computed, or is enqueued on a GPU."""
        if self._pushing:
            ready = self.pushed_event()
            for part in self.kv.geometry.layers:
                if part.name == layer or part.name.startswith(layer + "#"):
                    for transfer in self._pushing:
                        self.kv.pusher.computed(transfer, part.name, ready)

    def step_computed(self) -> None:
        """All layers of this step are computed, or enqueued."""
        self._pushing = []

    def ended(self) -> tuple[Optional[set[str]], Optional[set[str]], Optional[set[str]]]:
        """Sent and received requests since the last call, and which of the latter have failed."""
        ended = self._ended_early | self.kv.take_finished_sending()
        sent = {self._sending.pop(transfer) for transfer in ended & self._sending.keys()}
        self._ended_early = ended & self._pushed  # not what was sent: another request may come under its transfer's id
        received, failed = set(), set()
        for reception in self.kv.receiver.poll():
            received.add(reception.request_id)
            if reception.error is not None:
                failed.add(reception.request_id)
                self.failed[reception.request_id] = reception.error
                while len(self.failed) > _REMEMBERED:
                    del self.failed[next(iter(self.failed))]
                self._invalid |= self._invalid_blocks(reception)
        return sent or None, received or None, failed or None

    def _invalid_blocks(self, reception: Reception) -> set[int]:
        """Blocks that do not hold what they should; those of the front that was here already do."""
        invalid = set()
        layers = {layer.group: layer for layer in self.kv.geometry.layers}
        for group, ids in enumerate(reception.blocks.ours):
            layer = layers.get(group)
            front = 0 if layer is None or layer.window < 0 else reception.blocks.skip // layer.scheduler_tokens
            invalid |= set(ids[front:])
        return invalid - {0}

    def take_invalid(self) -> set[int]:
        """Blocks with errors since the last call."""
        invalid, self._invalid = self._invalid, set()
        return invalid


def stream_event(device: Any) -> Optional[Callable[[], bool]]:
    """What tells whether a GPU has done all that this thread has enqueued on it until now, and raises what it has failed of.

    Args:
        device: PyTorch's; None where there is no GPU, which gives None.
    """
    if device is None:
        return None
    import torch

    event = torch.cuda.Event()
    event.record(torch.cuda.current_stream(device))
    return event.query


def _gpu_of(caches: Mapping[str, Any]) -> Any:
    """The GPU on which caches are, as PyTorch names it; None if they are on none."""
    for cache in caches.values():
        for tensor in cache if isinstance(cache, (list, tuple)) else [cache]:
            device = getattr(tensor, "device", None)
            if getattr(device, "type", None) == "cuda":
                return device
    return None


def _ranks_of_vllm(config: ConnectorConfig, vllm_config: Any) -> Ranks:
    from vllm.distributed import parallel_state

    heads = config.facts.get("kv_heads")
    return Ranks(
        parallel_state.get_pp_group().rank_in_group,
        parallel_state.get_tensor_model_parallel_rank(),
        config.tp_size,
        int(heads) if heads else 0,
    )


def log_line(values: dict[str, Any]) -> str:
    """Statistics in one line, as vLLM logs them."""
    return "KV Transfer metrics: " + ", ".join(f"{name}={value}" for name, value in reduce(values).items())

