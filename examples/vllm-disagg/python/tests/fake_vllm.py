# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Modules that look like vLLM's, of three ages, restated from its contract; and what its scheduler hands over."""

from __future__ import annotations

import contextlib
import enum
import importlib
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any, Iterator

BASE = "vllm.distributed.kv_transfer.kv_connector.v1.base"


def _base(age: str) -> dict[str, Any]:
    class KVConnectorRole(enum.Enum):
        SCHEDULER = 0
        WORKER = 1

    class KVConnectorMetadata(ABC):
        pass

    class Common(ABC):
        def bind_connector_metadata(self, connector_metadata: Any) -> None:
            self._connector_metadata = connector_metadata

        def clear_connector_metadata(self) -> None:
            self._connector_metadata = None

        def _get_connector_metadata(self) -> Any:
            assert self._connector_metadata is not None
            return self._connector_metadata

        @abstractmethod
        def start_load_kv(self, forward_context: Any, **kwargs: Any) -> None: ...

        @abstractmethod
        def wait_for_layer_load(self, layer_name: str) -> None: ...

        @abstractmethod
        def save_kv_layer(self, layer_name: str, kv_layer: Any, attn_metadata: Any, **kwargs: Any) -> None: ...

        @abstractmethod
        def wait_for_save(self) -> None: ...

        @abstractmethod
        def get_num_new_matched_tokens(self, request: Any, num_computed_tokens: int) -> Any: ...

        @abstractmethod
        def update_state_after_alloc(self, request: Any, blocks: Any, num_external_tokens: int) -> None: ...

        @abstractmethod
        def build_connector_meta(self, scheduler_output: Any) -> Any: ...

    names: dict[str, Any] = {"KVConnectorRole": KVConnectorRole, "KVConnectorMetadata": KVConnectorMetadata}
    if age == "old":

        class Old(Common):
            def __init__(self, vllm_config: Any, role: Any) -> None:
                self._vllm_config, self._role = vllm_config, role
                self._connector_metadata = None

        return {**names, "KVConnectorBase_V1": Old}

    class Present(Common):
        def __init__(self, vllm_config: Any, role: Any, kv_cache_config: Any = None) -> None:
            self._vllm_config, self._role, self._kv_cache_config = vllm_config, role, kv_cache_config
            self._connector_metadata = None

        def handle_preemptions(self, metadata: Any) -> None: ...

        def get_finished(self, finished_req_ids: set[str]) -> Any:
            return None, None

    class SupportsHMA(ABC):
        @abstractmethod
        def request_finished_all_groups(self, request: Any, block_ids: Any) -> Any: ...

    class KVConnectorHandshakeMetadata(ABC):
        pass

    names |= {"SupportsHMA": SupportsHMA, "KVConnectorHandshakeMetadata": KVConnectorHandshakeMetadata}
    if age == "present":
        return {**names, "KVConnectorBase_V1": Present}

    @dataclass
    class KVConnectorTransferResults:
        finished_sending: Any = None
        finished_recving: Any = None
        failed_recving: Any = None
        prefix_replay_checkpoints: Any = None

    class Newest(Present):
        def get_mem_pool_context(self) -> Any:
            return contextlib.nullcontext()

        def finish_forward(self) -> None: ...

        def reset_capture_state(self) -> None: ...

        def get_transfer_results(self, finished_req_ids: set[str]) -> Any:
            raise NotImplementedError

    return {**names, "KVConnectorBase_V1": Newest, "KVConnectorTransferResults": KVConnectorTransferResults}


@contextlib.contextmanager
def installed(age: str) -> Iterator[Any]:
    """vLLM of an age is installed, and the connector is loaded by name and path as its factory does; gives its module."""
    before = dict(sys.modules)
    _unload()
    parts = BASE.split(".")
    for i in range(1, len(parts) + 1):
        sys.modules[".".join(parts[:i])] = ModuleType(".".join(parts[:i]))
    sys.modules["vllm"].__version__ = "0.99"  # type: ignore[attr-defined]
    sys.modules[BASE].__dict__.update(_base(age))
    sys.modules["vllm.distributed.kv_transfer.kv_connector.v1"].base = sys.modules[BASE]  # type: ignore[attr-defined]
    metrics = ModuleType(BASE.replace("base", "metrics"))

    @dataclass
    class KVConnectorStats:
        data: dict

    metrics.KVConnectorStats = KVConnectorStats  # type: ignore[attr-defined]
    if age != "old":
        sys.modules[metrics.__name__] = metrics
    try:
        yield importlib.import_module("hawser_vllm.connector")
    finally:
        _unload()
        sys.modules.update({name: module for name, module in before.items() if _is_ours(name)})


def _is_ours(name: str) -> bool:
    return name == "vllm" or name.startswith(("vllm.", "hawser_vllm"))


def _unload() -> None:
    """No others: hawser itself starts its JVM once for the process."""
    for name in [n for n in sys.modules if _is_ours(n)]:
        del sys.modules[name]


def config(engine_id: str, port: int, tp: int = 1, **extra: Any) -> Any:
    """vLLM's configuration, as far as the connector reads it."""
    return SimpleNamespace(
        kv_transfer_config=SimpleNamespace(
            engine_id=engine_id, kv_role="kv_both", kv_connector_extra_config={"side_channel_port": port, **extra}
        ),
        parallel_config=SimpleNamespace(tensor_parallel_size=tp, pipeline_parallel_size=1, data_parallel_rank=0),
        model_config=SimpleNamespace(
            model="m", dtype="bf16", use_mla=False, get_total_num_kv_heads=lambda: 4, get_head_size=lambda: 8
        ),
        cache_config=SimpleNamespace(cache_dtype="auto", block_size=16),
    )


class FullAttentionSpec(SimpleNamespace):
    """Of a group."""


class SlidingWindowSpec(SimpleNamespace):
    """Of a group."""


class MambaSpec(SimpleNamespace):
    """Of a group."""


class KVCacheBlocks:
    """What the manager of blocks gives."""

    def __init__(self, *groups: list[int]) -> None:
        self._groups = groups

    def get_block_ids(self) -> tuple[list[int], ...]:
        """One list for each group."""
        return tuple(list(group) for group in self._groups)


def request(request_id: str, tokens: int, params: Any, status: str = "RUNNING") -> Any:
    """A request of vLLM's scheduler."""
    return SimpleNamespace(
        request_id=request_id,
        prompt_token_ids=list(range(tokens)),
        kv_transfer_params=params,
        status=SimpleNamespace(name=status),
    )


def step(new: Any = (), cached: Any = (), scheduled: Any = None) -> Any:
    """What vLLM's scheduler decided in a step."""
    return SimpleNamespace(
        num_scheduled_tokens=scheduled or {},
        scheduled_new_reqs=[SimpleNamespace(req_id=r, block_ids=b, num_computed_tokens=n) for r, b, n in new],
        scheduled_cached_reqs=SimpleNamespace(
            req_ids=[r for r, _, _ in cached],
            new_block_ids=[b for _, b, _ in cached],
            num_computed_tokens=[n for _, _, n in cached],
        ),
    )
