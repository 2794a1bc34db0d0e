# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Tells event loops and futures that something has ended, without a thread that waits for it in Java."""

from __future__ import annotations

import asyncio
import concurrent.futures
import ctypes as c
import os
import select
import threading
import weakref
from typing import Any, Callable

from . import errors
from ._runtime import Runtime, table

_AT_ONCE = 256


class Signals:
    """The ended handles of one agent, and who waits for them.

    Java writes to a file descriptor at each end; every event loop that waits reads it, and whichever is first passes
    the ends on to the others. Futures without a loop are served by one daemon thread, started when it is needed.
    """

    def __init__(self, agent: Any) -> None:
        """For an agent; opens the descriptor."""
        self._agent = weakref.ref(agent)
        self._lock = threading.Lock()
        self._waiting: dict[int, list[Callable[[], None]]] = {}
        self._loops: "weakref.WeakSet[asyncio.AbstractEventLoop]" = weakref.WeakSet()
        self._thread: Any = None
        self._open = True
        apart = not Runtime.get().in_this_process
        if hasattr(os, "eventfd") and not apart:
            self._reader = self._writer = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        else:
            self._reader, self._writer = os.pipe()
            os.set_blocking(self._reader, False)
            os.set_blocking(self._writer, False)
        table().agent_signal_to(agent.handle, self._writer)
        if apart:  # only the other process has that end now: if it ends, we read so
            os.close(self._writer)
            self._writer = self._reader

    def watch(self, thing: Any) -> "asyncio.Future[None]":
        """A future of the running loop for the end of something."""
        loop = asyncio.get_running_loop()
        future: "asyncio.Future[None]" = loop.create_future()
        if loop not in self._loops:
            self._loops.add(loop)
            loop.add_reader(self._reader, self._drain)

        def wake() -> None:
            if not future.done():
                future.set_result(None)

        def ended() -> None:
            try:
                loop.call_soon_threadsafe(wake)
            except RuntimeError:
                pass  # the loop was closed meanwhile: nobody waits any more

        self._watch(thing, ended)
        return future

    def watch_future(self, thing: Any, future: "concurrent.futures.Future[Any]") -> None:
        """Completes a future with the outcome of something."""
        future.set_running_or_notify_cancel()

        def ended() -> None:
            try:
                future.set_result(thing._conclude())
            except errors.HawserError as e:
                future.set_exception(e)

        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="hawser-futures", daemon=True)
                self._thread.start()
        self._watch(thing, ended)

    def _watch(self, thing: Any, ended: Callable[[], None]) -> None:
        with self._lock:
            if not self._open:
                raise errors.AgentClosed("the agent is closed")
            self._waiting.setdefault(thing._handle, []).append(ended)
        try:
            thing._watch()
        except errors.HawserError:
            with self._lock:
                waiting = self._waiting.get(thing._handle, [])
                if ended in waiting:
                    waiting.remove(ended)
            raise

    def _drain(self) -> None:
        try:
            told = os.read(self._reader, 4096)
        except OSError:
            return  # another loop was faster, or it is closed
        if told:
            self._tell()
        else:
            self.close()  # the other process has ended

    def _tell(self) -> None:
        agent = self._agent()
        if agent is None or not self._open:
            return
        handles = (c.c_uint64 * _AT_ONCE)()
        while True:
            try:
                count = table().agent_take_ended(agent.handle, handles, _AT_ONCE)
            except errors.HawserError:
                return  # closed meanwhile: close() tells those who wait
            for handle in handles[:count]:
                self._tell_one(handle)
            if count < _AT_ONCE:
                return

    def _tell_one(self, handle: int) -> None:
        with self._lock:
            waiting = self._waiting.pop(handle, ())
        for ended in waiting:
            ended()

    def _serve(self) -> None:
        poll = select.poll()
        poll.register(self._reader, select.POLLIN)
        while self._open:
            try:
                if poll.poll(1000):
                    self._drain()
            except (OSError, ValueError):
                return

    def close(self) -> None:
        """Tells everybody who still waits, after the agent's end has been decided; they find out that it is closed."""
        with self._lock:
            if not self._open:
                return
            self._open = False
            waiting = [ended for those in self._waiting.values() for ended in those]
            self._waiting.clear()
        agent = self._agent()
        if agent is not None:
            try:
                table().agent_signal_to(agent.handle, -1)
            except errors.HawserError:
                pass  # closed by its JVM's end: nothing is signalled any more
        for loop in list(self._loops):
            try:
                loop.call_soon_threadsafe(loop.remove_reader, self._reader)
            except RuntimeError:
                pass  # that loop is closed
        for ended in waiting:
            ended()
        # The descriptors stay open until nobody can be reading them: a loop of another thread may.
        weakref.finalize(self, _close_all, {self._reader, self._writer})


def _close_all(descriptors: set[int]) -> None:
    for descriptor in descriptors:
        try:
            os.close(descriptor)
        except OSError:
            pass
