# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""This worker's agent, the engines that it knows, and messages to their workers."""

from __future__ import annotations

import logging
import math
import socket
import threading
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Sequence

from hawser import Agent, BlockList, HawserError, Peer, Region, Transfer, UnknownPeer

from . import handshake, messages
from .errors import HandshakeError
from .geometry import WorkerGeometry
from .messages import Message
from .plan import Grid, PairTable, Share

logger = logging.getLogger("hawser.vllm")


@dataclass(frozen=True)
class Address:
    """Where an engine answers the handshake, and which engine is expected there."""

    host: str
    port: int
    engine_id: str = ""
    instance: str = ""


@dataclass
class Table:
    """What we share with one worker of another engine, as block lists of both sides."""

    plan: PairTable
    ours: BlockList
    theirs: BlockList


@dataclass
class RemoteEngine:
    """Another engine, in one incarnation."""

    description: handshake.EngineDescription
    peers: Sequence[Peer]
    tables: dict[tuple[str, int], Table] = field(default_factory=dict)


class Peers:
    """The agent, its regions, the engines known, and the sending of messages. Thread-safe."""

    def __init__(
        self, agent: Agent, geometry: WorkerGeometry, regions: Sequence[Region], facts: Mapping[str, Any], timeout: float
    ) -> None:
        self.agent = agent
        self.geometry = geometry
        self.facts = facts
        self._regions = regions
        self._timeout = timeout
        self._compatibility = handshake.compatibility_hash(facts)
        self._engines: dict[tuple[str, int], RemoteEngine] = {}
        self._lock = threading.Lock()
        self._probed: set[tuple[str, int]] = set()
        self._numbers = messages.Numbers()
        self._introduction: Optional[bytes] = None

    # ---------------------------------------------------------------------------------------------- engines

    def engine(self, address: Address) -> RemoteEngine:
        """The engine at an address, asking it if it is not known, or not the incarnation that is expected. May take its
        time: not for the engine's step.

        Raises:
            HandshakeError: if it does not answer, or is another.
            IncompatibleEngine: if its KV cache is of no use here.
        """
        key = (address.host, address.port)
        known = self.remembered(address)
        if known is not None:
            return known
        description = handshake.fetch(address.host, address.port, self._compatibility, self.facts, self._timeout)
        if address.engine_id and description.engine_id != address.engine_id:
            raise HandshakeError(
                f"at {address.host}:{address.port} there is engine {description.engine_id}, not {address.engine_id}: it was"
                " replaced, or the address is wrong"
            )
        if address.instance and description.instance != address.instance:
            raise HandshakeError(f"engine {description.engine_id} has restarted since: the blocks are gone; send the request again")
        try:
            engine = RemoteEngine(description, [self.agent.add_peer(blob) for blob in description.blobs])
        except HawserError as e:
            raise HandshakeError(f"engine {description.engine_id}: {e}") from None
        with self._lock:
            self._engines[key] = engine
        return engine

    def remembered(self, address: Address) -> Optional[RemoteEngine]:
        """The engine at an address, if it need not be asked for."""
        with self._lock:
            known = self._engines.get((address.host, address.port))
        return known if known is not None and address.instance in ("", known.description.instance) else None

    @property
    def timeout(self) -> float:
        """Seconds that an engine's answer, and a message, may take."""
        return self._timeout

    def is_gone(self, address: Address, instance: str) -> bool:
        """Whether an engine has ended: nobody listens where it did, or another incarnation does. May take its time. False if
        it does not answer: it may be stopped, or cut off; and if another thread asks it: one is enough to wait for it."""
        key = (address.host, address.port)
        with self._lock:
            if key in self._probed:
                return False
            self._probed.add(key)
        try:
            return self._is_gone(address, instance)
        finally:
            with self._lock:
                self._probed.discard(key)

    def _is_gone(self, address: Address, instance: str) -> bool:
        try:
            socket.create_connection((address.host, address.port), self._timeout).close()
            described = handshake.fetch(address.host, address.port, self._compatibility, self.facts, self._timeout)
        except ConnectionRefusedError:
            return True
        except (OSError, HandshakeError):
            return False
        return described.instance != instance

    def forget(self, address: Address) -> None:
        """Has the engine asked again next time."""
        with self._lock:
            self._engines.pop((address.host, address.port), None)

    def table(self, engine: RemoteEngine, worker: int, shares: Sequence[Share], direction: str) -> Table:
        """The block lists of what we share with one of its workers; made once for each direction."""
        key = (direction, worker)
        with self._lock:
            known = engine.tables.get(key)
        if known is None:
            theirs = engine.description.workers[worker]
            plan = PairTable.of(self.geometry, theirs, shares)
            peer = engine.peers[worker]
            known = Table(
                plan,
                BlockList.concat([self._ours(pair.ours) for pair in plan.pairs]),
                BlockList.concat([_theirs(peer, pair.theirs) for pair in plan.pairs]),
            )
            with self._lock:
                engine.tables[key] = known
        return known

    def _ours(self, grid: Grid) -> BlockList:
        region = self._regions[grid.region]
        return BlockList.strided(region.address + grid.offset, grid.shape, grid.strides, grid.length, region.device)

    def everything(self) -> BlockList:
        """Our regions, one block each: what a grant is made for."""
        device = self._regions[0].device
        return BlockList.concat([BlockList.of(r.address, r.nbytes, device) for r in self._regions])

    # --------------------------------------------------------------------------------------------- messages

    def send(self, peer: Peer, kind: str, fields: Mapping[str, Any], body: bytes = b"") -> Optional[Transfer]:
        """Sends a message; the last notification's transfer tells whether it came. None, logged, if it could not be sent."""
        transfer = None
        try:
            for part in messages.encode(kind, fields, body, self._numbers.next()):
                transfer = self.agent.notify(peer, part, timeout=self._timeout)
            return transfer
        except HawserError as e:
            logger.warning("telling %s %r about request %s failed: %s", peer.name, kind, fields.get("id"), e)
            return None

    def introduction(self) -> bytes:
        """What a worker needs that is to answer us, and has not heard of us yet."""
        with self._lock:
            if self._introduction is None:
                self._introduction = self.agent.metadata(regions=[])
            return self._introduction

    def sender(self, message: Message) -> Optional[Peer]:
        """Whom to answer; the message may introduce its sender. None, logged, if it is not known."""
        try:
            try:
                peer = self.agent.peer(message.peer, timeout=0.0)
                if peer.epoch == message.peer_epoch or not message.body:
                    return peer
            except UnknownPeer:
                if not message.body:
                    raise
            return self.agent.add_peer(message.body)
        except HawserError as e:
            logger.warning("%s, which tells of %r, cannot be answered: %s", message.peer, message.kind, e)
            return None


def _theirs(peer: Peer, grid: Grid) -> BlockList:
    region = peer.region(f"kv{grid.region}")
    reach = sum((n - 1) * s for n, s in zip(grid.shape, grid.strides)) + grid.length if math.prod(grid.shape) else 0
    if grid.offset + reach > region.nbytes:
        raise HandshakeError(f"{peer.name}: its region kv{grid.region} has {region.nbytes} bytes, its geometry more")
    return BlockList.strided(region.address + grid.offset, grid.shape, grid.strides, grid.length, region.device)


def request_label(transfer_id: str) -> str:
    """A request's id as it appears in the engine's errors and telemetry: at most 64 bytes."""
    return transfer_id.encode()[-64:].decode(errors="ignore")
