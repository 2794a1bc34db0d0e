# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Whether a sidecar is there, and whether it answers."""

from __future__ import annotations

import os
import select
import socket
import struct
import threading
import time

from . import _remote

_QUESTION = _remote.NUMBERS["last_cause"]  # which any sidecar answers at once, whatever its other threads do


class Pulse:
    """The connection that is open as long as a process has to do with a sidecar, which keeps what is the process's as long.

    Nothing else is asked there: when another connection is silent, this one tells work that takes its time from a sidecar
    that is stopped. Thread-safe.
    """

    def __init__(self, connection: socket.socket) -> None:
        """On a connection that has been greeted."""
        self._connection = connection
        self.process = process_of(connection)
        """Which process answers there, as the kernel knows it."""
        self._lock = threading.Lock()
        self._asked = False

    def has_ended(self) -> bool:
        """Whether the sidecar has ended; False once it was us who hung up, at the end."""
        if self._connection.fileno() < 0:
            return False
        poll = select.poll()
        poll.register(self._connection, select.POLLRDHUP)  # an answer alone says nothing of an end
        return bool(poll.poll(0))

    def beats(self, seconds: float) -> bool:
        """Whether the sidecar answers within some seconds.

        Raises:
            OSError: if it has ended.
        """
        end = time.monotonic() + seconds
        if not self._lock.acquire(timeout=seconds):
            return False  # somebody else waits for the same
        try:
            while self._is_answered(0):  # a question of before: that it was answered is no news
                pass
            if not self._asked:
                _remote.send(self._connection, _QUESTION, b"")
                self._asked = True
            return self._is_answered(max(0.0, end - time.monotonic()))
        finally:
            self._lock.release()

    def _is_answered(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self._connection, select.POLLIN)
        if not poll.poll(seconds * 1000):
            return False
        _remote.receive(self._connection)
        self._asked = False
        return True

    def is_stopped(self) -> bool:
        """Whether the sidecar is stopped, or cannot be seen from here. One that runs, or waits for a core, answers soon."""
        number = struct.unpack("iII", self.process)[0]
        try:
            return all(_is_stopped(f"/proc/{number}/task/{task}/stat") for task in os.listdir(f"/proc/{number}/task"))
        except OSError:
            return True

    def close(self) -> None:
        """Hangs up: the sidecar closes what is ours."""
        self._connection.close()


def process_of(connection: socket.socket) -> bytes:
    """Which process listened where a connection was made to: its number, user and group as the kernel has them."""
    return connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)


def _is_stopped(stat: str) -> bool:
    try:
        with open(stat, "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in (b"T", b"t")
    except OSError:
        return True  # it has ended meanwhile
