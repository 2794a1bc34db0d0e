# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Which pieces of memory on one worker are which on another: head ranges, blocks of other sizes, other orders in memory.

Pure arithmetic: it knows nothing of agents.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Iterable, Sequence

import numpy as np

from .errors import LayoutError
from .geometry import LayerGeometry, WorkerGeometry


@dataclass(frozen=True)
class Share:
    """Heads of a layer that one worker gets from another.

    Attributes:
        layer: its name.
        source: index of the worker that has them.
        first: the first head, as the model counts.
        end: one past the last.
    """

    layer: str
    source: int
    first: int
    end: int


def shares(wanted: WorkerGeometry, sources: Sequence[WorkerGeometry]) -> list[Share]:
    """From which workers each head of each layer is got. Every head is got once; replicas are taken in turn.

    Both ends compute it for themselves, and find the same.

    Raises:
        LayoutError: if nobody has a layer or a head.
    """
    found = []
    for layer in wanted.layers:
        having = [(i, other) for i, worker in enumerate(sources) for other in [worker.layer(layer.name)] if other is not None]
        head = layer.first_head
        while head < layer.first_head + layer.heads:
            able = [(i, o) for i, o in having if o.first_head <= head < o.first_head + o.heads]
            if not able:
                raise LayoutError(
                    f"nobody there has KV head {head} of layer {layer.name}: the engines serve different models, or their"
                    " ranks are not all known yet"
                )
            longest = max(o.first_head + o.heads for _, o in able)
            best = [(i, o) for i, o in able if o.first_head + o.heads == longest]
            source, _ = best[wanted.tp_rank % len(best)]
            end = min(longest, layer.first_head + layer.heads)
            found.append(Share(layer.name, source, head, end))
            head = end
    return found


@dataclass(frozen=True)
class Grid:
    """A grid of pieces within a region: its last axis is the fastest.

    Attributes:
        region: index of the region.
        offset: of the first piece.
        shape: extents.
        strides: in bytes.
        length: bytes of each piece.
    """

    region: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    length: int


@dataclass(frozen=True)
class LayerPair:
    """The pieces of one layer on both sides, one for one, in the same order.

    A *unit* is the largest number of adjacent tokens that lie in one block on either side.

    Attributes:
        layer: its name.
        ours: the pieces here.
        theirs: the pieces there.
        unit_tokens: tokens of a unit.
        our_units: units of a block here.
        their_units: units of a block there.
        pieces: of a unit.
    """

    layer: str
    group: int
    ours: Grid
    theirs: Grid
    unit_tokens: int
    our_units: int
    their_units: int
    pieces: int

    @staticmethod
    def of(ours: LayerGeometry, theirs: LayerGeometry, first_head: int, end_head: int) -> "LayerPair":
        """Pairs a range of heads.

        Raises:
            LayoutError: if the sides differ in what no copying mends.
        """
        split = _vectors(ours, theirs)
        unit = math.gcd(ours.block_tokens, theirs.block_tokens)
        heads = end_head - first_head
        # (extent, stride here, stride there), the slowest first, as in most caches.
        axes = [
            (heads, ours.head_stride, theirs.head_stride),
            (unit, ours.token_stride, theirs.token_stride),
        ]
        our_part, their_part, parts, run = split
        axes.append((parts, our_part, their_part))
        axes = [axis for axis in axes if axis[0] > 1]
        grown = True
        while grown:
            grown = False
            for axis in axes:
                if axis[1] == run and axis[2] == run:
                    run *= axis[0]
                    axes.remove(axis)
                    grown = True
                    break
        sides = []
        for geometry, which in ((ours, 1), (theirs, 2)):
            units = geometry.block_tokens // unit
            shape = (geometry.blocks, units) + tuple(axis[0] for axis in axes)
            strides = (geometry.block_stride, unit * geometry.token_stride) + tuple(axis[which] for axis in axes)
            offset = geometry.offset + (first_head - geometry.first_head) * geometry.head_stride
            sides.append(Grid(geometry.region, offset, shape, strides, run))
        pieces = math.prod(axis[0] for axis in axes)
        return LayerPair(
            ours.name,
            ours.group,
            sides[0],
            sides[1],
            unit,
            ours.block_tokens // unit,
            theirs.block_tokens // unit,
            pieces,
        )


def _vectors(ours: LayerGeometry, theirs: LayerGeometry) -> tuple[int, int, int, int]:
    """Strides from keys to values on either side, their number, and the bytes of a vector, packed or not."""
    if ours.parts * ours.vector_bytes != theirs.parts * theirs.vector_bytes or (ours.window < 0) != (theirs.window < 0):
        raise LayoutError(
            f"layer {ours.name}: {ours.parts} x {ours.vector_bytes} bytes of a token in a head here,"
            f" {theirs.parts} x {theirs.vector_bytes} there; the engines differ in the KV cache's type or in the model"
        )
    if ours.window != theirs.window:
        raise LayoutError(f"layer {ours.name}: a window of {ours.window} tokens here, of {theirs.window} there")
    if ours.parts == theirs.parts:
        return ours.part_stride, theirs.part_stride, ours.parts, ours.vector_bytes
    # Keys and values lie side by side on one side: its vector is both.
    half = min(ours.vector_bytes, theirs.vector_bytes)
    return (
        ours.part_stride if ours.parts == 2 else half,
        theirs.part_stride if theirs.parts == 2 else half,
        2,
        half,
    )


def unit_numbers(ids: Sequence[int], kernel_blocks: int, units: int) -> np.ndarray:
    """The units of some of the scheduler's blocks, in order; -1 for those of the null block (id 0, out of a window)."""
    blocks = np.asarray(ids, dtype=np.int64)
    per_block = kernel_blocks * units
    numbers = blocks[:, None] * per_block + np.arange(per_block, dtype=np.int64)
    numbers[blocks == 0] = -1
    return numbers.reshape(-1)


@dataclass(frozen=True)
class BlockMap:
    """Which tokens of a request are to be moved, and where they are, per group.

    Attributes:
        tokens: of the request that the producer has computed.
        skip: of them, at the front, that the consumer has already.
        ours: block ids here, for each group.
        theirs: block ids there.
        sends: whether they go from here to there.
    """

    tokens: int
    skip: int
    ours: tuple[tuple[int, ...], ...]
    theirs: tuple[tuple[int, ...], ...]
    sends: bool = False

    def units(self, pair: LayerPair, ours: LayerGeometry, theirs: LayerGeometry) -> tuple[np.ndarray, np.ndarray]:
        """The units to move, here and there.

        Raises:
            LayoutError: if there are too few blocks on one side, or the front that is there already ends within a unit.
        """
        mine, other = self.ours[pair.group], self.theirs[pair.group]
        here = unit_numbers(mine, ours.kernel_blocks, pair.our_units)
        there = unit_numbers(other, theirs.kernel_blocks, pair.their_units)
        if ours.window < 0:  # a state: the last block is the request's
            for name, numbers in (("here", here), ("there", there)):
                if not len(numbers) or numbers[-1] < 0:
                    raise LayoutError(f"layer {pair.layer}: the request has no block of a state {name}")
            return here[-1:], there[-1:]
        needed = -(-self.tokens // pair.unit_tokens)
        skipped, rest = divmod(self.skip, pair.unit_tokens)
        if rest:
            raise LayoutError(
                f"the first {self.skip} tokens are there already, which is no multiple of {pair.unit_tokens}: the block size of"
                " one engine must divide the other's"
            )
        for name, numbers in (("here", here), ("there", there)):
            if len(numbers) < needed:
                raise LayoutError(
                    f"layer {pair.layer}: {self.tokens} tokens need {needed} units of {pair.unit_tokens}, but the blocks {name}"
                    f" have {len(numbers)}"
                )
        here, there = here[skipped:needed], there[skipped:needed]
        if ours.window > 0:
            first = max(0, self.tokens - ours.window) // pair.unit_tokens - skipped
            if first > 0:
                here, there = here[first:], there[first:]
        both = (here >= 0) & (there >= 0)
        if ours.window == 0 and not both.all():
            raise LayoutError(f"layer {pair.layer}: a block of the request is the null block; its blocks were freed")
        source, target = (here, there) if self.sends else (there, here)
        if ((source < 0) & (target >= 0)).any():  # what is null at the consumer is not looked at there
            raise LayoutError(
                f"layer {pair.layer}: blocks that its window of {ours.window} tokens sees were freed at the producer: the last"
                " token of the prompt, which the consumer computes again, would see what is not there"
            )
        return here[both], there[both]


@dataclass(frozen=True)
class PairTable:
    """All pieces that two workers share: each side's grids one after the other, and where each layer's begin."""

    pairs: tuple[LayerPair, ...]
    our_layers: tuple[LayerGeometry, ...]
    their_layers: tuple[LayerGeometry, ...]
    our_first: tuple[int, ...]
    their_first: tuple[int, ...]

    @staticmethod
    def of(ours: WorkerGeometry, theirs: WorkerGeometry, parts: Iterable[Share]) -> "PairTable":
        """The table of what is shared."""
        pairs, here, there, our_first, their_first = [], [], [], [], []
        our_count = their_count = 0
        for share in parts:
            mine, other = ours.layer(share.layer), theirs.layer(share.layer)
            if mine is None or other is None:
                raise LayoutError(f"layer {share.layer} is not on both workers, {ours.agent} and {theirs.agent}")
            pair = LayerPair.of(mine, other, share.first, share.end)
            pairs.append(pair)
            here.append(mine)
            there.append(other)
            our_first.append(our_count)
            their_first.append(their_count)
            our_count += math.prod(pair.ours.shape)
            their_count += math.prod(pair.theirs.shape)
        return PairTable(tuple(pairs), tuple(here), tuple(there), tuple(our_first), tuple(their_first))

    def layers(self) -> list[str]:
        """The layers, each once."""
        return list(dict.fromkeys(pair.layer for pair in self.pairs))

    def indices(self, blocks: BlockMap, layer: str | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Indices of the pieces to move, here and there, as many on each side; of one layer, or of all."""
        here, there = [], []
        for i, pair in enumerate(self.pairs):
            if layer is not None and pair.layer != layer:
                continue
            ours, theirs = blocks.units(pair, self.our_layers[i], self.their_layers[i])
            inner = np.arange(pair.pieces, dtype=np.int64)
            here.append((self.our_first[i] + ours[:, None] * pair.pieces + inner).reshape(-1))
            there.append((self.their_first[i] + theirs[:, None] * pair.pieces + inner).reshape(-1))
        if not here:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        return np.concatenate(here), np.concatenate(there)
