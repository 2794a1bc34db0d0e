# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""What workers tell each other: a JSON header and bytes, as notifications, in as many as it takes."""

from __future__ import annotations

import itertools
import json
import struct
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Mapping, Optional

from .errors import HandshakeError

_MAGIC = b"HVK1"
_ROOM = 3800
_MAX_PARTS = 4096
_MAX_OPEN = 256


@dataclass(frozen=True)
class Message:
    """One message.

    Attributes:
        kind: what it is about.
        peer: who sent it.
        peer_epoch: the sender's incarnation.
        fields: of its header.
        body: bytes.
    """

    kind: str
    peer: str
    peer_epoch: int
    fields: Mapping[str, Any]
    body: bytes


def encode(kind: str, fields: Mapping[str, Any], body: bytes = b"", number: int = 0) -> list[bytes]:
    """The notifications of a message. The number tells this sender's long messages apart."""
    text = json.dumps({"kind": kind, **fields}, separators=(",", ":")).encode()
    whole = struct.pack("<I", len(text)) + text + body
    parts = [whole[i : i + _ROOM] for i in range(0, len(whole), _ROOM)]
    return [_MAGIC + struct.pack("<QII", number, i, len(parts)) + part for i, part in enumerate(parts)]


class Numbers:
    """Numbers of messages, from 1. Thread-safe."""

    def __init__(self) -> None:
        self._next = itertools.count(1)

    def next(self) -> int:
        """A number that was not given before."""
        return next(self._next)


class Assembly:
    """Puts messages together. Parts may come in any order. Not thread-safe."""

    def __init__(self) -> None:
        self._open: "OrderedDict[tuple[str, int, int], dict[int, bytes]]" = OrderedDict()

    def take(self, peer: str, peer_epoch: int, payload: bytes) -> Optional[Message]:
        """Takes a notification; gives the message that it completes.

        Raises:
            HandshakeError: if it is none of ours.
        """
        if payload[:4] != _MAGIC or len(payload) < 20:
            raise HandshakeError(f"a notification of {len(payload)} bytes from {peer} is none of this connector's version")
        number, part, parts = struct.unpack_from("<QII", payload, 4)
        if not 0 <= part < parts <= _MAX_PARTS:
            raise HandshakeError(f"a notification from {peer} is part {part} of {parts}")
        if parts == 1:
            return _decode(peer, peer_epoch, payload[20:])
        key = (peer, peer_epoch, number)
        have = self._open.setdefault(key, {})
        have[part] = payload[20:]
        if len(have) == parts:
            del self._open[key]
            return _decode(peer, peer_epoch, b"".join(have[i] for i in range(parts)))
        while len(self._open) > _MAX_OPEN:
            self._open.popitem(last=False)
        return None


def _decode(peer: str, peer_epoch: int, whole: bytes) -> Message:
    try:
        (length,) = struct.unpack_from("<I", whole)
        fields = json.loads(whole[4 : 4 + length])
        return Message(str(fields.pop("kind")), peer, peer_epoch, fields, whole[4 + length :])
    except (struct.error, ValueError, KeyError, AttributeError) as e:
        raise HandshakeError(f"a message from {peer} cannot be read: {e}") from None
