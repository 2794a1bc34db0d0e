# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""The consumer's half: pulls under grants, and pushes that are waited for."""

from __future__ import annotations

import logging
import secrets
import threading
from collections import OrderedDict
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any, Callable, Optional

import numpy as np

from hawser import Expectation, Grant, HawserError, Peer, Transfer, TransferStale

from .errors import HandshakeError, KvTransferError, NotLent
from .messages import Message, encode
from .peers import Address, Peers, RemoteEngine, Table, request_label
from .plan import BlockMap, shares
from .stats import TransferStats

logger = logging.getLogger("hawser.vllm")

_GONE = 0.5
"""Seconds without any path after which a producer counts as gone."""

_PATIENCE = 2.0
"""Seconds that a producer is given to say that it writes no more, and between the attempts to keep it from it."""


@dataclass
class _Leg:
    """What comes from one worker."""

    peer: Peer
    table: Optional[Table]
    asked: Optional[Transfer] = None
    transfer: Optional[Transfer] = None
    settled: bool = False
    descriptors: int = 0
    posting: float = 0.0
    lost_since: Optional[float] = None
    grant: Optional[Grant] = None
    fencing: Optional["Future[bool]"] = None
    fenced: bool = False


@dataclass
class Reception:
    """The KV cache of one request, on its way.

    Attributes:
        request_id: of the engine here.
        transfer_id: by which both engines know it.
        source: the producer.
        blocks: what goes where.
        push: whether the producer writes; otherwise we read.
        deadline: after which it fails.
        remote_request: the producer's own id of it; empty if not told.
        prompt: its digest; in a pull, with the blocks there.
    """

    request_id: str
    transfer_id: str
    source: Address
    blocks: BlockMap
    push: bool
    deadline: float
    begun: float
    remote_request: str = ""
    prompt: str = ""
    legs: dict[str, _Leg] = field(default_factory=dict)
    error: Optional[str] = None
    over: bool = False
    ready: bool = False
    counter: int = 0
    expectation: Optional[Expectation] = None
    idle: Optional[Callable[[], bool]] = None
    fencing_until: float = 0.0
    instance: str = ""

    def invalid_blocks(self) -> set[int]:
        """Blocks here that do not hold what they should, if it failed."""
        return {block for group in self.blocks.ours for block in group if block != 0}


class Receiver:
    """All receptions of one worker. :meth:`poll` moves them on and never blocks. Thread-safe."""

    def __init__(
        self,
        peers: Peers,
        stats: TransferStats,
        clock: Callable[[], float],
        executor: Executor,
        world_size: int,
        our_address: Callable[[], dict[str, Any]],
    ) -> None:
        self._peers = peers
        self._stats = stats
        self._clock = clock
        self._executor = executor
        self._world_size = world_size
        self._our_address = our_address
        self._lock = threading.RLock()
        self._open: dict[str, Reception] = {}
        self._next_counter = secrets.randbits(61)
        self._unasked: "OrderedDict[Address, list[str]]" = OrderedDict()  # to be told that a request is queued
        self._asking = False
        # For tests that prove that a fault is noticed: changes the indices of the pieces to be read; reads without a grant.
        self.ignore_grant = False
        self.tamper: Optional[Callable[[Table, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]] = None

    def receive(
        self,
        request_id: str,
        transfer_id: str,
        source: Address,
        blocks: BlockMap,
        push: bool,
        timeout: float,
        idle: Optional[Callable[[], bool]] = None,
        remote_request: str = "",
        prompt: str = "",
    ) -> Reception:
        """Starts one, in the background.

        Args:
            request_id: of the engine here.
            transfer_id: by which both engines know it.
            source: the producer.
            blocks: what goes where.
            push: whether the producer writes.
            timeout: seconds.
            idle: whether the GPU has done what it was given before, which may still write to the blocks; raises what it has
                failed of. Nothing is asked of the producer until then.
            remote_request: the producer's own id of it.
            prompt: its digest; in a pull, with the blocks there.
        """
        now = self._clock()
        reception = Reception(
            request_id, transfer_id, source, blocks, push, now + timeout, now, remote_request, prompt, idle=idle
        )
        with self._lock:
            self._open[transfer_id] = reception
            self._begin(reception)
        return reception

    def begin_waiting(self) -> None:
        """Starts those whose blocks the GPU has done with; to be called now and then. Never blocks."""
        with self._lock:
            for reception in list(self._open.values()):
                if reception.idle is not None:
                    self._begin(reception)

    def _begin(self, reception: Reception) -> None:
        if reception.error is not None:
            return
        try:
            if reception.idle is not None and not reception.idle():
                return
        except Exception as e:  # whatever the framework raises when its device fails
            self._fail(reception, f"this engine's GPU failed before the blocks could be received into: {type(e).__name__}: {e}")
            return
        reception.idle = None
        self._executor.submit(self._start, reception)

    def notify_only(self, transfer_id: str, source: Address, push: bool, remote_request: str) -> None:
        """Tells the producer that nothing of a request is wanted (any more), and that nothing was reserved for it."""
        self._tell(source, *self._giving_up(transfer_id, push, 0, remote_request))

    def _giving_up(self, transfer_id: str, push: bool, counter: int, remote_request: str) -> tuple[str, dict[str, Any]]:
        if push:
            return "abort", {"id": transfer_id, "of": self._world_size, "counter": counter}
        return "done", self._done(transfer_id, remote_request)

    def _done(self, transfer_id: str, remote_request: str) -> dict[str, Any]:
        return {"id": transfer_id, "of": self._world_size, "request": remote_request}

    def _tell(self, source: Address, kind: str, fields: dict[str, Any]) -> None:
        def tell() -> None:
            try:
                engine = self._peers.engine(source)
            except KvTransferError as e:
                logger.warning("request %s: its producer cannot be told that it is free: %s", fields["id"], e)
                return
            for peer in engine.peers:
                self._peers.send(peer, kind, fields)

        self._executor.submit(tell)

    def keep_alive(self, waiting: dict[Address, list[str]]) -> None:
        """Tells producers which requests are still meant to be read: at once those that are known; of the others one is
        asked at a time, and each once, for those that do not answer must take no more than one thread."""

        def ask() -> None:
            while True:
                with self._lock:
                    if not self._unasked:
                        self._asking = False
                        return
                    address, ids = self._unasked.popitem(last=False)
                try:
                    engine = self._peers.engine(address)
                except Exception as e:  # of one, and no reason to leave the others
                    logger.warning("the producer at %s:%d is not kept waiting: %s", address.host, address.port, e)
                    continue
                self._say_alive(engine, ids)

        with self._lock:
            for address, ids in waiting.items():
                engine = self._peers.remembered(address)
                if engine is None:
                    self._unasked[address] = ids
                else:
                    self._say_alive(engine, ids)
            if self._unasked and not self._asking:
                self._asking = True
                self._executor.submit(ask)

    def _say_alive(self, engine: RemoteEngine, ids: list[str]) -> None:
        for peer in engine.peers:
            self._peers.send(peer, "alive", {"ids": ids})

    # ------------------------------------------------------------------------------------------- the start

    def _start(self, reception: Reception) -> None:
        answered = False
        try:
            engine = self._peers.engine(reception.source)
            answered = True
            wanted = shares(self._peers.geometry, engine.description.workers)
            with self._lock:
                if reception.error is not None:
                    return
                tables = []
                for i in range(len(engine.peers)):
                    mine = [share for share in wanted if share.source == i]
                    tables.append(self._peers.table(engine, i, mine, "in") if mine else None)
                reception.instance = engine.description.instance
                reception.legs.update({peer.name: _Leg(peer, table) for peer, table in zip(engine.peers, tables)})
                if reception.push:
                    self._reserve(reception, engine)
                else:
                    for leg in reception.legs.values():
                        self._ask(reception, leg)
                reception.ready = True
        except (KvTransferError, HawserError) as e:
            self._fail(reception, str(e), tell=answered)
        except Exception as e:  # a fault of ours must end the request, not the thread that serves all of them
            logger.exception("request %s: starting its transfer failed", reception.request_id)
            self._fail(reception, f"{type(e).__name__}: {e}", tell=answered)

    def _ask(self, reception: Reception, leg: _Leg) -> None:
        if leg.table is None:  # a worker whose heads come from its replica: it must learn, too, that we are done
            leg.asked = self._peers.send(leg.peer, "done", self._done(reception.transfer_id, reception.remote_request))
            leg.settled = True
            return
        fields = {"id": reception.transfer_id, "request": reception.remote_request, "prompt": reception.prompt}
        leg.asked = self._peers.send(leg.peer, "lend", fields, self._peers.introduction())
        if leg.asked is None:
            raise HandshakeError(f"worker {leg.peer.name} cannot be reached")

    def _reserve(self, reception: Reception, engine: RemoteEngine) -> None:
        self._next_counter += 1
        reception.counter = self._next_counter
        arrivals = sum(len(leg.table.plan.layers()) for leg in reception.legs.values() if leg.table is not None)
        reception.expectation = self._peers.agent.expect(reception.counter, arrivals)
        fields = {
            "id": reception.transfer_id,
            "counter": reception.counter,
            "of": self._world_size,
            "ids": [list(group) for group in reception.blocks.ours],
            "skip": reception.blocks.skip,
            "prompt": reception.prompt,
            "within": max(0.0, reception.deadline - self._clock()),
            **self._our_address(),
        }
        for leg in reception.legs.values():
            leg.asked = self._peers.send(leg.peer, "reserve", fields, self._peers.introduction())
            if leg.asked is None:
                raise HandshakeError(f"worker {leg.peer.name} cannot be reached")

    # ------------------------------------------------------------------------------ messages of producers

    def lent(self, message: Message) -> None:
        """A producer lends: read, at once, on the listener's thread."""
        with self._lock:
            reception = self._open.get(str(message.fields["id"]))
            leg = None if reception is None else reception.legs.get(message.peer)
            if reception is None or leg is None or leg.table is None or leg.transfer is not None or reception.error is not None:
                return
            try:
                lent = self._peers.agent.accept(message.body)
                ours, theirs = leg.table.plan.indices(reception.blocks)
                if self.tamper is not None:
                    ours, theirs = self.tamper(leg.table, ours, theirs)
                leg.descriptors = len(ours)
                (done,) = encode("done", self._done(reception.transfer_id, reception.remote_request))
                posted = self._clock()
                leg.transfer = self._peers.agent.read(
                    leg.table.ours,
                    leg.peer,
                    leg.table.theirs,
                    local_indices=ours,
                    remote_indices=theirs,
                    notification=done,
                    request_id=request_label(reception.transfer_id),
                    timeout=max(0.001, reception.deadline - self._clock()),
                    grant=None if self.ignore_grant else lent,
                )
                leg.posting = self._clock() - posted
            except (KvTransferError, HawserError) as e:
                self._fail(reception, str(e))

    def refused(self, message: Message) -> None:
        """A producer does not lend, or its request has failed."""
        with self._lock:
            reception = self._open.get(str(message.fields["id"]))
            if reception is not None:
                self._fail(reception, str(NotLent(f"{message.peer} does not hand out the blocks: {message.fields['reason']}")))

    def aborted(self, message: Message) -> None:
        """A producer will write no more."""
        with self._lock:
            reception = self._open.get(str(message.fields["id"]))
            leg = None if reception is None else reception.legs.get(message.peer)
            if leg is None or reception is None or reception.error is None:
                return
            if int(message.fields["counter"]) == reception.counter:  # and not of an earlier request under the same id
                leg.settled = True

    # ------------------------------------------------------------------------------------------- the ends

    def poll(self) -> list[Reception]:
        """Those that are over since the last call: with an error, or well."""
        self.begin_waiting()
        now = self._clock()
        ended = []
        with self._lock:
            for reception in list(self._open.values()):
                self._advance(reception, now)
                if reception.over:
                    del self._open[reception.transfer_id]
                    ended.append(reception)
        return ended

    def _advance(self, reception: Reception, now: float) -> None:
        if reception.error is None and now > reception.deadline:
            patience = f"within {reception.deadline - reception.begun:.1f} s"
            if reception.idle is None:
                self._fail(reception, f"the KV cache did not arrive {patience}")
            else:
                self._fail(reception, f"this engine's GPU did not finish what it was given before {patience}: nothing was asked for")
        if reception.error is not None:
            self._wind_up(reception, now)
            return
        if not reception.ready:
            return
        for leg in reception.legs.values():
            if leg.asked is not None and leg.transfer is None and leg.asked.poll():
                failure = leg.asked.exception()
                if failure is not None:
                    self._stats.count("num_failed_notifications")
                    self._fail(reception, f"{leg.peer.name} does not answer: {failure}")
                    return
                leg.asked = None
            if leg.asked is None and leg.transfer is None and not leg.settled and self._lost(leg, now):
                self._fail(reception, f"{leg.peer.name} is gone: no path to it is up")
                return
            if leg.transfer is not None and not leg.settled and leg.transfer.poll():
                failure = leg.transfer.exception()
                if failure is not None:
                    if isinstance(failure, TransferStale):
                        self._stats.count("num_kv_stale_reads")
                    self._fail(reception, str(failure))
                    return
                info = leg.transfer.info()
                self._stats.transfer(info.elapsed, leg.posting, info.total_bytes, leg.descriptors)
                leg.settled = True
        if reception.push:
            if reception.expectation is not None and reception.expectation.poll():
                reception.over = True
        elif all(leg.settled for leg in reception.legs.values()):
            reception.over = True

    @staticmethod
    def _lost(leg: _Leg, now: float) -> bool:
        """Whether whoever has heard us, and is to answer, has gone: not only for a moment, as when a path fails over."""
        if leg.peer.connected:
            leg.lost_since = None
        elif leg.lost_since is None:
            leg.lost_since = now
        return leg.lost_since is not None and now - leg.lost_since > _GONE

    def abort(self, transfer_id: str, request_id: str) -> None:
        """The request is not wanted any more: ends its reception, which is still reported when it is over. Not that of
        another, which came under the same transfer's id when it was over already."""
        with self._lock:
            reception = self._open.get(transfer_id)
            if reception is not None and reception.request_id == request_id:
                self._stats.count("num_aborted_reqs")
                self._fail(reception, "the request was aborted")

    def _fail(self, reception: Reception, reason: str, tell: bool = True) -> None:
        """Ends one. The producer is told, if it may be there, whether it was asked for anything yet or not."""
        with self._lock:
            if reception.error is not None or reception.over:
                return
            logger.warning("request %s (%s): %s", reception.request_id, reception.transfer_id, reason)
            self._stats.count("num_failed_transfers")
            reception.error = reason
            kind, fields = self._giving_up(
                reception.transfer_id, reception.push, reception.counter, reception.remote_request
            )
            if reception.idle is None:
                self._peers.forget(reception.source)
            reception.idle = None
            if not reception.legs:  # it never came to asking: the producer need not wait for it
                if tell:
                    self._tell(reception.source, kind, fields)
                return
            reception.fencing_until = self._clock() + _PATIENCE
            if reception.expectation is not None:
                reception.expectation.cancel()
            for leg in reception.legs.values():
                if leg.transfer is not None and not leg.transfer.poll():
                    leg.transfer.cancel()
                self._peers.send(leg.peer, kind, fields)

    def _wind_up(self, reception: Reception, now: float) -> None:
        """Ends a failed one: not before nothing can land here any more."""
        if not reception.push:
            reception.over = all(leg.transfer is None or leg.transfer.poll() for leg in reception.legs.values())
            return
        # Not over as long as one is left: the blocks must not be reused.
        for leg in reception.legs.values():
            if leg.table is None or leg.settled:
                continue
            if leg.fencing is None:
                if now >= reception.fencing_until:
                    leg.fencing = self._executor.submit(self._fence, reception, leg)
            elif leg.fencing.done():
                leg.settled = leg.fencing.result()
                leg.fencing = None
                reception.fencing_until = now + _PATIENCE
        reception.over = all(leg.table is None or leg.settled for leg in reception.legs.values())

    def _fence(self, reception: Reception, leg: _Leg) -> bool:
        """A producer does not say that it has stopped writing: ends its session, which others of its requests may share. Waits
        for it: not for the engine's step. False if it may still write: one that has not heard that nothing is wanted, as it
        was stopped, connects anew when it goes on, and may begin to write what it was asked for then, until that is over."""
        assert leg.table is not None
        try:
            ended = self._clock() > reception.deadline + self._peers.timeout  # what was asked may have come so late
            if not leg.fenced or ended:
                if leg.grant is None:
                    leg.grant = self._peers.agent.grant(leg.table.ours, leg.peer, writable=True)
                leg.grant.revoke(timeout=0.5)
                leg.grant, leg.fenced = None, True
            if not ended and not self._peers.is_gone(reception.source, reception.instance):
                kind, fields = self._giving_up(
                    reception.transfer_id, reception.push, reception.counter, reception.remote_request
                )
                self._peers.send(leg.peer, kind, fields)
                return False
        except Exception as e:  # of whatever kind: it may still write, and the engine's step is not to end of it
            logger.warning("fencing %s: %s: %s", leg.peer.name, type(e).__name__, e)
            return False
        return True

    @property
    def pending(self) -> int:
        """How many are under way."""
        with self._lock:
            return len(self._open)
