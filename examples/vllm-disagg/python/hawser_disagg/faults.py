# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Faults that the check plants, to prove that it would notice them."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

from .engine import Engine

FAULTS = (
    "drop-block",
    "swap-blocks",
    "flip-byte",
    "no-wait",
    "stale",
    "ignore-grant",
    "overwrite-freed",
    "deaf",
    "late",
    "no-stream-wait",
)


def plant(engine: Engine, fault: Optional[str]) -> None:
    """Plants one, or (None) takes all away.

    Raises:
        ValueError: if it is not known.
    """
    if fault is not None and fault not in FAULTS:
        raise ValueError(f"fault: {fault!r} is none of {', '.join(FAULTS)}")
    engine.fault = fault if fault in ("flip-byte", "no-wait") else None
    engine.pool.late = fault in ("late", "no-stream-wait")
    engine.on_freed = engine.pool.poison if fault == "overwrite-freed" else None
    for _, connector in engine.workers:
        worker = connector.worker
        worker.pushed_event = _no_event if fault == "no-stream-wait" else worker.stream_event
        kv = worker.kv
        kv.receiver.tamper = {"drop-block": _drop, "swap-blocks": _swap}.get(fault or "")
        kv.receiver.ignore_grant = fault == "ignore-grant"
        kv.lender.trap = _reuse(engine) if fault == "stale" else _silent if fault == "deaf" else None


def _no_event() -> None:
    return None


def _drop(table: Any, ours: np.ndarray, theirs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    keep = np.ones(len(ours), dtype=bool)
    keep[len(ours) // 2] = False
    return ours[keep], theirs[keep]


def _swap(table: Any, ours: np.ndarray, theirs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    swapped = theirs.copy()
    swapped[[0, 1]] = swapped[[1, 0]]
    return ours, swapped


def _silent(transfer_id: str, grant: Any) -> bool:
    return False


def _reuse(engine: Engine) -> Any:
    """The producer ends the lease and overwrites the blocks between lending them and their being read."""

    def overwrite(transfer_id: str, grant: Any) -> bool:
        grant.bump()
        for request in list(engine._kept.values()):
            params = request.kv_transfer_params or {}
            if params.get("transfer_id", request.request_id) == transfer_id:
                engine.pool.poison(request.table)
        return True

    return overwrite
