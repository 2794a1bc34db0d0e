# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""How engines of two hosts learn of each other: one serves what it is over HTTP, the other asks once.

The compatibility hash is compared before anything else of the answer is read. No KV bytes go this way.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import http.client
import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Mapping, Optional, Sequence

from .errors import HandshakeError, IncompatibleEngine, LayoutError
from .geometry import WorkerGeometry

WIRE_VERSION = 2  # of what workers tell each other, too: pushes tell the digest of the prompt
PATH = "/hawser/v1/handshake"
_MAX_ANSWER = 64 << 20


def compatibility_hash(facts: Mapping[str, Any]) -> str:
    """A hash over all that makes one engine's KV cache usable by another."""
    text = json.dumps({"wire": WIRE_VERSION, **facts}, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class EngineDescription:
    """What an engine tells of itself.

    Attributes:
        engine_id: of vLLM.
        instance: new with every start.
        compatibility: the hash.
        facts: what went into the hash, so that a refusal can say what differs.
        workers: its ranks.
        blobs: each worker's agent's metadata.
    """

    engine_id: str
    instance: str
    compatibility: str
    facts: Mapping[str, Any]
    workers: tuple[WorkerGeometry, ...]
    blobs: tuple[bytes, ...]

    def to_bytes(self) -> bytes:
        """As it travels."""
        return json.dumps(
            {
                "wire": WIRE_VERSION,
                "compatibility": self.compatibility,
                "facts": dict(self.facts),
                "engine_id": self.engine_id,
                "instance": self.instance,
                "workers": [worker.to_json() for worker in self.workers],
                "blobs": [base64.b64encode(blob).decode() for blob in self.blobs],
            },
            default=str,
        ).encode()

    @staticmethod
    def from_bytes(answer: bytes, expected: str, facts: Mapping[str, Any], source: str) -> "EngineDescription":
        """Reads an answer.

        Raises:
            IncompatibleEngine: if the hash is not the one expected; it says which facts differ.
            HandshakeError: if it cannot be read.
        """
        try:
            told = json.loads(answer)
            if told["wire"] != WIRE_VERSION:
                raise HandshakeError(f"{source} speaks version {told['wire']} of the handshake, we {WIRE_VERSION}: run one release")
            if told["compatibility"] != expected:
                raise IncompatibleEngine(f"{source}: its KV cache is not ours: {_differences(told.get('facts'), facts)}")
            workers = tuple(WorkerGeometry.from_json(worker) for worker in told["workers"])
            blobs = tuple(base64.b64decode(blob, validate=True) for blob in told["blobs"])
            if not workers or len(blobs) != len(workers):
                raise HandshakeError(f"{source} tells of {len(workers)} workers and {len(blobs)} agents")
            return EngineDescription(
                str(told["engine_id"]), str(told["instance"]), told["compatibility"], told["facts"], workers, blobs
            )
        except LayoutError as e:
            raise HandshakeError(f"{source}: {e}") from None
        except (ValueError, KeyError, TypeError) as e:
            raise HandshakeError(f"{source}: its answer cannot be read: {type(e).__name__}: {e}") from None


def _differences(theirs: Any, ours: Mapping[str, Any]) -> str:
    if not isinstance(theirs, Mapping):
        return "it does not say what it is"
    plain = json.loads(json.dumps(dict(ours), default=str))
    names = sorted(name for name in {*theirs, *plain} if theirs.get(name) != plain.get(name))
    return ", ".join(f"{n} is {theirs.get(n)!r} there, {plain.get(n)!r} here" for n in names) or "the versions of the connector differ"


def fetch(host: str, port: int, expected: str, facts: Mapping[str, Any], timeout: float) -> EngineDescription:
    """Asks an engine.

    Raises:
        HandshakeError: if it does not answer within the time.
        IncompatibleEngine: if its KV cache is of no use here.
    """
    source = f"the engine at {host}:{port}"
    try:
        with contextlib.closing(http.client.HTTPConnection(host, port, timeout=timeout)) as connection:
            connection.request("GET", PATH)
            response = connection.getresponse()
            answer = response.read(_MAX_ANSWER)
    except (OSError, ValueError, http.client.HTTPException) as e:  # ValueError: what can be no host's name, as clients tell it
        raise HandshakeError(f"{source} does not answer the handshake: {type(e).__name__}: {e}") from None
    if response.status != 200:
        raise HandshakeError(f"{source} answers the handshake with {response.status}: {answer[:200]!r}")
    return EngineDescription.from_bytes(answer, expected, facts, source)


class HandshakeServer:
    """Serves an engine's description, once it is known; 503 until then."""

    def __init__(self, host: str, port: int) -> None:
        """Binds; port 0 takes a free one."""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:  # noqa: N802
                answer = outer._answer
                status = 404 if self.path != PATH else 503 if answer is None else 200
                body = answer if status == 200 and answer is not None else b"not ready" if status == 503 else b"not found"
                self.send_response(status)
                self.send_header("Content-Type", "application/json" if status == 200 else "text/plain")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._answer: Optional[bytes] = None
        self._server = ThreadingHTTPServer((host, port), Handler)
        self._server.daemon_threads = True
        self.host = host
        self.port: int = self._server.server_address[1]
        # Whoever closes waits for the server's next look: half a second, unless told.
        serve, every = self._server.serve_forever, {"poll_interval": 0.05}
        self._thread = threading.Thread(target=serve, kwargs=every, name="hawser-handshake", daemon=True)
        self._thread.start()

    def describe(self, description: EngineDescription) -> None:
        """What is served from now on."""
        self._answer = description.to_bytes()

    def close(self) -> None:
        """Stops serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


def describe(
    engine_id: str, instance: str, facts: Mapping[str, Any], workers: Sequence[tuple[WorkerGeometry, bytes]]
) -> EngineDescription:
    """A description of these workers and their agents' metadata."""
    return EngineDescription(
        engine_id,
        instance,
        compatibility_hash(facts),
        facts,
        tuple(worker for worker, _ in workers),
        tuple(blob for _, blob in workers),
    )
