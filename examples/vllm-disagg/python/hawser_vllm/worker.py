# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""One worker of an engine: its agent, its KV cache, and all transfers of it. It knows nothing of vLLM."""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Mapping, Sequence

from hawser import Agent, AgentClosed, HawserError, InvalidHandle, Region

from .errors import KvTransferError
from .geometry import WorkerGeometry
from .incoming import Receiver
from .lender import Lender
from .messages import Assembly, Message
from .peers import Peers
from .pusher import Pusher
from .stats import TransferStats

logger = logging.getLogger("hawser.vllm")


class KvWorker:
    """Lends, pushes and receives KV blocks.

    A thread of its own hears what other workers tell, and enforces leases also while the engine does not step.
    """

    def __init__(
        self,
        agent: Agent,
        geometry: WorkerGeometry,
        regions: Sequence[Region],
        facts: Mapping[str, Any],
        *,
        world_size: int,
        lease: float,
        handshake_timeout: float,
        our_address: Callable[[], dict[str, Any]],
        own_workers: Callable[[], Sequence[WorkerGeometry]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Starts it.

        Args:
            agent: with the regions kv0, kv1 and so on.
            geometry: where the layers are in the regions.
            regions: in order.
            facts: what the compatibility hash is made of.
            world_size: workers of this engine.
            lease: seconds that blocks are held without a sign of life of a reader.
            handshake_timeout: seconds that an engine's answer may take.
            our_address: fields by which others find this engine's handshake.
            own_workers: the geometries of all of this engine's workers.
            clock: seconds, monotonic.
        """
        self.agent = agent
        self.geometry = geometry
        self.stats = TransferStats()
        self._regions = regions
        # Several, and apart from the writes: an engine that does not answer must not hold back the requests of others.
        self._handshakes = ThreadPoolExecutor(4, thread_name_prefix="hawser-handshake")
        self._writes = ThreadPoolExecutor(1, thread_name_prefix="hawser-push")
        peers = Peers(agent, geometry, regions, facts, handshake_timeout)
        self.lender = Lender(peers, self.stats, clock, lease, patience=min(lease, 5.0))
        self.receiver = Receiver(peers, self.stats, clock, self._handshakes, world_size, our_address)
        self.pusher = Pusher(peers, self.stats, clock, self._writes, lease, own_workers)
        self._handlers: dict[str, Callable[[Message], None]] = {
            "lend": self.lender.lend,
            "done": self.lender.done,
            "alive": self._alive,
            "lent": self.receiver.lent,
            "refused": self.receiver.refused,
            "aborted": self.receiver.aborted,
            "reserve": self.pusher.reserve,
            "abort": self.pusher.abort,
        }
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._listen, name=f"hawser-{geometry.agent}", daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        assembly = Assembly()
        while not self._closing.is_set():
            try:
                notification = self.agent.next_notification(timeout=0.1)
                self.lender.expire()
                self.pusher.poll()
                self.receiver.begin_waiting()
                if notification is None:
                    continue
                message = assembly.take(notification.peer, notification.peer_epoch, notification.payload)
                if message is not None:
                    self._handle(message)
            except (AgentClosed, InvalidHandle):
                return
            except (KvTransferError, HawserError) as e:
                logger.warning("%s: %s", self.geometry.agent, e)
            except Exception:  # one bad message must not make this worker deaf
                logger.exception("%s: handling a message failed", self.geometry.agent)

    def _handle(self, message: Message) -> None:
        handler = self._handlers.get(message.kind)
        if handler is None:
            logger.warning("%s tells of %r, which this version does not know", message.peer, message.kind)
            return
        handler(message)

    def _alive(self, message: Message) -> None:
        self.lender.alive(message)
        self.pusher.alive(message)

    def take_finished_sending(self) -> set[str]:
        """Transfers whose blocks here are free since the last call."""
        self.lender.expire()
        self.pusher.poll()
        return self.lender.take_finished() | self.pusher.take_finished()

    def close(self) -> None:
        """Ends all transfers, then the agent."""
        self.lender.close()
        self._closing.set()
        self._thread.join(2)
        self._handshakes.shutdown(wait=False, cancel_futures=True)
        self._writes.shutdown(wait=False, cancel_futures=True)
        self.agent.close()
