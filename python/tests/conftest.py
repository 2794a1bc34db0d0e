# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""What the tests share: pairs of agents, and programs that run in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Callable, Iterator

import pytest

import hawser


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--stress", type=int, default=1, help="how often each program that could crash now and then runs")


@pytest.fixture(scope="session")
def stress(request: pytest.FixtureRequest) -> int:
    """How often a program that could crash now and then is run."""
    return request.config.getoption("--stress")


@pytest.fixture
def pair() -> Iterator[tuple[hawser.Agent, hawser.Agent]]:
    """Two agents that know nothing of each other."""
    with hawser.Agent("target") as target, hawser.Agent("initiator", settings={"transfer-timeout": "20s"}) as initiator:
        yield target, initiator


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess]:
    """Runs a program in a fresh interpreter, with a deadline."""

    path = os.pathsep.join(filter(None, [str(Path(hawser.__file__).parents[1]), os.environ.get("PYTHONPATH")]))

    def run(source: str, *arguments: str, timeout: float = 90, **environment: str) -> subprocess.CompletedProcess:
        file = tmp_path / f"program{len(list(tmp_path.iterdir()))}.py"
        file.write_text(textwrap.dedent(source))
        return subprocess.run(
            [sys.executable, *arguments, str(file)],
            capture_output=True,
            text=True,
            timeout=timeout,
            env={**os.environ, "PYTHONPATH": path, **environment},
            check=False,
        )

    return run
