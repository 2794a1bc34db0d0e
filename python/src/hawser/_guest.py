# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Keeps the JVM and the interpreter out of each other's way: signal handlers, the end of the process, and fork.

HotSpot needs its handler of SIGSEGV: a Java thread that is to stop for a moment, or meets a null pointer, gets that
signal and goes on. Python's ``faulthandler`` installs a handler of its own for the same signal, as the top one if it is
enabled after the JVM's start, and takes HotSpot's away when it is disabled or when the interpreter ends. Both would end
the process.

So, before the JVM starts, faulthandler's handlers are installed below HotSpot's. To be enabled a second time changes only
where faulthandler writes to, never the handlers; and ``faulthandler.disable`` becomes "write nowhere". A real crash is
passed on by HotSpot to the handler below, so that faulthandler's traceback comes as ever. At the end of the interpreter
the JVM is destroyed first; afterwards no Java thread runs that could need a handler.
"""

from __future__ import annotations

import atexit
import ctypes as c
import faulthandler
import os
import signal
import sys
import threading
from typing import Any, Callable, Optional

_SIGACTION_BYTES = 256  # struct sigaction has 152 on Linux; the rest is room
_GUARDED = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)


class Handlers:
    """The handlers of the signals that HotSpot needs."""

    def __init__(self) -> None:
        self._sigaction = c.CDLL(None, use_errno=True).sigaction
        self._sigaction.argtypes = [c.c_int, c.c_void_p, c.c_void_p]
        self._saved: dict[int, Any] = {}

    def save(self) -> None:
        """Remembers the present ones: HotSpot's, right after its start."""
        for number in _GUARDED:
            action = c.create_string_buffer(_SIGACTION_BYTES)
            if self._sigaction(number, None, action) == 0:
                self._saved[int(number)] = action

    def restore(self) -> list[int]:
        """Installs the remembered ones again where others are in place; returns the signals that it was needed for."""
        present = c.create_string_buffer(_SIGACTION_BYTES)
        changed = []
        for number, action in self._saved.items():
            # The handler's address comes first.
            if self._sigaction(number, None, present) == 0 and present.raw[:8] != action.raw[:8]:
                self._sigaction(number, action, None)
                changed.append(number)
        return changed


class FaultHandler:
    """Stands between the program and ``faulthandler``, whose handlers stay below HotSpot's."""

    def __init__(self) -> None:
        self._enable = faulthandler.enable
        self._nowhere: Optional[Any] = None
        self._visible = faulthandler.is_enabled()

    def install(self) -> None:
        """Before the JVM starts."""
        if not self._visible:
            self._silence()
        faulthandler.enable = self.enable  # type: ignore[assignment]
        faulthandler.disable = self.disable  # type: ignore[assignment]
        faulthandler.is_enabled = self.is_enabled  # type: ignore[assignment]

    def enable(self, *arguments: Any, **keywords: Any) -> None:
        """As ``faulthandler.enable``; the handlers are there already."""
        self._enable(*arguments, **keywords)
        self._visible = True

    def disable(self) -> bool:
        """As ``faulthandler.disable``, but the handlers stay, and write nowhere."""
        before = self._visible
        self._silence()
        self._visible = False
        return before

    def is_enabled(self) -> bool:
        """As ``faulthandler.is_enabled``: what the program asked for."""
        return self._visible

    def _silence(self) -> None:
        if self._nowhere is None:
            self._nowhere = open(os.devnull, "w")
        self._enable(file=self._nowhere, all_threads=False)


class Guest:
    """The life of the JVM within the interpreter's."""

    def __init__(self, quiesce: Callable[[], None], destroy: Callable[[], None]) -> None:
        """quiesce closes every agent, so that nobody waits in Java any more; destroy ends the JVM."""
        self._quiesce = quiesce
        self._destroy = destroy
        self._handlers = Handlers()
        self._faults = FaultHandler()
        self._pid = os.getpid()
        self._over = False
        self._forked = False

    def before_start(self) -> None:
        """Before the JVM starts."""
        self._faults.install()

    def after_start(self) -> None:
        """When the JVM runs."""
        self._handlers.save()
        # threading's own comes first: before the interpreter waits for threads, some of which may wait in Java.
        register = getattr(threading, "_register_atexit", None)
        if register is not None:
            try:
                register(self._end_waits)
            except RuntimeError:  # the interpreter is ending already
                pass
        atexit.register(self._end)
        os.register_at_fork(after_in_child=self._in_child)

    def check_handlers(self) -> list[int]:
        """Puts HotSpot's handlers back if something took them away; returns the signals that it was needed for."""
        return self._handlers.restore()

    @property
    def usable(self) -> bool:
        """Whether Java may be called."""
        return not (self._over or self._forked)

    def why_not(self) -> str:
        """Why Java must not be called."""
        if self._forked:
            return (
                f"process {os.getpid()} is a fork of {self._pid}, where Hawser's JVM runs; a JVM does not survive fork():"
                " start the child with the multiprocessing method 'spawn' or 'forkserver', or use Hawser only in it"
            )
        return "the interpreter is ending, and Hawser's JVM has ended"

    def _in_child(self) -> None:
        self._forked = True

    def _end_waits(self) -> None:
        if self.usable:
            self._quiesce()

    def _end(self) -> None:
        if not self.usable:
            return
        self._quiesce()
        self._over = True
        self._destroy()
        # Whatever is left of Python's ending runs without Java; handlers may go now.
        sys.stdout.flush() if sys.stdout is not None and not sys.stdout.closed else None
