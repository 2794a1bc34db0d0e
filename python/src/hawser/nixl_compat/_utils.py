# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Plain memory, for NIXL's examples and tests."""

from __future__ import annotations

import ctypes

_libc = ctypes.CDLL(None)
_libc.malloc.restype = ctypes.c_void_p
_libc.malloc.argtypes = [ctypes.c_size_t]
_libc.free.argtypes = [ctypes.c_void_p]


def malloc_passthru(size: int) -> int:
    """Memory of some bytes; returns its address."""
    address = _libc.malloc(size)
    if not address:
        raise MemoryError(f"{size} bytes")
    return address


def free_passthru(address: int) -> None:
    """Frees it."""
    _libc.free(address)


def ba_buf(address: int, size: int) -> None:
    """Fills it with the byte 0xba."""
    ctypes.memset(address, 0xBA, size)


def verify_transfer(address1: int, address2: int, size: int) -> None:
    """Compares.

    Raises:
        AssertionError: if the bytes differ; it names the first place.
    """
    one, other = ctypes.string_at(address1, size), ctypes.string_at(address2, size)
    if one != other:
        place = next(i for i in range(size) if one[i] != other[i])
        raise AssertionError(f"byte {place} of {size} is {one[place]:#x} here and {other[place]:#x} there")
