# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""``python -m hawser.aot [FILE]`` prepares the JVM's classes, so that processes start in about half the time.

It runs a small program in a process of its own, whose loaded and linked classes the JVM writes down. The file belongs to
one Java runtime and one set of jars; with others it is ignored, and this command makes a new one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from . import errors
from ._runtime import default_cache, find_java, fingerprint, jars, key_file

_PROGRAM = """
import asyncio, hawser
with hawser.Agent("aot-target") as target, hawser.Agent("aot-initiator") as initiator:
    pool, sink = target.allocate(1 << 20, "kv"), initiator.allocate(1 << 20)
    buffer = bytearray(1 << 16)
    foreign = initiator.register(buffer)
    peer = initiator.add_peer(target.metadata())
    theirs = peer.region("kv").blocks(4096)
    for _ in range(20):
        initiator.read(sink.blocks(4096), peer, theirs, notification=b"x", request_id="r").wait()
        initiator.write(foreign.blocks(4096), peer, theirs, remote_indices=list(range(16)), counter=1).wait()
        target.notifications()
    target.expect(1, 20).wait()
    lent = initiator.accept(target.grant(pool.blocks(4096)).to_bytes())
    initiator.read(sink.blocks(4096), peer, lent.blocks, grant=lent).wait()
    async def awaited():
        await initiator.read(sink.blocks(4096), peer, theirs)
    asyncio.run(awaited())
    initiator.read(sink.blocks(4096), peer, theirs).future().result(20)
    try:
        initiator.read(sink.blocks(4096), peer, theirs, local_indices=[0])
    except hawser.HawserError:
        pass
    peer.describe(), target.describe(), hawser.machine()
"""


def make(file: Path) -> None:
    """Makes the file.

    Raises:
        RuntimeUnavailable: if the program failed, or the JVM wrote no file; with what it said.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    made = file.with_suffix(f".{os.getpid()}")
    key = fingerprint(find_java(), jars())
    environment = {
        **os.environ,
        "HAWSER_JAVA_OPTS": f"{os.environ.get('HAWSER_JAVA_OPTS', '')} -XX:AOTCacheOutput={made} -Xlog:aot=off -Xlog:cds=off",
        "HAWSER_PYTHON_AOT_CACHE": "none",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")])),
    }
    ended = subprocess.run(
        [sys.executable, "-c", _PROGRAM], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    if ended.returncode != 0 or not made.is_file():
        made.unlink(missing_ok=True)
        raise errors.RuntimeUnavailable(f"no cache of classes was made (code {ended.returncode}): {ended.stderr.strip()}")
    # The key goes last: a cache without the right one is not used.
    key_file(file).unlink(missing_ok=True)
    made.replace(file)
    key_file(file).write_text(key)


def main() -> int:
    """The command."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else default_cache()
    try:
        make(file)
    except errors.HawserError as e:
        print(f"hawser.aot: {e}", file=sys.stderr)
        return 1
    print(f"{file}: {file.stat().st_size >> 20} MiB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
