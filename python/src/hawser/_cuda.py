# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""NVIDIA's driver in this process, as far as another process needs it to be told of an allocation.

Source: CUDA driver API 13.0 (cuPointerGetAttributes, cuMemGetAddressRange, cuIpcGetMemHandle, cuDeviceGetUuid).
"""

from __future__ import annotations

import ctypes as c
import threading
from dataclasses import dataclass
from typing import Any, Optional

from . import _pages, errors

LIBRARY = "libcuda.so.1"
_HANDLE_BYTES = 64
_SHIFT = 16
_AUTO, _CUDA, _HIP = -1, 1, 2

# CUpointer_attribute, each with the type of its value.
_CONTEXT, _MEMORY_TYPE, _BUFFER_ID, _IS_MANAGED, _ORDINAL = 1, 2, 7, 8, 9
_IPC_CAPABLE, _POOL = 10, 17
_ATTRIBUTES = {
    _CONTEXT: c.c_uint64,
    _MEMORY_TYPE: c.c_int,
    _BUFFER_ID: c.c_uint64,
    _IS_MANAGED: c.c_int,
    _ORDINAL: c.c_int,
    _IPC_CAPABLE: c.c_int,
    _POOL: c.c_uint64,
}
_DEVICE_MEMORY = 2


@dataclass(frozen=True)
class Allocation:
    """An allocation of this process on a GPU, as another process can open it.

    Attributes:
        start: its first byte.
        length: its bytes.
        buffer_id: its number, which no other allocation of this process ever had.
        device: the number of the C ABI, as this process numbers GPUs.
        uuid: of the GPU, 32 hexadecimal digits, the same in every process.
        handle: the driver's, of all of it.
    """

    start: int
    length: int
    buffer_id: int
    device: int
    uuid: str
    handle: bytes


class Driver:
    """The functions that are needed, of a library."""

    def __init__(self, library: Any) -> None:
        """Starts it; that has been done already, if there is memory of a GPU."""
        self._library = library
        self._check(library.cuInit(c.c_uint(0)), "cuInit")

    def _check(self, result: int, call: str) -> None:
        if result != 0:
            name = c.c_char_p()
            known = self._library.cuGetErrorName(c.c_int(result), c.byref(name)) == 0 and name.value
            raise errors.MemoryUnavailable(
                f"{call}: {name.value.decode() if known and name.value else 'CUDA error'} ({result}): this process's GPU memory"
                " cannot be offered through the sidecar"
            )

    def _attributes(self, address: int) -> dict[int, int]:
        values = [kind() for kind in _ATTRIBUTES.values()]
        wanted = (c.c_int * len(values))(*_ATTRIBUTES)
        places = (c.c_void_p * len(values))(*(c.addressof(value) for value in values))
        result = self._library.cuPointerGetAttributes(c.c_uint(len(values)), wanted, places, c.c_void_p(address))
        self._check(result, f"cuPointerGetAttributes(0x{address:x})")
        return {attribute: value.value for attribute, value in zip(_ATTRIBUTES, values)}

    def _uuid(self, ordinal: int) -> str:
        device, uuid = c.c_int(), (c.c_ubyte * 16)()
        self._check(self._library.cuDeviceGet(c.byref(device), c.c_int(ordinal)), f"cuDeviceGet({ordinal})")
        # _v2 tells the parts of a divided GPU (MIG) apart; drivers before 11.4 have only the other one.
        tell = getattr(self._library, "cuDeviceGetUuid_v2", None) or self._library.cuDeviceGetUuid
        self._check(tell(uuid, device), f"cuDeviceGetUuid({ordinal})")
        return bytes(uuid).hex()

    def find(self, address: int, length: int, device: int) -> Optional[Allocation]:
        """The allocation around some memory; None if it is the host's.

        Args:
            address: of its first byte.
            length: its bytes.
            device: the number that it is said to be on; -1 if that is to be found out.

        Raises:
            InvalidArgument: if no other process can open it, with the setting to change; or it is on another device.
            MemoryUnavailable: if the driver refuses.
        """
        at = f"0x{address:x}"
        known = self._attributes(address)
        if known[_IS_MANAGED]:
            raise errors.InvalidArgument(
                f"memory: {at} is managed memory, which the driver moves while others use it; allocate it with cuMemAlloc or"
                " cudaMalloc"
            )
        if known[_MEMORY_TYPE] != _DEVICE_MEMORY:
            if device == _AUTO:
                return None
            raise errors.InvalidArgument(
                f"memory: {at} is no memory of a GPU that its driver knows: it was freed, or is the host's; register memory"
                " that is allocated there"
            )
        ordinal = known[_ORDINAL]
        number = _CUDA << _SHIFT | ordinal
        if device not in (_AUTO, number):
            raise errors.InvalidArgument(f"memory: {at} is memory of cuda:{ordinal}, not of cuda:{device & 0xFFFF}")
        if not known[_IPC_CAPABLE]:
            raise errors.InvalidArgument(f"memory: {at} is {_unshareable(known)}")
        # By the context that the memory belongs to, whichever is current on this thread, which stays.
        self._check(self._library.cuCtxPushCurrent_v2(c.c_void_p(known[_CONTEXT])), "cuCtxPushCurrent")
        try:
            start, size, handle = c.c_uint64(), c.c_size_t(), (c.c_ubyte * _HANDLE_BYTES)()
            self._check(
                self._library.cuMemGetAddressRange_v2(c.byref(start), c.byref(size), c.c_void_p(address)),
                f"cuMemGetAddressRange({at})",
            )
            if address + length > start.value + size.value:
                raise errors.InvalidArgument(
                    f"memory: {length} bytes at {at} reach beyond their allocation, which has {size.value} bytes at"
                    f" 0x{start.value:x}; register what is left of it, or each allocation"
                )
            self._check(self._library.cuIpcGetMemHandle(handle, c.c_void_p(start.value)), f"cuIpcGetMemHandle({at})")
        finally:
            before = c.c_void_p()
            self._check(self._library.cuCtxPopCurrent_v2(c.byref(before)), "cuCtxPopCurrent")
        return Allocation(start.value, size.value, known[_BUFFER_ID], number, self._uuid(ordinal), bytes(handle))


def _unshareable(known: dict[int, int]) -> str:
    if known[_POOL]:
        return (
            "memory of a stream-ordered pool without a handle for other processes; with PyTorch set"
            " PYTORCH_CUDA_ALLOC_CONF=backend:native, else allocate it with cuMemAlloc or cudaMalloc"
        )
    return (
        "virtual memory (an expandable segment) without a handle for other processes; with PyTorch set"
        " PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False, else allocate it with cuMemAlloc or cudaMalloc"
    )


def _load(name: str) -> Any:
    return c.CDLL(name)


_lock = threading.Lock()
_driver: Optional[Driver] = None


def find(address: int, length: int, device: int) -> Optional[Allocation]:
    """The allocation around some memory; None if it is the host's; see :meth:`Driver.find`.

    Raises:
        MemoryUnavailable: if there is no driver.
        InvalidArgument: as :meth:`Driver.find`, and for memory of AMD's GPUs.
    """
    global _driver
    if device >> _SHIFT == _HIP:
        raise errors.InvalidArgument(
            "memory: that of AMD's GPUs cannot be offered through a sidecar; use Hawser within this process (without"
            " HAWSER_PYTHON_SIDECAR), or copy it to memory of agent.allocate"
        )
    with _lock:
        if _driver is None:
            try:
                _driver = Driver(_load(LIBRARY))
            except OSError as e:
                if device == _AUTO and _pages.around(address, length) is not None:
                    return None
                raise errors.MemoryUnavailable(
                    f"memory: it is said to be a GPU's, and NVIDIA's driver cannot be loaded here ({e}). Through a sidecar only"
                    " memory of NVIDIA's GPUs and shared memory of the host can be offered: install the driver, or use Hawser"
                    " within this process (without HAWSER_PYTHON_SIDECAR)"
                ) from None
        driver = _driver
    return driver.find(address, length, device)
