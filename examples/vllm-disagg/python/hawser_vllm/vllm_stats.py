# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""The connector's statistics as vLLM aggregates and logs them."""

from __future__ import annotations

from typing import Any

from .stats import reduce

HawserStats: Any = None

try:
    from vllm.distributed.kv_transfer.kv_connector.v1.metrics import KVConnectorStats
except ImportError:
    pass
else:

    class _HawserStats(KVConnectorStats):
        """Lists of durations, bytes and failures."""

        def reset(self) -> None:
            """Forgets all."""
            self.data = {}

        def aggregate(self, other: Any) -> Any:
            """Adds another worker's."""
            for name, values in other.data.items():
                self.data.setdefault(name, []).extend(values)
            return self

        def reduce(self) -> dict[str, Any]:
            """The figures of a log line."""
            return reduce(self.data)

        def is_empty(self) -> bool:
            """Whether nothing has happened."""
            return not any(self.data.values())

    HawserStats = _HawserStats
