# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Asks a sidecar from event loops, which go on while it does not answer."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Callable, Optional, TypeVar

from . import _checks, errors

_R = TypeVar("_R")


class Loops:
    """Those who ask a sidecar in event loops. While it does not answer, one thread waits for it on behalf of all."""

    def __init__(self, wait: Callable[[], object]) -> None:
        """Takes a call that returns when the sidecar answers again, or has ended."""
        self._wait = wait
        self._lock = threading.Lock()
        self._waiting: Optional[list[Callable[[], None]]] = None  # None while it answers

    @property
    def silent(self) -> bool:
        """Whether the sidecar did not answer, and has not since: an event loop need not be held up to find that again."""
        return self._waiting is not None

    def fell_silent(self, answers: Optional[Callable[[], None]] = None) -> None:
        """Notes that the sidecar does not answer, until it does, which is told then."""
        with self._lock:
            if self._waiting is None:
                self._waiting = []
                threading.Thread(target=self._await_answer, name="hawser-answer", daemon=True).start()
            if answers is not None:
                self._waiting.append(answers)

    async def ask(self, call: Callable[[], _R], patience: float = 30.0) -> _R:
        """What the call returns, which is made again, within :func:`hawser._checks.briefly`, when the sidecar answers.

        Raises:
            NotAnswering: if it does not, for so many seconds.
        """
        end = _checks.deadline(patience)
        while True:
            if not self.silent or time.monotonic() >= end:
                try:
                    with _checks.briefly():
                        return call()
                except errors.NotAnswering:
                    if time.monotonic() >= end:
                        raise
            if self.silent:
                await self._answer(end - time.monotonic())
            else:
                await asyncio.sleep(_checks.BRIEFLY)  # it is slow, and may be at this very question

    async def _answer(self, seconds: float) -> None:
        """Until it answers, or for some seconds."""
        loop = asyncio.get_running_loop()
        future: "asyncio.Future[None]" = loop.create_future()

        def wake() -> None:
            if not future.done():
                future.set_result(None)

        def answers() -> None:
            try:
                loop.call_soon_threadsafe(wake)
            except RuntimeError:
                pass  # the loop was closed meanwhile: nobody waits any more

        self.fell_silent(answers)
        await asyncio.wait((future,), timeout=seconds)

    def _await_answer(self) -> None:
        try:
            self._wait()
        finally:
            with self._lock:
                waiting, self._waiting = self._waiting or [], None
            for answers in waiting:
                answers()
