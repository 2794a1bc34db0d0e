# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""The functions of libcuda that a worker of a sidecar calls, over files of memory: its handles are those of the Java tests'
fake driver, which opens them."""

from __future__ import annotations

import ctypes as c
import mmap
import os
import struct
from typing import Any

MAGIC = 0x4857_5246
PLAIN, VIRTUAL, POOL, MANAGED = "plain", "virtual", "pool", "managed"


class FakeCuda:
    """A driver that sees some of the machine's GPUs, which CUDA_VISIBLE_DEVICES would name."""

    def __init__(self, *visible: int) -> None:
        self.visible = visible or (0,)
        self.contexts: list[int] = []  # current on this thread
        self.exported = 0
        self._made: list[tuple[int, int, int, str, int, Any]] = []  # address, bytes, ordinal, kind, file, mapping

    def allocate(self, nbytes: int, ordinal: int = 0, kind: str = PLAIN) -> int:
        """Memory of a GPU; its address."""
        file = os.memfd_create("fake-cuda")
        os.truncate(file, nbytes)
        mapping = mmap.mmap(file, nbytes)
        address = c.addressof(c.c_char.from_buffer(mapping))
        self._made.append((address, nbytes, ordinal, kind, file, mapping))
        return address

    def _around(self, address: int) -> tuple[int, int, int, str, int, int]:
        for number, (start, nbytes, ordinal, kind, file, _) in enumerate(self._made):
            if start <= address < start + nbytes:
                return start, nbytes, ordinal, kind, file, 100 + number
        return 0, 0, -2, "", -1, 0

    def cuInit(self, flags: c.c_uint) -> int:
        return 0

    def cuGetErrorName(self, result: c.c_int, out: Any) -> int:
        out._obj.value = b"CUDA_ERROR_INVALID_VALUE"
        return 0

    def cuPointerGetAttributes(self, count: c.c_uint, wanted: Any, places: Any, address: c.c_void_p) -> int:
        start, nbytes, ordinal, kind, _, identity = self._around(address.value or 0)
        values = {
            1: 0xC0 + ordinal if kind == PLAIN else 0,
            2: 2 if start else 0,
            7: identity,
            8: int(kind == MANAGED),
            9: ordinal,
            10: int(kind == PLAIN),
            17: int(kind == POOL),
        }
        for attribute, place in zip(wanted, places):
            width = 4 if attribute in (2, 8, 9, 10) else 8
            c.memmove(place, (values[attribute] & (1 << 8 * width) - 1).to_bytes(width, "little"), width)
        assert len(wanted) == len(places) == count.value
        return 0

    def cuDeviceGet(self, out: Any, ordinal: c.c_int) -> int:
        out._obj.value = ordinal.value
        return 0

    def cuDeviceGetUuid_v2(self, out: Any, device: c.c_int) -> int:
        c.memmove(out, struct.pack("<qq", 0x4657, self.visible[device.value]), 16)
        return 0

    def cuCtxPushCurrent_v2(self, context: c.c_void_p) -> int:
        self.contexts.append(context.value or 0)
        return 0

    def cuCtxPopCurrent_v2(self, out: Any) -> int:
        out._obj.value = self.contexts.pop()
        return 0

    def cuMemGetAddressRange_v2(self, start: Any, size: Any, address: c.c_void_p) -> int:
        start._obj.value, size._obj.value = self._around(address.value or 0)[:2]
        return 0 if self.contexts else 201

    def cuIpcGetMemHandle(self, handle: Any, address: c.c_void_p) -> int:
        start, nbytes, ordinal, kind, file, _ = self._around(address.value or 0)
        if kind != PLAIN or self.contexts[-1:] != [0xC0 + ordinal]:
            return 1
        self.exported += 1
        c.memmove(handle, struct.pack("<qqqq", MAGIC, os.getpid(), file, nbytes).ljust(64, b"\0"), 64)
        return 0


def install(*visible: int) -> FakeCuda:
    """Has Hawser find this driver."""
    import hawser._cuda

    driver = FakeCuda(*visible)
    hawser._cuda._load = lambda name: driver
    return driver


class Array:
    """An array on a GPU, as cupy has them."""

    def __init__(self, address: int, shape: tuple[int, ...]) -> None:
        self.__cuda_array_interface__ = {"data": (address, False), "shape": shape, "typestr": "|u1", "version": 3}
