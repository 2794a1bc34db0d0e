# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Where memory is found, and which blocks are made of it."""

from __future__ import annotations

import array
import re

import numpy as np
import pytest

import hawser
from hawser import BlockList, Layout, Memory


class FakeDevice:
    def __init__(self, kind: str, index: int = 0) -> None:
        self.type = kind
        self.index = index

    def __str__(self) -> str:
        return f"{self.type}:{self.index}"


class FakeTensor:
    """What Hawser uses of a torch tensor, on numpy's memory."""

    def __init__(self, values: np.ndarray, device: str = "cpu") -> None:
        self._values = values
        self.shape = values.shape
        self.device = FakeDevice(device)

    def data_ptr(self) -> int:
        return self._values.ctypes.data

    def element_size(self) -> int:
        return self._values.itemsize

    def stride(self) -> tuple[int, ...]:
        return tuple(n // self._values.itemsize for n in self._values.strides)

    def is_floating_point(self) -> bool:
        return self._values.dtype.kind == "f"


def test_finds_the_memory_of_arrays_buffers_and_tensors() -> None:
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    expected = Layout((2, 3, 4), (48, 16, 4), 4)

    assert Memory.of(values).address == values.ctypes.data
    assert Memory.of(values).layout == expected
    assert Memory.of(FakeTensor(values)).address == values.ctypes.data
    assert Memory.of(FakeTensor(values)).layout == expected
    assert Memory.of(memoryview(values)).address == values.ctypes.data
    assert Memory.of(memoryview(values)).layout == expected
    assert Memory.of((4096, 8192)).layout == Layout((8192,), (1,), 1)
    assert Memory.of((4096, 8192, "cuda:3")).device == 0x10003


def test_finds_memory_by_dlpack() -> None:
    class OnlyDlpack:
        def __init__(self, values: np.ndarray) -> None:
            self._values = values

        def __dlpack__(self) -> object:
            return self._values.__dlpack__()

    values = np.arange(24, dtype=np.int16).reshape(4, 6)
    found = Memory.of(OnlyDlpack(values[:, 1:3]))

    assert found.address == values[:, 1:3].ctypes.data
    assert found.layout == Layout((4, 2), (12, 2), 2)
    assert found.device == 0


def test_reads_the_cuda_array_interface() -> None:
    class OnGpu:
        __cuda_array_interface__ = {
            "shape": (2, 8),
            "typestr": "<f2",
            "data": (0x7F0000000000, False),
            "strides": None,
            "version": 3,
        }

    found = Memory.of(OnGpu())

    assert (found.address, found.device, found.writable) == (0x7F0000000000, -1, True)
    assert found.layout == Layout((2, 8), (16, 2), 2)


def test_knows_what_may_not_be_written_to() -> None:
    assert Memory.of(b"abc").writable is False
    assert Memory.of(bytearray(b"abc")).writable is True
    frozen = np.zeros(4)
    frozen.flags.writeable = False
    assert Memory.of(frozen).writable is False


@pytest.mark.parametrize("thing", [17, object(), "text", [1, 2, 3]])
def test_refuses_what_has_no_memory(thing: object) -> None:
    with pytest.raises(hawser.InvalidArgument, match="no memory that Hawser can find"):
        Memory.of(thing)


def test_refuses_tensors_of_other_devices() -> None:
    with pytest.raises(hawser.InvalidArgument, match="mps"):
        Memory.of(FakeTensor(np.zeros(4), "mps"))


@pytest.mark.parametrize(
    ("shape", "axes", "expected"),
    [
        # FlashAttention: keys and values far apart.
        ((2, 5, 16, 8, 64), (0, 1), ((2, 5), (5 * 16 * 8 * 64 * 2, 16 * 8 * 64 * 2), 16 * 8 * 64 * 2)),
        # Blocks first: keys and values in one block.
        ((5, 2, 16, 8, 64), 0, ((5,), (2 * 16 * 8 * 64 * 2,), 2 * 16 * 8 * 64 * 2)),
        # MLA.
        ((5, 16, 576), 0, ((5,), (16 * 576 * 2,), 16 * 576 * 2)),
        # A head of each block of [B, H, N, 2D].
        ((5, 8, 16, 128), (0, 1), ((5, 8), (8 * 16 * 128 * 2, 16 * 128 * 2), 16 * 128 * 2)),
    ],
)
def test_counts_the_blocks_of_kv_layouts(shape: tuple, axes: object, expected: tuple) -> None:
    assert Layout.packed(shape, 2).grid(axes) == expected


def test_lays_out_axes_in_another_order() -> None:
    # vLLM's BLHNC over logical LBHNC: all layers of a block side by side.
    layout = Layout.packed((3, 5, 2, 4, 8), 2, order=(1, 0, 2, 3, 4))
    reference = np.zeros((5, 3, 2, 4, 8), dtype=np.float16).transpose(1, 0, 2, 3, 4)

    assert layout.strides == reference.strides
    assert layout.grid(1) == ((5,), (3 * 2 * 4 * 8 * 2,), 3 * 2 * 4 * 8 * 2)


def test_takes_blocks_whose_inner_axes_are_permuted() -> None:
    # NHD or HND within a block: its bytes are one run either way.
    values = np.zeros((6, 16, 8, 4), dtype=np.float16).transpose(0, 2, 1, 3)

    assert Memory.of(values).layout.grid(0) == ((6,), (16 * 8 * 4 * 2,), 16 * 8 * 4 * 2)


def test_says_which_axis_to_count_as_well() -> None:
    heads = np.zeros((6, 8, 16, 4), dtype=np.float16)[:, 2:4]
    view = np.zeros((6, 8, 16, 4), dtype=np.float16)[:, :, 2:4]

    assert Memory.of(heads).layout.grid(0)[2] == 2 * 16 * 4 * 2
    with pytest.raises(hawser.InvalidArgument, match=r"axes=\(0, 1\)"):
        Memory.of(view).layout.grid(0)
    assert Memory.of(view).layout.grid((0, 1)) == ((6, 8), view.strides[:2], 2 * 4 * 2)


def test_makes_block_lists() -> None:
    values = np.zeros((6, 8, 16), dtype=np.float32)

    assert len(BlockList.of_tensor(values)) == 6
    assert BlockList.of_tensor(values).nbytes == values.nbytes
    assert len(BlockList.of_tensor(values, (1, 0))) == 48
    assert len(BlockList.of(4096, 512)) == 1
    assert len(BlockList.concat([BlockList.of(4096, 512), BlockList.strided(8192, (4,), (512,), 512)])) == 5
    assert len(BlockList.from_triples([(4096, 16, 0), (8192, 16, 0)])) == 2
    rows = np.array([(4096 + 64 * i, 32, 0) for i in range(1000)], dtype=np.uint64)
    assert (len(BlockList.from_triples(rows)), BlockList.from_triples(rows).nbytes) == (1000, 32_000)
    assert len(BlockList.from_triples(np.zeros((0, 3), dtype=np.uint64))) == 0


def test_refuses_block_lists_that_cannot_be() -> None:
    with pytest.raises(hawser.InvalidArgument, match="negative"):
        BlockList.of(4096, -1)
    with pytest.raises(hawser.InvalidArgument, match="strides"):
        BlockList.strided(4096, (2, 3), (1,), 1)
    with pytest.raises(hawser.InvalidArgument, match="N×3"):
        BlockList.from_triples(np.zeros((4, 2), dtype=np.uint64))
    with pytest.raises(hawser.InvalidArgument, match="N×3"):
        BlockList.from_triples(np.zeros((4, 6), dtype=np.uint64)[:, ::2])
    with pytest.raises(hawser.InvalidArgument, match=r"triples\[1\]"):
        BlockList.from_triples([(4096, 16, 0), (1 << 63, 16, 0)])
    with pytest.raises(hawser.InvalidArgument, match="tpu"):
        BlockList.of(4096, 16, "tpu:0")
    for call, what in (
        (lambda: BlockList.strided(0, (1.0,), (1,), 8), r"shape\[0\]: 1.0 is no integer"),
        (lambda: BlockList.strided(0, (2**64 + 1,), (1,), 8), r"shape\[0\]: .* is no integer of 64 bits"),
        (lambda: BlockList.strided(0, (1,), (2**64,), 8), r"strides\[0\]: .* is no integer of 64 bits"),
        (lambda: BlockList.strided(0, 3, (1,), 8), "shape: 3 is no sequence"),
        (lambda: BlockList.strided(0, (1,), (1,), 2**64 + 8), "length: .* is no integer of 64 bits"),
        (lambda: BlockList.strided(2**64, (1,), (1,), 8), "base: .* is not within"),
        (lambda: BlockList.strided("x", (1,), (1,), 8), "base: 'x' is no integer"),
        (lambda: BlockList.of(4096, 16, "cuda:99999"), "'cuda:99999': 99999 is not within 0 and 65535"),
        (lambda: BlockList.of(4096, 16, 77777777777), "device: 77777777777 is none"),
        (lambda: BlockList.of(4096, 16, 0x30001), "device: 196609 is none"),
        (lambda: BlockList.of(4096, 16, 1.5), "device: 1.5 is no integer"),
        (lambda: BlockList.concat([None]), r"lists\[0\]: NoneType is no BlockList"),
        (lambda: BlockList.of_tensor(np.zeros((2, 2)), "a"), r"axes\[0\]: 'a' is no integer"),
    ):
        with pytest.raises(hawser.InvalidArgument, match=what):
            call()


@pytest.mark.parametrize(
    "indices",
    [
        [3, 1, 2],
        (3, 1, 2),
        np.array([3, 1, 2]),
        np.array([3, 1, 2], dtype=np.int32),
        array.array("i", [3, 1, 2]),
        FakeTensor(np.array([3, 1, 2])),
    ],
)
def test_takes_indices_of_any_kind(pair: tuple[hawser.Agent, hawser.Agent], indices: object) -> None:
    target, initiator = pair
    source = np.arange(64, dtype=np.uint8).reshape(4, 16)
    sink = np.zeros((3, 16), dtype=np.uint8)
    target.register(source, "kv")
    initiator.register(sink)
    peer = initiator.add_peer(target.metadata())

    initiator.read(BlockList.of_tensor(sink), peer, peer.region("kv").blocks(16), remote_indices=indices).wait()

    assert (sink == source[[3, 1, 2]]).all()


@pytest.mark.parametrize(
    "indices", [np.array([1.0]), np.array([[1]]), np.array([1, 2, 3, 4])[::2], np.array([1], dtype=np.int16), ["a"]]
)
def test_refuses_other_indices(indices: object) -> None:
    from hawser.memory import Indices

    with pytest.raises(hawser.InvalidArgument, match="indices"):
        Indices(indices)


@pytest.mark.parametrize(
    ("indices", "words"),
    [
        ([0, 1 << 65], f"local_indices[1]: {1 << 65} is out of bounds; lists have less than 2^31 blocks"),
        ([0, 1.5], "local_indices[1]: 1.5 is no integer"),
        (["a"], "local_indices[0]: 'a' is no integer"),
        (np.array([[1]]), "local_indices: shape (1, 1) is not one-dimensional"),
    ],
)
def test_names_the_index_that_is_none(
    pair: tuple[hawser.Agent, hawser.Agent], indices: object, words: str
) -> None:
    target, initiator = pair
    target.allocate(64, "kv")
    sink = initiator.allocate(64)
    peer = initiator.add_peer(target.metadata())

    with pytest.raises(hawser.InvalidArgument, match=re.escape(words)):
        initiator.read(sink.blocks(16), peer, peer.region("kv").blocks(16), local_indices=indices)


def test_a_closed_region_and_blocks_of_nothing_have_no_blocks(pair: tuple[hawser.Agent, hawser.Agent]) -> None:
    target, initiator = pair
    region = target.allocate(64, "kv")
    theirs = initiator.add_peer(target.metadata()).region("kv")
    for side in (region, theirs):
        for length in (0, -1):
            with pytest.raises(hawser.InvalidArgument, match=f"block_bytes: {length} is no length of a block"):
                side.blocks(length)
    assert len(region.blocks(16)) == 4

    region.close()

    with pytest.raises(hawser.InvalidHandle, match="region kv: it is closed"):
        region.blocks(16)
