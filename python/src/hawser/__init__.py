# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Hawser: a point-to-point transfer engine for KV cache and model weights.

The engine is Java and runs within this process; nothing but the standard library is needed on Python's side. See
:class:`Agent` for an example, and the README for how a Java runtime is found.
"""

from ._version import VERSION
from .agent import (
    ACTIVE,
    CANCELLED,
    DONE,
    FAILED,
    IDLE,
    LOCAL,
    REMOTE_READ,
    REMOTE_READ_WRITE,
    REMOTE_WRITE,
    Agent,
    Expectation,
    Grant,
    Lent,
    Notification,
    Peer,
    PeerRegion,
    PollSet,
    Region,
    Transfer,
    TransferInfo,
)
from .errors import (
    AgentClosed,
    Busy,
    EngineError,
    GrantError,
    HawserError,
    InternalError,
    InvalidArgument,
    InvalidHandle,
    LinkError,
    MemoryUnavailable,
    MetadataServiceError,
    NameInUse,
    NotAnswering,
    PeerMetadataError,
    RuntimeUnavailable,
    Superseded,
    TransferCancelled,
    TransferError,
    TransferStale,
    UnknownPeer,
    UnresolvedBlocks,
    WaitTimeout,
)
from .memory import BlockList, Layout, Memory

__version__ = VERSION

__all__ = [
    "ACTIVE",
    "CANCELLED",
    "DONE",
    "FAILED",
    "IDLE",
    "LOCAL",
    "REMOTE_READ",
    "REMOTE_READ_WRITE",
    "REMOTE_WRITE",
    "Agent",
    "AgentClosed",
    "BlockList",
    "Busy",
    "EngineError",
    "Expectation",
    "Grant",
    "GrantError",
    "HawserError",
    "InternalError",
    "InvalidArgument",
    "InvalidHandle",
    "Layout",
    "Lent",
    "LinkError",
    "Memory",
    "MemoryUnavailable",
    "MetadataServiceError",
    "NameInUse",
    "NotAnswering",
    "Notification",
    "Peer",
    "PeerMetadataError",
    "PeerRegion",
    "PollSet",
    "Region",
    "RuntimeUnavailable",
    "Superseded",
    "Transfer",
    "TransferCancelled",
    "TransferError",
    "TransferInfo",
    "TransferStale",
    "UnknownPeer",
    "UnresolvedBlocks",
    "WaitTimeout",
    "machine",
]


def machine() -> dict:
    """Facts of the Java runtime in this process; starts it if need be."""
    import json

    from ._runtime import table

    functions = table()
    return json.loads(functions.text(functions.machine_describe))
