# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""The client of a sidecar: the table of functions for a process that has no JVM of its own."""

from __future__ import annotations

import atexit
import ctypes as c
import os
import select
import socket
import sys
import threading
import uuid
from typing import Any, Callable, Optional

from . import _abi, _pages, _remote, errors

_PATIENCE = 30.0


def path_of(address: str) -> str:
    """The path in the address of a sidecar: ``unix:PATH``, or the path itself."""
    return address[len("unix:") :] if address.startswith("unix:") else address


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
        self._shared: dict[int, int] = {}  # by the start of a mapping: regions in it
        self._lent: dict[int, tuple[int, int]] = {}  # by a region's handle: its agent, and the start of its mapping
        self._rooting = threading.Lock()
        self._root = self._connect()  # as long as it is open, the sidecar keeps what is ours
        self._incarnation = 0  # of the sidecar: a root that is gone is that of one that has ended
        for name in _remote.SPECS:
            setattr(self, name, self._function(name))
        # These are about this process's memory.
        setattr(self, "region_allocate", self._allocate(getattr(self, "region_allocate")))
        setattr(self, "region_close", self._close_region(getattr(self, "region_close")))
        setattr(self, "region_keep", self._keep)
        setattr(self, "region_register", self._register(getattr(self, "region_register")))
        setattr(self, "agent_close", self._close_agent(getattr(self, "agent_close")))

    def _connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(_PATIENCE)
        try:
            connection.connect(self.path)
            hello = _remote.Writer()
            hello.number(_remote.VERSION)
            hello.content(self._session)
            _remote.send(connection, _remote.HELLO, hello.bytes())
            answer = _remote.Reader(_remote.receive(connection)[1])
            version, self.version = answer.number(), (answer.content() or b"").decode()
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
        return connection

    def _connection(self) -> socket.socket:
        if os.getpid() != self._pid:
            raise errors.RuntimeUnavailable(
                f"process {os.getpid()} is a fork of {self._pid}, whose agents are in the sidecar: start the child with the"
                " multiprocessing method 'spawn', or connect only in it"
            )
        # Taken out while it is in use: a finalizer or a handler of signals that calls meanwhile gets one of its own.
        kept = getattr(self._local, "connection", None)
        self._local.connection = None
        if kept is not None:
            connection, incarnation = kept
            if incarnation == self._incarnation:
                return connection
            connection.close()
        self._renew_root()
        return self._connect()

    def _has_ended(self) -> bool:
        """Whether the sidecar that has what is ours has ended; it never says anything there by itself."""
        if self._root.fileno() < 0:
            return False  # it was us who hung up, at the end
        poll = select.poll()
        poll.register(self._root, select.POLLIN)
        return bool(poll.poll(0))

    def _renew_root(self) -> None:
        """If the sidecar has ended and another one is there by now, what is made from now on is that one's."""
        with self._rooting:
            if self._has_ended():
                root = self._connect()
                self._root.close()
                self._root = root
                self._incarnation += 1
                self._shared.clear()
                self._lent.clear()

    def _gone(self, why: str) -> errors.AgentClosed:
        return errors.AgentClosed(
            f"the sidecar at {self.path} has ended ({why}), and what it did for this process with it: start it again, and make"
            " new agents"
        )

    def _exchange(self, number: int, body: bytes, descriptors: tuple[int, ...] = ()) -> tuple[_remote.Reader, list[int]]:
        connection = self._connection()
        incarnation = self._incarnation
        try:
            _remote.send(connection, number, body, descriptors)
            _, answer, came = _remote.receive(connection)
        except OSError as e:
            connection.close()
            raise self._gone(str(e)) from e
        except BaseException:
            # Ctrl-C, for example: the answer is still to come, and must not be taken for that of the next call.
            connection.close()
            raise
        if getattr(self._local, "connection", None) is None:
            self._local.connection = (connection, incarnation)
        else:
            connection.close()
        return _remote.Reader(answer), came

    def _function(self, name: str) -> Callable[..., int]:
        spec, number = _remote.SPECS[name], _remote.NUMBERS[name]

        def call(*arguments: Any) -> int:
            descriptors: tuple[int, ...] = ()
            if name == "agent_signal_to" and arguments[1] >= 0:
                descriptors = (arguments[1],)
            answer, _ = self._exchange(number, _packed(spec, arguments), descriptors)
            result = answer.number()
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

    def _allocate(self, allocate: Callable[..., int]) -> Callable[..., int]:
        def call(agent: int, name: Optional[bytes], length: int, access: int, out: Any) -> int:
            result = allocate(agent, name, length, access, out)
            handle = _remote.pointed(out).value
            try:
                self._map(handle)
            except BaseException:
                getattr(self, "region_close")(handle, 1_000_000_000)
                raise
            return result

        return call

    def _map(self, handle: int) -> None:
        wanted = _remote.Writer()
        wanted.number(handle)
        answer, came = self._exchange(_remote.MAPPING, wanted.bytes())
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
            if device != 0:
                raise errors.InvalidArgument(
                    "memory: a GPU's cannot be offered through a sidecar; use Hawser within this process (without"
                    " HAWSER_PYTHON_SIDECAR), or copy it to memory of agent.allocate"
                )
            mapping = _pages.around(address, length)
            if mapping is None or not mapping.shared or mapping.inode == 0:
                raise errors.InvalidArgument(
                    "memory: it is this process's own, and the sidecar cannot see it; use memory of agent.allocate"
                    " (numpy.frombuffer(region.buffer())), of multiprocessing.shared_memory, or a tensor after"
                    " tensor.share_memory_()"
                )
            if "memfd:hawser" in mapping.path:  # an allocation: the sidecar has it, while its region is open
                return register(agent, name, address, length, device, access, out)
            self._share(mapping)
            try:
                result = register(agent, name, address, length, device, access, out)
            except BaseException:
                self._unshare(mapping.start)
                raise
            self._lent[_remote.pointed(out).value] = (agent, mapping.start)
            return result

        return call

    def _share(self, mapping: _pages.Mapping) -> None:
        """Has the sidecar map at the same address what this process maps there, unless it does already."""
        with self._sharing:
            used = self._shared.get(mapping.start, 0)
            if used == 0:
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
            self._shared[mapping.start] = used + 1

    def _unshare(self, start: int) -> None:
        with self._sharing:
            self._shared[start] -= 1
            if self._shared[start] == 0:
                del self._shared[start]
                told = _remote.Writer()
                told.number(start)
                self._told(_remote.UNSHARE, told.bytes())

    def _told(self, number: int, body: bytes, descriptors: tuple[int, ...] = ()) -> None:
        answer, _ = self._exchange(number, body, descriptors)
        if answer.number() != 0:
            raise errors.MemoryUnavailable((answer.content() or b"").decode("utf-8", "replace"))

    def _close_agent(self, close: Callable[..., int]) -> Callable[..., int]:
        def call(agent: int) -> int:
            result = close(agent)
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
        self._root.close()


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
                agent.close()
            except errors.HawserError as e:
                print(f"hawser: closing {agent!r} at exit: {e}", file=sys.stderr)
        self.table.close()
