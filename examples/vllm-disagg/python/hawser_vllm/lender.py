# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""The producer's half of a pull: blocks that are held for readers, under leases that are enforced here."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Callable, Optional

from hawser import Grant, HawserError

from .messages import Message
from .peers import Peers
from .stats import TransferStats

logger = logging.getLogger("hawser.vllm")

_REMEMBERED = 4096


@dataclass
class _Held:
    request: str
    until: float
    prompt: str
    grant: Optional[Grant] = None
    done: set[str] = field(default_factory=set)

    def is_meant(self, message: Message) -> bool:
        """Not if another request was held under the transfer's id, which its reader means still: other blocks."""
        return message.fields.get("request") in (None, "", self.request)


class Lender:
    """Holds requests' blocks until all readers are done, the lease ends, or the request is dropped.

    However a lease ends, its grant is ended before the blocks are told to be free: a read that is late is STALE.
    Thread-safe.
    """

    def __init__(self, peers: Peers, stats: TransferStats, clock: Callable[[], float], lease: float, patience: float) -> None:
        """Lease: seconds that a request is held without a sign of life of its reader. Patience: seconds that a reader is
        left waiting for a request that is not known (yet)."""
        self._peers = peers
        self._stats = stats
        self._clock = clock
        self._lease = lease
        self._patience = patience
        self._lock = threading.Lock()
        self._held: dict[str, _Held] = {}
        self._early: dict[str, list[tuple[float, Message]]] = {}
        self._ended: "OrderedDict[str, str]" = OrderedDict()
        self._finished: set[str] = set()
        # For tests that prove that a fault is noticed: called when a grant is about to be told; False keeps silent.
        self.trap: Optional[Callable[[str, Grant], bool]] = None

    def hold(self, transfer_id: str, request: str, lease: Optional[float] = None, prompt: str = "") -> None:
        """Lends a request's blocks from now on, to who tells the same digest of prompt and blocks."""
        with self._lock:
            if transfer_id in self._held:
                return
            self._held[transfer_id] = _Held(request, self._clock() + (self._lease if lease is None else lease), prompt)
            early = self._early.pop(transfer_id, [])
        for _, message in early:
            self.lend(message)

    def drop(self, transfer_id: str, reason: str) -> None:
        """Ends a lease now, whoever may be reading. The request counts as finished."""
        with self._lock:
            self._end(transfer_id, reason)

    def take_finished(self) -> set[str]:
        """Requests whose blocks are free since the last call."""
        with self._lock:
            finished, self._finished = self._finished, set()
        return finished

    def expire(self) -> None:
        """Ends what is over; to be called now and then, and before finished requests are taken."""
        now = self._clock()
        refused = []
        with self._lock:
            for transfer_id in [i for i, held in self._held.items() if held.until <= now]:
                self._stats.count("num_kv_expired_reqs")
                self._end(transfer_id, "its lease has expired")
            for transfer_id, waiting in list(self._early.items()):
                late = [m for since, m in waiting if since + self._patience <= now]
                refused += late
                left = [(s, m) for s, m in waiting if s + self._patience > now]
                if left:
                    self._early[transfer_id] = left
                else:
                    del self._early[transfer_id]
        for message in refused:
            self._refuse(message, "the request is not known here: it was never computed here, or long ago")

    def _end(self, transfer_id: str, reason: str) -> None:
        held = self._held.pop(transfer_id, None)
        if held is None:
            return
        if held.grant is not None:
            held.grant.revoke()  # for reading: only raises the generation, and does not wait for anybody
        self._ended[transfer_id] = reason
        while len(self._ended) > _REMEMBERED:
            self._ended.popitem(last=False)
        self._finished.add(transfer_id)

    # --------------------------------------------------------------------------------- messages of readers

    def lend(self, message: Message) -> None:
        """A reader asks for a grant."""
        transfer_id = str(message.fields["id"])
        with self._lock:
            held = self._held.get(transfer_id)
            if held is None:
                reason = self._ended.get(transfer_id)
                if reason is None:
                    self._early.setdefault(transfer_id, []).append((self._clock(), message))
                    return
            elif not held.is_meant(message):
                reason = "another request is lent under its transfer's id since"
            elif held.prompt and message.fields.get("prompt") != held.prompt:
                reason = "its prompt or its blocks are others than those that are lent under its transfer's id"
            else:
                reason = None
                try:
                    if held.grant is None:
                        held.grant = self._peers.agent.grant(self._peers.everything())
                    told = held.grant.to_bytes()
                    if self.trap is not None and not self.trap(transfer_id, held.grant):
                        return
                except HawserError as e:
                    reason = str(e)
        if reason is not None:
            self._refuse(message, reason)
            return
        peer = self._peers.sender(message)
        if peer is not None:
            self._peers.send(peer, "lent", {"id": transfer_id}, told)

    def _refuse(self, message: Message, reason: str) -> None:
        self._stats.count("num_kv_refused_reqs")
        logger.warning("request %s: %s asked for its blocks: %s", message.fields.get("id"), message.peer, reason)
        peer = self._peers.sender(message)
        if peer is not None:
            self._peers.send(peer, "refused", {"id": message.fields["id"], "reason": reason})

    def done(self, message: Message) -> None:
        """A reader has what it wanted, or wants nothing any more."""
        transfer_id = str(message.fields["id"])
        of = int(message.fields["of"])
        with self._lock:
            held = self._held.get(transfer_id)
            if held is None or not held.is_meant(message):
                return
            held.done.add(message.peer)
            if len(held.done) >= of:
                self._end(transfer_id, "its readers are done with it")

    def alive(self, message: Message) -> None:
        """A reader still means to read these."""
        with self._lock:
            for transfer_id in message.fields["ids"]:
                held = self._held.get(str(transfer_id))
                if held is not None:
                    held.until = max(held.until, self._clock() + self._lease)

    def close(self) -> None:
        """Ends all leases."""
        with self._lock:
            for transfer_id in list(self._held):
                self._end(transfer_id, "the engine is shutting down")


