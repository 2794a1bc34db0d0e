# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""The settings of a connector: kv_connector_extra_config, and what vLLM's configuration tells."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional

from .params import PULL, PUSH

_KEYS = {
    "metadata",
    "secret",
    "listen",
    "transports",
    "settings",
    "side_channel_host",
    "side_channel_port",
    "transfer_mode",
    "lease_seconds",
    "load_timeout_seconds",
    "handshake_timeout_seconds",
    "instance",
    "compatibility",
    "agent_name",
}


@dataclass(frozen=True)
class ConnectorConfig:
    """Settings.

    Attributes:
        engine_id: of vLLM.
        producer: whether other engines may read from here; a consumer only receives.
        metadata: URL of the metadata service; None to carry the agents' metadata in the handshake.
        side_channel_host: where the handshake is served, and what consumers are told to dial.
        side_channel_port: its port, to which the data-parallel rank is added.
        push: whether layers are written as they are computed.
        lease: seconds that blocks are held for a consumer.
        load_timeout: seconds that a request's KV cache may take.
        handshake_timeout: seconds that an engine's answer may take.
        facts: what the compatibility hash is made of.
        agent: settings of the agent.
    """

    engine_id: str
    producer: bool
    metadata: Optional[str]
    side_channel_host: str
    side_channel_port: int
    push: bool
    lease: float
    load_timeout: float
    handshake_timeout: float
    tp_size: int
    pp_size: int
    facts: Mapping[str, Any]
    agent_prefix: str
    agent: Mapping[str, Any] = field(default_factory=dict)

    @property
    def world_size(self) -> int:
        """Workers of the engine."""
        return self.tp_size * self.pp_size

    @staticmethod
    def of(vllm_config: Any) -> "ConnectorConfig":
        """Reads vLLM's configuration.

        Raises:
            ValueError: if kv_connector_extra_config has an unknown key or a wrong value.
        """
        transfer = vllm_config.kv_transfer_config
        extra = dict(getattr(transfer, "kv_connector_extra_config", None) or {})
        unknown = sorted(set(extra) - _KEYS)
        if unknown:
            raise ValueError(f"kv_connector_extra_config: unknown key {unknown[0]!r}; known are {', '.join(sorted(_KEYS))}")
        mode = extra.get("transfer_mode", PULL)
        if mode not in (PULL, PUSH):
            raise ValueError(f"kv_connector_extra_config: transfer_mode {mode!r} is neither 'pull' nor 'push'")
        parallel = vllm_config.parallel_config
        dp_rank = int(getattr(parallel, "data_parallel_rank", 0) or 0)
        port = extra.get("side_channel_port", os.environ.get("VLLM_NIXL_SIDE_CHANNEL_PORT", 5600))
        engine_id = str(transfer.engine_id)
        return ConnectorConfig(
            engine_id=engine_id,
            producer=getattr(transfer, "kv_role", "kv_both") != "kv_consumer",
            metadata=extra.get("metadata"),
            side_channel_host=extra.get("side_channel_host", os.environ.get("VLLM_NIXL_SIDE_CHANNEL_HOST", "127.0.0.1")),
            side_channel_port=int(port) + dp_rank,
            push=mode == PUSH,
            lease=float(extra.get("lease_seconds", 30)),
            load_timeout=float(extra.get("load_timeout_seconds", 60)),
            handshake_timeout=float(extra.get("handshake_timeout_seconds", 5)),
            tp_size=int(parallel.tensor_parallel_size),
            pp_size=int(getattr(parallel, "pipeline_parallel_size", 1)),
            facts=_facts(vllm_config, extra.get("compatibility")),
            agent_prefix=extra.get("agent_name") or f"vllm-{engine_id[:48]}",
            agent={key: extra[key] for key in ("secret", "listen", "transports", "settings") if key in extra},
        )


def _facts(vllm_config: Any, more: Any) -> dict[str, Any]:
    model = vllm_config.model_config
    cache = vllm_config.cache_config
    speculative = getattr(vllm_config, "speculative_config", None)
    facts = {
        "vllm": _version(),
        "model": str(model.model),
        "dtype": str(model.dtype),
        "cache_dtype": str(getattr(cache, "cache_dtype", "auto")),
        "kv_heads": _called(model, "get_total_num_kv_heads"),
        "head_size": _called(model, "get_head_size"),
        "layers": _called(model, "get_total_num_hidden_layers"),
        "speculative": str(getattr(speculative, "method", None)),
    }
    return facts | (dict(more) if more else {})


def _called(model: Any, name: str) -> Any:
    method = getattr(model, name, None)
    return method() if callable(method) else None


def _version() -> str:
    try:
        from vllm import __version__

        return str(__version__)
    except ImportError:
        return "none"
