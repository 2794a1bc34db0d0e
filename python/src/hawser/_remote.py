# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""The table of functions, spoken to a sidecar over a Unix socket: what both ends share.

A message is a length, a function's number, and its arguments one after the other; the answer is a length, the result, and
what the function wrote. Addresses are the client's: memory of the host is mapped at the same place in the sidecar, and where
that of its GPUs is there is the sidecar's own business. Each thread of the client has a connection of its own, and so has a thread of the sidecar: a wait holds nobody else up.
"""

from __future__ import annotations

import ctypes as c
import socket
import struct
from typing import Any, Optional

from . import _abi

VERSION = 4
MOST_BYTES = 1 << 30

_INT = struct.Struct("<q")
_LENGTH = struct.Struct("<I")
_HEAD = struct.Struct("<IH")
_NONE = 0xFFFF_FFFF

# How each argument travels:
#   i  an integer                               s  a text or bytes, or None
#   h  a place for a handle or number           a  an array of 8-byte numbers, as many as the next argument says, or None
#   o  a buffer to be written to, as large as the next argument says     u  the same, of 8-byte numbers
#   t  as many bytes of states as the argument before says (transfers_poll)
#   b  rows of 24 bytes, as many as the next argument says
#   R P T N L  structs to be filled             Q  a request with its indices       O  options with what they point to
SPECS: dict[str, str] = {
    "last_error": "oi",
    "last_cause": "",
    "release": "i",
    "agent_start": "ssh",
    "agent_close": "i",
    "agent_describe": "ioi",
    "agent_metadata": "iiaioi",
    "agent_poll": "i",
    "agent_await_published": "ii",
    "agent_signal_to": "ii",
    "agent_take_ended": "iui",
    "region_register": "isiiiih",
    "region_allocate": "isiih",
    "region_describe": "iR",
    "region_close": "ii",
    "blocks_strided": "iiaaiih",
    "blocks_triples": "biih",
    "blocks_concat": "aih",
    "blocks_count": "ih",
    "peer_add": "isih",
    "peer_get": "isih",
    "peer_name": "ioi",
    "peer_describe": "iP",
    "peer_describe_json": "ioi",
    "peer_region": "isR",
    "peer_covers": "iii",
    "peer_await_connected": "ii",
    "peer_invalidate": "ii",
    "peer_remove": "ii",
    "transfer_prepare": "iQOh",
    "transfer_start": "iQOh",
    "transfer_post": "iO",
    "transfer_poll": "i",
    "transfers_poll": "iait",
    "transfer_wait": "ii",
    "transfer_describe": "iT",
    "transfer_message": "ioi",
    "transfer_cancel": "i",
    "transfer_watch": "i",
    "notification_next": "iiN",
    "expect": "iiih",
    "expectation_poll": "i",
    "expectation_wait": "ii",
    "expectation_cancel": "i",
    "expectation_watch": "i",
    "grant_make": "iiiih",
    "grant_bytes": "ioi",
    "grant_bump": "i",
    "grant_revoke": "ii",
    "grant_accept": "isih",
    "lent_describe": "iL",
    "collect_garbage": "",
    "machine_describe": "oi",
    "region_keep": "i",
}
NUMBERS = {name: number for number, name in enumerate(SPECS)}
STRUCTS: dict[str, Any] = {
    "R": _abi.RegionInfo,
    "P": _abi.PeerInfo,
    "T": _abi.TransferInfo,
    "N": _abi.NotificationInfo,
    "L": _abi.LentInfo,
}
assert tuple(SPECS) == _abi.FUNCTION_NAMES

# Beside the functions: the first message of a connection; the descriptor of an allocation; memory of the worker's that is
# shared with the sidecar, by a descriptor that comes along, or is not any more; and an allocation on a GPU, by its handle.
HELLO = 0xFFF0
MAPPING = 0xFFF1
SHARE = 0xFFF2
UNSHARE = 0xFFF3
SHARE_GPU = 0xFFF4


class Writer:
    """Puts a message together."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def number(self, value: int) -> None:
        """64 bits."""
        self._parts.append((value & 0xFFFF_FFFF_FFFF_FFFF).to_bytes(8, "little"))

    def content(self, value: Optional[bytes]) -> None:
        """Bytes, or None."""
        if value is None:
            self._parts.append(_LENGTH.pack(_NONE))
        else:
            self._parts.append(_LENGTH.pack(len(value)))
            self._parts.append(value)

    def bytes(self) -> bytes:
        """All of it."""
        return b"".join(self._parts)


class Reader:
    """Takes a message apart; what is not there is an error."""

    def __init__(self, message: bytes) -> None:
        self._message = message
        self._at = 0

    def _take(self, count: int) -> bytes:
        part = self._message[self._at : self._at + count]
        if len(part) != count:
            raise ConnectionError("a message of a sidecar is cut short")
        self._at += count
        return part

    def number(self) -> int:
        """64 bits, signed."""
        return _INT.unpack(self._take(8))[0]

    def content(self) -> Optional[bytes]:
        """Bytes, or None."""
        (length,) = _LENGTH.unpack(self._take(4))
        return None if length == _NONE else self._take(length)


def send(connection: socket.socket, number: int, body: bytes, descriptors: tuple[int, ...] = ()) -> None:
    """Sends a message. The time of the connection is that of a part of it: one that is being read may take longer."""
    rest = memoryview(_HEAD.pack(len(body), number) + body)
    if descriptors:
        rest = rest[socket.send_fds(connection, [rest], list(descriptors)) :]
    while rest:
        rest = rest[connection.send(rest) :]


def receive(connection: socket.socket) -> tuple[int, bytes, list[int]]:
    """Receives a message, with the descriptors that came along.

    Raises:
        ConnectionError: if the other end hung up, or sent something else.
    """
    descriptors: list[int] = []
    head = b""
    while len(head) < _HEAD.size:
        part, came, _, _ = socket.recv_fds(connection, _HEAD.size - len(head), 4)
        descriptors += came
        if not part:
            raise ConnectionError("the other end of the sidecar's socket hung up")
        head += part
    length, number = _HEAD.unpack(head)
    if length > MOST_BYTES:
        raise ConnectionError("that is no message of a sidecar")
    body = bytearray()
    while len(body) < length:
        part = connection.recv(min(1 << 20, length - len(body)))
        if not part:
            raise ConnectionError("the other end of the sidecar's socket hung up")
        body += part
    return number, bytes(body), descriptors


def pointed(argument: Any) -> Any:
    """What a byref() refers to, or the thing itself."""
    return getattr(argument, "_obj", argument)


def address_bytes(address: Optional[int], count: int) -> bytes:
    """Bytes of this process by address."""
    return c.string_at(address, count) if address and count else b""
