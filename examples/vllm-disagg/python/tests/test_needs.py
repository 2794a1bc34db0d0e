# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Programs where numpy is not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("program", ["backend", "check", "server"])
def test_programs_say_what_is_missing(tmp_path: Path, program: str) -> None:
    (tmp_path / "numpy.py").write_text("raise ModuleNotFoundError(\"No module named 'numpy'\")\n")
    paths = [str(tmp_path), str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    ended = subprocess.run(
        [sys.executable, "-m", f"hawser_disagg.{program}"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: numpy is needed and cannot be loaded (No module named 'numpy'): ")
    assert ended.stderr.endswith("-m pip install numpy\n") and ended.stderr.count("\n") == 1
