# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""What callers give, looked at before the C ABI does: there a number has 64 bits, and a text ends at its first NUL."""

from __future__ import annotations

import asyncio
import contextlib
import math
import operator
import re
import threading
import time
from typing import Any, Callable, Iterable, Iterator, Optional, Sequence, TypeVar

from . import errors

_T = TypeVar("_T")
_R = TypeVar("_R")

LEAST, MOST = -(1 << 63), (1 << 63) - 1
"""What a signed number of 64 bits can be."""

MOST_ADDRESS = (1 << 64) - 1
SLICE = 0.1
"""Waits are cut into slices of this many seconds, so that Ctrl-C is heard."""
FOREVER = 86_400.0
ANSWER = 1.0
"""How long a sidecar's answer to a wait may take beyond the time of that wait."""
BRIEFLY = 0.1
"""How long a sidecar that is stopped holds up a thread that has to go on, which gives up then what it asked."""
_told = threading.local()
_TIME_TOLD = re.compile(r"(?<=after )(PT[0-9.HMS]+|\d+ ms)|(?<=within )PT[0-9.HMS]+|\d+ ms(?= after)")


def integer(what: str, value: Any, least: int = LEAST, most: int = MOST) -> int:
    """An integer, also numpy's, within bounds.

    Raises:
        InvalidArgument: if it is none, or beyond them.
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise errors.InvalidArgument(f"{what}: {value!r} is no integer") from None
    if not least <= number <= most:
        if (least, most) == (LEAST, MOST):
            raise errors.InvalidArgument(f"{what}: {number} is no integer of 64 bits")
        raise errors.InvalidArgument(f"{what}: {number} is not within {least} and {most}")
    return number


def integers(what: str, values: Iterable[Any]) -> tuple[int, ...]:
    """Signed integers of 64 bits."""
    try:
        given = tuple(values)
    except TypeError:
        raise errors.InvalidArgument(f"{what}: {values!r} is no sequence of integers") from None
    return tuple(integer(f"{what}[{i}]", value) for i, value in enumerate(given))


def instance(what: str, value: Any, kind: type[_T], advice: str) -> _T:
    """Something of a class.

    Raises:
        InvalidArgument: if it is not; with the advice.
    """
    if not isinstance(value, kind):
        raise errors.InvalidArgument(f"{what}: {type(value).__name__} is no {kind.__name__}; {advice}")
    return value


def content(what: str, value: Any) -> bytes:
    """Bytes, of whatever has a buffer.

    Raises:
        InvalidArgument: if it has none.
    """
    if isinstance(value, bytes):
        return value
    try:
        return memoryview(value).tobytes()
    except TypeError:
        raise errors.InvalidArgument(f"{what}: {type(value).__name__} has no bytes; give a bytes object") from None


def text(what: str, value: Any) -> bytes:
    """A text for the C ABI, where it ends at its first NUL."""
    if not isinstance(value, str) or "\0" in value:
        raise errors.InvalidArgument(f"{what}: {value!r} is no text without NUL; give a str")
    try:
        return value.encode()
    except UnicodeEncodeError as e:
        raise errors.InvalidArgument(f"{what}: {value!r} cannot be written as UTF-8 ({e.reason})") from None


def seconds(timeout: float) -> float:
    """A time to wait, which may be infinite."""
    try:
        value = timeout + 0.0
    except TypeError:
        value = math.nan
    if math.isnan(value):
        raise errors.InvalidArgument(f"timeout: {timeout!r} is no time; give seconds, math.inf for very long")
    return value


def nanos(timeout: float) -> int:
    """The same in nanoseconds, at least 0 and at most 146 years."""
    return int(max(0.0, min(seconds(timeout) * 1e9, float(1 << 62))))


def deadline(timeout: float) -> float:
    """When such a time is over, by time.monotonic()."""
    return time.monotonic() + min(seconds(timeout), FOREVER)


@contextlib.contextmanager
def _no_more_than(name: str, value: float) -> Iterator[None]:
    """What this thread is told under a name within; of those around one another the least counts."""
    before = getattr(_told, name, None)
    setattr(_told, name, value if before is None else min(value, before))
    try:
        yield
    finally:
        setattr(_told, name, before)


def until(end: float) -> "contextlib.AbstractContextManager[None]":
    """What this thread asks a sidecar within is answered soon after a deadline, or not at all."""
    return _no_more_than("end", end)


def told_until() -> Optional[float]:
    """The deadline of this thread's present :func:`until`."""
    return getattr(_told, "end", None)


def briefly(seconds: float = BRIEFLY) -> "contextlib.AbstractContextManager[None]":
    """What this thread asks a sidecar within is answered within some seconds, or raises NotAnswering. The answer is kept then,
    as soon as it comes, for whoever asks the same within another of these."""
    return _no_more_than("most", seconds)


def told_briefly() -> Optional[float]:
    """The seconds of this thread's present :func:`briefly`."""
    return getattr(_told, "most", None)


@contextlib.contextmanager
def in_passing() -> Iterator[None]:
    """What this thread asks a sidecar within is for nobody who waits: it is not held up by it, as an event loop is not."""
    before = getattr(_told, "passing", False)
    _told.passing = True
    try:
        yield
    finally:
        _told.passing = before


def has_to_go_on() -> bool:
    """Whether this thread may not be held up: an event loop runs in it, which others wait for, too, or it is about something
    in passing, as a finalizer is."""
    return asyncio._get_running_loop() is not None or getattr(_told, "passing", False)


def at_most() -> Optional[float]:
    """For how many seconds this thread may be held up by a sidecar that does not answer; None for as long as a call takes."""
    told = told_briefly()
    if not has_to_go_on():
        return told
    return BRIEFLY if told is None else min(told, BRIEFLY)


def gives_up(end: float) -> bool:
    """Whether who has time until then, and was not answered, asks no more: time is over, or this thread has to go on."""
    return time.monotonic() >= end or at_most() is not None


@contextlib.contextmanager
def taken(lock: threading.Lock) -> Iterator[None]:
    """Within, this thread has a lock that others hold while they ask a sidecar.

    Raises:
        NotAnswering: if this thread has to go on before it gets it.
    """
    most = at_most()
    if not lock.acquire(timeout=-1 if most is None else most):
        raise errors.NotAnswering("the sidecar does not answer: another thread waits for it; nothing was asked. Ask again")
    try:
        yield
    finally:
        lock.release()


def answered(ask: Callable[[], _R], patience: float = 30.0) -> _R:
    """What a sidecar answers to what takes no time, for which it has more time than a caller may have given."""
    end = deadline(patience)
    while True:
        try:
            return ask()
        except errors.NotAnswering:
            if gives_up(end):
                raise


def in_slices(
    wait: Callable[[int], _R],
    timeout: float,
    over: Sequence[type[errors.HawserError]] = (errors.WaitTimeout,),
    slice_seconds: float = SLICE,
) -> _R:
    """Calls wait(nanoseconds) in slices short enough for Ctrl-C.

    Args:
        wait: may be called again after it raised because its time was over.
        timeout: seconds altogether.
        over: what it raises then. What comes before its time was over is an error of its own, and passed on.
        slice_seconds: the longest that it is called for.
    """
    end = deadline(timeout)
    while True:
        began = time.monotonic()
        left = end - began
        part = max(0.0, min(left, slice_seconds))
        try:
            return wait(nanos(part))
        except errors.NotAnswering:
            if gives_up(end):
                raise
        except tuple(over) as e:
            if time.monotonic() - began < part:
                raise
            if left <= slice_seconds:
                # It knows of its slice only.
                raise type(e)(_TIME_TOLD.sub(f"{timeout:g} s", str(e), count=1)) from None
