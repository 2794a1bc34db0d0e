# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""What a paged cache asks of its arrays, and numpy's answer; PyTorch's is in ``torch_arrays``."""

from __future__ import annotations

from typing import Any, Protocol, Sequence

import numpy as np

DTYPES = ("float32", "bfloat16")


class Arrays(Protocol):
    """Makes and handles the arrays in which keys and values are kept, of one element type on one device."""

    itemsize: int
    """Bytes of an element."""

    def full(self, shape: Sequence[int], bits: int) -> Any:
        """A new array, each element of these bits."""

    def index(self, numbers: np.ndarray) -> Any:
        """Numbers by which arrays can be indexed."""

    def permute(self, array: Any, axes: Sequence[int]) -> Any:
        """A view with the axes in this order."""

    def bits(self, array: Any) -> Any:
        """A view as integers of the same size."""

    def stack(self, arrays: Sequence[Any], axis: int) -> Any:
        """Side by side on a new axis."""

    def concatenate(self, arrays: Sequence[Any], axis: int) -> Any:
        """One behind the other."""

    def to_bytes(self, array: Any) -> bytes:
        """The elements in order."""

    def other_rows(self, array: Any, bits: int) -> list[int]:
        """Which rows (of the first axis) hold anything but elements of these bits."""

    def kept(self, computed: Any) -> Any:
        """Elements as the model computes them, as they are kept."""

    def computed(self, kept: Any) -> Any:
        """And back."""

    def be_late(self) -> None:
        """Has the device do nothing for a while before all that it is given next; where there is none, does nothing."""


class NumpyArrays:
    """On the CPU. The model computes in float32; bfloat16 is kept as its upper 16 bits."""

    def __init__(self, dtype: str) -> None:
        self._half = dtype == "bfloat16"
        self._bits = np.dtype(np.uint16 if self._half else np.uint32)
        self._element = np.dtype(np.uint16 if self._half else np.float32)
        self.itemsize = self._bits.itemsize

    def full(self, shape: Sequence[int], bits: int) -> np.ndarray:
        return np.full(shape, bits, self._bits).view(self._element)

    def index(self, numbers: np.ndarray) -> np.ndarray:
        return numbers

    def permute(self, array: np.ndarray, axes: Sequence[int]) -> np.ndarray:
        return array.transpose(axes)

    def bits(self, array: np.ndarray) -> np.ndarray:
        return array.view(self._bits)

    def stack(self, arrays: Sequence[np.ndarray], axis: int) -> np.ndarray:
        return np.stack(arrays, axis)

    def concatenate(self, arrays: Sequence[np.ndarray], axis: int) -> np.ndarray:
        return np.concatenate(arrays, axis)

    def to_bytes(self, array: np.ndarray) -> bytes:
        return array.tobytes()

    def other_rows(self, array: np.ndarray, bits: int) -> list[int]:
        other = self.bits(array) != bits
        return [int(row) for row in np.nonzero(other.any(axis=tuple(range(1, other.ndim))))[0]]

    def kept(self, computed: np.ndarray) -> np.ndarray:
        if not self._half:
            return computed
        bits = np.ascontiguousarray(computed).view(np.uint32)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)

    def computed(self, kept: np.ndarray) -> np.ndarray:
        return (kept.astype(np.uint32) << 16).view(np.float32) if self._half else kept

    def be_late(self) -> None:
        pass
