# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""What computes: transformers on a GPU, or numpy. ``python -m hawser_disagg.backend`` says which it would be here."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import sys
from dataclasses import dataclass
from typing import Any, Callable, Optional, Protocol, Sequence

if __name__ == "__main__":
    from . import needs

    needs.numpy()

import numpy as np  # noqa: E402

from .arrays import Arrays, NumpyArrays  # noqa: E402
from .model import KvStore, Llama, LlamaShape  # noqa: E402

NAMES = ("auto", "numpy", "transformers")


class BackendError(Exception):
    """What was asked for cannot be had here; says why, and what to do."""


class Model(Protocol):
    """A Llama; see :class:`~hawser_disagg.model.Llama`."""

    shape: LlamaShape

    def forward(
        self, tokens: Sequence[int], start: int, store: KvStore, on_layer: Callable[[int], None] = ...
    ) -> np.ndarray: ...


@dataclass(frozen=True)
class Backend:
    """What computes, and where."""

    name: str = "numpy"
    device: str = "cpu"

    @property
    def on_gpu(self) -> bool:
        """Whether keys and values are in a GPU's memory."""
        return self.device.startswith("cuda")

    def arrays(self, dtype: str) -> Arrays:
        """Arrays of this type, ``float32`` or ``bfloat16``, where the model computes."""
        if self.name == "numpy":
            return NumpyArrays(dtype)
        from .torch_arrays import TorchArrays

        return TorchArrays(dtype, self.device)

    def model(self, shape: LlamaShape, dtype: str) -> Model:
        """The model. numpy computes in float32 whatever its cache keeps."""
        if self.name == "numpy":
            return Llama(shape)
        from .transformers_model import TransformersLlama

        return TransformersLlama(shape, dtype, self.device)

    def __str__(self) -> str:
        return f"{self.name} on {self.device}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options by which one is chosen."""
    parser.add_argument(
        "--backend", choices=NAMES, default="auto", help="what computes; auto: transformers where PyTorch finds a GPU, else numpy"
    )
    parser.add_argument("--device", help="of PyTorch's, such as cuda:1 or cpu, for transformers; default: cuda:0")


def choose(name: str, device: Optional[str]) -> Backend:
    """The backend of this name. ``auto`` is transformers where PyTorch has a GPU, else numpy.

    Raises:
        BackendError: if it cannot be had.
    """
    if name == "numpy" or (name == "auto" and (device == "cpu" or (device is None and not _finds_gpu()))):
        if device not in (None, "cpu"):
            raise BackendError(f"--device {device}: numpy computes on the CPU only; take --backend transformers")
        return Backend()
    missing = _missing()
    if missing:
        raise BackendError(
            f"transformers is to compute, and there is no {' and no '.join(missing)}: {sys.executable} -m pip install"
            f" {' '.join(missing)}"
        )
    torch, problem = _load()
    if torch is None:
        raise BackendError(f"transformers is to compute, and cannot: {problem}")
    if device is None:
        device = "cuda:0"
    try:
        kind, index = torch.device(device).type, torch.device(device).index
    except RuntimeError as e:
        raise BackendError(f"--device {device}: {e}") from None
    if kind not in ("cpu", "cuda") or (kind == "cpu" and index is not None):
        raise BackendError(f"--device {device}: give cpu or cuda:N")
    if kind == "cuda":
        count = torch.cuda.device_count()
        if device != "cuda" and device != f"cuda:{index}":  # what PyTorch makes of a number that is too large
            raise BackendError(f"--device {device}: give cpu or cuda:N")
        if (index or 0) >= count:
            raise BackendError(f"--device {device}: PyTorch {torch.__version__} finds {count} GPUs; give cpu, or take numpy")
        device = f"cuda:{index or 0}"
    torch.set_num_threads(1)  # equal bits in every process, and no more threads than it takes
    return Backend("transformers", device)


def _missing() -> list[str]:
    return [module for module in ("torch", "transformers") if importlib.util.find_spec(module) is None]


def _finds_gpu() -> bool:
    """Whether there is all that transformers on a GPU takes. Nothing is loaded unless both modules are installed."""
    if _missing():
        return False
    torch, problem = _load()
    if torch is None:
        print(f"numpy computes, for transformers cannot: {problem}", file=sys.stderr)
        return False
    return bool(torch.cuda.is_available())


def _load() -> tuple[Any, str]:
    """PyTorch; None, and why, if it or transformers cannot be used."""
    # Before PyTorch is loaded: cuBLAS gives equal bits only with a workspace of its own, and nothing is to be downloaded.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    try:
        torch = importlib.import_module("torch")
        if not hasattr(torch, "cuda"):
            return None, f"what is loaded as torch is no PyTorch ({getattr(torch, '__path__', 'without a path')})"
        cache = importlib.import_module("transformers.cache_utils")
        if not hasattr(cache, "CacheLayerMixin"):
            return None, "transformers is too old: its caches have no layers of their own; 5.15 or newer is needed"
    except Exception as e:  # broken installations raise anything
        return None, f"{type(e).__name__}: {e}"
    return torch, ""


def main() -> int:
    """Says what computes here."""
    parser = argparse.ArgumentParser(prog="hawser_disagg.backend", description=__doc__)
    add_arguments(parser)
    options = parser.parse_args()
    try:
        print(choose(options.backend, options.device))
    except BackendError as e:
        print(f"error: {e}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
