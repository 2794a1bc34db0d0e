# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""PyTorch's tensors as a paged cache's arrays, on a GPU or not."""

from __future__ import annotations

from typing import Sequence

import numpy as np
import torch

_LATE = 100_000_000
"""Clock cycles: 50 ms of a GPU at 2 GHz."""


class TorchArrays:
    """See :class:`~hawser_disagg.arrays.Arrays`. The model computes in the type in which keys and values are kept."""

    def __init__(self, dtype: str, device: str) -> None:
        self.dtype = torch.bfloat16 if dtype == "bfloat16" else torch.float32
        self.device = torch.device(device)
        self._bits = torch.int16 if dtype == "bfloat16" else torch.int32
        self.itemsize = self.dtype.itemsize

    def full(self, shape: Sequence[int], bits: int) -> torch.Tensor:
        return torch.full(tuple(shape), bits, dtype=self._bits, device=self.device).view(self.dtype)

    def index(self, numbers: np.ndarray) -> torch.Tensor:
        return torch.as_tensor(numbers, dtype=torch.int64, device=self.device)

    def permute(self, array: torch.Tensor, axes: Sequence[int]) -> torch.Tensor:
        return array.permute(*axes)

    def bits(self, array: torch.Tensor) -> torch.Tensor:
        return array.view(self._bits)

    def stack(self, arrays: Sequence[torch.Tensor], axis: int) -> torch.Tensor:
        return torch.stack(list(arrays), axis)

    def concatenate(self, arrays: Sequence[torch.Tensor], axis: int) -> torch.Tensor:
        return torch.cat(list(arrays), axis)

    def to_bytes(self, array: torch.Tensor) -> bytes:
        return self.bits(array.contiguous()).cpu().numpy().tobytes()

    def other_rows(self, array: torch.Tensor, bits: int) -> list[int]:
        other = (self.bits(array) != bits).flatten(1).any(1)
        return [int(row) for row in other.nonzero()[:, 0].tolist()]

    def kept(self, computed: torch.Tensor) -> torch.Tensor:
        return computed

    def computed(self, kept: torch.Tensor) -> torch.Tensor:
        return kept

    def be_late(self) -> None:
        if self.device.type == "cuda":
            with torch.cuda.device(self.device):
                torch.cuda._sleep(_LATE)
