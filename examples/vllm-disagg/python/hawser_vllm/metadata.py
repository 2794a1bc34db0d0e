# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""What the scheduler's half tells the workers' in a step, and what workers tell at the start. Small, and pickled."""

from __future__ import annotations

from dataclasses import dataclass, field

from .base import KVConnectorHandshakeMetadata, KVConnectorMetadata
from .geometry import WorkerGeometry
from .params import Remote
from .peers import Address
from .plan import BlockMap


@dataclass(frozen=True)
class Reception:
    """A request whose KV cache is to be got."""

    request_id: str
    transfer_id: str
    source: Address
    blocks: BlockMap
    push: bool
    remote_request: str
    prompt: str


@dataclass(frozen=True)
class Sending:
    """A request whose KV cache is written to its consumer as it is computed, in this step."""

    transfer_id: str
    groups: tuple[tuple[int, ...], ...]
    tokens: int
    prompt: str


@dataclass
class HawserMetadata(KVConnectorMetadata):
    """One step.

    Attributes:
        receive: receptions to begin.
        abort: requests that are not wanted any more, and their transfers.
        release: what is not wanted, as its producers are to be told.
        alive: producers to be told which requests are still waited for.
        push: requests that are computed to their end in this step, and written.
        hold: finished requests, by transfer: their blocks are kept until the consumer has them.
        lent: of these, what a reader has to mean: the digest of the prompt and the blocks.
        kept: of those that are pushed, the blocks that are kept; those that a window has left behind are freed as a request finishes.
        drop: transfers that are not lent, or no more, and why.
    """

    receive: list[Reception] = field(default_factory=list)
    abort: dict[str, str] = field(default_factory=dict)
    release: list[Remote] = field(default_factory=list)
    alive: dict[Address, list[str]] = field(default_factory=dict)
    push: list[Sending] = field(default_factory=list)
    hold: dict[str, str] = field(default_factory=dict)
    lent: dict[str, str] = field(default_factory=dict)
    kept: dict[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    drop: dict[str, str] = field(default_factory=dict)


@dataclass
class HawserHandshakeMetadata(KVConnectorHandshakeMetadata):
    """One worker, and its agent's metadata."""

    geometry: WorkerGeometry
    blob: bytes
