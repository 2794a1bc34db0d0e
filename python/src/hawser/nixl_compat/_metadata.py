# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""How agents hand each other their metadata: listeners at addresses, and Hawser's metadata service."""

from __future__ import annotations

import base64
import json
import os
import socket
import struct
import threading
import time
import urllib.error
import urllib.request
from typing import Callable, Optional

import hawser

from .logging import get_logger

logger = get_logger(__name__)

_MAGIC = b"HWNX"
_HEADER = struct.Struct("<4sBxxxQ")
_LOAD, _ASK, _LEAVE = 1, 2, 3
_MOST_BYTES = 1 << 30
_PATIENCE = 5.0


def _send(connection: socket.socket, kind: int, body: bytes) -> None:
    connection.sendall(_HEADER.pack(_MAGIC, kind, len(body)) + body)


def _exactly(connection: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        part = connection.recv(min(1 << 20, count - len(parts)))
        if not part:
            raise ConnectionError(f"the peer hung up after {len(parts)} of {count} bytes")
        parts += part
    return bytes(parts)


def _receive(connection: socket.socket) -> tuple[int, bytes]:
    magic, kind, length = _HEADER.unpack(_exactly(connection, _HEADER.size))
    if magic != _MAGIC or length > _MOST_BYTES:
        raise ConnectionError("that is no message of a Hawser agent's listener")
    return kind, _exactly(connection, length)


class Listener:
    """Takes and gives metadata at a port; loopback unless HAWSER_PYTHON_NIXL_LISTEN names an address."""

    def __init__(
        self, port: int, own: Callable[[], bytes], arrived: Callable[[bytes], None], left: Callable[[str], None]
    ) -> None:
        address = os.environ.get("HAWSER_PYTHON_NIXL_LISTEN", "127.0.0.1")
        self._socket = socket.create_server((address, port), family=socket.AF_INET6 if ":" in address else socket.AF_INET)
        self._own = own
        self._arrived = arrived
        self._left = left
        if port == 0:
            logger.info("MD listener is listening on port %d", self._socket.getsockname()[1])
        threading.Thread(target=self._serve, name="hawser-nixl-listener", daemon=True).start()

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._socket.getsockname()[1]

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self._answer, args=(connection,), name="hawser-nixl-answer", daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        try:
            with connection:
                connection.settimeout(_PATIENCE)
                kind, body = _receive(connection)
                if kind == _LOAD:
                    self._arrived(body)
                elif kind == _LEAVE:
                    self._left(body.decode())
                elif kind == _ASK:
                    _send(connection, _LOAD, self._own())
        except (OSError, ValueError) as e:
            logger.error("a connection to the metadata listener failed: %s", e)
        except Exception as e:  # what the agent refused: it must not end the listener
            logger.error("the metadata listener could not do what was asked: %s", e)

    def close(self) -> None:
        """Ends it."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # nobody is connected to a listening socket; on Linux this wakes accept
        self._socket.close()


def _in_background(what: str, work: Callable[[], None]) -> None:
    def run() -> None:
        try:
            work()
        except (OSError, ValueError) as e:
            logger.error("%s failed: %s", what, e)

    threading.Thread(target=run, name="hawser-nixl-metadata", daemon=True).start()


def send_to(address: str, port: int, blob: bytes) -> None:
    """Hands metadata to the listener at an address; in the background, as NIXL does."""

    def work() -> None:
        with socket.create_connection((address, port), timeout=_PATIENCE) as connection:
            _send(connection, _LOAD, blob)

    _in_background(f"sending metadata to {address}:{port}", work)


def fetch_from(address: str, port: int, arrived: Callable[[bytes], None]) -> None:
    """Asks the listener at an address for its agent's metadata."""

    def work() -> None:
        with socket.create_connection((address, port), timeout=_PATIENCE) as connection:
            _send(connection, _ASK, b"")
            arrived(_receive(connection)[1])

    _in_background(f"fetching metadata from {address}:{port}", work)


def invalidate_at(address: str, port: int, name: str) -> None:
    """Has the agent at an address forget this one."""

    def work() -> None:
        with socket.create_connection((address, port), timeout=_PATIENCE) as connection:
            _send(connection, _LEAVE, name.encode())

    _in_background(f"telling {address}:{port} to forget {name}", work)


class Store:
    """Hawser's metadata service, used as NIXL uses etcd: what is sent stands until it is invalidated, or its agent is gone.

    Parts are entries of their own, NAME:LABEL.
    """

    _TTL_MILLIS = 30_000

    def __init__(self, url: str, agent: hawser.Agent, patience: float) -> None:
        self._url = url.rstrip("/")
        facts = agent.describe()
        self._name: str = facts["name"]
        self._epoch = str(facts["epoch"])
        self._address = facts["addresses"][0]
        self._patience = patience
        self._lock = threading.Lock()
        self._sent: dict[str, bytes] = {}
        self._watched: dict[str, Callable[[], None]] = {}
        self._stop = threading.Event()
        self._keeper: Optional[threading.Thread] = None

    def _request(self, method: str, path: str, body: Optional[dict] = None) -> bytes:
        request = urllib.request.Request(
            self._url + path, method=method, data=None if body is None else json.dumps(body).encode()
        )
        request.add_header("Accept", "application/octet-stream" if method == "GET" else "application/json")
        if body is not None:
            request.add_header("Content-Type", "application/json")
        token = os.environ.get("HAWSER_METADATA_TOKEN", "")
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:
            return answer.read()

    def _publish(self, entry: str, blob: bytes) -> None:
        # A remembered epoch of that name is taken over: NIXL's names have no incarnations.
        body = {
            "epoch": self._epoch,
            "ttl_millis": self._TTL_MILLIS,
            "address": self._address,
            "labels": {},
            "summary": {"host": socket.gethostname(), "pid": os.getpid()},
            "blob": base64.b64encode(blob).decode(),
        }
        self._request("PUT", f"/v1/agents/{entry}", body)

    def send(self, blob: bytes, label: str = "") -> None:
        """Publishes, and keeps it up."""
        entry = self._name + (f":{label}" if label else "")
        with self._lock:
            self._sent[entry] = blob
            self._keep()
        _in_background(f"sending metadata of {entry} to {self._url}", lambda: self._publish(entry, blob))

    def fetch(self, name: str, label: str, arrived: Callable[[bytes], None], left: Callable[[], None]) -> None:
        """Fetches, waiting for it to be published; afterwards hears of its end."""
        entry = name + (f":{label}" if label else "")

        def work() -> None:
            deadline = time.monotonic() + self._patience
            while True:
                try:
                    blob = self._request("GET", f"/v1/agents/{entry}")
                    break
                except urllib.error.HTTPError as e:
                    if e.code != 404 or time.monotonic() > deadline:
                        raise ValueError(f"{self._url} answers {e.code} for {entry}") from e
                    time.sleep(0.05)
            arrived(blob)
            with self._lock:
                self._watched[entry] = left
                self._keep()

        _in_background(f"fetching metadata of {entry} from {self._url}", work)

    def invalidate(self) -> None:
        """Takes everything of this agent back."""
        with self._lock:
            entries = list(self._sent)
            self._sent.clear()

        def work() -> None:
            for entry in entries:
                self._request("DELETE", f"/v1/agents/{entry}?epoch={self._epoch}")

        _in_background(f"taking {self._name} back from {self._url}", work)

    def _keep(self) -> None:
        if self._keeper is None:
            self._keeper = threading.Thread(target=self._run, name="hawser-nixl-presence", daemon=True)
            self._keeper.start()

    def _run(self) -> None:
        renewed = time.monotonic()
        while not self._stop.wait(0.25):
            with self._lock:
                sent, watched = dict(self._sent), dict(self._watched)
            try:
                if time.monotonic() - renewed > self._TTL_MILLIS / 3000:
                    renewed = time.monotonic()
                    for entry, blob in sent.items():
                        self._publish(entry, blob)
                for entry, left in watched.items():
                    if not self._stands(entry):
                        with self._lock:
                            self._watched.pop(entry, None)
                        left()
            except (OSError, ValueError) as e:
                logger.warning("%s does not answer as it should: %s", self._url, e)

    def _stands(self, entry: str) -> bool:
        try:
            self._request("HEAD", f"/v1/agents/{entry}")
            return True
        except urllib.error.HTTPError as e:
            if e.code == 404:
                return False
            raise

    def close(self) -> None:
        """Ends it; what was sent ends with its time to live."""
        self._stop.set()
