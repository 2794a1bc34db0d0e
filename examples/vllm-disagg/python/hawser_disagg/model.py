# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""A Llama with random weights, in numpy: grouped-query attention, rotary positions, RMS norms, SwiGLU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Protocol, Sequence

import numpy as np


@dataclass(frozen=True)
class LlamaShape:
    """The model's numbers."""

    vocab: int = 512
    hidden: int = 128
    inter: int = 256
    layers: int = 4
    heads: int = 8
    kv_heads: int = 4
    head_dim: int = 16
    theta: float = 10_000.0
    width: float = 0.15
    """Of the random weights: wide enough that the next token depends on all of the context, or a wrong cache would not be
    noticed."""
    seed: int = 7


class KvStore(Protocol):
    """Where keys and values are: a request's, by layer and position."""

    def write(self, layer: int, start: int, keys: Any, values: Any) -> None:
        """Keeps keys and values ``[tokens, heads, dim]`` from a position on."""

    def gather(self, layer: int, tokens: int) -> tuple[Any, Any]:
        """Those of the first tokens, as ``[tokens, heads, dim]``."""


class Llama:
    """The model. Its weights follow from the seed; equal shapes in equal steps give equal bits."""

    def __init__(self, shape: LlamaShape) -> None:
        self.shape = shape
        rng = np.random.default_rng(shape.seed)

        def matrix(*extents: int) -> np.ndarray:
            return (rng.standard_normal(extents) * shape.width).astype(np.float32)

        s = shape
        self._embed = matrix(s.vocab, s.hidden)
        self._layers = [
            {
                "q": matrix(s.hidden, s.heads * s.head_dim),
                "k": matrix(s.hidden, s.kv_heads * s.head_dim),
                "v": matrix(s.hidden, s.kv_heads * s.head_dim),
                "o": matrix(s.heads * s.head_dim, s.hidden),
                "gate": matrix(s.hidden, s.inter),
                "up": matrix(s.hidden, s.inter),
                "down": matrix(s.inter, s.hidden),
            }
            for _ in range(s.layers)
        ]
        self._head = matrix(s.hidden, s.vocab)
        half = s.head_dim // 2
        self._frequencies = (1.0 / s.theta ** (np.arange(half, dtype=np.float64) / half)).astype(np.float64)

    def forward(
        self, tokens: Sequence[int], start: int, store: KvStore, on_layer: Callable[[int], None] = lambda layer: None
    ) -> np.ndarray:
        """Computes layer by layer.

        Args:
            tokens: to be computed.
            start: how many there are before them, whose keys and values the store has.
            store: gets theirs.
            on_layer: is told each layer when its keys and values are in the store.

        Returns:
            The logits behind the last token, float32.
        """
        s = self.shape
        count = len(tokens)
        x = self._embed[np.asarray(tokens)]
        positions = np.arange(start, start + count)
        angles = positions[:, None] * self._frequencies
        cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
        mask = np.where(np.arange(start + count)[None, :] > positions[:, None], np.float32(-np.inf), np.float32(0))
        for i, w in enumerate(self._layers):
            h = _norm(x)
            q = _rotate((h @ w["q"]).reshape(count, s.heads, s.head_dim), cos, sin)
            k = _rotate((h @ w["k"]).reshape(count, s.kv_heads, s.head_dim), cos, sin)
            v = (h @ w["v"]).reshape(count, s.kv_heads, s.head_dim)
            store.write(i, start, k, v)
            on_layer(i)
            keys, values = store.gather(i, start + count)
            x = x + _attention(q, keys, values, mask) @ w["o"]
            h = _norm(x)
            gate = h @ w["gate"]
            x = x + (gate / (1 + np.exp(-gate)) * (h @ w["up"])) @ w["down"]
        return _norm(x[-1:])[0] @ self._head


def _norm(x: np.ndarray) -> np.ndarray:
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + np.float32(1e-5))


def _rotate(x: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
    first, second = np.split(x, 2, axis=-1)
    c, s = cos[:, None, :], sin[:, None, :]
    return np.concatenate([first * c - second * s, second * c + first * s], axis=-1)


def _attention(q: np.ndarray, keys: np.ndarray, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    count, heads, dim = q.shape
    group = heads // keys.shape[1]
    out = np.empty((heads, count, dim), dtype=np.float32)
    for head in range(heads):
        k = np.ascontiguousarray(keys[:, head // group])
        v = np.ascontiguousarray(values[:, head // group])
        scores = np.ascontiguousarray(q[:, head]) @ k.T * np.float32(dim**-0.5) + mask
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        out[head] = (weights / weights.sum(axis=-1, keepdims=True)) @ v
    return out.transpose(1, 0, 2).reshape(count, heads * dim)
