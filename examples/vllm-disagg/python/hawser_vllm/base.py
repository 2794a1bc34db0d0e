# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""vLLM's base class for connectors where vLLM is installed, and a stand-in with its abstract methods where it is not.

The stand-in restates the part of the contract that is needed to run a connector without vLLM: for the demonstration, and
for tests.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from typing import Any, Optional

__all__ = [
    "HAVE_VLLM",
    "TransferResults",
    "KVConnectorBase_V1",
    "KVConnectorHandshakeMetadata",
    "KVConnectorMetadata",
    "KVConnectorRole",
    "SupportsHMA",
]

try:
    from vllm.distributed.kv_transfer.kv_connector.v1 import base as _base

    HAVE_VLLM = True
    KVConnectorBase_V1: Any = _base.KVConnectorBase_V1
    KVConnectorMetadata: Any = _base.KVConnectorMetadata
    KVConnectorRole: Any = _base.KVConnectorRole
    # Older versions have no hybrid memory allocator, and collect nothing at the start.
    SupportsHMA: Any = getattr(_base, "SupportsHMA", object)
    KVConnectorHandshakeMetadata: Any = getattr(_base, "KVConnectorHandshakeMetadata", object)
    # Newer ones ask for more than two sets.
    TransferResults: Any = getattr(_base, "KVConnectorTransferResults", None)
except ImportError:
    HAVE_VLLM = False
    TransferResults = None

    class KVConnectorRole(enum.Enum):  # type: ignore[no-redef]
        """Which half a connector is."""

        SCHEDULER = 0
        WORKER = 1

    class KVConnectorMetadata:  # type: ignore[no-redef]
        """What the scheduler's half tells the workers' in a step."""

    class KVConnectorHandshakeMetadata:  # type: ignore[no-redef]
        """What a worker tells the scheduler's half at the start."""

    class SupportsHMA(ABC):  # type: ignore[no-redef]
        """A connector that knows several groups of a KV cache."""

        @abstractmethod
        def request_finished_all_groups(self, request: Any, block_ids: Any) -> tuple[bool, Optional[dict[str, Any]]]:
            """A request has finished; True keeps its blocks."""

    class KVConnectorBase_V1(ABC):  # type: ignore[no-redef]
        """The contract of vLLM's connectors, as far as it is abstract."""

        def __init__(self, vllm_config: Any, role: Any, kv_cache_config: Any = None) -> None:
            self._vllm_config = vllm_config
            self._role = role
            self._kv_cache_config = kv_cache_config
            self._connector_metadata: Any = None

        @property
        def role(self) -> Any:
            """Which half it is."""
            return self._role

        def bind_connector_metadata(self, connector_metadata: Any) -> None:
            """Before a step."""
            self._connector_metadata = connector_metadata

        def clear_connector_metadata(self) -> None:
            """After it."""
            self._connector_metadata = None

        def _get_connector_metadata(self) -> Any:
            return self._connector_metadata

        @abstractmethod
        def start_load_kv(self, forward_context: Any, **kwargs: Any) -> None:
            """Starts loading, before the forward pass."""

        @abstractmethod
        def wait_for_layer_load(self, layer_name: str) -> None:
            """Before a layer's attention."""

        @abstractmethod
        def save_kv_layer(self, layer_name: str, kv_layer: Any, attn_metadata: Any, **kwargs: Any) -> None:
            """Behind a layer's attention."""

        @abstractmethod
        def wait_for_save(self) -> None:
            """Once a step."""

        @abstractmethod
        def get_num_new_matched_tokens(self, request: Any, num_computed_tokens: int) -> tuple[Optional[int], bool]:
            """Tokens that can be loaded, and whether that goes on beside the steps."""

        @abstractmethod
        def update_state_after_alloc(self, request: Any, blocks: Any, num_external_tokens: int) -> None:
            """Blocks for what is loaded."""

        @abstractmethod
        def build_connector_meta(self, scheduler_output: Any) -> Any:
            """What the workers are told in this step."""
