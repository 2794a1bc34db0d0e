# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Paged KV caches: tensors of each worker in a layout of vLLM's, and what of the whole model is where."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Sequence

import numpy as np

from .arrays import Arrays
from .model import LlamaShape

LAYOUTS = ("HND", "NHD", "SPLIT", "CROSS")
"""HND and NHD: ``[blocks, heads, tokens, 2*dim]``, in memory heads or tokens first. SPLIT: ``[2, blocks, tokens, heads,
dim]``. CROSS: all layers of a block side by side."""

# By bytes of an element.
_POISON = {4: 0x7FC0DEAD, 2: 0x7FC1}
_RUBBISH = {4: 0x449A5000, 2: 0x4321}


@dataclass(frozen=True)
class PoolShape:
    """How one worker's cache is laid out."""

    layout: str
    blocks: int
    block_tokens: int
    first_layer: int
    layers: int
    first_head: int
    heads: int
    head_dim: int


class WorkerPool:
    """One worker's KV cache. All of it is poison (a NaN) until it is written to."""

    def __init__(self, shape: PoolShape, arrays: Arrays) -> None:
        self.shape = shape
        self._arrays = arrays
        self._poison = _POISON[arrays.itemsize]
        s = shape
        if s.layout == "SPLIT":
            memory = arrays.full((s.layers, 2, s.blocks, s.block_tokens, s.heads, s.head_dim), self._poison)
            self._tensors = [memory[i] for i in range(s.layers)]
        elif s.layout == "HND":
            memory = arrays.full((s.layers, s.blocks, s.heads, s.block_tokens, 2 * s.head_dim), self._poison)
            self._tensors = [memory[i] for i in range(s.layers)]
        elif s.layout == "NHD":
            memory = arrays.full((s.layers, s.blocks, s.block_tokens, s.heads, 2 * s.head_dim), self._poison)
            self._tensors = [arrays.permute(memory[i], (0, 2, 1, 3)) for i in range(s.layers)]
        elif s.layout == "CROSS":
            memory = arrays.full((s.blocks, s.layers, s.heads, s.block_tokens, 2 * s.head_dim), self._poison)
            self._tensors = [memory[:, i] for i in range(s.layers)]
        else:
            raise ValueError(f"layout: {s.layout!r} is none of {', '.join(LAYOUTS)}")
        self.caches = {layer_name(s.first_layer + i): tensor for i, tensor in enumerate(self._tensors)}

    def vectors(self, layer: int) -> tuple[Any, Any]:
        """Views of a layer's keys and values as ``[blocks, tokens, heads, dim]``; the layer as the model counts."""
        tensor = self._tensors[layer - self.shape.first_layer]
        if self.shape.layout == "SPLIT":
            return tensor[0], tensor[1]
        dim = self.shape.head_dim
        logical = self._arrays.permute(tensor, (0, 2, 1, 3))
        return logical[..., :dim], logical[..., dim:]

    def strays(self, used: set[int]) -> list[int]:
        """Blocks that hold anything but poison, although nobody was given them."""
        found: set[int] = set()
        for layer in range(self.shape.first_layer, self.shape.first_layer + self.shape.layers):
            for part in self.vectors(layer):
                found.update(block for block in self._arrays.other_rows(part, self._poison) if block not in used)
        return sorted(found)


def layer_name(layer: int) -> str:
    """A layer's name, as vLLM gives it."""
    return f"model.layers.{layer}.self_attn.attn"


class EnginePool:
    """The whole model's KV cache, of the pools of all workers: by pipeline stage and by heads."""

    def __init__(
        self, model: LlamaShape, layout: str, blocks: int, block_tokens: int, tp: int, pp: int, arrays: Arrays
    ) -> None:
        if model.kv_heads % tp or model.layers % pp:
            raise ValueError(f"tp, pp: {model.kv_heads} KV heads and {model.layers} layers do not divide by {tp} and {pp}")
        heads, layers = model.kv_heads // tp, model.layers // pp
        self.model = model
        self.block_tokens = block_tokens
        self.arrays = arrays
        # For tests that prove that a fault is noticed: whether all that is written is late.
        self.late = False
        self.workers = [
            [
                WorkerPool(
                    PoolShape(layout, blocks, block_tokens, stage * layers, layers, rank * heads, heads, model.head_dim),
                    arrays,
                )
                for rank in range(tp)
            ]
            for stage in range(pp)
        ]
        self._layers_per_stage = layers
        self._heads = heads

    def of_layer(self, layer: int) -> list[WorkerPool]:
        """The workers that have a layer, by their heads."""
        return self.workers[layer // self._layers_per_stage]

    def poison(self, ids: Sequence[int]) -> None:
        """Overwrites blocks with rubbish, as whoever gets them next would."""
        for stage in self.workers:
            for pool in stage:
                for layer in range(pool.shape.first_layer, pool.shape.first_layer + pool.shape.layers):
                    for part in pool.vectors(layer):
                        self.arrays.bits(part)[list(ids)] = _RUBBISH[self.arrays.itemsize]

    def places(self, ids: Sequence[int], first: int, end: int) -> tuple[Any, Any]:
        """In which blocks some tokens of a request are, and where there."""
        at = np.arange(first, end)
        return (
            self.arrays.index(np.asarray(ids)[at // self.block_tokens]),
            self.arrays.index(at % self.block_tokens),
        )

    def content(self, layer: int, ids: Sequence[int], tokens: int) -> Any:
        """What a request's blocks hold, however it is laid out: ``[tokens, heads, 2, dim]``, elements as kept."""
        blocks, offsets = self.places(ids, 0, tokens)
        heads = [
            self.arrays.stack([part[blocks, offsets] for part in pool.vectors(layer)], 2) for pool in self.of_layer(layer)
        ]
        return self.arrays.concatenate(heads, 1)

    def digests(self, ids: Sequence[int], tokens: int, unit: int) -> list[str]:
        """A hash of each layer's each unit of tokens."""
        found = []
        for layer in range(self.model.layers):
            content = self.content(layer, ids, tokens)
            for first in range(0, tokens, unit):
                found.append(hashlib.sha1(self.arrays.to_bytes(content[first : first + unit])).hexdigest()[:16])
        return found


class RequestStore:
    """One request's keys and values in the pool, as the model sees them."""

    def __init__(self, pool: EnginePool, table: list[int]) -> None:
        self._pool = pool
        self.table = table

    def write(self, layer: int, start: int, keys: Any, values: Any) -> None:
        """Keeps them."""
        pool = self._pool
        blocks, offsets = pool.places(self.table, start, start + len(keys))
        if pool.late:
            pool.arrays.be_late()  # not before: handing over the places waits for the device
        for worker in pool.of_layer(layer):
            heads = slice(worker.shape.first_head, worker.shape.first_head + worker.shape.heads)
            for part, given in zip(worker.vectors(layer), (keys, values)):
                part[blocks, offsets] = pool.arrays.kept(given[:, heads])

    def gather(self, layer: int, tokens: int) -> tuple[Any, Any]:
        """What is kept."""
        content = self._pool.content(layer, self.table, tokens)
        return self._pool.arrays.computed(content[:, :, 0]), self._pool.arrays.computed(content[:, :, 1])
