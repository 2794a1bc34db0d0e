# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""``python -m hawser.sidecar SOCKET``: Hawser's engine in a process of its own, for workers that want no JVM in theirs.

``hawser agent --socket PATH`` of the command line is the same as a service of its own, for an installation that has it. A
worker that makes its agents with ``sidecar="unix:PATH"``, sets ``HAWSER_PYTHON_SIDECAR=PATH``, or calls :func:`use` before
its first agent, has the same API. Memory
that is transferred has to be shared with the sidecar, mapped at the same address in both processes:
:meth:`hawser.Agent.allocate` gives such memory (``numpy.frombuffer(region.buffer())``), and what the worker has in shared
mappings (``multiprocessing.shared_memory``, torch's ``share_memory_()``, ``mmap`` of a file) can be registered. Private
memory of the worker cannot, and that of its GPUs only with ``hawser agent``. Only processes of the same user may connect; agents are closed when
their worker has gone.
"""

from __future__ import annotations

import ctypes as c
import errno
import mmap
import os
import signal
import socket
import stat
import struct
import sys
import threading
import time
from pathlib import Path
from typing import Any, Optional

from . import _abi, _client, _pages, _remote, _runtime, errors

_UCRED = struct.Struct("3i")
_PASSING = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.ECONNABORTED)


def use(path: str) -> None:
    """Has this process's agents live in the sidecar at a socket; before the first of them is made.

    Raises:
        RuntimeUnavailable: if no sidecar answers there, or this process has agents already.
    """
    from ._client import SidecarRuntime

    with _runtime.Runtime._lock:
        if _runtime.Runtime._started is not None:
            raise errors.RuntimeUnavailable("this process has agents already: call hawser.sidecar.use() before the first")
        _runtime.Runtime._started = SidecarRuntime(path)  # type: ignore[assignment]


class Session:
    """What one worker has here."""

    def __init__(self) -> None:
        self.connections = 0
        self.agents: set[int] = set()
        self.descriptors: dict[int, int] = {}
        self.shared: dict[int, int] = {}  # mapped here for it: start and length
        self.registered: dict[int, tuple[int, int, int]] = {}  # by region: its agent, address and length


class Server:
    """Serves workers at a socket."""

    def __init__(self, path: str) -> None:
        """Listens; the JVM is started first, so that a worker never waits for it.

        Raises:
            RuntimeUnavailable: if there is no Java runtime, or another sidecar listens there.
        """
        path = _client.path_of(path)
        self._table = _runtime.Runtime.get().table
        self._lock = threading.Lock()
        self._sessions: dict[bytes, Session] = {}
        self._path = path
        self._ended = threading.Event()
        self._told = float("-inf")
        self._socket = _listening(path)

    def serve(self) -> None:
        """Until it is closed."""
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError as e:
                if self._ended.is_set():
                    return
                if e.errno not in _PASSING:
                    raise
                self._pause(str(e))
                continue
            while not self._ended.is_set():
                try:
                    threading.Thread(target=self._attend, args=(connection,), name="hawser-sidecar", daemon=True).start()
                    break
                except RuntimeError as e:  # Linux has no thread
                    self._pause(str(e))

    def _pause(self, why: str) -> None:
        """Waits for something that is short; says so once a minute at most."""
        now = time.monotonic()
        if now - self._told > 60:
            self._told = now
            print(
                f"hawser.sidecar: workers have to wait ({why}): raise the limits of this process (open files, threads, memory),"
                " or have fewer workers; it is tried again all the time",
                file=sys.stderr,
            )
        self._ended.wait(0.1)

    def close(self) -> None:
        """Ends it."""
        self._ended.set()
        Path(self._path).unlink(missing_ok=True)
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # wakes accept; nobody is connected to a listening socket
        self._socket.close()

    def _attend(self, connection: socket.socket) -> None:
        session: Optional[Session] = None
        with connection:
            try:
                _, uid, _ = _UCRED.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))
                if uid != os.getuid():
                    raise ConnectionError(f"user {uid} may not use the sidecar of user {os.getuid()}")
                session = self._hello(connection)
                while True:
                    number, body, came = _remote.receive(connection)
                    if number == _remote.MAPPING:
                        self._mapping(connection, body)
                    elif number == _remote.SHARE_GPU:
                        refused = _remote.Writer()
                        refused.number(-13)
                        refused.content(b"memory: a GPU's cannot be offered through this sidecar, but through hawser agent --socket")
                        _remote.send(connection, number, refused.bytes())
                    elif number in (_remote.SHARE, _remote.UNSHARE):
                        _remote.send(connection, number, self._sharing(session, number, body, came))
                    else:
                        _remote.send(connection, number, self._call(session, number, body, came))
            except (OSError, ValueError) as e:
                if session is None:
                    print(f"hawser.sidecar: a connection is refused: {e}", file=sys.stderr)
            finally:
                if session is not None:
                    self._leave(session)

    def _hello(self, connection: socket.socket) -> Session:
        number, body, _ = _remote.receive(connection)
        reader = _remote.Reader(body)
        version, key = reader.number(), reader.content() or b""
        if number != _remote.HELLO or len(key) != 16:
            raise ConnectionError("it does not begin with a greeting")
        answer = _remote.Writer()
        answer.number(_remote.VERSION)
        answer.content(self._table.version.encode())
        with self._lock:
            session = self._sessions.setdefault(key, Session())
            session.connections += 1
        _remote.send(connection, _remote.HELLO, answer.bytes())
        if version != _remote.VERSION:
            self._leave(session)
            raise ConnectionError(f"it speaks version {version}")
        return session

    def _leave(self, session: Session) -> None:
        with self._lock:
            session.connections -= 1
            if session.connections > 0:
                return
            self._sessions = {key: kept for key, kept in self._sessions.items() if kept is not session}
            agents, session.agents = session.agents, set()
        for agent in agents:
            try:
                self._table.agent_close(agent)
            except errors.HawserError as e:
                print(f"hawser.sidecar: closing an agent whose worker has gone: {e}", file=sys.stderr)
        for descriptor in session.descriptors.values():
            os.close(descriptor)
        for start, length in session.shared.items():
            _pages.unmap(start, length)

    def _call(self, session: Session, number: int, body: bytes, came: list[int]) -> bytes:
        name = _abi.FUNCTION_NAMES[number]
        arguments, outs = _arguments(_remote.SPECS[name], _remote.Reader(body))
        if name == "agent_signal_to" and came:
            arguments[1] = came[0]
        elif name == "region_register" and not _is_shared(session, arguments[2], arguments[3]):
            return _failure(
                errors.InvalidArgument("memory: it is not shared with the sidecar; was the region that had it closed?")
            )
        answer = _remote.Writer()
        try:
            result = getattr(self._table, name)(*arguments)
        except errors.HawserError as e:
            for descriptor in came:
                os.close(descriptor)
            return _failure(e)
        answer.number(result)
        for kind, out in outs:
            if kind == "h":
                answer.number(out.value)
            elif kind in _remote.STRUCTS:
                answer.content(bytes(out))
            elif kind == "t":
                answer.content(out.raw)
            else:
                # A text has a final NUL beyond its bytes; more than the capacity was not written.
                answer.content(out.raw[: 8 * result] if kind == "u" else out.raw[: result + 1] if result <= len(out) else b"")
        self._note(session, name, arguments, outs, came)
        return answer.bytes()

    def _note(self, session: Session, name: str, arguments: list, outs: list, came: list[int]) -> None:
        with self._lock:
            if name == "agent_start":
                session.agents.add(outs[0][1].value)
            elif name == "agent_close":
                session.agents.discard(arguments[0])
                session.registered = {k: v for k, v in session.registered.items() if v[0] != arguments[0]}
            elif name == "region_register":
                session.registered[outs[0][1].value] = (arguments[0], arguments[2], arguments[3])
            elif name == "region_close":
                session.registered.pop(arguments[0], None)
            if name in ("agent_signal_to", "agent_close"):
                old = session.descriptors.pop(arguments[0], None)
                if old is not None:
                    os.close(old)
            if name == "agent_signal_to" and came:
                session.descriptors[arguments[0]] = came[0]

    def _sharing(self, session: Session, number: int, body: bytes, came: list[int]) -> bytes:
        reader = _remote.Reader(body)
        answer = _remote.Writer()
        try:
            start = reader.number()
            if number == _remote.UNSHARE:
                with self._lock:
                    length = session.shared.get(start, 0)
                    if any(at < start + length and start < at + n for _, at, n in session.registered.values()):
                        raise errors.Busy(
                            f"the memory at 0x{start:x} stays mapped: a region is registered in it; close it first"
                        )
                    session.shared.pop(start, None)
                if length:
                    _pages.unmap(start, length)
            else:
                length, offset = reader.number(), reader.number()
                if len(came) != 1:
                    raise ConnectionError("memory is shared by one descriptor")
                if start < 1 << 16 or start % mmap.PAGESIZE:
                    raise errors.InvalidArgument(f"memory cannot be shared at 0x{start:x}: give the start of a mapping")
                _pages.map_at(start, length, came[0], offset)
                with self._lock:
                    session.shared[start] = length
            answer.number(0)
        except errors.HawserError as e:
            answer.number(-1)
            answer.content(str(e).encode())
        finally:
            for descriptor in came:
                os.close(descriptor)
        return answer.bytes()

    def _mapping(self, connection: socket.socket, body: bytes) -> None:
        info = _abi.RegionInfo(c.sizeof(_abi.RegionInfo))
        answer = _remote.Writer()
        descriptor = None
        try:
            self._table.region_describe(_remote.Reader(body).number(), c.byref(info))
            start, length, offset, descriptor = _backing(info.address, info.length)
            for number in (start, length, offset):
                answer.number(number)
            _remote.send(connection, _remote.MAPPING, answer.bytes(), (descriptor,))
        except (errors.HawserError, LookupError) as e:
            refused = _remote.Writer()
            for _ in range(3):
                refused.number(0)
            refused.content(str(e).encode())
            _remote.send(connection, _remote.MAPPING, refused.bytes())
        finally:
            if descriptor is not None:
                os.close(descriptor)


def _failure(error: errors.HawserError) -> bytes:
    code = next((number for number, kind in errors._BY_CODE.items() if type(error) is kind), -99)
    cause = 0
    if isinstance(error, errors.TransferError):
        code = -10
        cause = errors._CAUSES.index(error.cause) if error.cause in errors._CAUSES else 0
    answer = _remote.Writer()
    answer.number(code)
    answer.content(str(error).encode())
    answer.number(cause)
    return answer.bytes()


def _arguments(spec: str, reader: _remote.Reader) -> tuple[list, list]:
    """The arguments of a call, and those of them that are written to."""
    arguments: list[Any] = []
    outs: list[tuple[str, Any]] = []
    waiting: Optional[int] = None
    for kind in spec:
        if kind == "i":
            number = reader.number()
            if waiting is not None:  # the capacity of the buffer before
                if not 0 <= number <= _remote.MOST_BYTES // 8:
                    raise ConnectionError(f"a buffer of {number}")
                buffer = c.create_string_buffer(max(1, number * (8 if spec[waiting] == "u" else 1)))
                arguments[waiting] = buffer
                outs.append((spec[waiting], buffer))
                waiting = None
            arguments.append(number)
        elif kind == "s":
            arguments.append(reader.content())
        elif kind == "h":
            out = c.c_uint64()
            arguments.append(c.byref(out))
            outs.append(("h", out))
        elif kind in ("a", "b"):
            content = reader.content()
            held = None if content is None else c.create_string_buffer(content, max(1, len(content)))
            arguments.append(held)
        elif kind in ("o", "u"):
            waiting = len(arguments)
            arguments.append(None)
        elif kind == "t":
            buffer = c.create_string_buffer(max(1, arguments[-1]))
            arguments.append(buffer)
            outs.append(("t", buffer))
        elif kind in _remote.STRUCTS:
            filled = _remote.STRUCTS[kind]()
            content = reader.content() or b""
            c.memmove(c.addressof(filled), content, min(len(content), c.sizeof(filled)))
            arguments.append(c.byref(filled))
            outs.append((kind, filled))
        elif kind == "Q":
            request = _abi.Request.from_buffer_copy(reader.content() or b"")
            for side in ("local", "remote"):
                content = reader.content()
                held = None if content is None else c.create_string_buffer(content, max(1, len(content)))
                setattr(request, f"{side}_indices", None if held is None else c.addressof(held))
                setattr(request, f"{side}_kept", held)  # as long as the request
            arguments.append(c.byref(request))
        elif kind == "O":
            content = reader.content()
            if content is None:
                arguments.append(None)
            else:
                options = _abi.Options.from_buffer_copy(content)
                options.notification = reader.content()
                options.request_id = reader.content()
                arguments.append(c.byref(options))
    return arguments, outs


def _backing(address: int, length: int) -> tuple[int, int, int, int]:
    """The mapping around an allocation: start, bytes, offset in its file, and a descriptor of it."""
    mapping = _pages.around(address, length)
    if mapping is None or "memfd:" not in mapping.path:
        raise LookupError(f"0x{address:x} is in no file of memory")
    return mapping.start, mapping.end - mapping.start, mapping.offset, mapping.descriptor()


def _is_shared(session: Session, address: int, length: int) -> bool:
    """Whether memory was shared by this worker, or is an allocation of the sidecar's."""
    address &= 0xFFFF_FFFF_FFFF_FFFF
    if any(start <= address and address + length <= start + bytes_ for start, bytes_ in list(session.shared.items())):
        return True
    mapping = _pages.around(address, length)
    return mapping is not None and mapping.shared and "memfd:" in mapping.path


def _listening(path: str) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        try:
            listening.bind(path)
        except OSError:
            if not stat.S_ISSOCK(os.lstat(path).st_mode):
                raise errors.RuntimeUnavailable(f"{path} is there, and is no socket: choose another path, or remove it") from None
            # Left by one that was killed, or in use?
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
                try:
                    probe.connect(path)
                except ConnectionRefusedError:
                    os.unlink(path)
                    listening.bind(path)
                else:
                    raise errors.RuntimeUnavailable(f"another sidecar listens at {path}: choose another socket") from None
    finally:
        os.umask(before)
    listening.listen(4096)  # as far as net.core.somaxconn goes
    return listening


def main() -> int:
    """The command."""
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    os.environ.pop("HAWSER_PYTHON_SIDECAR", None)  # this is it
    try:
        server = Server(sys.argv[1])
    except (errors.HawserError, OSError) as e:
        print(f"hawser.sidecar: {e}", file=sys.stderr)
        return 1
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: server.close())
    print(f"hawser sidecar: {sys.argv[1]}", flush=True)
    server.serve()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
