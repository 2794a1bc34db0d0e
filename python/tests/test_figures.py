# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""The programs that measure run, and what they measure is not out of all proportion."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from hawser._runtime import find_java, jars

FIGURES = Path(__file__).parents[1] / "figures"


def run(name: str, *arguments: str) -> str:
    environment = {**os.environ, "HAWSER_JAVA_HOME": str(find_java().path), "HAWSER_PYTHON_JARS": str(jars()[0].parent)}
    ran = subprocess.run(
        [sys.executable, str(FIGURES / name), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_calls() -> None:
    measured = json.loads(run("calls.py", "--quick"))

    # A machine that does other things as well takes several times as long; a call for each block would take hundreds.
    for name, figures in measured.items():
        assert figures["median_us"] < (100_000 if "READ" in name else 2_000), (name, figures)


def test_nixl_api() -> None:
    table = run("nixl_api.py", "--rounds", "1", "--engines", "hawser")

    assert "4096 x 4 KiB shuffled" in table and "GB/s" in table
