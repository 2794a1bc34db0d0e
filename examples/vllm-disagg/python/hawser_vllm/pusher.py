# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""The producer's half of a push: each layer is written as soon as it is computed, and counted at the consumer."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Callable, Optional, Sequence

from hawser import HawserError, Peer, Transfer

from .errors import HandshakeError, KvTransferError
from .geometry import WorkerGeometry
from .messages import Message
from .peers import Address, Peers, Table, request_label
from .plan import BlockMap, shares
from .stats import TransferStats

logger = logging.getLogger("hawser.vllm")

_REMEMBERED = 4096

# Seconds between looks whether a GPU has computed a layer: short at first, for most are there by then.
_FIRST_PAUSE, _LONGEST_PAUSE = 20e-6, 1e-3


@dataclass
class _Target:
    """One worker of the consumer, and what it asked for."""

    peer: Peer
    table: Optional[Table]
    counter: int
    blocks: BlockMap
    until: float  # then who asked uses its blocks for others, whether we have heard of it or not
    sent: set[str] = field(default_factory=set)
    posting: int = 0  # of these, those that are waited for: not posted yet, and not over
    under_way: list[tuple[Transfer, int]] = field(default_factory=list)
    aborting: bool = False
    done: bool = False


@dataclass
class _Push:
    groups: tuple[tuple[int, ...], ...]
    tokens: int
    prompt: str
    until: float
    layers: dict[str, Optional[Callable[[], bool]]] = field(default_factory=dict)
    targets: dict[str, _Target] = field(default_factory=dict)
    gone: dict[str, int] = field(default_factory=dict)  # workers that gave up, and the counter of what they had asked for
    of: int = 1
    computed: bool = False
    failure: Optional[str] = None


class Pusher:
    """All pushes of one worker. Writes are posted by the executor's thread, which may wait for the layer. Thread-safe."""

    def __init__(
        self,
        peers: Peers,
        stats: TransferStats,
        clock: Callable[[], float],
        executor: Executor,
        lease: float,
        own_workers: Callable[[], Sequence[WorkerGeometry]],
    ) -> None:
        self._peers = peers
        self._stats = stats
        self._clock = clock
        self._executor = executor
        self._lease = lease
        self._own_workers = own_workers
        self._lock = threading.RLock()
        self._open: dict[str, _Push] = {}
        self._early: dict[str, list[tuple[float, Message]]] = {}
        self._ended: "OrderedDict[str, str]" = OrderedDict()
        self._finished: set[str] = set()

    # --------------------------------------------------------------------------------------- of the engine

    def begin(self, transfer_id: str, groups: Sequence[Sequence[int]], tokens: int, prompt: str) -> None:
        """A request is about to be computed, into these blocks; the digest of its prompt."""
        with self._lock:
            if transfer_id in self._open:
                self._open[transfer_id].groups = tuple(tuple(group) for group in groups)
                return
            push = _Push(tuple(tuple(group) for group in groups), tokens, prompt, self._clock() + self._lease)
            self._open[transfer_id] = push
            early = self._early.pop(transfer_id, [])
            for _, message in early:
                if message.kind == "abort":
                    self._gone(push, message)
        for since, message in early:
            if message.kind == "reserve":
                self._executor.submit(self._reserved, message, since)

    def computed(self, transfer_id: str, layer: str, ready: Optional[Callable[[], bool]]) -> None:
        """A layer is computed, or is enqueued on a GPU: then ready() says whether it is there, or raises what the GPU has
        failed of."""
        with self._lock:
            push = self._open.get(transfer_id)
            if push is None:
                return
            push.layers[layer] = ready
        self._executor.submit(self._write, transfer_id)

    def finish(
        self, transfer_id: str, lease: Optional[float] = None, groups: Optional[Sequence[Sequence[int]]] = None
    ) -> None:
        """All of a request is computed: from now on it waits for its consumers, no longer than the lease. Of its blocks those
        are kept that are told; what is being sent of others is waited for, as others write to them from now on."""
        with self._lock:
            push = self._open.get(transfer_id)
            if push is None:
                return
            push.computed = True
            push.until = self._clock() + (self._lease if lease is None else lease)
            if groups is None or not self._keep(push, groups):
                return
            for target in push.targets.values():
                self._advance(transfer_id, target)
            if all(target.done for target in push.targets.values()):
                return
            self.fail(transfer_id, "blocks that its window sees were freed as it finished")
        self.await_stopped(transfer_id)

    def _keep(self, push: _Push, groups: Sequence[Sequence[int]]) -> bool:
        """From now on these blocks are the request's: whoever reserves later is not written what others have in the rest. Says
        whether one is gone that a window sees."""
        before, push.groups = push.groups, tuple(tuple(group) for group in groups)
        if len(before) != len(push.groups):
            return True
        for layer in self._peers.geometry.layers:
            if layer.window > 0:
                first, size = max(0, push.tokens - layer.window) // layer.scheduler_tokens, layer.scheduler_tokens
                needed = slice(first, -(-push.tokens // size))
                if before[layer.group][needed] != push.groups[layer.group][needed]:
                    return True
        return False

    def fail(self, transfer_id: str, reason: str) -> None:
        """A request is not computed, or not to its end."""
        with self._lock:
            push = self._open.get(transfer_id)
            if push is None:  # it never began
                self._refuse_early(self._early.pop(transfer_id, []), reason)
                return
            push.failure = push.failure or reason
            push.until = 0.0
            self._give_up(transfer_id, push, reason)

    def _give_up(self, transfer_id: str, push: _Push, reason: str) -> None:
        for target in push.targets.values():
            if not target.done and not target.aborting:
                self._peers.send(target.peer, "refused", {"id": transfer_id, "reason": reason})
                self._stop(target)

    def await_stopped(self, transfer_id: str) -> None:
        """Waits until nothing reads a failed request's blocks here any more: what others write to them would be counted at
        the consumer as its KV cache. It takes the rest of what is being sent, at most the engine's time for a cancellation."""
        while True:
            with self._lock:
                push = self._open.get(transfer_id)
                targets = () if push is None else push.targets.values()
                if all(transfer.poll() for target in targets for transfer, _ in target.under_way):
                    return
            time.sleep(_LONGEST_PAUSE)

    def take_finished(self) -> set[str]:
        """Requests whose blocks are free since the last call: nobody reads them any more on our behalf."""
        with self._lock:
            finished, self._finished = self._finished, set()
        return finished

    # ------------------------------------------------------------------------------ messages of consumers

    def reserve(self, message: Message) -> None:
        """A consumer has blocks for a request."""
        transfer_id = str(message.fields["id"])
        with self._lock:
            if transfer_id not in self._open:
                reason = self._ended.get(transfer_id)
                if reason is None:
                    self._early.setdefault(transfer_id, []).append((self._clock(), message))
                else:
                    self._refuse(message, f"the last request under its transfer's id is over: {reason}")
                return
        self._executor.submit(self._reserved, message, self._clock())

    def abort(self, message: Message) -> None:
        """A consumer wants no more of a request."""
        transfer_id = str(message.fields["id"])
        counter = int(message.fields.get("counter", 0))
        with self._lock:
            push = self._open.get(transfer_id)
            if push is not None:
                self._gone(push, message)
                target = push.targets.get(message.peer)
                if target is not None and not target.done and target.counter == counter:
                    self._stop(target)
                    return
            else:
                early = [(since, m) for since, m in self._early.pop(transfer_id, []) if m.peer != message.peer]
                if transfer_id not in self._ended:
                    early.append((self._clock(), message))
                if early:
                    self._early[transfer_id] = early
        peer = self._peers.sender(message)
        if peer is not None:
            self._peers.send(peer, "aborted", {"id": transfer_id, "counter": counter})

    def alive(self, message: Message) -> None:
        """A consumer still means to receive these: they are queued there, and nothing is reserved yet."""
        with self._lock:
            for transfer_id in message.fields["ids"]:
                push = self._open.get(str(transfer_id))
                if push is not None and push.failure is None:
                    push.until = max(push.until, self._clock() + self._lease)

    @staticmethod
    def _gone(push: _Push, message: Message) -> None:
        """What this worker asked for may still be on its way here, or wait for the thread that writes: it is nothing any more."""
        push.of = int(message.fields.get("of", push.of))
        push.gone[message.peer] = int(message.fields.get("counter", 0))

    @staticmethod
    def _stop(target: _Target) -> None:
        target.aborting = True
        for transfer, _ in target.under_way:
            if not transfer.poll():
                transfer.cancel()

    def _refuse(self, message: Message, reason: str) -> None:
        self._stats.count("num_kv_refused_reqs")
        peer = self._peers.sender(message)
        if peer is not None:
            self._peers.send(peer, "refused", {"id": message.fields["id"], "reason": reason})

    def _refuse_early(self, messages: Sequence[tuple[float, Message]], reason: str) -> None:
        for _, message in messages:
            if message.kind == "reserve":
                self._refuse(message, reason)

    # ------------------------------------------------------------------------------- on the executor's thread

    def _reserved(self, message: Message, since: float) -> None:
        transfer_id = str(message.fields["id"])
        try:
            fields = message.fields
            address = Address(
                str(fields["remote_host"]), int(fields["remote_port"]), str(fields["remote_engine_id"]), str(fields["remote_instance"])
            )
            engine = self._peers.engine(address)
            workers = engine.description.workers
            index = next((i for i, worker in enumerate(workers) if worker.agent == message.peer), None)
            if index is None:
                raise HandshakeError(f"{message.peer} is no worker of engine {engine.description.engine_id}")
            own = self._own_workers()
            us = next(i for i, worker in enumerate(own) if worker.agent == self._peers.geometry.agent)
            mine = [share for share in shares(workers[index], own) if share.source == us]
            table = self._peers.table(engine, index, mine, "out") if mine else None
            with self._lock:
                push = self._open.get(transfer_id)
                if push is None:
                    self._refuse(message, self._ended.get(transfer_id, "its lease has expired"))
                    return
                until = since + float(fields["within"])
                if push.gone.get(message.peer) == int(fields["counter"]):
                    return  # it gave up meanwhile, and was told that nothing will be written
                if fields.get("prompt") != push.prompt:
                    self._refuse(message, "its prompt is another: two requests have the same transfer id")
                    return
                push.gone.pop(message.peer, None)
                push.of = int(fields["of"])
                theirs = tuple(tuple(int(i) for i in group) for group in fields["ids"])
                blocks = BlockMap(push.tokens, int(fields["skip"]), push.groups, theirs, sends=True)
                push.targets[message.peer] = _Target(engine.peers[index], table, int(fields["counter"]), blocks, until)
            self._write(transfer_id)
        except (KvTransferError, HawserError) as e:
            self._refuse(message, f"{type(e).__name__}: {e}")
        except Exception as e:  # whatever a message of another version has in it
            logger.warning("request %s: what %s reserves cannot be used: %r", transfer_id, message.peer, e)
            self._refuse(message, f"what was reserved cannot be used: {type(e).__name__}: {e}")

    def _write(self, transfer_id: str) -> None:
        while True:
            with self._lock:
                push = self._open.get(transfer_id)
                work = None if push is None else self._next_layer(push)
            if push is None or work is None:
                return
            target, layer = work
            failure = self._wait(push, target, push.layers[layer])
            with self._lock:
                target.posting -= 1
                if target.aborting:
                    continue
                try:
                    if failure is None and target.until <= self._clock():
                        failure = "who asked for it does not wait any more"
                    if failure is None:
                        self._post(transfer_id, target, layer)
                except (KvTransferError, HawserError) as e:
                    failure = str(e)
                except Exception as e:  # a fault of ours must end the push, not pass for its end
                    logger.exception("request %s, layer %s to %s: writing it failed", transfer_id, layer, target.peer.name)
                    failure = f"{type(e).__name__}: {e}"
                if failure is not None:
                    self.fail(transfer_id, failure)  # before anybody finds nothing under way and takes it for the end
            if failure is not None:
                logger.warning("request %s, layer %s to %s: %s", transfer_id, layer, target.peer.name, failure)
                return

    def _wait(self, push: _Push, target: _Target, ready: Optional[Callable[[], bool]]) -> Optional[str]:
        """Waits for a layer that a GPU computes, as long as somebody wants it; gives why there is none."""
        begun, pause = self._clock(), _FIRST_PAUSE
        try:
            while ready is not None and not ready():
                if target.aborting:
                    return None
                if push.until <= self._clock():
                    return f"this engine's GPU did not compute the layer within {self._clock() - begun:.1f} s"
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
        except Exception as e:  # whatever the framework raises when its device fails
            return f"this engine's GPU failed before the layer was computed: {type(e).__name__}: {e}"
        return None

    @staticmethod
    def _next_layer(push: _Push) -> Optional[tuple[_Target, str]]:
        for layer in push.layers:
            for target in push.targets.values():
                if not target.aborting and target.table is not None and layer not in target.sent:
                    if layer in target.table.plan.layers():
                        target.sent.add(layer)
                        target.posting += 1
                        return target, layer
        return None

    def _post(self, transfer_id: str, target: _Target, layer: str) -> None:
        assert target.table is not None
        ours, theirs = target.table.plan.indices(target.blocks, layer)
        label = request_label(transfer_id)
        if len(ours) == 0:
            transfer = self._peers.agent.notify(target.peer, counter=target.counter, request_id=label)
        else:
            transfer = self._peers.agent.write(
                target.table.ours,
                target.peer,
                target.table.theirs,
                local_indices=ours,
                remote_indices=theirs,
                counter=target.counter,
                request_id=label,
            )
        target.under_way.append((transfer, len(ours)))

    # ------------------------------------------------------------------------------------------- the ends

    def poll(self) -> None:
        """Looks which writes have ended, and which pushes are over. Never blocks."""
        now = self._clock()
        with self._lock:
            for transfer_id, push in list(self._open.items()):
                for target in push.targets.values():
                    self._advance(transfer_id, target)
                heard = push.targets.keys() | push.gone.keys()
                if len(heard) >= push.of and all(target.done for target in push.targets.values()):
                    # Before the engine has finished with the request, its blocks are its own anyway.
                    if push.computed or push.until <= now:
                        reason = "it was handed over" if push.targets else "it was given up where it was to be received"
                        self._end(transfer_id, push.failure or reason, expired=False)
                elif push.until <= now:
                    self._expire(transfer_id, push)
            for transfer_id, waiting in list(self._early.items()):
                if waiting[0][0] + self._lease <= now:
                    left = [(since, message) for since, message in waiting if since + self._lease > now]
                    if left:
                        self._early[transfer_id] = left
                    else:
                        del self._early[transfer_id]
                    self._refuse_early(waiting[: len(waiting) - len(left)], "the request was not computed here in time")

    def _advance(self, transfer_id: str, target: _Target) -> None:
        left = []
        for transfer, pieces in target.under_way:
            if not transfer.poll():
                left.append((transfer, pieces))
                continue
            info = transfer.info()
            if info.state == "DONE":
                self._stats.transfer(info.elapsed, 0.0, info.total_bytes, pieces)
            elif target.aborting and info.remote == "PENDING":
                left.append((transfer, pieces))  # the consumer may reuse its blocks only when it has heard of the end
            elif not target.aborting:
                failure = transfer.exception()
                self._stats.count("num_failed_transfers")
                self._peers.send(target.peer, "refused", {"id": transfer_id, "reason": str(failure)})
                self._stop(target)
        target.under_way = left
        if target.done or left or (target.posting and not target.aborting):  # of one that is aborting nothing is posted
            return
        if target.aborting:
            self._peers.send(target.peer, "aborted", {"id": transfer_id, "counter": target.counter})
            target.done = True
        elif target.table is None or len(target.sent) == len(target.table.plan.layers()):
            target.done = True

    def _expire(self, transfer_id: str, push: _Push) -> None:
        reason = push.failure or "its lease has expired"
        self._give_up(transfer_id, push, reason)
        if all(not target.under_way for target in push.targets.values()):
            self._end(transfer_id, reason, expired=push.computed and push.failure is None)

    def _end(self, transfer_id: str, reason: str, expired: bool) -> None:
        if expired:
            self._stats.count("num_kv_expired_reqs")
        del self._open[transfer_id]
        self._ended[transfer_id] = reason
        while len(self._ended) > _REMEMBERED:
            self._ended.popitem(last=False)
        self._finished.add(transfer_id)

    @property
    def pending(self) -> int:
        """How many are under way."""
        with self._lock:
            return len(self._open)
