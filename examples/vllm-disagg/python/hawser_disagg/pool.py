# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Paged KV caches in numpy: tensors of each worker in a layout of vLLM's, and what of the whole model is where."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Sequence

import numpy as np

from .model import LlamaShape

LAYOUTS = ("HND", "NHD", "SPLIT", "CROSS")
"""HND and NHD: ``[blocks, heads, tokens, 2*dim]``, in memory heads or tokens first. SPLIT: ``[2, blocks, tokens, heads,
dim]``. CROSS: all layers of a block side by side."""

_POISON = {np.dtype(np.float32): 0x7FC0DEAD, np.dtype(np.uint16): 0x7FC1}


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
    dtype: str = "float32"

    @property
    def element(self) -> np.dtype:
        """bfloat16 is kept as its upper 16 bits."""
        return np.dtype(np.uint16 if self.dtype == "bfloat16" else np.float32)


class WorkerPool:
    """One worker's KV cache. All of it is poison (a NaN) until it is written to."""

    def __init__(self, shape: PoolShape) -> None:
        self.shape = shape
        s, dtype = shape, shape.element
        bits = np.dtype(f"u{dtype.itemsize}")
        if s.layout == "SPLIT":
            memory = np.full((s.layers, 2, s.blocks, s.block_tokens, s.heads, s.head_dim), _POISON[dtype], bits)
            tensors = [memory[i] for i in range(s.layers)]
        elif s.layout == "HND":
            memory = np.full((s.layers, s.blocks, s.heads, s.block_tokens, 2 * s.head_dim), _POISON[dtype], bits)
            tensors = [memory[i] for i in range(s.layers)]
        elif s.layout == "NHD":
            memory = np.full((s.layers, s.blocks, s.block_tokens, s.heads, 2 * s.head_dim), _POISON[dtype], bits)
            tensors = [memory[i].transpose(0, 2, 1, 3) for i in range(s.layers)]
        elif s.layout == "CROSS":
            memory = np.full((s.blocks, s.layers, s.heads, s.block_tokens, 2 * s.head_dim), _POISON[dtype], bits)
            tensors = [memory[:, i] for i in range(s.layers)]
        else:
            raise ValueError(f"layout: {s.layout!r} is none of {', '.join(LAYOUTS)}")
        self.memory = memory
        self.caches = {layer_name(s.first_layer + i): tensor.view(dtype) for i, tensor in enumerate(tensors)}
        self._tensors = [tensor.view(dtype) for tensor in tensors]

    def vectors(self, layer: int) -> tuple[np.ndarray, np.ndarray]:
        """Views of a layer's keys and values as ``[blocks, tokens, heads, dim]``; the layer as the model counts."""
        tensor = self._tensors[layer - self.shape.first_layer]
        if self.shape.layout == "SPLIT":
            return tensor[0], tensor[1]
        dim = self.shape.head_dim
        logical = tensor.transpose(0, 2, 1, 3)
        return logical[..., :dim], logical[..., dim:]

    def strays(self, used: set[int]) -> list[int]:
        """Blocks that hold anything but poison, although nobody was given them."""
        poison = _POISON[self.shape.element]
        found = set()
        for layer in range(self.shape.first_layer, self.shape.first_layer + self.shape.layers):
            for part in self.vectors(layer):
                bits = part.view(f"u{self.shape.element.itemsize}")
                dirty = np.nonzero((bits != poison).any(axis=(1, 2, 3)))[0]
                found |= {int(block) for block in dirty if int(block) not in used}
        return sorted(found)


def layer_name(layer: int) -> str:
    """A layer's name, as vLLM gives it."""
    return f"model.layers.{layer}.self_attn.attn"


class EnginePool:
    """The whole model's KV cache, of the pools of all workers: by pipeline stage and by heads."""

    def __init__(self, model: LlamaShape, layout: str, blocks: int, block_tokens: int, tp: int, pp: int, dtype: str) -> None:
        if model.kv_heads % tp or model.layers % pp:
            raise ValueError(f"tp, pp: {model.kv_heads} KV heads and {model.layers} layers do not divide by {tp} and {pp}")
        heads, layers = model.kv_heads // tp, model.layers // pp
        self.model = model
        self.block_tokens = block_tokens
        self.dtype = dtype
        self.workers = [
            [
                WorkerPool(
                    PoolShape(layout, blocks, block_tokens, stage * layers, layers, rank * heads, heads, model.head_dim, dtype)
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
                        part[list(ids)] = np.asarray(0x4321 if self.dtype == "bfloat16" else 1234.5).astype(part.dtype)

    def content(self, layer: int, ids: Sequence[int], tokens: int) -> np.ndarray:
        """What a request's blocks hold, however it is laid out: ``[tokens, heads, 2, dim]``, elements as kept."""
        at = np.arange(tokens)
        blocks, offsets = np.asarray(ids)[at // self.block_tokens], at % self.block_tokens
        heads = [
            np.stack([part[blocks, offsets] for part in pool.vectors(layer)], axis=2) for pool in self.of_layer(layer)
        ]
        return np.ascontiguousarray(np.concatenate(heads, axis=1))

    def digests(self, ids: Sequence[int], tokens: int, unit: int) -> list[str]:
        """A hash of each layer's each unit of tokens."""
        found = []
        for layer in range(self.model.layers):
            content = self.content(layer, ids, tokens)
            for first in range(0, tokens, unit):
                found.append(hashlib.sha1(content[first : first + unit].tobytes()).hexdigest()[:16])
        return found


class RequestStore:
    """One request's keys and values in the pool, as the model sees them."""

    def __init__(self, pool: EnginePool, table: list[int]) -> None:
        self._pool = pool
        self.table = table

    def write(self, layer: int, start: int, keys: np.ndarray, values: np.ndarray) -> None:
        """Keeps them."""
        at = np.arange(start, start + len(keys))
        blocks, offsets = np.asarray(self.table)[at // self._pool.block_tokens], at % self._pool.block_tokens
        for worker in self._pool.of_layer(layer):
            heads = slice(worker.shape.first_head, worker.shape.first_head + worker.shape.heads)
            for part, given in zip(worker.vectors(layer), (keys, values)):
                part[blocks, offsets] = _kept(given[:, heads], self._pool.dtype)

    def gather(self, layer: int, tokens: int) -> tuple[np.ndarray, np.ndarray]:
        """What is kept."""
        content = self._pool.content(layer, self.table, tokens)
        return _seen(content[:, :, 0], self._pool.dtype), _seen(content[:, :, 1], self._pool.dtype)


def _kept(values: np.ndarray, dtype: str) -> np.ndarray:
    if dtype != "bfloat16":
        return values
    bits = np.ascontiguousarray(values).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def _seen(kept: np.ndarray, dtype: str) -> np.ndarray:
    if dtype != "bfloat16":
        return kept
    return (kept.astype(np.uint32) << 16).view(np.float32)
