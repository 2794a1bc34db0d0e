# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""What NIXL's Python API takes, on NIXL itself and on Hawser, in turns, between two processes on one host.

    python figures/nixl_api.py [--rounds N] [--engines hawser,nixl] [--json FILE]

NIXL itself takes part if ``import nixl`` finds it (pip install nixl nixl-cu12). Each round runs both, in the order ABBA;
every transfer is verified. Times are medians of a round; the ratio is that of the medians, with the range of the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

SHAPES = {"1 x 1 MiB": (1, 1 << 20), "4096 x 4 KiB": (4096, 4096), "4096 x 4 KiB shuffled": (4096, 4096), "64 x 1 MiB": (64, 1 << 20)}
SECONDS = 1.0
DEADLINE = 60.0


def descriptors(array, blocks: int, size: int):
    import numpy as np

    rows = np.zeros((blocks, 3), dtype=np.uint64)
    rows[:, 0] = array.ctypes.data + np.arange(blocks, dtype=np.uint64) * np.uint64(size)
    rows[:, 1] = size
    return rows


def worker(role: str, folder: Path) -> None:
    import numpy as np
    from nixl._api import nixl_agent, nixl_agent_config

    pool = np.zeros(64 << 20, dtype=np.uint8)
    if role == "target":
        pool[:] = np.random.default_rng(1).integers(0, 256, pool.size, dtype=np.uint8)
    agent = nixl_agent(role, nixl_agent_config())
    agent.register_memory(np.array([[pool.ctypes.data, pool.nbytes, 0]], dtype=np.uint64), "DRAM")
    hand_over(folder / f"{role}.md", agent.get_agent_metadata())
    if role == "target":
        hand_over(folder / "target.address", str(pool.ctypes.data).encode())
        agent.add_remote_agent(wait_for(folder / "initiator.md"))
        sys.stdin.read()  # until the initiator has finished
        return
    agent.add_remote_agent(wait_for(folder / "target.md"))
    theirs = int(wait_for(folder / "target.address"))
    expected = np.random.default_rng(1).integers(0, 256, pool.size, dtype=np.uint8)
    results = {}
    for name, (blocks, size) in SHAPES.items():
        results[name] = measure(agent, pool, theirs, expected, blocks, size, "shuffled" in name)
    print(json.dumps(results))


def measure(agent, pool, theirs: int, expected, blocks: int, size: int, shuffled: bool) -> dict:
    import numpy as np

    ours = descriptors(pool, blocks, size)
    remote = ours.copy()
    remote[:, 0] += np.uint64(theirs - pool.ctypes.data) if theirs > pool.ctypes.data else np.uint64(0)
    if theirs <= pool.ctypes.data:
        remote[:, 0] -= np.uint64(pool.ctypes.data - theirs)
    order = np.random.default_rng(2).permutation(blocks).astype(np.int32) if shuffled else np.arange(blocks, dtype=np.int32)
    began = time.perf_counter()
    local_side = agent.prep_xfer_dlist("NIXL_INIT_AGENT", ours, "DRAM")
    remote_side = agent.prep_xfer_dlist("target", remote, "DRAM")
    prepared = time.perf_counter() - began
    makes, posts, totals = [], [], []
    until = time.perf_counter() + SECONDS
    for iteration in range(1_000_000):
        if iteration >= 5 and time.perf_counter() > until:
            break
        if iteration == 0:
            pool[: blocks * size] = 0
        began = time.perf_counter()
        handle = agent.make_prepped_xfer("READ", local_side, np.arange(blocks, dtype=np.int32), remote_side, order, b"")
        made = time.perf_counter()
        state = agent.transfer(handle)
        posted = time.perf_counter()
        while state != "DONE":
            if time.perf_counter() - posted > DEADLINE:
                raise SystemExit(f"{blocks} x {size}: no end after {DEADLINE} s")
            state = agent.check_xfer_state(handle)
        ended = time.perf_counter()
        agent.release_xfer_handle(handle)
        if iteration == 0:
            got = pool[: blocks * size].reshape(blocks, size)
            assert (got == expected[: blocks * size].reshape(blocks, size)[order]).all(), "wrong bytes"
            continue
        makes.append(made - began)
        posts.append(posted - made)
        totals.append(ended - made)
    median = statistics.median
    return {
        "prep_us": prepared * 1e6,
        "make_us": median(makes) * 1e6,
        "post_us": median(posts) * 1e6,
        "total_us": median(totals) * 1e6,
        "gbytes_per_s": blocks * size / median(totals) / 1e9,
        "requests": len(totals),
    }


def hand_over(file: Path, content: bytes) -> None:
    made = file.with_suffix(".part")
    made.write_bytes(content)
    made.replace(file)


def wait_for(file: Path) -> bytes:
    deadline = time.monotonic() + DEADLINE
    while not file.exists():
        if time.monotonic() > deadline:
            raise SystemExit(f"{file} did not come within {DEADLINE} s")
        time.sleep(0.01)
    return file.read_bytes()


def run(engine: str) -> dict:
    import tempfile

    command = [sys.executable] + (["-m", "hawser.nixl_compat"] if engine == "hawser" else []) + [__file__]
    source = str(Path(__file__).parents[1] / "src")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH", "")]))}
    env.setdefault("NIXL_LOG_LEVEL", "ERROR")
    with tempfile.TemporaryDirectory() as folder:
        target = subprocess.Popen(command + ["--worker", "target", folder], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=env)
        try:
            out = subprocess.run(
                command + ["--worker", "initiator", folder], stdout=subprocess.PIPE, text=True, timeout=300, env=env, check=True
            ).stdout
        finally:
            target.stdin.close()
            target.wait(60)
    return json.loads(out.strip().splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--engines", default="hawser,nixl")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--worker", nargs=2, metavar=("ROLE", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(options.worker[0], Path(options.worker[1]))
        sys.stdout.flush()
        os._exit(0)  # what was measured is over; NIXL's processes sometimes crash when they end
    engines = options.engines.split(",")
    if "nixl" in engines:
        peer = subprocess.run([sys.executable, "-c", "import nixl._api"], capture_output=True, text=True, check=False)
        if peer.returncode:
            engines.remove("nixl")
            print(f"NIXL itself takes no part: {peer.stderr.strip().splitlines()[-1]}", file=sys.stderr)
    rounds: dict[str, list[dict]] = {engine: [] for engine in engines}
    for number in range(options.rounds):
        for engine in engines if number % 2 == 0 else reversed(engines):
            rounds[engine].append(run(engine))
    table = {}
    for shape in SHAPES:
        row = {
            engine: {key: statistics.median(r[shape][key] for r in rounds[engine]) for key in rounds[engine][0][shape]}
            for engine in engines
        }
        line = f"{shape:24}"
        for engine in engines:
            r = row[engine]
            line += (
                f" | {engine}: {r['gbytes_per_s']:6.2f} GB/s, prep {r['prep_us']:6.0f}, make {r['make_us']:6.0f},"
                f" post {r['post_us']:6.0f}, to the end {r['total_us']:7.0f} us"
            )
        if len(engines) == 2:
            ratios = [n[shape]["total_us"] / h[shape]["total_us"] for h, n in zip(rounds["hawser"], rounds["nixl"])]
            row["ratio"] = statistics.median(ratios)
            line += f" | {row['ratio']:.2f} x ({min(ratios):.2f}-{max(ratios):.2f})"
        table[shape] = row
        print(line)
    if options.json:
        options.json.write_text(json.dumps({"rounds": options.rounds, "shapes": table}, indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
