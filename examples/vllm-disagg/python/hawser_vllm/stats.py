# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""What is counted, under the names of vLLM's own connector, so that dashboards go on working."""

from __future__ import annotations

import threading
from typing import Any

LISTS = ("transfer_duration", "post_duration", "bytes_transferred", "num_descriptors")
COUNTERS = (
    "num_failed_transfers",
    "num_failed_notifications",
    "num_kv_expired_reqs",
    "num_kv_stale_reads",
    "num_kv_refused_reqs",
    "num_aborted_reqs",
)


class TransferStats:
    """Durations in seconds, bytes, descriptors and failures since the last reset. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values = self._fresh()

    @staticmethod
    def _fresh() -> dict[str, list[float]]:
        return {name: [] for name in LISTS + COUNTERS}

    def transfer(self, duration: float, post: float, nbytes: int, descriptors: int) -> None:
        """One transfer that has ended well."""
        with self._lock:
            for name, value in zip(LISTS, (duration, post, nbytes, descriptors)):
                self._values[name].append(value)

    def count(self, name: str) -> None:
        """One more of something that went wrong."""
        with self._lock:
            self._values[name].append(1)

    def take(self) -> dict[str, list[float]]:
        """Everything since the last call, which is forgotten here; empty if there is nothing."""
        with self._lock:
            values, self._values = self._values, self._fresh()
        return values if any(values.values()) else {}


def reduce(values: dict[str, list[float]]) -> dict[str, Any]:
    """The figures of a log line."""
    durations, posts, sizes, descriptors = (values.get(name) or [] for name in LISTS)
    figures: dict[str, Any] = {"Num successful transfers": len(durations)}
    if durations:
        ordered = sorted(durations)
        total = sum(sizes)
        figures |= {
            "Avg xfer time (ms)": round(1e3 * sum(durations) / len(durations), 3),
            "P90 xfer time (ms)": round(1e3 * ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))], 3),
            "Avg post time (ms)": round(1e3 * sum(posts) / len(posts), 3),
            "Avg MB per transfer": round(total / len(durations) / 1e6, 3),
            "Throughput (MB/s)": round(total / sum(durations) / 1e6, 3) if sum(durations) > 0 else 0.0,
            "Avg number of descriptors": round(sum(descriptors) / len(descriptors), 1),
        }
    for name in COUNTERS:
        if values.get(name):
            figures[name] = len(values[name])
    return figures
