# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Mappings of this process that Python is the owner of."""

from __future__ import annotations

import ctypes as c
import mmap
import os
from dataclasses import dataclass
from typing import Optional

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
            f"{length} bytes cannot be mapped at 0x{address:x}, where the other process has them ({why}): if an array of a"
            " region that was closed is still there, drop it; then allocate again"
        )


@dataclass(frozen=True)
class Mapping:
    """A mapping of this process.

    Attributes:
        start: its first address.
        end: behind its last.
        shared: whether others that map its file see what is written.
        offset: of its first byte in its file.
        device: of its file: major and minor number.
        inode: of its file; 0 if it has none.
        path: of its file.
    """

    start: int
    end: int
    shared: bool
    offset: int
    device: int
    inode: int
    path: str

    def descriptor(self) -> int:
        """A descriptor of its file: one that is open here, or its path's.

        Raises:
            LookupError: if there is neither.
        """
        for entry in os.listdir("/proc/self/fd"):
            try:
                if self._is(os.stat(f"/proc/self/fd/{entry}")):
                    return os.dup(int(entry))
            except OSError:
                continue  # closed meanwhile
        try:
            opened = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as e:
            raise LookupError(f"no descriptor of its file is open, and {self.path} cannot be opened ({e.strerror})") from None
        if self._is(os.fstat(opened)):
            return opened
        os.close(opened)
        raise LookupError(f"no descriptor of its file is open, and {self.path} is another one by now")

    def _is(self, status: os.stat_result) -> bool:
        return (status.st_dev, status.st_ino) == (self.device, self.inode)


def mappings() -> list[Mapping]:
    """All of this process."""
    found = []
    with open("/proc/self/maps") as lines:
        for line in lines:
            fields = line.rstrip("\n").split(maxsplit=5)
            start, end = (int(n, 16) for n in fields[0].split("-"))
            major, minor = (int(n, 16) for n in fields[3].split(":"))
            path = fields[5] if len(fields) == 6 else ""
            found.append(
                Mapping(start, end, fields[1][3] == "s", int(fields[2], 16), os.makedev(major, minor), int(fields[4]), path)
            )
    return found


def around(address: int, length: int) -> Optional[Mapping]:
    """The one mapping that has all of some memory."""
    return next((m for m in mappings() if m.start <= address and address + length <= m.end), None)


def unmap(address: int, length: int) -> None:
    """Takes a mapping away."""
    _libc.munmap(address, length)
