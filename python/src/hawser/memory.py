# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Where the memory of tensors, arrays and buffers is, and lists of blocks in it."""

from __future__ import annotations

import array
import ctypes as c
import math
import operator
import re
import sys
import weakref
from dataclasses import dataclass
from typing import Any, Optional, Sequence, Union

from . import _checks, errors
from ._runtime import table

_CUDA = 0x10000
_HIP = 0x20000

DeviceLike = Union[str, int]
"""A device: ``"host"``, ``"cpu"``, ``"cuda:0"``, ``"hip:1"``, ``"auto"``, or the number of the C ABI."""


def device_number(device: DeviceLike) -> int:
    """The number by which the C ABI knows a device.

    Raises:
        InvalidArgument: if it is no device.
    """
    if not isinstance(device, str):
        number = _checks.integer("device", device)
        if number == -1 or number >> 16 in (1, 2) or number == 0:
            return number
        raise errors.InvalidArgument(f"device: {number} is none; write 'host', 'cuda:N', 'hip:N' or 'auto'")
    kind, colon, ordinal = device.partition(":")
    if kind in ("host", "cpu"):
        return 0
    if kind == "auto":
        return -1
    if kind in ("cuda", "hip") and (not colon or (ordinal.isascii() and ordinal.isdigit())):
        number = _checks.integer(f"device: the number in {device!r}", int(ordinal or 0), 0, 0xFFFF)
        return (_CUDA if kind == "cuda" else _HIP) | number
    raise errors.InvalidArgument(f"device: {device!r} is none; write 'host', 'cuda:N', 'hip:N' or 'auto'")


def device_name(number: int) -> str:
    """The name of a device by its number of the C ABI."""
    if number == -1:
        return "auto"
    kind = {0: "host", 1: "cuda", 2: "hip"}[number >> 16]
    return kind if kind == "host" else f"{kind}:{number & 0xFFFF}"


@dataclass(frozen=True)
class Layout:
    """How elements lie in memory: an array's shape and its strides in bytes.

    Attributes:
        shape: extents, the first axis first.
        strides: bytes from one element to the next along each axis; may be 0 or negative.
        itemsize: bytes of an element.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int

    @staticmethod
    def packed(shape: Sequence[int], itemsize: int, order: Optional[Sequence[int]] = None) -> "Layout":
        """A layout without gaps.

        Args:
            shape: extents of the logical axes.
            itemsize: bytes of an element.
            order: the logical axes from the slowest in memory to the fastest; None for as they come. vLLM's
                ``BLHNC`` over logical ``LBHNC``, for example, is ``(1, 0, 2, 3, 4)``.
        """
        axes = tuple(range(len(shape))) if order is None else tuple(order)
        if sorted(axes) != list(range(len(shape))):
            raise errors.InvalidArgument(f"order: {axes} does not name each of the {len(shape)} axes once")
        strides = [0] * len(shape)
        step = itemsize
        for axis in reversed(axes):
            strides[axis] = step
            step *= shape[axis]
        return Layout(tuple(shape), tuple(strides), itemsize)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements, without gaps."""
        return math.prod(self.shape) * self.itemsize

    @property
    def dense(self) -> bool:
        """Whether the elements lie without gaps or overlaps, in whichever order of axes."""
        return _run_bytes(self, range(len(self.shape))) is not None

    def grid(self, axes: Union[int, Sequence[int]]) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        """The blocks that some axes count, the last one fastest: their shape, their strides, and the bytes of each.

        Raises:
            InvalidArgument: if what the other axes span is not one run of bytes; it names the axes to count as well.
        """
        chosen = _checks.integers("axes", axes if isinstance(axes, (list, tuple, range)) else (axes,))
        rank = len(self.shape)
        chosen = tuple(axis + rank if axis < 0 else axis for axis in chosen)
        if any(not 0 <= axis < rank for axis in chosen) or len(set(chosen)) != len(chosen):
            raise errors.InvalidArgument(f"axes: {chosen} are not different axes of {rank}")
        rest = [axis for axis in range(rank) if axis not in chosen]
        run = _run_bytes(self, rest)
        if run is None:
            outer = _outermost_gap(self, rest)
            raise errors.InvalidArgument(
                f"axes: what the axes {rest} of shape {self.shape} and strides {self.strides} span is not one run of bytes;"
                f" let the blocks be counted along axis {outer} as well: axes={chosen + (outer,)}"
            )
        return tuple(self.shape[a] for a in chosen), tuple(self.strides[a] for a in chosen), run


def _run_bytes(layout: Layout, axes: Sequence[int]) -> Optional[int]:
    """The bytes of the run that some axes span together, or None if there are gaps."""
    expected = layout.itemsize
    for axis in sorted((a for a in axes if layout.shape[a] != 1), key=lambda a: layout.strides[a]):
        if layout.shape[axis] == 0:
            return 0
        if layout.strides[axis] != expected:
            return None
        expected *= layout.shape[axis]
    return expected


def _outermost_gap(layout: Layout, axes: Sequence[int]) -> int:
    return max(axes, key=lambda a: abs(layout.strides[a]))


@dataclass(frozen=True)
class Memory:
    """Memory that some object has.

    Attributes:
        address: of the first element.
        layout: how the elements lie.
        device: the number of the C ABI.
        writable: whether it may be written to.
        owner: what keeps it alive.
    """

    address: int
    layout: Layout
    device: int
    writable: bool
    owner: Any

    @staticmethod
    def of(thing: Any) -> "Memory":
        """The memory of a torch tensor, an array with ``__array_interface__`` or ``__cuda_array_interface__``, anything
        with ``__dlpack__``, a buffer, or a tuple ``(address, bytes[, device])``. Nothing is imported for it.

        Raises:
            InvalidArgument: if it is none of these, or has no memory.
        """
        if isinstance(thing, Memory):
            return thing
        if isinstance(thing, tuple) and 2 <= len(thing) <= 3 and all(isinstance(n, int) for n in thing[:2]):
            device = device_number(thing[2]) if len(thing) == 3 else 0
            return Memory(thing[0], Layout((thing[1],), (1,), 1), device, True, None)
        if hasattr(thing, "data_ptr") and hasattr(thing, "element_size"):
            return _of_torch(thing)
        for name, device in (("__array_interface__", 0), ("__cuda_array_interface__", -1)):
            interface = getattr(thing, name, None)
            if isinstance(interface, dict):
                return _of_interface(thing, interface, device)
        try:
            view = memoryview(thing)
        except TypeError:
            if hasattr(thing, "__dlpack__"):
                return _of_dlpack(thing)
            raise errors.InvalidArgument(
                f"{type(thing).__name__} has no memory that Hawser can find: give a tensor, an array, a buffer, or"
                " (address, bytes[, device])"
            ) from None
        return _of_buffer(thing, view)


def _of_torch(tensor: Any) -> Memory:
    itemsize = int(tensor.element_size())
    shape = tuple(int(n) for n in tensor.shape)
    strides = tuple(int(n) * itemsize for n in tensor.stride())
    kind = getattr(tensor.device, "type", "cpu")
    if kind == "cpu":
        device = 0
    elif kind == "cuda":
        # PyTorch says cuda for AMD, too; the driver is asked whose pointer it is.
        device = -1
    else:
        raise errors.InvalidArgument(f"tensor: its memory is on {tensor.device}; host and GPU memory can be transferred")
    address = int(tensor.data_ptr())
    if address == 0 and all(shape):
        raise errors.InvalidArgument("tensor: it has no memory (a meta or freed tensor)")
    return Memory(address, Layout(shape, strides, itemsize), device, True, tensor)


def _of_interface(thing: Any, interface: dict, device: int) -> Memory:
    data = interface.get("data")
    itemsize = _itemsize(thing, str(interface.get("typestr")))
    shape = tuple(int(n) for n in interface["shape"])
    strides = interface.get("strides")
    if not isinstance(data, tuple):
        raise errors.InvalidArgument(f"{type(thing).__name__}: its array interface tells no address")
    layout = Layout.packed(shape, itemsize) if strides is None else Layout(shape, tuple(int(n) for n in strides), itemsize)
    return Memory(int(data[0]), layout, device, not data[1], thing)


def _itemsize(thing: Any, kind: str) -> int:
    """The bytes of an element by its typestr, of which times have a unit: ``<M8[ns]``."""
    parts = re.fullmatch(r"[<>|=]?([a-zA-Z])(\d+)(\[.*\])?", kind)
    if parts is None or parts[1] == "O":
        raise errors.InvalidArgument(
            f"{type(thing).__name__}: its elements ({kind}) are no plain bytes, so that nobody could read them elsewhere"
        )
    return int(parts[2]) * (4 if parts[1] == "U" else 1)


class _PyBuffer(c.Structure):
    _fields_ = [
        ("buf", c.c_void_p),
        ("obj", c.py_object),
        ("len", c.c_ssize_t),
        ("itemsize", c.c_ssize_t),
        ("readonly", c.c_int),
        ("ndim", c.c_int),
        ("format", c.c_char_p),
        ("shape", c.c_void_p),
        ("strides", c.c_void_p),
        ("suboffsets", c.c_void_p),
        ("internal", c.c_void_p),
    ]


_STRIDED_READ_ONLY = 0x18  # PyBUF_STRIDES


def _of_buffer(thing: Any, view: memoryview) -> Memory:
    info = _PyBuffer()
    c.pythonapi.PyObject_GetBuffer(c.py_object(view), c.byref(info), _STRIDED_READ_ONLY)
    try:
        address = info.buf or 0
    finally:
        c.pythonapi.PyBuffer_Release(c.byref(info))
    shape = tuple(view.shape or (view.nbytes,))
    strides = tuple(view.strides or (1,))
    # The view holds the buffer: a bytearray cannot be resized meanwhile.
    return Memory(address, Layout(shape, strides, view.itemsize), 0, not view.readonly, (thing, view))


class _DlTensor(c.Structure):
    _fields_ = [
        ("data", c.c_void_p),
        ("device_type", c.c_int32),
        ("device_id", c.c_int32),
        ("ndim", c.c_int32),
        ("code", c.c_uint8),
        ("bits", c.c_uint8),
        ("lanes", c.c_uint16),
        ("shape", c.POINTER(c.c_int64)),
        ("strides", c.POINTER(c.c_int64)),
        ("byte_offset", c.c_uint64),
    ]


_DL_HOST = (1, 3, 11)  # kDLCPU, kDLCUDAHost, kDLROCMHost
_DL_GPU = (2, 10, 13)  # kDLCUDA, kDLROCM, kDLCUDAManaged


def _of_dlpack(thing: Any) -> Memory:
    capsule = thing.__dlpack__()
    get = c.pythonapi.PyCapsule_GetPointer
    get.restype = c.c_void_p
    get.argtypes = [c.py_object, c.c_char_p]
    tensor = c.cast(get(capsule, b"dltensor"), c.POINTER(_DlTensor)).contents
    itemsize = tensor.bits * tensor.lanes // 8
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    if tensor.strides:
        layout = Layout(shape, tuple(tensor.strides[i] * itemsize for i in range(tensor.ndim)), itemsize)
    else:
        layout = Layout.packed(shape, itemsize)
    if tensor.device_type in _DL_HOST:
        device = 0
    elif tensor.device_type in _DL_GPU:
        device = -1
    else:
        raise errors.InvalidArgument(f"{type(thing).__name__}: DLPack device type {tensor.device_type} is neither host nor GPU")
    # The capsule owns the memory: it calls the deleter when it goes.
    return Memory((tensor.data or 0) + tensor.byte_offset, layout, device, True, (thing, capsule))


class BlockList:
    """Blocks of one device's memory, of this process or of a peer: an immutable list of addresses and lengths.

    It takes the same memory however many blocks a grid has. Thread-safe.
    """

    __slots__ = ("_handle", "_count", "_bytes", "__weakref__")

    def __init__(self, handle: int) -> None:
        """Takes over a handle of the C ABI; use the static methods."""
        self._handle = handle
        weakref.finalize(self, _release, handle)
        total = c.c_int64()
        self._count = table().blocks_count(handle, c.byref(total))
        self._bytes = total.value

    @staticmethod
    def of(address: int, length: int, device: DeviceLike = "host") -> "BlockList":
        """One block."""
        return BlockList.strided(address, (), (), length, device)

    @staticmethod
    def strided(
        base: int, shape: Sequence[int], strides: Sequence[int], length: int, device: DeviceLike = "host"
    ) -> "BlockList":
        """A grid of blocks, the last axis fastest.

        Args:
            base: address of the first block.
            shape: extents, at most 8.
            strides: bytes from one block to the next along each axis; may be 0 or negative.
            length: bytes of each block.
            device: whose memory it is.
        """
        extents, steps = _checks.integers("shape", shape), _checks.integers("strides", strides)
        if len(extents) != len(steps):
            raise errors.InvalidArgument(f"strides: {len(steps)} for {len(extents)} extents; give one for each")
        out = c.c_uint64()
        rank = len(extents)
        table().blocks_strided(
            _checks.integer("base", base, 0, _checks.MOST_ADDRESS),
            rank,
            (c.c_int64 * rank)(*extents),
            (c.c_int64 * rank)(*steps),
            _checks.integer("length", length),
            device_number(device),
            c.byref(out),
        )
        return BlockList(out.value)

    @staticmethod
    def from_triples(rows: Any, kind: str = "host") -> "BlockList":
        """Blocks from rows of address, length and device number: an N×3 array of 64-bit integers.

        Args:
            rows: an array with a buffer or ``__array_interface__``, C-contiguous; or a sequence of tuples.
            kind: ``"host"``, ``"cuda"`` or ``"hip"``.
        """
        if isinstance(rows, (list, tuple)):
            try:
                flat = array.array("Q", (n for row in rows for n in row))
            except (TypeError, OverflowError) as e:
                raise errors.InvalidArgument(f"rows: {e}; each is (address, length, device number)") from None
            memory = Memory.of(flat)
            shape: tuple[int, ...] = (len(rows), 3)
            if any(len(row) != 3 for row in rows):
                raise errors.InvalidArgument("rows: each is (address, length, device number)")
        else:
            memory = Memory.of(rows)
            shape = memory.layout.shape
            packed = Layout.packed(shape, 8)
            kind_of_rows = _kind(rows)
            if kind_of_rows not in "iu" or memory.device != 0:
                raise errors.InvalidArgument(
                    "rows: their elements are no integers of 64 bits on the host in the machine's byte order; convert them:"
                    " rows.astype('uint64')"
                )
            if len(shape) != 2 or shape[1] != 3 or memory.layout != packed:
                raise errors.InvalidArgument(
                    f"rows: shape {shape}, {memory.layout.itemsize} bytes each, is not a C-contiguous N×3 of 64-bit integers"
                )
        out = c.c_uint64()
        table().blocks_triples(memory.address, shape[0], device_number(kind), c.byref(out))
        return BlockList(out.value)

    @staticmethod
    def of_tensor(tensor: Any, axes: Union[int, Sequence[int]] = 0) -> "BlockList":
        """The blocks of a tensor (or array, or buffer) that some axes count, the last one fastest.

        A KV cache ``[blocks, heads, tokens, 2*dim]`` has its blocks along axis 0; ``[2, blocks, ...]`` along
        ``axes=(0, 1)``: all keys, then all values. Layout and strides are the tensor's.

        Raises:
            InvalidArgument: if a block is not one run of bytes; it names the axes to count as well.
        """
        memory = Memory.of(tensor)
        shape, strides, length = memory.layout.grid(axes)
        device = memory.device
        if device == -1:
            device = gpu_of(tensor)
        return BlockList.strided(memory.address, shape, strides, length, device)

    @staticmethod
    def concat(lists: Sequence["BlockList"]) -> "BlockList":
        """All blocks of the lists, one list after the other."""
        parts = [
            _checks.instance(f"lists[{i}]", part, BlockList, "make one: BlockList.of_tensor")._handle
            for i, part in enumerate(lists)
        ]
        out = c.c_uint64()
        table().blocks_concat((c.c_uint64 * len(parts))(*parts), len(parts), c.byref(out))
        return BlockList(out.value)

    @property
    def handle(self) -> int:
        """The handle of the C ABI."""
        return self._handle

    @property
    def nbytes(self) -> int:
        """Bytes of all blocks together."""
        return self._bytes

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        return f"<{self._count} blocks, {self._bytes} bytes>"


def _release(handle: int) -> None:
    try:
        with _checks.in_passing():
            table().release(handle)
    except errors.NotAnswering:
        table().owe("release", handle)
    except errors.HawserError:
        pass  # its agent is closed, or the interpreter is ending: it is gone


def gpu_of(tensor: Any) -> int:
    """The device number of a GPU tensor, whose pointer may be CUDA's or HIP's."""
    torch = sys.modules.get("torch")
    hip = bool(torch is not None and getattr(getattr(torch, "version", None), "hip", None))
    device = getattr(tensor, "device", None)
    index = getattr(device, "index", None)
    if index is None:
        index = getattr(device, "id", 0)
    return (_HIP if hip else _CUDA) | int(index or 0)


class Indices:
    """Indices of blocks as the C ABI wants them: 32 or 64 bits each, side by side."""

    __slots__ = ("address", "count", "width", "owner")

    def __init__(self, indices: Any, what: str = "indices") -> None:
        """Takes arrays and buffers of integers as they are; copies sequences.

        Raises:
            InvalidArgument: if they are not one-dimensional, or no integers.
        """
        if isinstance(indices, (list, tuple, range)):
            try:
                indices = array.array("q", indices)
            except (TypeError, OverflowError) as e:
                raise errors.InvalidArgument(_why_no_index(what, indices) or f"{what}: {e}") from None
        memory = Memory.of(indices)
        layout = memory.layout
        if len(layout.shape) != 1:
            raise errors.InvalidArgument(f"{what}: shape {layout.shape} is not one-dimensional")
        kind = _kind(indices)
        if kind == ">":
            raise errors.InvalidArgument(f"{what}: they are of the other byte order; give them in the machine's")
        if layout.itemsize not in (4, 8) or kind not in "iul" or memory.device != 0:
            raise errors.InvalidArgument(
                f"{what}: {kind}{layout.itemsize} on {device_name(memory.device)}; give integers of 4 or 8 bytes on the host"
            )
        if layout.shape[0] > 1 and layout.strides[0] != layout.itemsize:
            raise errors.InvalidArgument(f"{what}: they are not side by side; give a contiguous array")
        self.address = memory.address or 1  # an empty array may have no address; NULL means all
        self.count = layout.shape[0]
        self.width = layout.itemsize
        self.owner = memory.owner


def _why_no_index(what: str, indices: Any) -> str:
    """Names the first of a sequence that is no index."""
    for place, index in enumerate(indices):
        try:
            number = operator.index(index)
        except TypeError:
            return f"{what}[{place}]: {index!r} is no integer"
        if not _checks.LEAST <= number <= _checks.MOST:
            return f"{what}[{place}]: {number} is out of bounds; lists have less than 2^31 blocks"
    return ""


def _kind(indices: Any) -> str:
    interface = getattr(indices, "__array_interface__", None)
    if isinstance(interface, dict):
        order, kind = interface["typestr"][:2]
        return ">" if order == (">" if sys.byteorder == "little" else "<") else kind
    code = getattr(indices, "typecode", None)
    if isinstance(code, str):
        return "i" if code in "iIlLqQ" else code
    if hasattr(indices, "is_floating_point"):
        return "f" if indices.is_floating_point() else "i"
    try:
        view = memoryview(indices)
    except TypeError:
        return "?"
    return "i" if view.format in ("i", "I", "l", "L", "q", "Q", "<i", "<q") else view.format
