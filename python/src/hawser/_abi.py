# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""The table of functions of include/hawser.h, as ctypes sees it."""

from __future__ import annotations

import ctypes as c
import threading
from typing import TYPE_CHECKING, Callable

from . import errors

MAJOR = 1

Handle = c.c_uint64
_HANDLE_OUT = c.POINTER(c.c_uint64)


class RegionInfo(c.Structure):
    _fields_ = [
        ("struct_bytes", c.c_uint32),
        ("device", c.c_int32),
        ("address", c.c_uint64),
        ("length", c.c_int64),
        ("id", c.c_int64),
        ("access", c.c_int64),
    ]


class PeerInfo(c.Structure):
    _fields_ = [
        ("struct_bytes", c.c_uint32),
        ("connected", c.c_uint32),
        ("epoch", c.c_uint64),
        ("revision", c.c_int64),
    ]


class Request(c.Structure):
    _fields_ = [
        ("struct_bytes", c.c_uint32),
        ("operation", c.c_uint32),
        ("peer", c.c_uint64),
        ("local", c.c_uint64),
        ("remote", c.c_uint64),
        ("local_indices", c.c_void_p),
        ("local_count", c.c_int64),
        ("remote_indices", c.c_void_p),
        ("remote_count", c.c_int64),
        ("local_index_bytes", c.c_uint32),
        ("remote_index_bytes", c.c_uint32),
    ]


class Options(c.Structure):
    _fields_ = [
        ("struct_bytes", c.c_uint32),
        ("flags", c.c_uint32),
        ("notification", c.c_char_p),
        ("notification_bytes", c.c_int64),
        ("request_id", c.c_char_p),
        ("counter", c.c_int64),
        ("timeout", c.c_int64),
        ("lent", c.c_uint64),
    ]


class TransferInfo(c.Structure):
    _fields_ = [
        ("struct_bytes", c.c_uint32),
        ("state", c.c_uint32),
        ("cause", c.c_uint32),
        ("remote", c.c_uint32),
        ("maybe_notified", c.c_uint32),
        ("reserved", c.c_uint32),
        ("position", c.c_int64),
        ("total_bytes", c.c_int64),
        ("acknowledged_bytes", c.c_int64),
        ("elapsed", c.c_int64),
        ("number", c.c_uint64),
        ("peer_epoch", c.c_uint64),
    ]


class NotificationInfo(c.Structure):
    _fields_ = [
        ("struct_bytes", c.c_uint32),
        ("peer_bytes", c.c_uint32),
        ("request_id_bytes", c.c_uint32),
        ("payload_bytes", c.c_uint32),
        ("peer_epoch", c.c_uint64),
        ("transfer", c.c_uint64),
        ("peer", c.c_char * 136),
        ("request_id", c.c_char * 72),
        ("payload", c.c_ubyte * 4096),
    ]


class LentInfo(c.Structure):
    _fields_ = [
        ("struct_bytes", c.c_uint32),
        ("writable", c.c_uint32),
        ("owner_epoch", c.c_uint64),
        ("blocks", c.c_uint64),
        ("owner", c.c_char * 136),
    ]


_I = c.c_int64
_H = c.c_uint64
_P = c.c_void_p
_S = c.c_char_p

# In the order of the header. Every result is an int64.
_FUNCTIONS: tuple[tuple[str, tuple], ...] = (
    ("last_error", (_P, _I)),
    ("last_cause", ()),
    ("release", (_H,)),
    ("agent_start", (_S, _S, _HANDLE_OUT)),
    ("agent_close", (_H,)),
    ("agent_describe", (_H, _P, _I)),
    ("agent_metadata", (_H, _I, _P, _I, _P, _I)),
    ("agent_poll", (_H,)),
    ("agent_await_published", (_H, _I)),
    ("agent_signal_to", (_H, _I)),
    ("agent_take_ended", (_H, _P, _I)),
    ("region_register", (_H, _S, _H, _I, _I, _I, _HANDLE_OUT)),
    ("region_allocate", (_H, _S, _I, _I, _HANDLE_OUT)),
    ("region_describe", (_H, _P)),
    ("region_close", (_H, _I)),
    ("blocks_strided", (_H, _I, _P, _P, _I, _I, _HANDLE_OUT)),
    ("blocks_triples", (_P, _I, _I, _HANDLE_OUT)),
    ("blocks_concat", (_P, _I, _HANDLE_OUT)),
    ("blocks_count", (_H, _P)),
    ("peer_add", (_H, _S, _I, _HANDLE_OUT)),
    ("peer_get", (_H, _S, _I, _HANDLE_OUT)),
    ("peer_name", (_H, _P, _I)),
    ("peer_describe", (_H, _P)),
    ("peer_describe_json", (_H, _P, _I)),
    ("peer_region", (_H, _S, _P)),
    ("peer_covers", (_H, _H, _I)),
    ("peer_await_connected", (_H, _I)),
    ("peer_invalidate", (_H, _H)),
    ("peer_remove", (_H, _H)),
    ("transfer_prepare", (_H, _P, _P, _HANDLE_OUT)),
    ("transfer_start", (_H, _P, _P, _HANDLE_OUT)),
    ("transfer_post", (_H, _P)),
    ("transfer_poll", (_H,)),
    ("transfers_poll", (_H, _P, _I, _P)),
    ("transfer_wait", (_H, _I)),
    ("transfer_describe", (_H, _P)),
    ("transfer_message", (_H, _P, _I)),
    ("transfer_cancel", (_H,)),
    ("transfer_watch", (_H,)),
    ("notification_next", (_H, _I, _P)),
    ("expect", (_H, _I, _I, _HANDLE_OUT)),
    ("expectation_poll", (_H,)),
    ("expectation_wait", (_H, _I)),
    ("expectation_cancel", (_H,)),
    ("expectation_watch", (_H,)),
    ("grant_make", (_H, _H, _H, _I, _HANDLE_OUT)),
    ("grant_bytes", (_H, _P, _I)),
    ("grant_bump", (_H,)),
    ("grant_revoke", (_H, _I)),
    ("grant_accept", (_H, _S, _I, _HANDLE_OUT)),
    ("lent_describe", (_H, _P)),
    ("collect_garbage", ()),
    ("machine_describe", (_P, _I)),
    ("region_keep", (_H,)),
)

FUNCTION_NAMES = tuple(name for name, _ in _FUNCTIONS)


# With less the JVM cannot attach a thread, and ends the process.
_LEAST_STACK = 256 << 10


def _check_stack() -> None:
    """Raises if the JVM could not be entered on this thread's stack."""
    libc = c.CDLL(None)
    attributes = c.create_string_buffer(128)  # a pthread_attr_t has 56 or 64 bytes
    libc.pthread_self.restype = c.c_void_p
    try:
        failed = libc.pthread_getattr_np(c.c_void_p(libc.pthread_self()), attributes)
    except AttributeError:
        return  # not Linux: nothing is known
    if failed:
        return
    base, size = c.c_void_p(), c.c_size_t()
    failed = libc.pthread_attr_getstack(attributes, c.byref(base), c.byref(size))
    libc.pthread_attr_destroy(attributes)
    if not failed and size.value < _LEAST_STACK:
        raise errors.RuntimeUnavailable(
            f"this thread has a stack of {size.value >> 10} KiB, and the JVM cannot be entered with less than"
            f" {_LEAST_STACK >> 10}: start it after threading.stack_size({_LEAST_STACK}) or more, or call from another"
        )


class Table:
    """The functions as attributes; each raises if it fails, and returns its 64-bit result otherwise."""

    version: str

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., int]: ...

    def __init__(self, address: int, gate: Callable[[], None]) -> None:
        """Binds the table at an address; gate is called before every function and raises if it must not be called."""
        version, table_bytes = (c.c_uint32 * 2).from_address(address)
        if version >> 16 != MAJOR or table_bytes < 16 + 8 * len(_FUNCTIONS):
            raise errors.RuntimeUnavailable(
                f"Hawser's jars have ABI {version >> 16}.{version & 0xFFFF} with {table_bytes} bytes of functions, this"
                f" package is for ABI {MAJOR} with {16 + 8 * len(_FUNCTIONS)}: install the two from one build"
            )
        self.version = (c.c_char_p.from_address(address + 8).value or b"").decode()
        pointers = (c.c_uint64 * len(_FUNCTIONS)).from_address(address + 16)
        self._seen = threading.local()
        self._last_error = c.CFUNCTYPE(_I, _P, _I)(pointers[0])
        self._last_cause = c.CFUNCTYPE(_I)(pointers[1])
        for i, (name, arguments) in enumerate(_FUNCTIONS):
            # CFUNCTYPE, not PYFUNCTYPE: other Python threads run meanwhile.
            function = c.CFUNCTYPE(_I, *arguments)(pointers[i])
            setattr(self, name, self._checked(function, gate))

    def _checked(self, function: Callable[..., int], gate: Callable[[], None]) -> Callable[..., int]:
        fail = self._fail
        seen = self._seen

        def call(*arguments: object) -> int:
            gate()
            if not hasattr(seen, "fits"):
                _check_stack()
                seen.fits = True
            result = function(*arguments)
            if result < 0:
                fail(result)
            return result

        return call

    def _fail(self, code: int) -> None:
        cause = self._last_cause()
        size = 4096
        while True:
            text = c.create_string_buffer(size)
            length = self._last_error(text, size)
            if length < size:
                break
            size = length + 1
        raise errors.of_code(code, text.value.decode("utf-8", "replace"), cause)

    def text(self, function: Callable[..., int], *arguments: object) -> str:
        """The text that a function with a buffer gives."""
        size = 1024
        while True:
            buffer = c.create_string_buffer(size)
            length = function(*arguments, buffer, size)
            if length < size:
                return buffer.raw[:length].decode("utf-8", "replace")
            size = length + 1

    def blob(self, function: Callable[..., int], *arguments: object) -> bytes:
        """The bytes that a function with a buffer gives."""
        size = 4096
        while True:
            buffer = c.create_string_buffer(size)
            length = function(*arguments, buffer, size)
            if length <= size:
                return buffer.raw[:length]
            size = length
