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
from typing import Any, Callable, TypeVar

from . import _checks, errors
from ._runtime import Runtime, table

_AT_ONCE = 256
_PATIENCE = 30.0

_R = TypeVar("_R")


async def ask(call: Callable[[], _R]) -> _R:
    """What a call returns, in an event loop, which goes on while a sidecar does not answer."""
    loops = getattr(table(), "loops", None)
    return call() if loops is None else await loops.ask(call)


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
        self._apart = apart
        self._connecting = threading.Lock()
        self._connected = False
        self._telling: set[Any] = set()  # tasks of loops

    def _connect(self) -> None:
        """Has the engine signal here, once. Asked again it is the same pipe, of which the sidecar may have one end already."""
        if self._connected:
            return
        with _checks.taken(self._connecting):
            agent = self._agent()
            if not self._connected and agent is not None:
                table().agent_signal_to(agent.handle, self._writer)
                self._connected = True
                if self._apart:  # only the other process has that end now: if it ends, we read so
                    os.close(self._writer)
                    self._writer = self._reader

    async def watch(self, thing: Any) -> None:
        """Waits in the running loop for the end of something."""
        loop = asyncio.get_running_loop()
        await ask(self._connect)
        future: "asyncio.Future[None]" = loop.create_future()
        if loop not in self._loops:
            self._loops.add(loop)
            loop.add_reader(self._reader, self._readable)

        def wake() -> None:
            if not future.done():
                future.set_result(None)

        def ended() -> None:
            try:
                loop.call_soon_threadsafe(wake)
            except RuntimeError:
                pass  # the loop was closed meanwhile: nobody waits any more

        self._add(thing, ended)
        try:
            await ask(thing._watch)
        except BaseException:
            self._remove(thing, ended)
            raise
        await future

    def watch_future(self, thing: Any, future: "concurrent.futures.Future[Any]") -> None:
        """Completes a future with the outcome of something."""
        future.set_running_or_notify_cancel()

        def ended() -> None:
            try:
                future.set_result(thing._conclude())
            except errors.HawserError as e:
                if isinstance(e, errors.NotAnswering) and _checks.at_most() is not None:
                    # Told by a loop, which has to go on.
                    threading.Thread(target=ended, name="hawser-future", daemon=True).start()
                else:
                    future.set_exception(e)

        self._connect()
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="hawser-futures", daemon=True)
                self._thread.start()
        self._add(thing, ended)
        try:
            thing._watch()
        except BaseException:
            self._remove(thing, ended)
            raise

    def _add(self, thing: Any, ended: Callable[[], None]) -> None:
        with self._lock:
            if not self._open:
                raise errors.AgentClosed("the agent is closed")
            self._waiting.setdefault(thing._handle, []).append(ended)

    def _remove(self, thing: Any, ended: Callable[[], None]) -> None:
        with self._lock:
            waiting = self._waiting.get(thing._handle, [])
            if ended in waiting:
                waiting.remove(ended)

    def _is_told(self) -> bool:
        """Whether there is something to tell; if the other process has ended, everybody is told so."""
        try:
            told = os.read(self._reader, 4096)
        except OSError:
            return False  # another loop was faster, or it is closed
        if not told:
            self.close()
        return bool(told)

    def _readable(self) -> None:
        """In a loop, which must not be held up."""
        if not self._is_told():
            return
        try:
            with _checks.briefly():
                self._tell()
        except errors.NotAnswering:
            task = asyncio.get_running_loop().create_task(self._tell_later())
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    async def _tell_later(self) -> None:
        while self._open:
            try:
                await ask(self._tell)
                return
            except errors.NotAnswering:
                pass

    def _drain(self) -> None:
        """In a thread of ours."""
        told = self._is_told()
        while told and self._open:
            try:
                with _checks.briefly(_PATIENCE):  # so that what it answers later is not lost
                    self._tell()
                return
            except errors.NotAnswering:
                pass

    def _tell(self) -> None:
        agent = self._agent()
        if agent is None or not self._open:
            return
        handles = (c.c_uint64 * _AT_ONCE)()
        while True:
            try:
                count = table().agent_take_ended(agent.handle, handles, _AT_ONCE)
            except errors.NotAnswering:
                raise
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
