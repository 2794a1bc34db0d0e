# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""The client of a sidecar: the table of functions for a process that has no JVM of its own."""

from __future__ import annotations

import atexit
import collections
import ctypes as c
import os
import select
import socket
import sys
import threading
import time
import uuid
import weakref
from typing import Any, Callable, Optional

from . import _abi, _checks, _cuda, _pages, _remote, errors
from ._loops import Loops
from ._pulse import Pulse, process_of

_PATIENCE = 30.0
_MOST_PATH_BYTES = 107
_A_SECOND = 1_000_000_000
_MOST_LATE = 64
"""So many answers that were not waited for to the end are still taken."""

# Functions that wait, and which of their arguments has for how long.
_TIMES = {
    "agent_await_published": 1,
    "region_close": 1,
    "peer_get": 2,
    "peer_await_connected": 1,
    "transfer_wait": 1,
    "notification_next": 1,
    "expectation_wait": 1,
    "grant_revoke": 1,
}
# What is done once cannot be asked for again: an answer that comes late is still the answer. All others only look, and look
# again: since then something may have been posted or closed.
_ONCE = {"notification_next", "agent_take_ended", "region_close", "grant_revoke"}
# Answers of them that say no more than that the time was over, beside "no notification".
_OVER = (errors.WaitTimeout, errors.Busy, errors.GrantError)
# Of them, those whose answer nobody else has.
_TAKES = {"notification_next", "agent_take_ended"}
_NAMES = {number: name for name, number in _remote.NUMBERS.items()}


class _Silent(Exception):
    """Nothing has come in time."""


def path_of(address: str) -> str:
    """The path in the address of a sidecar: ``unix:PATH``, or the path itself."""
    return address[len("unix:") :] if address.startswith("unix:") else address


class _Shared:
    """Memory of this process that the sidecar reaches: what it is, and how many regions are in it."""

    def __init__(self, identity: object) -> None:
        self.identity = identity
        self.regions = 0


class SidecarTable:
    """The functions as attributes, as :class:`hawser._abi.Table` has them, done by a sidecar."""

    def __init__(self, path: str) -> None:
        """Connects.

        Raises:
            RuntimeUnavailable: if no sidecar answers there.
        """
        self.path = path_of(path)
        self._session = uuid.uuid4().bytes
        self._pid = os.getpid()
        self._local = threading.local()
        self._mapped: dict[int, tuple[int, int]] = {}
        self._sharing = threading.Lock()
        self._shared: dict[int, _Shared] = {}  # by the start of a mapping, or of an allocation on a GPU
        self._lent: dict[int, tuple[int, int]] = {}  # by a region's handle: its agent, and the start of what it is in
        self._lating = threading.RLock()  # a handler of signals may ask, too
        self._late: list[tuple[tuple, socket.socket, int]] = []  # what was asked, where its answer is still to come
        self._open: "weakref.WeakSet[socket.socket]" = weakref.WeakSet()
        self._renewing = threading.Lock()
        self._owed: "collections.deque[tuple[str, tuple]]" = collections.deque()  # calls to be made when it answers again
        self.loops = Loops(self._await_answer)
        try:
            self._pulse = Pulse(self._connect())
        except errors.NotAnswering as e:
            raise errors.RuntimeUnavailable(str(e)) from None
        self._incarnation = 0  # of the sidecar: each that has ended is followed by another
        for name in _remote.SPECS:
            setattr(self, name, self._function(name))
        # These are about this process's memory.
        setattr(self, "region_allocate", self._allocate(getattr(self, "region_allocate")))
        setattr(self, "region_close", self._close_region(getattr(self, "region_close")))
        setattr(self, "region_keep", self._keep)
        setattr(self, "region_register", self._register(getattr(self, "region_register")))
        setattr(self, "agent_close", self._close_agent(getattr(self, "agent_close")))
        # What a child has of them would keep alive, in the sidecar, what is ours, when we have ended.
        os.register_at_fork(after_in_child=self._hang_up_in_child)

    def _hang_up_in_child(self) -> None:
        for connection in list(self._open):
            connection.close()

    def _connect(self, patience: Optional[float] = None) -> socket.socket:
        if not 0 < len(os.fsencode(self.path)) <= _MOST_PATH_BYTES:
            raise errors.RuntimeUnavailable(
                f"sidecar: the path {self.path!r} has {len(os.fsencode(self.path))} bytes, and that of a socket has 1 to"
                f" {_MOST_PATH_BYTES} bytes: name it as hawser agent --socket does"
            )
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._open.add(connection)
        began = time.monotonic()
        patience = _PATIENCE if patience is None else patience
        connection.settimeout(max(0.001, patience))
        try:
            while True:
                try:
                    connection.connect(self.path)
                    break
                except BlockingIOError:  # so many are connecting: Linux lets nobody wait there who has a time limit
                    if time.monotonic() - began > patience:
                        raise socket.timeout("others are waiting there") from None
                    time.sleep(0.01)
            connection.settimeout(max(0.001, patience - (time.monotonic() - began)))
            hello = _remote.Writer()
            hello.number(_remote.VERSION)
            hello.content(self._session)
            _remote.send(connection, _remote.HELLO, hello.bytes())
            answer = _remote.Reader(_remote.receive(connection)[1])
            version, self.version = answer.number(), (answer.content() or b"").decode()
        except socket.timeout:
            connection.close()
            raise self._silent(patience, "nothing was asked yet") from None
        except OSError as e:
            connection.close()
            raise errors.RuntimeUnavailable(
                f"no sidecar answers at {self.path} ({e}): start one with hawser agent --socket {self.path}, or python -m"
                f" hawser.sidecar {self.path}"
            ) from e
        if version != _remote.VERSION:
            connection.close()
            raise errors.RuntimeUnavailable(
                f"the sidecar at {self.path} speaks version {version}, this package {_remote.VERSION}: use one build"
            )
        connection.settimeout(_PATIENCE)
        return connection

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise errors.RuntimeUnavailable(
                f"process {os.getpid()} is a fork of {self._pid}, whose agents are in the sidecar: start the child with the"
                " multiprocessing method 'spawn', or connect only in it"
            )

    def _connection(self, patience: float) -> socket.socket:
        # Taken out while it is in use: a finalizer or a handler of signals that calls meanwhile gets one of its own.
        kept = getattr(self._local, "connection", None)
        self._local.connection = None
        if kept is not None:
            connection, incarnation = kept
            if incarnation == self._incarnation:
                return connection
            connection.close()
        if self._pulse.has_ended():
            raise self._gone("its connections have")
        try:
            connection = self._connect(patience)
        except errors.RuntimeUnavailable as e:
            raise self._gone(str(e)) from e  # or will have in a moment: it lets nobody in any more
        if process_of(connection) != self._pulse.process:
            connection.close()
            raise self._gone("another one listens there by now")
        return connection

    def _renew(self) -> None:
        """If the sidecar has ended, what is made from now on is that of another one, which listens there by now.

        Raises:
            RuntimeUnavailable: if none does.
        """
        self._check_process()  # as in _share
        with _checks.taken(self._renewing):
            if self._pulse.has_ended():
                pulse = Pulse(self._connect(_checks.at_most()))
                self._pulse.close()
                self._pulse = pulse
                self._incarnation += 1
                self._shared.clear()
                self._lent.clear()
                self._owed.clear()

    def _await_answer(self) -> None:
        """Until it answers again, or has ended."""
        pulse = self._pulse
        try:
            while not pulse.beats(1.0):
                pass
        except (OSError, ValueError):
            pass  # whoever asks next is told; a ValueError if it was us who hung up

    def _gone(self, why: str) -> errors.AgentClosed:
        return errors.AgentClosed(
            f"the sidecar at {self.path} has ended ({why}), and what it did for this process with it: start it again, and make"
            " new agents"
        )

    def _silent(self, seconds: float, what: str) -> errors.NotAnswering:
        how_long = f" for {seconds:.3g} s" if seconds else ""
        return errors.NotAnswering(
            f"the sidecar at {self.path} does not answer{how_long}, but has not ended; {what}. Is it stopped, or its machine"
            " overloaded? Ask again, or start it again"
        )

    def _exchange(
        self, number: int, body: bytes, descriptors: tuple[int, ...] = (), timed: Optional[tuple[tuple, float]] = None
    ) -> tuple[_remote.Reader, list[int], bool]:
        """Asks, and waits for the answer.

        Args:
            number: of the function.
            body: its arguments.
            descriptors: that go along.
            timed: for one that waits: what is asked, and at most how many seconds the answer may take. Within
                :func:`hawser._checks.briefly` everything is asked so.

        Returns:
            The answer, the descriptors that came along, and whether it is that to the same question of a call before.
        """
        self._check_process()
        end = _checks.told_until()
        question: Optional[tuple] = None
        if timed is not None:
            question, patience = timed
        else:
            patience = _PATIENCE if end is None else min(_PATIENCE, max(0.0, end - time.monotonic()) + _checks.ANSWER)
        briefly = _checks.told_briefly()
        if briefly is not None:
            patience = min(patience, briefly)
            question = question or (_NAMES.get(number, number), body)
        most = _checks.BRIEFLY if _checks.has_to_go_on() else None  # without an answer, or a sign that one is being worked at
        began = time.monotonic()
        late = None if question is None else self._take_late(question)
        if most is not None and self.loops.silent and not (late is not None and _is_readable(late[0], 0)):
            if question is not None and late is not None:
                self._keep_late(question, *late)
            raise self._silent(0, "nothing was asked")
        if late is not None:
            connection, incarnation = late
        else:
            connection = self._connected(patience, most)
            incarnation = self._incarnation
        answer: Optional[bytes]
        waiting = False
        stall = _PATIENCE if most is None else most  # within a message
        if connection.gettimeout() != stall:
            connection.settimeout(stall)
        try:
            if late is None:
                _remote.send(connection, number, body, descriptors)
            waiting = True
            if not self._is_answered(connection, max(0.0, patience - (time.monotonic() - began)), most):
                raise _Silent
            waiting = False
            _, answer, came = _remote.receive(connection)
        except _Silent:
            took = time.monotonic() - began
            if question is not None:
                # Nothing of the answer has been read: it may still be taken by who asks the same again.
                self._keep_late(question, connection, incarnation)
                raise self._silent(took, "what was asked may still be done") from None
            answer, came = _given_up(connection)
            if answer is None:
                raise self._silent(took, "what was asked is given up, and not done unless it had begun") from None
        except socket.timeout:
            connection.close()
            if most is not None:
                self._lives(most / 2)
            took = time.monotonic() - began
            raise self._silent(took, "what was asked is given up, and not done unless it had begun") from None
        except OSError as e:
            connection.close()
            raise self._gone(str(e)) from e
        except BaseException:
            # Ctrl-C, for example: the answer is still to come, and is that to who asks the same, not to the next call.
            if waiting and question is not None and question[0] in _TAKES:
                self._keep_late(question, connection, incarnation)
            else:
                connection.close()
            raise
        if connection.fileno() >= 0 and getattr(self._local, "connection", None) is None:
            self._local.connection = (connection, incarnation)
        else:
            connection.close()
        return _remote.Reader(answer), came, late is not None

    def _connected(self, patience: float, most: Optional[float]) -> socket.socket:
        """A connection of this thread's."""
        if most is None:
            return self._connection(patience)
        try:
            return self._connection(min(patience, most / 2))
        except errors.NotAnswering:
            if not self._lives(most / 2):
                raise
        return self._connection(min(patience, _checks.ANSWER))

    def _is_answered(self, connection: socket.socket, patience: float, most: Optional[float]) -> bool:
        """Whether there is an answer in time. Who may not be held up waits only as long as the sidecar is seen to live: what
        it works at may take its time."""
        end = time.monotonic() + patience
        while most is not None:
            if _is_readable(connection, min(most / 2, max(0.0, end - time.monotonic()))):
                return True
            if time.monotonic() >= end or not self._lives(most / 2):
                return _is_readable(connection, 0)
        return _is_readable(connection, patience)

    def _lives(self, seconds: float) -> bool:
        """Whether the sidecar answers something else, at least; if not, no event loop is held up to find that again. One that
        is not stopped is given more time: it is at work, or waits for a core, and will."""
        end = time.monotonic() + _checks.ANSWER
        try:
            while not self._pulse.beats(seconds):
                if time.monotonic() >= end or self._pulse.is_stopped():
                    self.loops.fell_silent()
                    return False
            return True
        except (OSError, ValueError) as e:
            raise self._gone(str(e)) from e

    def _take_late(self, asked: tuple) -> Optional[tuple[socket.socket, int]]:
        with self._lating:
            for place, (question, connection, incarnation) in enumerate(self._late):
                if question == asked:
                    del self._late[place]
                    return connection, incarnation
        return None

    def _keep_late(self, asked: tuple, connection: socket.socket, incarnation: int) -> None:
        with self._lating:
            self._late.append((asked, connection, incarnation))
            others = [late for late in self._late if late[0][0] not in _TAKES]
            if len(others) > _MOST_LATE:  # nobody has asked for the oldest again
                self._late.remove(others[0])
                others[0][1].close()

    def _forget_late(self, agent: int) -> None:
        """What an agent that is closed had for its user is nobody's."""
        with self._lating:
            kept = []
            for late in self._late:
                (name, first, *_), connection, _ = late
                if name in _TAKES and (first == agent or isinstance(first, bytes) and first.startswith(_packed("i", (agent,)))):
                    connection.close()
                else:
                    kept.append(late)
            self._late = kept

    def _function(self, name: str) -> Callable[..., int]:
        spec, number = _remote.SPECS[name], _remote.NUMBERS[name]

        timed = _TIMES.get(name)

        def call(*arguments: Any) -> int:
            descriptors: tuple[int, ...] = ()
            if name == "agent_signal_to" and arguments[1] >= 0:
                descriptors = (arguments[1],)
            question = None
            if timed is not None:
                asked = (name, *(argument for place, argument in enumerate(arguments[:2]) if place != timed))
                question = (asked, min(arguments[timed] / 1e9, _checks.FOREVER) + _checks.ANSWER)
            if name == "agent_start":
                self._renew()
            if self._owed:
                self._pay()
            while True:
                answer, _, late = self._exchange(number, _packed(spec, arguments), descriptors, question)
                result = answer.number()
                if not late or (name in _ONCE and not _says_nothing(name, result)):
                    break  # what looked, or had only to say that another time was over, is asked again
            if result < 0:
                message, cause = (answer.content() or b"").decode("utf-8", "replace"), answer.number()
                error = errors.of_code(result, message, cause)
                if isinstance(error, errors.InvalidHandle) and self._incarnation > 0:
                    # Handles of one sidecar are none of the next.
                    raise errors.AgentClosed(
                        f"{message}. The sidecar at {self.path} has ended and was started again meanwhile, and what it did for"
                        " this process before has ended with it: make new agents"
                    ) from error
                raise error
            _unpack(spec, arguments, answer)
            return result

        return call

    def owe(self, name: str, *arguments: Any) -> None:
        """Has a function called before any other that the sidecar answers; its result does not matter."""
        self._owed.append((name, arguments))

    def _pay(self) -> None:
        if getattr(self._local, "paying", False):
            return
        self._local.paying = True
        try:
            for _ in range(len(self._owed)):
                owed = self._owed.popleft()
                try:
                    with _checks.in_passing():
                        getattr(self, owed[0])(*owed[1])
                except errors.NotAnswering:
                    self._owed.append(owed)
                    return
                except errors.HawserError:
                    pass  # gone already
        except IndexError:
            pass  # another thread was quicker
        finally:
            self._local.paying = False

    def _allocate(self, allocate: Callable[..., int]) -> Callable[..., int]:
        def call(agent: int, name: Optional[bytes], length: int, access: int, out: Any) -> int:
            result = allocate(agent, name, length, access, out)
            handle = _remote.pointed(out).value
            try:
                self._map(handle)
            except BaseException:
                try:
                    getattr(self, "region_close")(handle, _A_SECOND)
                except errors.HawserError:
                    self.owe("region_close", handle, _A_SECOND)
                raise
            return result

        return call

    def _map(self, handle: int) -> None:
        wanted = _remote.Writer()
        wanted.number(handle)
        answer, came, _ = self._exchange(_remote.MAPPING, wanted.bytes())
        try:
            address, length, offset = answer.number(), answer.number(), answer.number()
            if length == 0 or len(came) != 1:
                raise errors.MemoryUnavailable(
                    f"the sidecar cannot share the memory that it allocated: {(answer.content() or b'').decode()}"
                )
            _pages.map_at(address, length, came[0], offset)
            self._mapped[handle] = (address, length)
        finally:
            for descriptor in came:
                os.close(descriptor)

    def _register(self, register: Callable[..., int]) -> Callable[..., int]:
        def call(agent: int, name: Any, address: int, length: int, device: int, access: int, out: Any) -> int:
            allocation = None if device == 0 else _cuda.find(address, length, device)
            if allocation is not None:
                start, device = allocation.start, allocation.device
                self._share(start, allocation.buffer_id, lambda: self._tell_gpu(allocation))
                return lend(agent, name, address, length, device, access, out, start)
            mapping = _pages.around(address, length)
            if mapping is None or not mapping.shared or mapping.inode == 0:
                raise errors.InvalidArgument(
                    "memory: it is this process's own, and the sidecar cannot see it; use memory of agent.allocate"
                    " (numpy.frombuffer(region.buffer())), of multiprocessing.shared_memory, or a tensor after"
                    " tensor.share_memory_()"
                )
            if "memfd:hawser" in mapping.path:  # an allocation: the sidecar has it, while its region is open
                return register(agent, name, address, length, 0, access, out)
            self._share(mapping.start, (mapping.device, mapping.inode), lambda: self._tell_mapping(mapping))
            return lend(agent, name, address, length, 0, access, out, mapping.start)

        def lend(
            agent: int, name: Any, address: int, length: int, device: int, access: int, out: Any, start: int
        ) -> int:
            try:
                result = register(agent, name, address, length, device, access, out)
            except BaseException:
                self._unshare(start)
                raise
            self._lent[_remote.pointed(out).value] = (agent, start)
            return result

        return call

    def _share(self, start: int, identity: object, tell: Callable[[], None]) -> None:
        """Has the sidecar reach what begins there, unless it does already."""
        self._check_process()  # a lock that another thread had when it was forked is never let go of
        with _checks.taken(self._sharing):
            shared = self._shared.get(start)
            if shared is not None and shared.regions == 0:
                self._told_no_more(start)
                shared = None
            if shared is None:
                tell()
                shared = self._shared[start] = _Shared(identity)
            elif shared.identity != identity:
                raise errors.Busy(
                    f"memory: what was at 0x{start:x} was freed while regions of it are registered, and is something else by"
                    " now: close those first"
                )
            shared.regions += 1

    def _tell_mapping(self, mapping: _pages.Mapping) -> None:
        try:
            descriptor = mapping.descriptor()
        except LookupError as e:
            raise errors.InvalidArgument(f"memory: it is shared, but {e}; keep its descriptor open") from None
        told = _remote.Writer()
        for number in (mapping.start, mapping.end - mapping.start, mapping.offset):
            told.number(number)
        try:
            self._told(_remote.SHARE, told.bytes(), (descriptor,))
        finally:
            os.close(descriptor)

    def _tell_gpu(self, allocation: _cuda.Allocation) -> None:
        told = _remote.Writer()
        for number in (allocation.start, allocation.length, allocation.device):
            told.number(number)
        told.content(allocation.uuid.encode())
        told.content(allocation.handle)
        self._told(_remote.SHARE_GPU, told.bytes())

    def _unshare(self, start: int) -> None:
        """A region there is closed, which is so even if the sidecar does not answer to this."""
        try:
            with _checks.taken(self._sharing):
                self._shared[start].regions -= 1
        except errors.NotAnswering:
            self.owe("_unshare", start)
        else:
            self._unshare_unused(start)

    def _unshare_unused(self, start: int) -> None:
        try:
            with _checks.taken(self._sharing):
                shared = self._shared.get(start)
                if shared is not None and shared.regions == 0:
                    self._told_no_more(start)
        except errors.NotAnswering:
            self.owe("_unshare_unused", start)

    def _told_no_more(self, start: int) -> None:
        told = _remote.Writer()
        told.number(start)
        self._told(_remote.UNSHARE, told.bytes())
        del self._shared[start]

    def _told(self, number: int, body: bytes, descriptors: tuple[int, ...] = ()) -> None:
        answer, _, _ = self._exchange(number, body, descriptors)
        if answer.number() != 0:
            raise errors.MemoryUnavailable((answer.content() or b"").decode("utf-8", "replace"))

    def _close_agent(self, close: Callable[..., int]) -> Callable[..., int]:
        def call(agent: int) -> int:
            result = 0
            try:
                result = close(agent)
            except errors.InvalidHandle:
                pass  # it was closed by a call before, whose answer did not come
            self._forget_late(agent)
            for handle in [handle for handle, (owner, _) in list(self._lent.items()) if owner == agent]:
                self._unshare(self._lent.pop(handle)[1])
            return result

        return call

    def _keep(self, handle: int) -> int:
        """What is mapped here is the caller's from now on; the sidecar's own mapping goes with the region."""
        return self._mapped.pop(handle, (0, 0))[1]

    def _close_region(self, close: Callable[..., int]) -> Callable[..., int]:
        def call(handle: int, timeout: int) -> int:
            result = close(handle, timeout)
            mapped = self._mapped.pop(handle, None)
            if mapped is not None:
                _pages.unmap(*mapped)
            lent = self._lent.pop(handle, None)
            if lent is not None:
                self._unshare(lent[1])
            return result

        return call

    def text(self, function: Callable[..., int], *arguments: object) -> str:
        """The text that a function with a buffer gives."""
        return self.blob(function, *arguments).decode("utf-8", "replace")

    def blob(self, function: Callable[..., int], *arguments: object) -> bytes:
        """The bytes that a function with a buffer gives."""
        size = 4096
        while True:
            buffer = c.create_string_buffer(size)
            length = function(*arguments, buffer, size)
            if length < size:
                return buffer.raw[:length]
            size = length + 1

    def close(self) -> None:
        """Hangs up: the sidecar closes what is ours."""
        self._pulse.close()


def _is_readable(connection: socket.socket, seconds: float) -> bool:
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def _given_up(connection: socket.socket) -> tuple[Optional[bytes], list[int]]:
    """Hangs up on what was asked: a sidecar that has not begun with it does not begin, and what it has made for nobody it
    ends. Returns the answer, with what came along, if that was quicker: None if it was not."""
    try:
        connection.shutdown(socket.SHUT_RDWR)  # what comes later does not reach us: the sidecar finds so
        _, answer, came = _remote.receive(connection)
        return answer, came
    except OSError:
        return None, []
    finally:
        connection.close()


def _says_nothing(name: str, result: int) -> bool:
    return (result == 0 and name == "notification_next") or errors._BY_CODE.get(result) in _OVER


def _packed(spec: str, arguments: tuple) -> bytes:
    message = _remote.Writer()
    for place, (kind, argument) in enumerate(zip(spec, arguments)):
        if kind == "i":
            message.number(argument)
        elif kind == "s":
            message.content(argument)
        elif kind == "a":
            # Strides come behind the shape, and have as many.
            count = arguments[1] if spec.startswith("iiaa") else arguments[place + 1]
            message.content(None if argument is None else bytes(argument)[: 8 * count])
        elif kind == "b":
            message.content(_remote.address_bytes(argument, 24 * arguments[place + 1]))
        elif kind in _remote.STRUCTS:
            message.content(bytes(_remote.pointed(argument)))
        elif kind == "Q":
            request = _remote.pointed(argument)
            message.content(bytes(request))
            for address, count, width in (
                (request.local_indices, request.local_count, request.local_index_bytes),
                (request.remote_indices, request.remote_count, request.remote_index_bytes),
            ):
                message.content(None if address is None else _remote.address_bytes(address, count * width))
        elif kind == "O":
            options = _remote.pointed(argument)
            if options is None:
                message.content(None)
                continue
            message.content(bytes(options))
            # By its address: as a text it would end at its first NUL.
            address = c.c_void_p.from_buffer(options, _abi.Options.notification.offset).value
            message.content(None if address is None else _remote.address_bytes(address, options.notification_bytes))
            message.content(options.request_id)
    return message.bytes()


def _unpack(spec: str, arguments: tuple, answer: _remote.Reader) -> None:
    for kind, argument in zip(spec, arguments):
        if kind == "h":
            target = _remote.pointed(argument)
            target.value = answer.number()
        elif kind in ("o", "u", "t"):
            content = answer.content() or b""
            if content:
                c.memmove(argument, content, len(content))
        elif kind in _remote.STRUCTS:
            target = _remote.pointed(argument)
            content = answer.content() or b""
            c.memmove(c.addressof(target), content, min(len(content), c.sizeof(target)))


class SidecarGuest:
    """There is no JVM here that could be in anybody's way."""

    usable = True

    def check_handlers(self) -> list[int]:
        """Nothing to put back."""
        return []


class SidecarRuntime:
    """What :class:`hawser._runtime.Runtime` is, in another process."""

    in_this_process = False

    def __init__(self, path: str) -> None:
        self.table: Any = SidecarTable(path)
        # Until they are closed: what they registered has to stay where it is.
        self.agents: set[Any] = set()
        self.guest = SidecarGuest()
        atexit.register(self._end)

    def _end(self) -> None:
        if os.getpid() != self.table._pid:
            return
        for agent in list(self.agents):
            try:
                with _checks.in_passing():  # to hang up closes it as well
                    agent.close()
            except errors.HawserError as e:
                print(f"hawser: closing {agent!r} at exit: {e}", file=sys.stderr)
                if isinstance(e, errors.NotAnswering):
                    break  # to hang up closes them, as soon as it goes on
        self.table.close()
