# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""What Hawser raises. Each message says what happened, to what, and what to do."""

from __future__ import annotations


class HawserError(Exception):
    """Everything that Hawser raises is one of these."""


class RuntimeUnavailable(HawserError):
    """There is no Java runtime that Hawser could start here, or it cannot be used in this process."""


class InvalidArgument(HawserError, ValueError):
    """An argument is wrong; nothing was done."""


class InvalidHandle(HawserError, ValueError):
    """An object was used after it was closed or released."""


class UnresolvedBlocks(HawserError, LookupError):
    """A block lies in no region that may be used for this transfer; nothing was posted."""


class UnknownPeer(HawserError, LookupError):
    """Nobody has that name, or published a region of that name."""


class PeerMetadataError(HawserError):
    """A peer's metadata is damaged, forged, too old, or of a version that is not understood."""


class NameInUse(HawserError):
    """Another living agent has the name."""


class AgentClosed(HawserError):
    """The agent is closed, or was closed meanwhile, or its sidecar has ended: make another."""


class Superseded(HawserError):
    """A newer incarnation has this agent's name: close this one."""


class WaitTimeout(HawserError, TimeoutError):
    """The wait is over; what was waited for goes on."""


class NotAnswering(WaitTimeout):
    """The sidecar is there, but does not answer: it is stopped, or its machine is overloaded. What it has goes on with it, and
    what this call asked to be made is not made, unless that was done just before it stopped. Ask again."""


class GrantError(HawserError):
    """A grant is damaged, revoked, or for something else."""


class Busy(HawserError):
    """It is under way or in use: wait for it, or cancel it."""


class MemoryUnavailable(HawserError):
    """Memory could not be registered or allocated."""


class MetadataServiceError(HawserError):
    """The metadata service does not answer, or refuses."""


class LinkError(HawserError):
    """The peer cannot be reached from here; the message has each path's reason."""


class EngineError(HawserError):
    """The engine cannot start; the message names the setting or the resource."""


class InternalError(HawserError):
    """A fault of Hawser's: please report it."""


class TransferError(HawserError):
    """A transfer failed, or could not be started.

    Attributes:
        cause: the class of failure, for example ``"PEER_LOST"``.
    """

    def __init__(self, message: str, cause: str = "") -> None:
        super().__init__(message)
        self.cause = cause


class TransferCancelled(TransferError):
    """A transfer was cancelled: nothing was and will be notified."""


class TransferStale(TransferError):
    """The blocks that were read under a grant had been reused: the bytes are not those that were lent."""


_CAUSES = (
    "",
    "DEADLINE_EXCEEDED",
    "PEER_LOST",
    "PEER_RESTARTED",
    "SESSION_ENDED",
    "REFUSED",
    "REMOTE_ACCESS",
    "REMOTE_REGION_CLOSED",
    "LOCAL_ACCESS",
    "STALE",
    "NOTIFICATION_BACKLOG",
    "CLOSED",
    "CANCELLED",
)

_BY_CODE: dict[int, type[HawserError]] = {
    -1: InvalidArgument,
    -2: InvalidHandle,
    -3: UnresolvedBlocks,
    -4: UnknownPeer,
    -5: PeerMetadataError,
    -6: NameInUse,
    -7: AgentClosed,
    -8: Superseded,
    -9: WaitTimeout,
    -11: GrantError,
    -12: Busy,
    -13: MemoryUnavailable,
    -14: MetadataServiceError,
    -15: LinkError,
    -16: EngineError,
}


def transfer_error(message: str, cause: int) -> TransferError:
    """The exception for a transfer's end."""
    name = _CAUSES[cause] if 0 <= cause < len(_CAUSES) else f"CAUSE_{cause}"
    if name == "":
        return TransferCancelled(message)
    if name == "STALE":
        return TransferStale(message, name)
    return TransferError(message, name)


def of_code(code: int, message: str, cause: int) -> HawserError:
    """The exception for an error of the C ABI."""
    if code == -10:
        return transfer_error(message, cause)
    return _BY_CODE.get(code, InternalError)(message)
