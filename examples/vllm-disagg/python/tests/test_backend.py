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


def install(monkeypatch: pytest.MonkeyPatch, torch: Any, *modules: str, cache: Any = object) -> None:
    """Has the modules be there, and torch be this or raise it; transformers' caches have layers of this class."""

    def load(name: str) -> Any:
        if isinstance(torch, Exception):
            raise torch
        if name == "torch":
            return torch
        return SimpleNamespace() if cache is None else SimpleNamespace(CacheLayerMixin=cache)

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object() if name in modules else None)
    monkeypatch.setattr(importlib, "import_module", load)


def torch_with(gpus: int) -> Any:
    def device(name: str) -> Any:
        kind, _, index = name.partition(":")
        if kind not in ("cpu", "cuda", "mps"):
            raise RuntimeError(f"Expected one of cpu, cuda, … device type at start of device string: {name}")
        number = int(index) if index else None
        return SimpleNamespace(type=kind, index=number if number is None or number < 128 else number - 1024)

    cuda = SimpleNamespace(is_available=lambda: gpus > 0, device_count=lambda: gpus)
    return SimpleNamespace(cuda=cuda, device=device, set_num_threads=lambda count: None, __version__="2.11")


def test_auto_takes_the_gpu_if_all_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, torch_with(2), "torch", "transformers")
    assert choose("auto", None) == Backend("transformers", "cuda:0")
    assert choose("auto", "cuda:1") == Backend("transformers", "cuda:1")
    assert choose("auto", "cpu") == Backend("numpy", "cpu")
    assert choose("transformers", "cpu") == Backend("transformers", "cpu")
    assert choose("transformers", "cuda") == Backend("transformers", "cuda:0")
    assert choose("numpy", None) == Backend("numpy", "cpu")


@pytest.mark.parametrize("modules", [(), ("torch",), ("transformers",)])
def test_auto_takes_numpy_where_a_module_is_missing(monkeypatch: pytest.MonkeyPatch, modules: tuple[str, ...]) -> None:
    install(monkeypatch, AssertionError("must not be loaded"), *modules)
    assert choose("auto", None) == Backend("numpy", "cpu")


def test_auto_takes_numpy_where_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, torch_with(0), "torch", "transformers")
    assert choose("auto", None) == Backend("numpy", "cpu")


@pytest.mark.parametrize(
    "torch, words",
    [
        (OSError("libcudart.so.13: cannot open shared object file"), "OSError: libcudart.so.13"),
        (ValueError("libcublas.so.*[0-9] not found in the system path"), "ValueError: libcublas"),
        (SimpleNamespace(__path__=["torch"]), "no PyTorch"),
    ],
)
def test_auto_takes_numpy_where_torch_is_broken_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], torch: Any, words: str
) -> None:
    install(monkeypatch, torch, "torch", "transformers")
    assert choose("auto", None) == Backend("numpy", "cpu")
    assert words in capsys.readouterr().err


def test_transformers_that_is_too_old_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, torch_with(1), "torch", "transformers", cache=None)
    assert choose("auto", None) == Backend("numpy", "cpu")
    with pytest.raises(BackendError, match="transformers is too old"):
        choose("transformers", None)


@pytest.mark.parametrize(
    "name, device, torch, modules, words",
    [
        ("transformers", None, None, ("torch",), "there is no transformers: "),
        ("transformers", "cpu", None, (), "no torch and no transformers: "),
        ("transformers", None, OSError("libcudart"), ("torch", "transformers"), "cannot: OSError: libcudart"),
        ("transformers", None, torch_with(0), ("torch", "transformers"), "finds 0 GPUs; give cpu, or take numpy"),
        ("auto", "cuda:2", torch_with(2), ("torch", "transformers"), "--device cuda:2: PyTorch 2.11 finds 2 GPUs"),
        ("auto", "banana", torch_with(2), ("torch", "transformers"), "--device banana: Expected one of"),
        ("transformers", "cuda:999", torch_with(2), ("torch", "transformers"), "--device cuda:999: give cpu or cuda:N"),
        ("transformers", "cpu:5", torch_with(2), ("torch", "transformers"), "--device cpu:5: give cpu or cuda:N"),
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
