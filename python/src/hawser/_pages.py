# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Mappings of this process that Python is the owner of."""

from __future__ import annotations

import ctypes as c
import mmap
import os

from . import errors

_MAP_FIXED_NOREPLACE = 0x100000
_MAP_FAILED = c.c_void_p(-1).value

_libc = c.CDLL(None, use_errno=True)
_libc.mmap.restype = c.c_void_p
_libc.mmap.argtypes = [c.c_void_p, c.c_size_t, c.c_int, c.c_int, c.c_int, c.c_long]
_libc.munmap.argtypes = [c.c_void_p, c.c_size_t]


def map_at(address: int, length: int, descriptor: int, offset: int) -> None:
    """Maps a file, shared, at an address that nothing is mapped at.

    Raises:
        MemoryUnavailable: if something is, or Linux refuses.
    """
    protection = mmap.PROT_READ | mmap.PROT_WRITE
    got = _libc.mmap(address, length, protection, mmap.MAP_SHARED | _MAP_FIXED_NOREPLACE, descriptor, offset)
    if got != address:
        why = os.strerror(c.get_errno()) if got == _MAP_FAILED else "it was mapped elsewhere"
        if got != _MAP_FAILED:
            unmap(got, length)
        raise errors.MemoryUnavailable(
            f"{length} bytes of the sidecar cannot be mapped at 0x{address:x}, where they are in the sidecar ({why}): if an"
            " array of a region that was closed is still there, drop it; then allocate again"
        )


def unmap(address: int, length: int) -> None:
    """Takes a mapping away."""
    _libc.munmap(address, length)
