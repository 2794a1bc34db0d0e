# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""``python -m hawser.sidecar SOCKET``: Hawser's engine in a process of its own, for workers that want no JVM in theirs.

The command becomes a Java program, which ``hawser agent --socket PATH`` of the command line is, too: for where there is only
this package. A worker that makes its agents with ``sidecar="unix:PATH"``, sets ``HAWSER_PYTHON_SIDECAR=PATH``, or calls
:func:`use` before its first agent, has the same API.

Memory of the host that is transferred has to be shared with the sidecar, mapped at the same address in both processes:
:meth:`hawser.Agent.allocate` gives such memory (``numpy.frombuffer(region.buffer())``), and what the worker has in shared
mappings (``multiprocessing.shared_memory``, torch's ``share_memory_()``, ``mmap`` of a file) can be registered. Private
memory of the worker cannot. Memory of its NVIDIA GPUs can: the sidecar opens it. Only processes of the same user may connect;
agents are closed when their worker has gone.
"""

from __future__ import annotations

import os
import sys

from . import _client, _runtime, errors

_MAIN = "dev.hawser.sidecar.Main"


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


def command(path: str) -> list[str]:
    """The Java program that serves a socket, with its arguments.

    Raises:
        RuntimeUnavailable: if there is no Java runtime.
    """
    home = _runtime.find_java()
    java = home.path / "bin" / "java"
    if not os.access(java, os.X_OK):
        raise errors.RuntimeUnavailable(
            f"{home.path} ({home.named_by}) has no bin/java: name a whole Java {_runtime.LEAST_JAVA} in HAWSER_JAVA_HOME"
        )
    # Here signals are the JVM's.
    options = [option for option in _runtime.machine_options(home, _runtime.jars()) if option != "-Xrs"]
    return [str(java), *options, _MAIN, _client.path_of(path)]


def main() -> int:
    """The command, which does not return if there is a Java runtime."""
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        words = command(sys.argv[1])
        os.execv(words[0], words)
    except (errors.HawserError, OSError) as e:
        print(f"hawser.sidecar: {e}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
