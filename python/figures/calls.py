# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""What Hawser's calls from Python take on this machine: posting many blocks, polling many transfers.

    python figures/calls.py [--quick]

Two processes; times are medians and the 90th percentile, in microseconds.
"""

from __future__ import annotations

import base64
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import numpy as np  # noqa: E402

import hawser  # noqa: E402

BLOCKS = 40_000
BLOCK = 1024
HANDLES = 1_000

TARGET = f"""
import base64, sys
sys.path.insert(0, {str(Path(__file__).parents[1] / "src")!r})
import hawser
with hawser.Agent("target") as agent:
    agent.allocate({BLOCKS} * {BLOCK}, "kv")
    print(base64.b64encode(agent.metadata()).decode(), flush=True)
    sys.stdin.read()
"""


def figures(seconds: list[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    return {
        "median_us": round(statistics.median(ordered) * 1e6, 1),
        "p90_us": round(ordered[len(ordered) * 9 // 10] * 1e6, 1),
        "times": len(ordered),
    }


def main() -> int:
    times = 30 if "--quick" in sys.argv[1:] else 600
    skipped = times * 2 // 3  # until then the JVM compiles
    target = subprocess.Popen([sys.executable, "-c", TARGET], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    blob = base64.b64decode(target.stdout.readline())
    results = {}
    with hawser.Agent("initiator") as agent:
        sink = agent.allocate(BLOCKS * BLOCK)
        peer = agent.add_peer(blob)
        local, remote = sink.blocks(BLOCK), peer.region("kv").blocks(BLOCK)
        shuffled = np.random.default_rng(1).permutation(BLOCKS).astype(np.int32)
        ordered = np.arange(BLOCKS, dtype=np.int32)
        peer.wait_connected(20)

        for name, theirs in (("shuffled", shuffled), ("in order", ordered)):
            prepares, posts = [], []
            for _ in range(times):
                began = time.perf_counter()
                transfer = agent.read(local, peer, remote, local_indices=ordered, remote_indices=theirs)
                posts.append(time.perf_counter() - began)
                transfer.wait(30)
            results[f"READ of {BLOCKS} blocks by index, {name}: prepare and post"] = figures(posts[skipped:])
            transfer = agent.prepare("READ", local, peer, remote, local_indices=ordered, remote_indices=theirs)
            for _ in range(times):
                began = time.perf_counter()
                transfer.post()
                prepares.append(time.perf_counter() - began)
                transfer.wait(30)
            results[f"READ of {BLOCKS} blocks by index, {name}: post again"] = figures(prepares[skipped:])

        transfers = [agent.prepare("READ", local, peer, remote, local_indices=[0], remote_indices=[0]) for _ in range(HANDLES)]
        polls, listed = [], []
        together = hawser.PollSet(agent, transfers)
        for _ in range(300):
            began = time.perf_counter()
            together.poll()
            polls.append(time.perf_counter() - began)
            began = time.perf_counter()
            agent.poll(transfers)
            listed.append(time.perf_counter() - began)
        results[f"poll of {HANDLES} transfers: PollSet"] = figures(polls[100:])
        results[f"poll of {HANDLES} transfers: Agent.poll(list)"] = figures(listed[100:])
        one = transfers[0].post().wait(30)
        calls = []
        for _ in range(20_000):
            began = time.perf_counter()
            agent.poll()
            calls.append(time.perf_counter() - began)
        results["one call: Agent.poll()"] = figures(calls[1000:])
        assert one.state == hawser.DONE
    target.stdin.close()
    target.wait(30)
    print(json.dumps(results, indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
