"""Engines in processes of their own, and HTTP to them."""

from __future__ import annotations

import http.client
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any, Optional
from urllib.parse import urlsplit


class ProcessError(Exception):
    """A process did not do what it had to."""


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


@dataclass(frozen=True)
class Reply:
    """What a server answered."""

    status: int
    body: dict[str, Any]


def call(url: str, method: str, path: str, body: Any = None, request_id: Optional[str] = None, timeout: float = 60.0) -> Reply:
    """One request."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout)
    headers = {"Content-Type": "application/json"}
    if request_id is not None:
        headers["X-Request-Id"] = request_id
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        text = response.read()
        try:
            return Reply(response.status, json.loads(text))
        except ValueError:
            return Reply(response.status, {"text": text.decode(errors="replace")})
    except (OSError, http.client.HTTPException) as e:
        raise ProcessError(f"{method} {url}{path}: {type(e).__name__}: {e}") from None
    finally:
        connection.close()


class EngineProcess:
    """One engine."""

    def __init__(self, name: str, *options: str, log: Optional[str] = None, side_channel_port: Optional[int] = None) -> None:
        """Starts it; :attr:`url` waits until it serves."""
        self.name = name
        self.side_channel_port = side_channel_port or free_port()
        self._log = open(log, "ab") if log else subprocess.DEVNULL
        command = [sys.executable, "-m", "hawser_disagg.server", "--engine-id", name, "--port", "0"]
        command += ["--side-channel-port", str(self.side_channel_port), *options]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self._log, env=dict(os.environ))
        self._url: Optional[str] = None

    @property
    def url(self) -> str:
        """Where it serves.

        Raises:
            ProcessError: if it does not within two minutes, which loading PyTorch may take.
        """
        if self._url is None:
            assert self._process.stdout is not None
            ready, _, _ = select.select([self._process.stdout], [], [], 120)
            line = self._process.stdout.readline().decode() if ready else ""
            if not line.startswith("ready "):
                raise ProcessError(f"engine {self.name} did not start: {line!r}, exit code {self._process.poll()}")
            self._url = line.split()[1]
        return self._url

    def complete(self, body: dict[str, Any], request_id: str, timeout: float = 60.0) -> Reply:
        """A completion."""
        return call(self.url, "POST", "/v1/completions", body, request_id, timeout)

    def look(self, request_id: str) -> dict[str, Any]:
        """What the engine knows of a request."""
        return call(self.url, "GET", f"/debug/request?{request_id}").body

    def state(self) -> dict[str, Any]:
        """What is in the engine."""
        return call(self.url, "GET", "/debug/state").body

    def plant(self, fault: Optional[str]) -> None:
        """Plants a fault, or takes all away."""
        reply = call(self.url, "POST", "/debug/fault", {"fault": fault})
        if reply.status != 200:
            raise ProcessError(f"engine {self.name}: {reply.body}")

    def kill(self) -> None:
        """Ends it without a good-bye."""
        self._process.kill()
        self._process.wait(10)

    def stop(self) -> int:
        """Ends it in order; its exit code."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            code = self._process.wait(40)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait(10)
        if self._process.stdout is not None:
            self._process.stdout.close()
        if self._log is not subprocess.DEVNULL:
            self._log.close()  # type: ignore[union-attr]
        return code


def until(what: str, condition: Any, timeout: float = 20.0) -> None:
    """Waits for a condition.

    Raises:
        ProcessError: if it does not come true.
    """
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise ProcessError(f"{what} did not come true within {timeout} s")
        time.sleep(0.02)
