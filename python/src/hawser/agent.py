# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Agents, their peers, and transfers between them."""

from __future__ import annotations

import concurrent.futures
import contextlib
import ctypes as c
import json
import os
import threading
import time
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generator, Iterable, Mapping, Optional, Sequence, Union

from . import _abi, _checks, _pages, errors
from ._runtime import Runtime, table
from ._signals import Signals, ask
from .memory import BlockList, DeviceLike, Indices, Layout, Memory, device_name, device_number

LOCAL = 0
"""Access: peers may do nothing; memory for local blocks only."""
REMOTE_READ = 1
"""Access: peers may read."""
REMOTE_WRITE = 2
"""Access: peers may write."""
REMOTE_READ_WRITE = 3
"""Access: peers may read and write."""

IDLE, ACTIVE, DONE, FAILED, CANCELLED = "IDLE", "ACTIVE", "DONE", "FAILED", "CANCELLED"
_STATES = (IDLE, ACTIVE, DONE, FAILED, CANCELLED)
_ACTIVE = 1

_OPERATIONS = {"READ": 1, "WRITE": 2}
_REMOTE = ("PENDING", "DELIVERED", "ABORTED", "UNKNOWN", "NOT_APPLICABLE")

_COUNTER = 1
_FLUSH = 2

_STILL_REACHED: list[Any] = []
"""Memory that somebody may still write to, though its region is closed: for good, so that it is given to nobody else."""


@dataclass(frozen=True)
class Notification:
    """Bytes that a peer sent behind its data: when this is seen, all of that data is visible.

    Attributes:
        peer: who sent it.
        payload: the bytes.
        request_id: of the transfer; None if it had none.
        peer_epoch: the peer's incarnation.
        transfer: the peer's number of the transfer.
    """

    peer: str
    payload: bytes
    request_id: Optional[str]
    peer_epoch: int
    transfer: int


def _taken(info: _abi.NotificationInfo) -> Notification:
    """The notification that a call was given; if an exception of a signal's handler comes before, it is the next call's."""
    notification = Notification(
        info.peer.decode(),
        c.string_at(c.addressof(info) + _abi.NotificationInfo.payload.offset, info.payload_bytes),
        info.request_id.decode() if info.request_id_bytes else None,
        info.peer_epoch,
        info.transfer,
    )
    info.peer = b""
    return notification


@dataclass(frozen=True)
class TransferInfo:
    """How a transfer stands.

    Attributes:
        state: IDLE, ACTIVE, DONE, FAILED or CANCELLED.
        cause: the class of failure, empty if it did not fail.
        remote: what became of it at the peer: PENDING, DELIVERED, ABORTED, UNKNOWN or NOT_APPLICABLE.
        maybe_notified: it failed, and its notification may have come all the same.
        position: the byte at which it failed; -1 if not known.
        total_bytes: bytes that it moves.
        acknowledged_bytes: bytes acknowledged so far.
        elapsed: seconds from the post to the end, or to now.
        number: within the link to the peer, as in telemetry.
        peer_epoch: the peer's incarnation.
    """

    state: str
    cause: str
    remote: str
    maybe_notified: bool
    position: int
    total_bytes: int
    acknowledged_bytes: int
    elapsed: float
    number: int
    peer_epoch: int


class Region:
    """Memory that is registered with an agent. It keeps the tensor or array alive until it is closed."""

    def __init__(self, agent: "Agent", handle: int, name: Optional[str], memory: Optional[Memory]) -> None:
        """Made by :meth:`Agent.register` and :meth:`Agent.allocate`."""
        self._agent = agent
        self._handle = handle
        self._open = True
        self.name = name
        info = _abi.RegionInfo(c.sizeof(_abi.RegionInfo))
        self._agent._functions().region_describe(handle, c.byref(info))
        self.address: int = info.address
        self.nbytes: int = info.length
        self.device: str = device_name(info.device)
        self.access: int = info.access
        self.id: int = info.id
        # Every view of the memory keeps this, and this keeps the memory.
        self._bytes: Any = None
        self._unmapping: Any = None
        if self.device == "host":
            self._bytes = (c.c_ubyte * self.nbytes).from_address(self.address)
            self._bytes.memory = memory
        self._memory = memory
        if memory is None:
            self._unmapping = weakref.finalize(
                self._bytes, _pages.unmap, self.address, self._agent._functions().region_keep(handle)
            )
            self._unmapping.atexit = False  # an array may be there longer than this module

    @property
    def handle(self) -> int:
        """The handle of the C ABI."""
        return self._handle

    def blocks(self, block_bytes: Optional[int] = None, offset: int = 0, count: Optional[int] = None) -> BlockList:
        """Adjacent blocks in it.

        Args:
            block_bytes: bytes of each; None for one block.
            offset: of the first.
            count: how many; None for all that fit.

        Raises:
            InvalidHandle: if the region is closed.
        """
        if not self._open:
            raise errors.InvalidHandle(f"region {self.name or self.id}: it is closed, and has no blocks; register the memory again")
        return _adjacent(f"region {self.name or self.id}", self.address, self.nbytes, self.device, block_bytes, offset, count)

    def buffer(self) -> memoryview:
        """The memory as a buffer, writable if it is; for host memory.

        The memory stays as long as there is a view of it (an array made of it, for example), even when the region is
        closed: peers cannot reach it any more then. Only memory that was registered by its address alone is its owner's.

        Raises:
            InvalidHandle: if the region is closed.
        """
        if self.device != "host":
            raise errors.InvalidArgument(f"region {self.name or self.id}: it is on {self.device}, which has no buffer")
        self._agent._functions()
        present = self._bytes
        if not self._open or present is None:
            raise errors.InvalidHandle(f"region {self.name or self.id}: it is closed; take its buffer before")
        view = memoryview(present).cast("B")
        return view if self._memory is None or self._memory.writable else view.toreadonly()

    def close(self, timeout: float = 10.0) -> None:
        """Ends the registration, waiting for transfers that use it.

        Raises:
            Busy: if some still do after the time; it stays closing, and can be closed again.
            MemoryUnavailable: if it is closed, but its memory may still be written to: do not use it for anything else.
        """
        if self._open:
            try:
                _checks.in_slices(
                    lambda nanos: self._agent._functions().region_close(self._handle, nanos), timeout, (errors.Busy,)
                )
            except errors.NotAnswering:
                self._agent._closing.add(self)
                raise
            except errors.MemoryUnavailable:
                self._ended(quarantined=True)
                raise
            except errors.InvalidHandle:
                if self not in self._agent._closing:
                    raise
                # It was closed by a call before, whose answer did not come.
            self._ended()

    def _ended(self, quarantined: bool = False) -> None:
        """The memory goes with the last view of it, unless somebody may still write there."""
        if quarantined and self._unmapping is not None:
            self._unmapping.detach()
        self._open = False
        self._agent._closing.discard(self)
        self._agent._forget(self)
        if quarantined and self._memory is not None:
            _STILL_REACHED.append(self._memory)
        self._memory = None
        self._bytes = None

    def __repr__(self) -> str:
        return f"<region {self.name or self.id}: {self.nbytes} bytes at 0x{self.address:x} on {self.device}>"


def _adjacent(
    what: str, address: int, nbytes: int, device: DeviceLike, block_bytes: Optional[int], offset: int, count: Optional[int]
) -> BlockList:
    offset = _checks.integer("offset", offset)
    length = nbytes - offset if block_bytes is None else _checks.integer("block_bytes", block_bytes)
    if block_bytes is not None and length <= 0:
        raise errors.InvalidArgument(f"block_bytes: {length} is no length of a block; give at least 1, or None for one block")
    if offset < 0 or length < 0 or offset > nbytes:
        raise errors.InvalidArgument(f"offset, block_bytes: {offset}, {block_bytes} are not within the {nbytes} bytes of {what}")
    if count is None:
        number = 1 if block_bytes is None else (nbytes - offset) // length
    else:
        number = _checks.integer("count", count)
    if number < 0 or number * length > nbytes - offset:
        raise errors.InvalidArgument(
            f"count: {number} blocks of {length} bytes from offset {offset} are not within the {nbytes} bytes of {what}"
        )
    return BlockList.strided(address + offset, (number,), (length,), length, device)


@dataclass(frozen=True)
class PeerRegion:
    """A region that a peer published, in one incarnation of it.

    Attributes:
        name: as the peer calls it.
        address: as the peer addresses it.
        nbytes: its length.
        device: where it is, as the peer numbers devices.
        access: what we may do with it.
    """

    name: str
    address: int
    nbytes: int
    device: str
    access: int

    def blocks(self, block_bytes: Optional[int] = None, offset: int = 0, count: Optional[int] = None) -> BlockList:
        """Adjacent blocks in it; see :meth:`Region.blocks`."""
        return _adjacent(f"region {self.name}", self.address, self.nbytes, self.device, block_bytes, offset, count)

    def blocks_of(self, layout: Layout, axes: Union[int, Sequence[int]] = 0, offset: int = 0) -> BlockList:
        """The blocks of a tensor of the peer's, of which we know the layout; see :meth:`BlockList.of_tensor`."""
        shape, strides, length = layout.grid(axes)
        return BlockList.strided(self.address + offset, shape, strides, length, self.device)


class Peer:
    """A peer, by name. It stays the same while incarnations of the peer come and go. Thread-safe."""

    def __init__(self, agent: "Agent", handle: int, name: str) -> None:
        """Made by :meth:`Agent.peer` and :meth:`Agent.add_peer`."""
        self._agent = agent
        self._handle = handle
        self.name = name

    @property
    def handle(self) -> int:
        """The handle of the C ABI."""
        return self._handle

    def _info(self) -> _abi.PeerInfo:
        info = _abi.PeerInfo(c.sizeof(_abi.PeerInfo))
        self._agent._functions().peer_describe(self._handle, c.byref(info))
        return info

    @property
    def epoch(self) -> int:
        """Its incarnation; 0 if nothing is known (any more)."""
        return int(self._info().epoch)

    @property
    def connected(self) -> bool:
        """Whether a path to it is up."""
        return bool(self._info().connected)

    def region(self, name: str) -> PeerRegion:
        """The region that it calls by this name.

        Raises:
            UnknownPeer: if it has none that we know of.
        """
        info = _abi.RegionInfo(c.sizeof(_abi.RegionInfo))
        self._agent._functions().peer_region(self._handle, _checks.text("name", name), c.byref(info))
        return PeerRegion(name, info.address, info.length, device_name(info.device), info.access)

    def covers(self, blocks: BlockList, operation: str = "READ") -> bool:
        """Whether all blocks lie in regions that we know of and may be used for this operation."""
        return bool(self._agent._functions().peer_covers(self._handle, _blocks("blocks", blocks), _operation(operation)))

    def wait_connected(self, timeout: float = 10.0) -> None:
        """Waits until a path to it is up.

        Raises:
            LinkError: if it refuses, or the time is over; with each path's reason.
        """
        _checks.in_slices(
            lambda nanos: self._agent._functions().peer_await_connected(self._handle, nanos), timeout, (errors.LinkError,)
        )

    def describe(self) -> dict[str, Any]:
        """What is known of it: regions, paths with their bytes and last fault, and why transports are not used."""
        return json.loads(self._agent._functions().text(self._agent._functions().peer_describe_json, self._handle))

    def invalidate(self) -> None:
        """Forgets what it told of itself; the connection stays."""
        self._agent._functions().peer_invalidate(self._agent.handle, self._handle)

    def remove(self) -> None:
        """Forgets it and disconnects: transfers under way end as failed (CLOSED)."""
        self._agent._functions().peer_remove(self._agent.handle, self._handle)

    def __repr__(self) -> str:
        return f"<peer {self.name}>"


def _blocks(what: str, blocks: Any) -> int:
    return _checks.instance(what, blocks, BlockList, "make one: BlockList.of_tensor, region.blocks").handle


def _peer(what: str, peer: Any) -> int:
    return _checks.instance(what, peer, Peer, "agent.peer(name) and agent.add_peer(blob) give it").handle


def _operation(operation: str) -> int:
    try:
        return _OPERATIONS[operation]
    except (KeyError, TypeError):
        raise errors.InvalidArgument(f"operation: {operation!r} is neither 'READ' nor 'WRITE'") from None


class Transfer:
    """A transfer: prepared once, posted once or many times, one post at a time.

    One thread at a time posts it; any thread may poll, wait and cancel. It can be awaited in asyncio, and made a
    ``concurrent.futures.Future``. Dropping it while it is under way does not end it.
    """

    __slots__ = ("_agent", "_handle", "_over", "_keep", "__weakref__")

    def __init__(self, agent: "Agent", handle: int, keep: Any) -> None:
        """Made by the agent's methods."""
        self._agent = agent
        self._handle = handle
        self._over: Optional[int] = None
        self._keep = keep
        weakref.finalize(self, agent._let_go, handle)

    @property
    def handle(self) -> int:
        """The handle of the C ABI."""
        return self._handle

    def post(
        self,
        notification: Union[bytes, str, None] = None,
        *,
        counter: Optional[int] = None,
        flush: bool = False,
        request_id: Optional[str] = None,
        timeout: Optional[float] = None,
        grant: Optional["Lent"] = None,
    ) -> "Transfer":
        """Starts it. Without arguments it carries what it carried before; see :meth:`Agent.read` for them.

        Raises:
            NotAnswering: if a sidecar does not answer: :attr:`state` tells later whether it was posted.
            Busy: if the last post has not ended.
            TransferError: if the peer has restarted, a region was closed, or the link is closed.
        """
        self._over = None
        if notification is None and counter is None and not flush and request_id is None and timeout is None and grant is None:
            self._agent._functions().transfer_post(self._handle, None)
        else:
            options = _options(notification, counter, flush, request_id, timeout, grant)
            self._agent._functions().transfer_post(self._handle, c.byref(options))
        return self

    def poll(self) -> bool:
        """Whether it has ended, however it did. Cheap, and does not wait, unless a sidecar does not answer.

        Raises:
            NotAnswering: if it does not: at once or after 0.1 s where an event loop runs, elsewhere after 30 s.
        """
        if self._over is None:
            state = self._agent._functions().transfer_poll(self._handle)
            if state > _ACTIVE:
                self._over = state
        return self._over is not None

    done = poll

    @property
    def state(self) -> str:
        """IDLE, ACTIVE, DONE, FAILED or CANCELLED."""
        return _STATES[self._over if self._over is not None else self._agent._functions().transfer_poll(self._handle)]

    def wait(self, timeout: float = 60.0) -> "Transfer":
        """Waits for the end, helping the engine on this thread.

        Raises:
            WaitTimeout: if the time is over first; the transfer goes on.
            TransferError: if it failed.
            TransferCancelled: if it was cancelled.
        """
        if self._over is None:
            self._over = _checks.in_slices(lambda nanos: self._agent._functions().transfer_wait(self._handle, nanos), timeout)
        self.check()
        return self

    def result(self, timeout: float = 60.0) -> TransferInfo:
        """Waits for the end and tells about it; raises as :meth:`wait` does."""
        return self.wait(timeout).info()

    def check(self) -> None:
        """Raises if it has ended, and not well."""
        error = self.exception()
        if error is not None:
            raise error

    def exception(self) -> Optional[errors.TransferError]:
        """Why it failed or was cancelled; None while it did not."""
        if not self.poll() or _STATES[self._over or 0] == DONE:
            return None
        info = self._raw()
        return errors.transfer_error(self._agent._functions().text(self._agent._functions().transfer_message, self._handle), info.cause)

    def _raw(self) -> _abi.TransferInfo:
        info = _abi.TransferInfo(c.sizeof(_abi.TransferInfo))
        self._agent._functions().transfer_describe(self._handle, c.byref(info))
        return info

    def info(self) -> TransferInfo:
        """How it stands."""
        raw = self._raw()
        cause = errors._CAUSES[raw.cause] if raw.cause < len(errors._CAUSES) else str(raw.cause)
        return TransferInfo(
            _STATES[raw.state],
            cause,
            _REMOTE[raw.remote],
            bool(raw.maybe_notified),
            raw.position,
            raw.total_bytes,
            raw.acknowledged_bytes,
            raw.elapsed / 1e9,
            raw.number,
            raw.peer_epoch,
        )

    def cancel(self) -> None:
        """Asks for the end, which follows within the drain time: wait for it before the memory is used again.

        Raises:
            NotAnswering: if a sidecar does not answer: it may not have been asked, ask again.
        """
        self._agent._functions().transfer_cancel(self._handle)

    def future(self) -> "concurrent.futures.Future[Transfer]":
        """A future for the end of the present post, for executors' ``wait`` and ``as_completed``."""
        future: "concurrent.futures.Future[Transfer]" = concurrent.futures.Future()
        self._agent._signals().watch_future(self, future)
        return future

    def __await__(self) -> Generator[Any, None, "Transfer"]:
        """Waits in asyncio, without a thread; raises as :meth:`wait` does."""
        if not (yield from ask(self.poll).__await__()):
            yield from self._agent._signals().watch(self).__await__()
        yield from ask(self.check).__await__()
        return self

    def release(self) -> None:
        """Lets go of it now instead of when it is collected.

        Raises:
            Busy: if it is under way.
        """
        self._agent._functions().release(self._handle)

    def __repr__(self) -> str:
        try:
            return f"<transfer {self.state}>"
        except errors.HawserError:
            return "<transfer, released>"

    def _watch(self) -> None:
        if self._agent._functions().transfer_poll(self._handle) == 0:
            raise errors.Busy("the transfer was never posted; post it before waiting for it")
        self._agent._functions().transfer_watch(self._handle)

    def _conclude(self) -> "Transfer":
        self.check()
        return self


def _options(
    notification: Union[bytes, str, None],
    counter: Optional[int],
    flush: bool,
    request_id: Optional[str],
    timeout: Optional[float],
    grant: Optional["Lent"],
) -> _abi.Options:
    payload = notification.encode() if isinstance(notification, str) else notification
    if counter is not None and payload is not None:
        raise errors.InvalidArgument("counter: a transfer notifies or counts, not both; drop one")
    if payload is not None and not isinstance(payload, bytes):
        payload = _checks.content("notification", payload)
    return _abi.Options(
        c.sizeof(_abi.Options),
        (_COUNTER if counter is not None else 0) | (_FLUSH if flush else 0),
        payload,
        0 if payload is None else len(payload),
        None if request_id is None else _checks.text("request_id", request_id),
        0 if counter is None else _checks.integer("counter", counter),
        0 if timeout is None else max(1, _checks.nanos(timeout)),
        0 if grant is None else _checks.instance("grant", grant, Lent, "agent.accept(bytes) gives it")._handle,
    )


class PollSet:
    """Transfers that are polled together, in one call however many they are. Not thread-safe."""

    def __init__(self, agent: "Agent", transfers: Iterable[Transfer] = ()) -> None:
        """A set of transfers of one agent."""
        self._agent = agent
        self._transfers: list[Transfer] = list(transfers)
        self._dirty = True
        self._handles: Any = None
        self._states: Any = None

    def add(self, transfer: Transfer) -> None:
        """Adds one; it may be posted before or afterwards."""
        self._transfers.append(transfer)
        self._dirty = True

    def __len__(self) -> int:
        return len(self._transfers)

    def poll(self) -> list[Transfer]:
        """Those that have ended since the last call, in the order of the set; they leave it."""
        count = len(self._transfers)
        if count == 0:
            return []
        if self._dirty:
            self._handles = (c.c_uint64 * count)(*[transfer._handle for transfer in self._transfers])
            self._states = c.create_string_buffer(count)
            self._dirty = False
        if self._agent._functions().transfers_poll(self._agent.handle, self._handles, count, self._states) == 0:
            return []
        ended = []
        left = []
        for transfer, state in zip(self._transfers, self._states.raw):
            if state > _ACTIVE:
                transfer._over = state if state < len(_STATES) else None
                ended.append(transfer)
            else:
                left.append(transfer)
        if ended:
            self._transfers = left
            self._dirty = True
        return ended

    def wait(self, timeout: float = 60.0) -> list[Transfer]:
        """Waits until all have ended; returns them.

        Raises:
            WaitTimeout: if some have not within the time; those that have ended have left the set.
        """
        deadline = _checks.deadline(timeout)
        with _checks.until(deadline):
            ended = self.poll()
        while self._transfers:
            left = deadline - time.monotonic()
            if left <= 0:
                raise errors.WaitTimeout(f"{len(self._transfers)} transfers have not ended after {timeout:g} s")
            try:
                self._agent._functions().transfer_wait(self._transfers[0]._handle, _checks.nanos(min(left, _checks.SLICE)))
            except errors.NotAnswering:
                if _checks.gives_up(deadline):
                    raise
            except errors.WaitTimeout:
                pass
            with _checks.until(deadline):
                ended += self.poll()
        return ended


class Expectation:
    """The expectation of a number of arrivals at a counter. Thread-safe; can be awaited."""

    def __init__(self, agent: "Agent", handle: int, counter: int, arrivals: int) -> None:
        """Made by :meth:`Agent.expect`."""
        self._agent = agent
        self._handle = handle
        self.counter = counter
        self.arrivals = arrivals
        weakref.finalize(self, agent._let_go, handle)

    def poll(self) -> bool:
        """Whether all have arrived."""
        return bool(self._agent._functions().expectation_poll(self._handle))

    def wait(self, timeout: float = 60.0) -> None:
        """Waits for the arrivals.

        Raises:
            WaitTimeout: if they do not come in time; the expectation stands.
        """
        _checks.in_slices(lambda nanos: self._agent._functions().expectation_wait(self._handle, nanos), timeout)

    def cancel(self) -> None:
        """Gives it up; what has arrived stays counted for the next one."""
        self._agent._functions().expectation_cancel(self._handle)

    def __await__(self) -> Generator[Any, None, None]:
        """Waits in asyncio, without a thread.

        Raises:
            AgentClosed: if the agent is closed first.
            TransferError: if it is cancelled.
        """
        if not (yield from ask(self.poll).__await__()):
            yield from self._agent._signals().watch(self).__await__()
        yield from ask(self._conclude).__await__()

    def _watch(self) -> None:
        self._agent._functions().expectation_watch(self._handle)

    def _conclude(self) -> None:
        try:
            _checks.answered(lambda: self.wait(0))
        except errors.NotAnswering:
            raise
        except errors.WaitTimeout:
            # Told though nothing came: the agent is about to be closed.
            raise errors.AgentClosed(
                f"the agent was closed before {self.arrivals} arrivals at counter {self.counter} had come"
            ) from None


class Grant:
    """Blocks that this agent lends. Before they are reused, :meth:`bump` or :meth:`revoke`."""

    def __init__(self, agent: "Agent", handle: int, writable: bool) -> None:
        """Made by :meth:`Agent.grant`."""
        self._agent = agent
        self._handle = handle
        self._revoked = False
        self.writable = writable

    def to_bytes(self) -> bytes:
        """The grant of the present generation, for the reader: :meth:`Agent.accept`."""
        return self._agent._functions().blob(self._agent._functions().grant_bytes, self._handle)

    def bump(self) -> None:
        """Ends the present generation: afterwards the blocks may be overwritten, and reads under it end as stale."""
        self._agent._functions().grant_bump(self._handle)

    def revoke(self, timeout: float = 5.0) -> None:
        """Ends the grant for good; one for writing by fencing the peer's session.

        Raises:
            GrantError: if a writer was not fenced in time: the blocks must not be reused yet; revoke again.
        """
        if not self._revoked:
            _checks.in_slices(
                lambda nanos: self._agent._functions().grant_revoke(self._handle, nanos), timeout, (errors.GrantError,), 1.0
            )
            self._revoked = True


class Lent:
    """A grant as its reader holds it.

    Attributes:
        owner: the agent that lends.
        owner_epoch: its incarnation.
        writable: whether we may write to the blocks; otherwise we may read them.
        blocks: what is lent.
    """

    def __init__(self, agent: "Agent", handle: int) -> None:
        """Made by :meth:`Agent.accept`."""
        self._handle = handle
        weakref.finalize(self, agent._let_go, handle)
        info = _abi.LentInfo(c.sizeof(_abi.LentInfo))
        agent._functions().lent_describe(handle, c.byref(info))
        self.owner: str = info.owner.decode()
        self.owner_epoch: int = info.owner_epoch
        self.writable: bool = bool(info.writable)
        self.blocks = BlockList(info.blocks)


class _Calls:
    """The functions of the C ABI for one agent: an object that was released because its agent was closed meanwhile, by
    another thread, is told as that."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    else:

        def __getattr__(self, name):
            agent, function = self._agent, getattr(table(), name)

            def call(*arguments):
                try:
                    return function(*arguments)
                except errors.InvalidHandle:
                    if agent._closed:
                        raise agent._is_closed() from None
                    raise

            setattr(self, name, call)
            return call

    def __init__(self, agent: "Agent") -> None:
        self._agent = agent


class Agent:
    """One end of transfers: registers memory, tells peers of it, reads and writes theirs, and gets notifications.

    ::

        with Agent("decode-0", metadata="http://127.0.0.1:7300") as agent:
            pages = agent.register(cache, name="kv")
            prefill = agent.peer("prefill-0")
            agent.read(BlockList.of_tensor(cache), prefill, prefill.region("kv").blocks(64 << 10)).wait(5)

    Thread-safe. It lives until it is closed, or the interpreter ends, also if nobody has it any more: peers may be at the
    memory that it registered.
    """

    def __init__(
        self,
        name: str,
        *,
        metadata: Union[str, Sequence[str], None] = None,
        secret: Optional[str] = None,
        listen: Union[str, Sequence[str], None] = None,
        transports: Union[str, Sequence[str], None] = None,
        settings: Optional[Mapping[str, Any]] = None,
        sidecar: Optional[str] = None,
    ) -> None:
        """Starts an agent.

        Args:
            name: unique among the agents that meet.
            metadata: URLs of the metadata service; None for those of ``HAWSER_METADATA``, or none.
            secret: the cluster secret.
            listen: where peers reach it, ``address:port``; loopback unless set.
            transports: those to use, the preferred first; None for all that work.
            settings: any other setting by its key in docs/configuration.md, for example ``{"link-lease": "2s"}``.
            sidecar: the process to run it in, ``unix:PATH`` of a ``hawser agent``; None for that of
                ``HAWSER_PYTHON_SIDECAR``, or this process. All agents of a process run in one place.

        Raises:
            RuntimeUnavailable: if there is no Java runtime to run it, or no sidecar answers.
            NameInUse: if another living agent has the name.
            MetadataServiceError: if the metadata service cannot be reached, or refuses.
            InvalidArgument: if a setting is wrong.
        """
        runtime = Runtime.get() if sidecar is None else Runtime.at(sidecar)
        self._handle = 0
        self._closed = self._ended = True
        self._regions: dict[int, Region] = {}
        self._closing: set[Region] = set()  # whose close was not answered
        self._peers: dict[int, Peer] = {}
        self._unended: set[int] = set()
        self._signalling: Optional[Signals] = None
        self._signals_lock = threading.Lock()
        chosen: dict[str, Any] = dict(settings or {})
        for key, value in (("metadata", metadata), ("listen", listen), ("transports", transports), ("secret", secret)):
            if value is not None:
                chosen[key] = value
        lines = [f"{key}={_setting(key, value)}" for key, value in chosen.items()]
        lines.append("[environment]")
        for key, value in os.environ.items():
            # What Python or a JVM alone is told with is no setting of an agent.
            if key.startswith(("HAWSER_", "NCCL_")) and not key.startswith(("HAWSER_PYTHON_", "HAWSER_JAVA_")):
                lines.append(f"{key}={value}")
        out = c.c_uint64()
        table().agent_start(_checks.text("name", name), "\n".join(lines).encode(), c.byref(out))
        self._handle = out.value
        self._closed = self._ended = False
        self._calls = _Calls(self)
        self.name = name
        self._local = threading.local()
        runtime.agents.add(self)

    # --------------------------------------------------------------------------------------------- who it is

    @property
    def handle(self) -> int:
        """The handle of the C ABI."""
        return self._handle

    def describe(self) -> dict[str, Any]:
        """Name, epoch, addresses, transports, why others are absent, and each setting with its origin."""
        return json.loads(self._functions().text(self._functions().agent_describe, self._handle))

    @property
    def epoch(self) -> int:
        """Its incarnation."""
        return int(self.describe()["epoch"])

    def _functions(self) -> "_Calls":
        """The functions of the C ABI, as long as this agent can be meant."""
        if self._closed:
            raise self._is_closed()
        return self._calls

    def _is_closed(self) -> errors.AgentClosed:
        return errors.AgentClosed(f"agent {self.name!r} is closed, and what it made with it; start another")

    @property
    def closed(self) -> bool:
        """Whether it is closed."""
        return self._closed

    # ------------------------------------------------------------------------------------------------ memory

    def register(
        self,
        memory: Any,
        name: Optional[str] = None,
        *,
        access: int = REMOTE_READ_WRITE,
        device: Optional[DeviceLike] = None,
    ) -> Region:
        """Registers memory, which stays alive until the region is closed.

        Args:
            memory: a torch tensor, a numpy array, anything with ``__cuda_array_interface__`` or ``__dlpack__``, a buffer,
                or ``(address, bytes[, device])``, whose owner keeps it mapped.
            name: by which peers find it; None for none.
            access: what peers may do: LOCAL, REMOTE_READ, REMOTE_WRITE, REMOTE_READ_WRITE.
            device: where it is, if Hawser is not to find that out.

        Raises:
            InvalidArgument: if it is not contiguous, is read-only and peers may write, or the name is taken.
            MemoryUnavailable: if it cannot be registered.
        """
        access = _checks.integer("access", access, LOCAL, REMOTE_READ_WRITE)
        found = Memory.of(memory)
        layout = found.layout
        if not layout.dense:
            raise errors.InvalidArgument(
                f"memory: shape {layout.shape} with strides {layout.strides} has gaps; register the tensor that it is a view"
                " of, and take its blocks by BlockList.of_tensor"
            )
        if not found.writable and access & REMOTE_WRITE:
            raise errors.InvalidArgument("memory: it is read-only, and peers may not write there: access=REMOTE_READ")
        number = found.device if device is None else device_number(device)
        out = c.c_uint64()
        self._functions().region_register(
            self._handle,
            None if name is None else _checks.text("name", name),
            _checks.integer("address", found.address, 0, _checks.MOST_ADDRESS),
            _checks.integer("bytes", layout.nbytes),
            number,
            access,
            c.byref(out),
        )
        return self._made(out.value, name, found)

    def allocate(self, nbytes: int, name: Optional[str] = None, *, access: int = REMOTE_READ_WRITE) -> Region:
        """Allocates host memory, zeroed, which peers on this host can map: :meth:`Region.buffer` gives it."""
        self._close_again()
        out = c.c_uint64()
        self._functions().region_allocate(
            self._handle,
            None if name is None else _checks.text("name", name),
            _checks.integer("nbytes", nbytes),
            _checks.integer("access", access, LOCAL, REMOTE_READ_WRITE),
            c.byref(out),
        )
        return self._made(out.value, name, None)

    def _close_again(self) -> None:
        """Closes what was allocated and whose close was not answered: a sidecar that has done it may give its place again."""
        for region in [region for region in self._closing if region._memory is None]:
            with contextlib.suppress(errors.HawserError), _checks.in_passing():
                region.close(0.0)

    def _made(self, handle: int, name: Optional[str], memory: Optional[Memory]) -> Region:
        """The region of a handle; if it cannot be described, nobody has it, and it is closed."""
        try:
            region = Region(self, handle, name, memory)
        except errors.NotAnswering:
            table().owe("region_close", handle, _checks.nanos(_checks.ANSWER))
            raise
        self._regions[handle] = region
        return region

    def _forget(self, region: Region) -> None:
        self._regions.pop(region.handle, None)

    # ------------------------------------------------------------------------------------------------- peers

    def metadata(self, *, connection: bool = True, regions: Optional[Sequence[Region]] = None) -> bytes:
        """What a peer needs to reach this agent and its regions: for :meth:`add_peer`.

        Args:
            connection: whether it says where the agent is reached; a peer needs that once.
            regions: those that it tells of; None for all.
        """
        if regions is None:
            return self._functions().blob(self._functions().agent_metadata, self._handle, int(connection), None, 0)
        wanted = [_checks.instance("regions", region, Region, "agent.register gives it").handle for region in regions]
        handles = (c.c_uint64 * max(1, len(wanted)))(*wanted)
        return self._functions().blob(self._functions().agent_metadata, self._handle, int(connection), handles, len(regions))

    def add_peer(self, blob: bytes) -> Peer:
        """Takes what a peer told of itself.

        Raises:
            PeerMetadataError: if it is damaged or forged, this agent's own, or of an older epoch.
        """
        out = c.c_uint64()
        content = _checks.content("blob", blob)
        self._functions().peer_add(self._handle, content, len(content), c.byref(out))
        return self._peer(out.value)

    def peer(self, name: str, timeout: float = 10.0) -> Peer:
        """The peer of this name, waiting for it to be published in the metadata service.

        Raises:
            UnknownPeer: if it is not within the time.
        """
        out = c.c_uint64()
        wanted = _checks.text("name", name)
        _checks.in_slices(
            lambda nanos: self._functions().peer_get(self._handle, wanted, nanos, c.byref(out)),
            timeout,
            (errors.UnknownPeer,),
            1.0,  # each asks the service
        )
        return self._peer(out.value)

    def _peer(self, handle: int) -> Peer:
        known = self._peers.get(handle)
        if known is None:
            known = Peer(self, handle, self._functions().text(self._functions().peer_name, handle))
            self._peers[handle] = known
        return known

    def wait_published(self, timeout: float = 5.0) -> bool:
        """Waits until what is registered now stands in the metadata service; False if it does not in time."""
        deadline = _checks.deadline(timeout)
        while True:
            left = deadline - time.monotonic()
            try:
                if self._functions().agent_await_published(self._handle, _checks.nanos(min(left, _checks.SLICE))):
                    return True
            except errors.NotAnswering:
                if _checks.gives_up(deadline):
                    raise
                continue
            if left <= _checks.SLICE:
                return False

    # --------------------------------------------------------------------------------------------- transfers

    def read(self, local: BlockList, peer: Peer, remote: BlockList, **more: Any) -> Transfer:
        """Reads the peer's blocks into ours. The same as ``transfer("READ", ...)``."""
        return self.transfer("READ", local, peer, remote, **more)

    def write(self, local: BlockList, peer: Peer, remote: BlockList, **more: Any) -> Transfer:
        """Writes our blocks to the peer's. The same as ``transfer("WRITE", ...)``."""
        return self.transfer("WRITE", local, peer, remote, **more)

    def transfer(
        self,
        operation: str,
        local: BlockList,
        peer: Peer,
        remote: BlockList,
        *,
        local_indices: Any = None,
        remote_indices: Any = None,
        notification: Union[bytes, str, None] = None,
        counter: Optional[int] = None,
        flush: bool = False,
        request_id: Optional[str] = None,
        timeout: Optional[float] = None,
        grant: Optional[Lent] = None,
    ) -> Transfer:
        """Starts a transfer.

        Args:
            operation: ``"READ"`` or ``"WRITE"``.
            local: blocks in memory that is registered here.
            peer: with whom.
            remote: blocks in memory that the peer published.
            local_indices: which of the local blocks, in this order; an integer array or a sequence; None for all.
            remote_indices: which of the remote blocks, likewise.
            notification: what the peer gets behind all the data, at most 4 KiB.
            counter: a counter of the peer at which one arrival is counted instead.
            flush: whether the end of a WRITE means visible at the peer, not only received.
            request_id: appears in errors and telemetry on both sides; at most 64 bytes.
            timeout: seconds until it ends as failed (DEADLINE_EXCEEDED); None for the agent's ``transfer-timeout``.
            grant: under which the remote blocks were lent: a READ ends as stale if they were reused.

        Raises:
            NotAnswering: if a sidecar does not answer: the transfer is not begun, or cancelled when it goes on.
            InvalidArgument: if counts or lengths differ, or an index is out of bounds.
            UnresolvedBlocks: if a block is in no region, or not permitted; it names the block.
            LinkError: if the peer cannot be reached from here.
            TransferError: if the peer has restarted, or the link is closed.
        """
        request, keep = self._request(operation, local, peer, remote, local_indices, remote_indices)
        options = _options(notification, counter, flush, request_id, timeout, grant)
        out = c.c_uint64()
        self._functions().transfer_start(self._handle, c.byref(request), c.byref(options), c.byref(out))
        return Transfer(self, out.value, (local, remote))

    def prepare(
        self,
        operation: str,
        local: BlockList,
        peer: Peer,
        remote: BlockList,
        *,
        local_indices: Any = None,
        remote_indices: Any = None,
    ) -> Transfer:
        """Resolves a transfer to be posted later, once or many times; see :meth:`transfer`."""
        request, keep = self._request(operation, local, peer, remote, local_indices, remote_indices)
        out = c.c_uint64()
        self._functions().transfer_prepare(self._handle, c.byref(request), None, c.byref(out))
        return Transfer(self, out.value, (local, remote))

    def _request(
        self, operation: str, local: BlockList, peer: Peer, remote: BlockList, local_indices: Any, remote_indices: Any
    ) -> tuple[_abi.Request, Any]:
        request = _abi.Request(
            c.sizeof(_abi.Request),
            _operation(operation),
            _peer("peer", peer),
            _blocks("local", local),
            _blocks("remote", remote),
        )
        ours = theirs = None
        if local_indices is not None:
            ours = Indices(local_indices, "local_indices")
            request.local_indices, request.local_count, request.local_index_bytes = ours.address, ours.count, ours.width
        if remote_indices is not None:
            theirs = Indices(remote_indices, "remote_indices")
            request.remote_indices, request.remote_count, request.remote_index_bytes = (
                theirs.address,
                theirs.count,
                theirs.width,
            )
        return request, (ours, theirs)

    def notify(
        self,
        peer: Peer,
        payload: Union[bytes, str, None] = None,
        *,
        counter: Optional[int] = None,
        request_id: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Transfer:
        """Sends a notification (or counts an arrival) that belongs to no data. Its end means that the peer has it."""
        if payload is None and counter is None:
            raise errors.InvalidArgument("payload: give bytes to send, or a counter")
        request = _abi.Request(c.sizeof(_abi.Request), 0, _peer("peer", peer))
        options = _options(payload, counter, False, request_id, timeout, None)
        out = c.c_uint64()
        self._functions().transfer_start(self._handle, c.byref(request), c.byref(options), c.byref(out))
        return Transfer(self, out.value, None)

    def poll(self, transfers: Optional[Sequence[Transfer]] = None) -> list[Transfer]:
        """Moves work on, and tells which of some transfers have ended, in one call. Does not wait, as :meth:`Transfer.poll`.

        To poll the same transfers again and again, a :class:`PollSet` is faster.
        """
        if not transfers:
            self._functions().agent_poll(self._handle)
            return []
        count = len(transfers)
        handles = (c.c_uint64 * count)(*[transfer._handle for transfer in transfers])
        states = c.create_string_buffer(count)
        if self._functions().transfers_poll(self._handle, handles, count, states) == 0:
            return []
        return [transfer for transfer, state in zip(transfers, states.raw) if state > _ACTIVE]

    def _let_go(self, handle: int) -> None:
        """Releases a handle whose object is gone, or later if it is under way."""
        if self._closed:
            return
        for late in list(self._unended):
            if self._released(late):
                self._unended.discard(late)
        if not self._released(handle):
            self._unended.add(handle)

    @staticmethod
    def _released(handle: int) -> bool:
        try:
            with _checks.in_passing():
                table().release(handle)
        except (errors.Busy, errors.NotAnswering):
            return False
        except errors.HawserError:
            pass  # gone already
        return True

    def _signals(self) -> Signals:
        with self._signals_lock:
            if self._signalling is None:
                self._signalling = Signals(self)
            return self._signalling

    # ------------------------------------------------------------------------------------------- as a target

    def next_notification(self, timeout: float = 0.0) -> Optional[Notification]:
        """The next notification, waiting for it for some seconds; None if there is none.

        Raises:
            NotAnswering: if a sidecar does not say in time; a notification that it had for this call comes with the next one.
                Where an event loop runs it is raised soon, whatever the time.
        """
        deadline = _checks.deadline(timeout)
        # One for each thread: others get notifications while this one is within the call.
        info = getattr(self._local, "notification", None)
        if info is None:
            info = self._local.notification = _abi.NotificationInfo(c.sizeof(_abi.NotificationInfo))
        while True:
            if info.peer:
                return _taken(info)
            left = deadline - time.monotonic()
            try:
                found = self._functions().notification_next(
                    self._handle, _checks.nanos(max(0.0, min(left, _checks.SLICE))), c.byref(info)
                )
            except errors.NotAnswering:
                if _checks.gives_up(deadline):
                    raise
                continue
            if not found and left <= _checks.SLICE:
                return None

    def notifications(self) -> list[Notification]:
        """All that have arrived."""
        arrived: list[Notification] = []
        while True:
            notification = self.next_notification()
            if notification is None:
                return arrived
            arrived.append(notification)

    def expect(self, counter: int, arrivals: int) -> Expectation:
        """Expects arrivals at a counter, in any order and from anybody; those that came before count."""
        out = c.c_uint64()
        self._functions().expect(
            self._handle, _checks.integer("counter", counter), _checks.integer("arrivals", arrivals), c.byref(out)
        )
        return Expectation(self, out.value, counter, arrivals)

    # ------------------------------------------------------------------------------------------------ grants

    def grant(self, blocks: BlockList, peer: Optional[Peer] = None, *, writable: bool = False) -> Grant:
        """Lends blocks, to one peer or to whoever gets the bytes; for reading unless writable."""
        out = c.c_uint64()
        self._functions().grant_make(
            self._handle,
            _blocks("blocks", blocks),
            0 if peer is None else _peer("peer", peer),
            int(bool(writable)),
            c.byref(out),
        )
        return Grant(self, out.value, writable)

    def accept(self, grant: bytes) -> Lent:
        """Reads a grant that a peer gave.

        Raises:
            GrantError: if it is damaged or forged, or meant for another agent.
        """
        out = c.c_uint64()
        content = _checks.content("grant", grant)
        self._functions().grant_accept(self._handle, content, len(content), c.byref(out))
        return Lent(self, out.value)

    # ----------------------------------------------------------------------------------------------- the end

    def close(self) -> None:
        """Ends everything: transfers under way end as failed (CLOSED), its entry in the metadata service goes, regions are
        closed. Idempotent.

        Raises:
            NotAnswering: if its sidecar does not answer. It is of no use any more, but peers may still be at its memory,
                which stays: close it again. At the latest it goes with this process.
        """
        runtime = Runtime.get()
        if self._ended or (self._closed and runtime.in_this_process):
            return  # or another thread is at it
        self._closed = True
        if self._signalling is not None:
            self._signalling.close()
        try:
            table().agent_close(self._handle)
        except errors.NotAnswering:
            raise
        except (errors.RuntimeUnavailable, errors.AgentClosed):
            # Another process has ended, with all that it held.
            self._is_ended(quarantined=runtime.in_this_process)
            if runtime.in_this_process:
                raise
        except BaseException:
            self._is_ended(quarantined=True)
            raise
        else:
            self._is_ended()

    def _is_ended(self, quarantined: bool = False) -> None:
        self._ended = True
        Runtime.get().agents.discard(self)
        for region in list(self._regions.values()):
            region._ended(quarantined)
        self._peers.clear()

    def __enter__(self) -> "Agent":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<agent {getattr(self, 'name', '?')}{', closed' if self._closed else ''}>"


def _setting(key: str, value: Any) -> str:
    if isinstance(value, Mapping):
        text = ",".join(f"{k}={v}" for k, v in value.items())
    elif isinstance(value, str) or not isinstance(value, (list, tuple)):
        text = str(value).lower() if isinstance(value, bool) else str(value)
    else:
        text = ",".join(str(part) for part in value)
    if "\n" in text or "\n" in key:
        raise errors.InvalidArgument(f"settings: the value of {key!r} has a line end")
    return text
