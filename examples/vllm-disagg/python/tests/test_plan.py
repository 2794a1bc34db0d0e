# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Plans, carried out on arrays: what they move is what the logical tensors say."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from hawser_vllm.errors import LayoutError
from hawser_vllm.geometry import AttentionShape, LayerGeometry, WorkerGeometry, check, of_state, of_tensor
from hawser_vllm.plan import BlockMap, Grid, PairTable, shares

DIM = 4
ORDERS = {
    "packed": [(0, 1, 2, 3), (0, 2, 1, 3), (1, 0, 2, 3)],  # of [blocks, heads, tokens, 2*dim]
    "kv-first": [(0, 1, 2, 3, 4), (1, 0, 2, 3, 4), (0, 1, 3, 2, 4)],  # of [2, blocks, tokens, heads, dim]
    "blocks-first": [(0, 1, 2, 3, 4), (0, 1, 3, 2, 4)],
}


class Cache:
    """One layer's cache in some layout, with access to its vectors."""

    def __init__(self, kind: str, order: tuple[int, ...], blocks: int, tokens: int, heads: int, first_head: int, scheduler: int):
        shape = {
            "packed": (blocks, heads, tokens, 2 * DIM),
            "kv-first": (2, blocks, tokens, heads, DIM),
            "blocks-first": (blocks, 2, tokens, heads, DIM),
        }[kind]
        memory = np.full(tuple(shape[a] for a in order), -1, np.int32)
        self.tensor = memory.transpose(np.argsort(order))
        self.kind = kind
        self.memory = memory.reshape(-1).view(np.uint8)
        self.geometry = of_tensor(
            "l", 0, 0, 0, shape, self.tensor.strides, 4, AttentionShape(scheduler, heads, DIM), first_head
        )

    def parts(self) -> tuple[np.ndarray, np.ndarray]:
        """Keys and values as [blocks, tokens, heads, dim]."""
        if self.kind == "packed":
            logical = self.tensor.transpose(0, 2, 1, 3)
            return logical[..., :DIM], logical[..., DIM:]
        return (self.tensor[0], self.tensor[1]) if self.kind == "kv-first" else (self.tensor[:, 0], self.tensor[:, 1])


def addresses(grid: Grid) -> np.ndarray:
    """Of all pieces, the last axis fastest."""
    at = np.zeros(grid.shape, np.int64) + grid.offset
    for axis, (extent, stride) in enumerate(zip(grid.shape, grid.strides)):
        at += (np.arange(extent) * stride).reshape([-1 if a == axis else 1 for a in range(len(grid.shape))])
    return at.reshape(-1)


def move(table: PairTable, blocks: BlockMap, ours: Cache, theirs: Cache) -> int:
    """Does what a READ would do; gives the number of pieces."""
    here, there = table.indices(blocks)
    at_here = np.concatenate([addresses(pair.ours) for pair in table.pairs])
    at_there = np.concatenate([addresses(pair.theirs) for pair in table.pairs])
    length = np.concatenate([np.full(len(addresses(pair.ours)), pair.ours.length) for pair in table.pairs])
    for i, j in zip(here, there):
        n = length[i]
        ours.memory[at_here[i] : at_here[i] + n] = theirs.memory[at_there[j] : at_there[j] + n]
    return len(here)


def worker(name: str, cache: Cache, tp_rank: int = 0) -> WorkerGeometry:
    """A worker with one layer."""
    return WorkerGeometry(name, 0, tp_rank, (cache.memory.nbytes,), (cache.geometry,))


@pytest.mark.parametrize("seed", range(60))
def test_moves_what_the_tensors_say(seed: int) -> None:
    rng = random.Random(seed)
    kinds = [rng.choice(list(ORDERS)) for _ in range(2)]
    orders = [rng.choice(ORDERS[kind]) for kind in kinds]
    small = rng.choice([2, 4])
    sizes = [small, small * rng.choice([1, 2, 4])]
    rng.shuffle(sizes)
    kernel = [rng.choice([1, 2]) for _ in range(2)]
    total_heads = 4
    our_heads, their_heads = rng.choice([1, 2, 4]), rng.choice([1, 2, 4])
    tokens = rng.randint(1, 30)
    logical = np.arange(tokens * total_heads * 2 * DIM, dtype=np.int32).reshape(tokens, total_heads, 2, DIM)
    our_tokens = sizes[0] * kernel[0]
    ours = Cache(kinds[0], orders[0], 40 * kernel[0], sizes[0], our_heads, our_heads * (total_heads // our_heads - 1), our_tokens)
    their_tokens = sizes[1] * kernel[1]
    sources = [
        Cache(kinds[1], orders[1], 40 * kernel[1], sizes[1], their_heads, first, their_tokens)
        for first in range(0, total_heads, their_heads)
    ]
    our_ids = rng.sample(range(1, 40), -(-tokens // our_tokens))
    their_ids = rng.sample(range(1, 40), -(-tokens // their_tokens))

    def place(cache: Cache, ids: list[int], t: int) -> tuple[int, int]:
        of_scheduler = cache.geometry.scheduler_tokens
        block = ids[t // of_scheduler] * cache.geometry.kernel_blocks + t % of_scheduler // cache.geometry.block_tokens
        return block, t % cache.geometry.block_tokens

    for cache in sources:
        for t in range(tokens):
            block, offset = place(cache, their_ids, t)
            for part, view in enumerate(cache.parts()):
                first = cache.geometry.first_head
                view[block, offset] = logical[t, first : first + cache.geometry.heads, part]
    skip = rng.choice([0, tokens // our_tokens * our_tokens])
    skip = skip if skip < tokens else 0
    blocks = BlockMap(tokens, skip, (tuple(our_ids),), (tuple(their_ids),))
    us = worker("us", ours)
    them = [worker(f"them{i}", cache, i) for i, cache in enumerate(sources)]
    wanted = shares(us, them)
    for i, cache in enumerate(sources):
        mine = [share for share in wanted if share.source == i]
        if mine:
            move(PairTable.of(us, them[i], mine), blocks, ours, cache)

    expected = logical[:, ours.geometry.first_head : ours.geometry.first_head + our_heads]
    touched = set()
    for t in range(tokens):
        block, offset = place(ours, our_ids, t)
        touched.add(block)
        for part, view in enumerate(ours.parts()):
            if t >= skip:
                assert (view[block, offset] == expected[t, :, part]).all()
            else:
                assert (view[block, offset] == -1).all()
    for view in ours.parts():
        for block in set(range(len(view))) - touched:
            assert (view[block] == -1).all()


def test_whole_blocks_are_one_piece_where_the_layouts_are_the_same() -> None:
    ours, theirs = (Cache("packed", (0, 1, 2, 3), 8, 16, 4, 0, 16) for _ in range(2))
    us, them = worker("us", ours), worker("them", theirs)
    table = PairTable.of(us, them, shares(us, [them]))

    assert table.pairs[0].pieces == 1
    assert table.pairs[0].ours.length == 16 * 4 * 2 * DIM * 4
    assert len(table.indices(BlockMap(33, 0, ((1, 2, 3),), ((4, 5, 6),)))[0]) == 3


def test_a_head_range_of_heads_before_tokens_is_one_piece() -> None:
    ours = Cache("packed", (0, 1, 2, 3), 8, 16, 2, 2, 16)
    theirs = Cache("packed", (0, 1, 2, 3), 8, 16, 4, 0, 16)
    us, them = worker("us", ours), worker("them", theirs)

    assert PairTable.of(us, them, shares(us, [them])).pairs[0].pieces == 1


def test_replicas_of_heads_are_read_in_turn() -> None:
    replicas = [worker(f"p{i}", Cache("packed", (0, 1, 2, 3), 8, 16, 1, 0, 16), i) for i in range(4)]
    readers = [worker(f"d{i}", Cache("packed", (0, 1, 2, 3), 8, 16, 1, 0, 16), i) for i in range(4)]

    assert [shares(reader, replicas)[0].source for reader in readers] == [0, 1, 2, 3]


def test_what_nobody_has_is_an_error() -> None:
    us = worker("us", Cache("packed", (0, 1, 2, 3), 8, 16, 4, 0, 16))
    them = worker("them", Cache("packed", (0, 1, 2, 3), 8, 16, 2, 0, 16))

    with pytest.raises(LayoutError, match="KV head 2"):
        shares(us, [them])


def layer(**more: int) -> LayerGeometry:
    """A layer."""
    base = LayerGeometry("l", 0, 0, 0, 64, 16, 1, 0, 4, 1, 32, 2048, 32, 512, 0)
    return replace(base, **more)


def geometry(of: LayerGeometry) -> WorkerGeometry:
    """A worker that has it."""
    return WorkerGeometry("w", 0, 0, (1 << 20,), (of,))


def test_another_type_is_an_error() -> None:
    us, them = geometry(layer()), geometry(layer(vector_bytes=16))
    with pytest.raises(LayoutError, match="1 x 32 bytes .* here, 1 x 16 there"):
        PairTable.of(us, them, shares(us, [them]))


def test_a_window_moves_only_what_it_sees_and_null_blocks_not_at_all() -> None:
    us, them = geometry(layer(window=20)), geometry(layer(window=20))
    table = PairTable.of(us, them, shares(us, [them]))

    here, there = table.indices(BlockMap(64, 0, ((0, 0, 7, 8),), ((0, 5, 6, 9),)))

    assert (list(here), list(there)) == ([7, 8], [6, 9])


def test_a_block_that_the_window_sees_and_that_was_freed_there_is_an_error() -> None:
    """A producer that finishes frees what the token after the next does not see; the consumer computes the last one again."""
    us, them = geometry(layer(window=20)), geometry(layer(window=20))
    table = PairTable.of(us, them, shares(us, [them]))
    there_is, freed = ((0, 0, 7, 8, 9),), ((0, 0, 0, 6, 9),)
    with pytest.raises(LayoutError, match="were freed"):
        table.indices(BlockMap(66, 0, there_is, freed))
    with pytest.raises(LayoutError, match="were freed"):
        table.indices(BlockMap(66, 0, freed, there_is, sends=True))
    for unseen in (BlockMap(66, 0, freed, there_is), BlockMap(66, 0, there_is, freed, sends=True)):
        assert len(table.indices(unseen)[0]) == 2


def test_a_state_without_a_block_is_an_error() -> None:
    state = of_state("m", 0, 0, 0, (8, 3, 5), (60, 20, 4), 4)
    us, them = geometry(state), geometry(state)
    for none in ((), (0,), (5, 0)):
        with pytest.raises(LayoutError, match="no block of a state there"):
            PairTable.of(us, them, shares(us, [them])).indices(BlockMap(100, 0, ((1, 2),), (none,)))


def test_null_blocks_of_a_full_group_are_an_error() -> None:
    us, them = geometry(layer()), geometry(layer())
    with pytest.raises(LayoutError, match="null block"):
        PairTable.of(us, them, shares(us, [them])).indices(BlockMap(32, 0, ((1, 2),), ((0, 3),)))


def test_too_few_blocks_are_an_error() -> None:
    us, them = geometry(layer()), geometry(layer())
    with pytest.raises(LayoutError, match="40 tokens need 3 units of 16, but the blocks there have 2"):
        PairTable.of(us, them, shares(us, [them])).indices(BlockMap(40, 0, ((1, 2, 3),), ((4, 5),)))


def test_a_state_is_moved_as_a_whole() -> None:
    state = of_state("m", 1, 0, 0, (8, 3, 5), (60, 20, 4), 4)
    us, them = geometry(state), geometry(state)
    table = PairTable.of(us, them, shares(us, [them]))

    here, there = table.indices(BlockMap(100, 32, ((1, 2), (3, 6)), ((1, 2), (0, 5))))

    assert (list(here), list(there), table.pairs[0].ours.length) == ([6], [5], 60)


def test_shapes_that_are_not_known_are_refused() -> None:
    shape = AttentionShape(16, 4, 8)
    for tensor in (np.zeros((9, 16, 4, 8)), np.zeros((3, 9, 16, 4, 8)), np.zeros((9, 4, 16, 8)), np.zeros((9, 4, 10, 16))):
        with pytest.raises(LayoutError, match="none that is known"):
            of_tensor("l", 0, 0, 0, tensor.shape, tensor.strides, 8, shape, 0)
    twos = np.zeros((2, 2, 16, 4, 8))
    with pytest.raises(LayoutError, match="more than 2 blocks"):
        of_tensor("l", 0, 0, 0, twos.shape, twos.strides, 8, shape, 0)
    reversed_dim = np.zeros((9, 4, 16, 16))[..., ::-1]
    with pytest.raises(LayoutError, match="elements of a head"):
        of_tensor("l", 0, 0, 0, reversed_dim.shape, reversed_dim.strides, 8, shape, 0)


def test_a_latent_has_no_heads() -> None:
    tensor = np.zeros((9, 16, 40), np.uint16)
    found = of_tensor("l", 0, 0, 0, tensor.shape, tensor.strides, 2, AttentionShape(16, 1, 40, latent=True), 0)

    assert (found.heads, found.parts, found.vector_bytes, found.block_tokens) == (1, 1, 80, 16)


def test_geometries_that_reach_too_far_are_refused() -> None:
    told = geometry(layer()).to_json()
    assert WorkerGeometry.from_json(told) == geometry(layer())
    told["layers"][0]["later"] = "unknown"
    assert WorkerGeometry.from_json(told) == geometry(layer())
    told["layers"][0]["blocks"] = 1 << 20
    with pytest.raises(LayoutError, match="ends at byte"):
        WorkerGeometry.from_json(told)
    with pytest.raises(LayoutError, match="cannot be read"):
        WorkerGeometry.from_json({"agent": "a"})
    with pytest.raises(LayoutError, match="negative"):
        check(layer(token_stride=-32), geometry(layer()))
