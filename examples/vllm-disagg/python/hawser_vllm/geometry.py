# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Where the keys and values of an engine's layers lie, told by strides and never inferred from a layout's name."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, Mapping, Optional, Sequence

from .errors import LayoutError


@dataclass(frozen=True)
class LayerGeometry:
    """Where one layer's vectors lie on one worker. A vector is what one token has in one head, of keys or of values.

    The vector of token t of block b, head h, part p (0 keys, 1 values) begins at
    ``offset + b*block_stride + t*token_stride + h*head_stride + p*part_stride`` within the region.

    Attributes:
        name: by which both engines know the layer.
        group: of the KV cache: layers of a group share their block ids.
        region: index of the worker's region that has it.
        offset: of block 0 in the region, in bytes.
        blocks: blocks that there are, as the kernels count them.
        block_tokens: tokens of such a block.
        kernel_blocks: how many of them make one of the scheduler's.
        first_head: the first of the model's KV heads that is here.
        heads: how many are here.
        parts: 2 if keys and values are apart, 1 if a vector is both (or a latent).
        vector_bytes: bytes of a vector.
        block_stride: bytes from a block to the next; the other strides likewise.
        token_stride: from token to token.
        head_stride: from head to head.
        part_stride: from keys to values.
        window: tokens that a sliding window sees; 0 for all.
    """

    name: str
    group: int
    region: int
    offset: int
    blocks: int
    block_tokens: int
    kernel_blocks: int
    first_head: int
    heads: int
    parts: int
    vector_bytes: int
    block_stride: int
    token_stride: int
    head_stride: int
    part_stride: int
    window: int = 0

    @property
    def scheduler_blocks(self) -> int:
        """Blocks that there are, as the scheduler counts them."""
        return self.blocks // self.kernel_blocks

    @property
    def scheduler_tokens(self) -> int:
        """Tokens of a block of the scheduler's."""
        return self.block_tokens * self.kernel_blocks

    def last_byte(self) -> int:
        """One past the highest byte that it has in the region, for positive strides."""
        reach = (
            (self.blocks - 1) * self.block_stride
            + (self.block_tokens - 1) * self.token_stride
            + (self.heads - 1) * self.head_stride
            + (self.parts - 1) * self.part_stride
        )
        return self.offset + reach + self.vector_bytes


@dataclass(frozen=True)
class WorkerGeometry:
    """What one worker of an engine has.

    Attributes:
        agent: the name of its agent.
        pp_rank: its place among the pipeline's stages.
        tp_rank: its place among those that share a stage.
        region_bytes: length of each region; they are called kv0, kv1, and so on.
        layers: those that are here.
    """

    agent: str
    pp_rank: int
    tp_rank: int
    region_bytes: tuple[int, ...]
    layers: tuple[LayerGeometry, ...]

    def layer(self, name: str) -> Optional[LayerGeometry]:
        """The layer of this name; None if it is not here."""
        for layer in self.layers:
            if layer.name == name:
                return layer
        return None

    def to_json(self) -> dict[str, Any]:
        """As it travels."""
        return {
            "agent": self.agent,
            "pp_rank": self.pp_rank,
            "tp_rank": self.tp_rank,
            "region_bytes": list(self.region_bytes),
            "layers": [asdict(layer) for layer in self.layers],
        }

    @staticmethod
    def from_json(told: Mapping[str, Any]) -> "WorkerGeometry":
        """Reads what another engine told. What is not known is skipped.

        Raises:
            LayoutError: if something is missing, or reaches beyond its region.
        """
        try:
            known = {field.name for field in fields(LayerGeometry)}
            layers = tuple(
                LayerGeometry(**{key: (str(v) if key == "name" else int(v)) for key, v in layer.items() if key in known})
                for layer in told["layers"]
            )
            geometry = WorkerGeometry(
                str(told["agent"]),
                int(told["pp_rank"]),
                int(told["tp_rank"]),
                tuple(int(n) for n in told["region_bytes"]),
                layers,
            )
        except (KeyError, TypeError, ValueError) as e:
            raise LayoutError(f"the other engine's geometry cannot be read: {type(e).__name__}: {e}") from None
        for layer in geometry.layers:
            check(layer, geometry)
        return geometry


def check(layer: LayerGeometry, worker: WorkerGeometry) -> None:
    """Whether a layer lies within its region.

    Raises:
        LayoutError: if it does not, or has an extent of nothing.
    """
    extents = (layer.blocks, layer.block_tokens, layer.kernel_blocks, layer.heads, layer.vector_bytes)
    strides = (layer.block_stride, layer.token_stride, layer.head_stride, layer.part_stride)
    if min(extents) < 1 or layer.parts not in (1, 2) or min(strides) < 0 or min(layer.offset, layer.first_head) < 0:
        raise LayoutError(f"layer {layer.name} of {worker.agent}: {layer} has a negative or empty extent")
    if not 0 <= layer.region < len(worker.region_bytes) or layer.last_byte() > worker.region_bytes[layer.region]:
        raise LayoutError(
            f"layer {layer.name} of {worker.agent} ends at byte {layer.last_byte()} of region {layer.region}, whose lengths are"
            f" {worker.region_bytes}"
        )


@dataclass(frozen=True)
class AttentionShape:
    """What the engine says of a group's layers, by which the axes of a tensor are told apart.

    Attributes:
        block_tokens: tokens of a block of the scheduler's.
        heads: KV heads on this worker.
        head_dim: elements of a head's key.
        latent: keys and values are one latent vector (MLA), and there are no heads.
        window: tokens that a sliding window sees; 0 for all.
    """

    block_tokens: int
    heads: int
    head_dim: int
    latent: bool = False
    window: int = 0


def of_tensor(
    name: str,
    group: int,
    region: int,
    offset: int,
    shape: Sequence[int],
    strides: Sequence[int],
    itemsize: int,
    attention: AttentionShape,
    first_head: int,
) -> LayerGeometry:
    """The geometry of a layer's KV tensor, whose strides are in bytes.

    The logical shapes of vLLM are known: ``[2, blocks, tokens, heads, dim]``, ``[blocks, 2, tokens, heads, dim]``,
    ``[blocks, heads, tokens, 2*dim]`` and, for a latent, ``[blocks, tokens, dim]``; the order in memory is what the strides
    say. A shape that fits none, or more than one, is refused.

    Raises:
        LayoutError: if the axes cannot be told, or a vector is not one run of bytes.
    """
    rank = len(shape)
    axes: list[tuple[Optional[int], int, int, Optional[int]]] = []  # part, block, token, head
    if attention.latent:
        axes = [(None, 0, 1, None)] if rank == 3 else []
    elif rank == 5:
        axes = [(part, 1 - part, 2, 3) for part in (0, 1) if shape[part] == 2]
        axes = [a for a in axes if shape[3] == attention.heads and shape[4] == attention.head_dim]
        if len(axes) == 2:  # both extents are 2: vLLM had [2, blocks, ...] and [blocks, 2, ...]; the strides decide
            raise LayoutError(
                f"layer {name}: shape {tuple(shape)} does not tell keys and values from blocks; have more than 2 blocks"
            )
    elif rank == 4 and shape[1] == attention.heads and shape[3] == 2 * attention.head_dim:
        axes = [(None, 0, 2, 1)]
    if len(axes) != 1 or attention.block_tokens % max(1, shape[axes[0][2]]) != 0:
        raise LayoutError(
            f"layer {name}: shape {tuple(shape)} is none that is known for {attention.heads} KV heads of"
            f" {attention.head_dim} and blocks of {attention.block_tokens} tokens; please report it with the version of vLLM"
        )
    part, block, token, head = axes[0]
    last = rank - 1
    if strides[last] != itemsize:
        raise LayoutError(
            f"layer {name}: the elements of a head are {strides[last]} bytes apart, not {itemsize}; choose a layout whose"
            " last axis is the head's"
        )
    return LayerGeometry(
        name=name,
        group=group,
        region=region,
        offset=offset,
        blocks=shape[block],
        block_tokens=shape[token],
        kernel_blocks=attention.block_tokens // shape[token],
        first_head=first_head,
        heads=1 if head is None else shape[head],
        parts=1 if part is None else 2,
        vector_bytes=shape[last] * itemsize,
        block_stride=strides[block],
        token_stride=strides[token],
        head_stride=0 if head is None else strides[head],
        part_stride=0 if part is None else strides[part],
        window=attention.window,
    )


def of_state(
    name: str, group: int, region: int, offset: int, shape: Sequence[int], strides: Sequence[int], itemsize: int
) -> LayerGeometry:
    """The geometry of a state (Mamba): one block of it is one request's, and is moved as a whole.

    Raises:
        LayoutError: if a block's state is not one run of bytes.
    """
    run = itemsize
    for axis in sorted(range(1, len(shape)), key=lambda a: strides[a]):
        if shape[axis] != 1 and strides[axis] != run:
            raise LayoutError(f"layer {name}: the state of shape {tuple(shape)}, strides {tuple(strides)} is not one run of bytes")
        run *= shape[axis]
    return LayerGeometry(
        name=name,
        group=group,
        region=region,
        offset=offset,
        blocks=shape[0],
        block_tokens=1,
        kernel_blocks=1,
        first_head=0,
        heads=1,
        parts=1,
        vector_bytes=math.prod(shape[1:]) * itemsize,
        block_stride=strides[0],
        token_stride=0,
        head_stride=0,
        part_stride=0,
        window=-1,
    )
