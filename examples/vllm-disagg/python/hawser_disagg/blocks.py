# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""The ids of a pool's blocks: who has them, which are free, and which still hold a prefix that may come again."""

from __future__ import annotations

import random
from collections import OrderedDict
from typing import Optional, Sequence


class OutOfBlocks(Exception):
    """There are not enough free blocks: the request has to wait."""


class BlockIds:
    """Free and used blocks; block 0 is the null block and is never given. The order of free blocks is shuffled."""

    def __init__(self, blocks: int, block_tokens: int, seed: int, reuse_prefixes: bool) -> None:
        ids = list(range(1, blocks))
        random.Random(seed).shuffle(ids)
        self._free: "OrderedDict[int, None]" = OrderedDict.fromkeys(ids)
        self._tokens = block_tokens
        self._reuse = reuse_prefixes
        self._users: dict[int, int] = {}
        self._prefix: dict[tuple[int, ...], int] = {}
        self._holds: dict[int, tuple[int, ...]] = {}
        self.ever: set[int] = set()

    @property
    def free(self) -> int:
        """How many are free."""
        return len(self._free)

    def prefix(self, tokens: Sequence[int]) -> list[int]:
        """Blocks that hold the front of these tokens, taken for the caller; never all of them."""
        found = []
        if self._reuse:
            for end in range(self._tokens, len(tokens), self._tokens):
                block = self._prefix.get(tuple(tokens[:end]))
                if block is None:
                    break
                self._free.pop(block, None)
                self._users[block] = self._users.get(block, 0) + 1
                found.append(block)
        return found

    def take(self, count: int) -> list[int]:
        """Free blocks.

        Raises:
            OutOfBlocks: if there are fewer.
        """
        if count > len(self._free):
            raise OutOfBlocks(f"{count} blocks are needed, {len(self._free)} are free")
        taken = []
        for _ in range(count):
            block, _none = self._free.popitem(last=False)
            held: Optional[tuple[int, ...]] = self._holds.pop(block, None)
            if held is not None and self._prefix.get(held) == block:
                del self._prefix[held]
            self._users[block] = 1
            taken.append(block)
        self.ever.update(taken)
        return taken

    def keep_prefix(self, tokens: Sequence[int], ids: Sequence[int]) -> None:
        """Remembers what full blocks hold."""
        if self._reuse:
            for i, block in enumerate(ids):
                end = (i + 1) * self._tokens
                if end > len(tokens):
                    return
                key = tuple(tokens[:end])
                if key not in self._prefix:
                    self._prefix[key] = block
                    self._holds[block] = key

    def forget(self, ids: Sequence[int]) -> None:
        """These hold nothing of use."""
        for block in ids:
            held = self._holds.pop(block, None)
            if held is not None and self._prefix.get(held) == block:
                del self._prefix[held]

    def give_back(self, ids: Sequence[int]) -> list[int]:
        """Gives blocks back; returns those that nobody has any more."""
        freed = []
        for block in ids:
            self._users[block] -= 1
            if self._users[block] == 0:
                del self._users[block]
                self._free[block] = None
                freed.append(block)
        return freed
