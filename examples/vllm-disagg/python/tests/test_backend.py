# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""What computes, by what is installed."""

from __future__ import annotations

import importlib
import importlib.util
from types import SimpleNamespace
from typing import Any

import pytest

from hawser_disagg.backend import Backend, BackendError, choose


def install(monkeypatch: pytest.MonkeyPatch, torch: Any, *modules: str) -> None:
    """Has the modules be there, and torch be this or raise it."""

    def load(name: str) -> Any:
        if isinstance(torch, Exception):
            raise torch
        return torch

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object() if name in modules else None)
    monkeypatch.setattr(importlib, "import_module", load)


def torch_with(gpus: int) -> Any:
    def device(name: str) -> Any:
        kind, _, index = name.partition(":")
        if kind not in ("cpu", "cuda", "mps"):
            raise RuntimeError(f"Expected one of cpu, cuda, … device type at start of device string: {name}")
        return SimpleNamespace(type=kind, index=int(index) if index else None)

    cuda = SimpleNamespace(is_available=lambda: gpus > 0, device_count=lambda: gpus)
    return SimpleNamespace(cuda=cuda, device=device, set_num_threads=lambda count: None, __version__="2.11")


def test_auto_takes_the_gpu_if_all_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, torch_with(2), "torch", "transformers")
    assert choose("auto", None) == Backend("transformers", "cuda:0")
    assert choose("auto", "cuda:1") == Backend("transformers", "cuda:1")
    assert choose("auto", "cpu") == Backend("transformers", "cpu")
    assert choose("numpy", None) == Backend("numpy", "cpu")


@pytest.mark.parametrize("modules", [(), ("torch",), ("transformers",)])
def test_auto_takes_numpy_where_a_module_is_missing(monkeypatch: pytest.MonkeyPatch, modules: tuple[str, ...]) -> None:
    install(monkeypatch, AssertionError("must not be loaded"), *modules)
    assert choose("auto", None) == Backend("numpy", "cpu")


def test_auto_takes_numpy_where_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, torch_with(0), "torch", "transformers")
    assert choose("auto", None) == Backend("numpy", "cpu")


def test_auto_takes_numpy_where_torch_is_broken_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch, OSError("libcudart.so.13: cannot open shared object file"), "torch", "transformers")
    assert choose("auto", None) == Backend("numpy", "cpu")
    assert "libcudart.so.13" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name, device, torch, modules, words",
    [
        ("transformers", None, None, ("torch",), "needs transformers: pip install transformers"),
        ("transformers", "cpu", None, (), "needs torch and transformers: pip install"),
        ("transformers", None, OSError("libcudart"), ("torch", "transformers"), "cannot be loaded: libcudart"),
        ("transformers", None, torch_with(0), ("torch", "transformers"), "finds 0 GPUs; give cpu, or take numpy"),
        ("auto", "cuda:2", torch_with(2), ("torch", "transformers"), "--device cuda:2: PyTorch 2.11 finds 2 GPUs"),
        ("auto", "banana", torch_with(2), ("torch", "transformers"), "--device banana: Expected one of"),
        ("auto", "mps", torch_with(2), ("torch", "transformers"), "--device mps: give cpu or cuda:N"),
        ("numpy", "cuda:0", torch_with(2), ("torch", "transformers"), "numpy computes on the CPU only"),
    ],
)
def test_what_cannot_be_had_is_said(
    monkeypatch: pytest.MonkeyPatch, name: str, device: Any, torch: Any, modules: tuple[str, ...], words: str
) -> None:
    install(monkeypatch, torch, *modules)
    with pytest.raises(BackendError) as caught:
        choose(name, device)
    assert words in str(caught.value)
