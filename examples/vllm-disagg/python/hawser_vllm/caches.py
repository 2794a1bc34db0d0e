# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""From the tensors and the configuration that vLLM hands over to regions and geometries."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Iterator, Mapping, Optional, Sequence

from hawser import Agent, Memory, Region

from .errors import LayoutError
from .geometry import AttentionShape, LayerGeometry, WorkerGeometry, check, of_state, of_tensor


@dataclass(frozen=True)
class Ranks:
    """A worker's place, and the first of the model's KV heads that it has."""

    pp_rank: int
    tp_rank: int
    tp_size: int
    total_heads: int

    def first_head(self, heads: int) -> int:
        """Where its heads begin: with fewer heads than workers, several have the same."""
        if heads * self.tp_size <= self.total_heads:
            return self.tp_rank * heads
        replicas = max(1, heads * self.tp_size // max(1, self.total_heads))
        return self.tp_rank // replicas * heads


@dataclass(frozen=True)
class _Span:
    """Bytes that a tensor reaches over, in the memory that was allocated for it."""

    start: int
    end: int
    device: int
    owner: Any


def register(agent: Agent, caches: Mapping[str, Any], kv_cache_config: Any, vllm_config: Any, ranks: Ranks) -> tuple[
    WorkerGeometry, list[Region]
]:
    """Registers the memory of all layers, once however many layers share it, and tells where each layer lies.

    Raises:
        LayoutError: if a layer's shape or strides cannot be used.
    """
    found = []
    for name, tensor in caches.items():
        group, spec = _spec_of(name, kv_cache_config)
        parts = tensor if isinstance(tensor, (list, tuple)) else [tensor]
        for i, part in enumerate(parts):
            found.append((name if len(parts) == 1 else f"{name}#{i}", group, spec, Memory.of(part)))
    if not found:
        raise LayoutError("register_kv_caches: there are no layers")
    spans = _merged([_span(memory) for _, _, _, memory in found])
    regions = []
    for i, span in enumerate(spans):
        device = span.device
        where = (span.start, span.end - span.start, device) if device >= 0 else (span.start, span.end - span.start, "auto")
        regions.append(agent.register(where, name=f"kv{i}"))
    layers = []
    for name, group, spec, memory in found:
        region = next(i for i, span in enumerate(spans) if span.start <= _span(memory).start < span.end)
        layers.append(_layer(name, group, spec, memory, region, memory.address - spans[region].start, vllm_config, ranks))
    geometry = WorkerGeometry(
        agent.name, ranks.pp_rank, ranks.tp_rank, tuple(span.end - span.start for span in spans), tuple(layers)
    )
    for layer in layers:
        check(layer, geometry)
    return geometry, regions


def _layer(
    name: str, group: int, spec: Any, memory: Memory, region: int, offset: int, vllm_config: Any, ranks: Ranks
) -> LayerGeometry:
    layout = memory.layout
    kind = type(spec).__name__
    if "Mamba" in kind or "State" in kind:
        return of_state(name, group, region, offset, layout.shape, layout.strides, layout.itemsize)
    latent = "MLA" in kind or bool(getattr(vllm_config.model_config, "use_mla", False))
    block = int(getattr(spec, "block_size", None) or vllm_config.cache_config.block_size)
    heads = int(getattr(spec, "num_kv_heads", None) or layout.shape[-2])
    dim = int(getattr(spec, "head_size", None) or layout.shape[-1])
    window = int(getattr(spec, "sliding_window", None) or 0)
    shape = AttentionShape(block, heads, dim, latent, window)
    first = 0 if latent else ranks.first_head(heads)
    return of_tensor(name, group, region, offset, layout.shape, layout.strides, layout.itemsize, shape, first)


def _spec_of(layer: str, kv_cache_config: Any) -> tuple[int, Any]:
    """The group that a layer belongs to, and what vLLM says of it."""
    for i, group in enumerate(getattr(kv_cache_config, "kv_cache_groups", None) or ()):
        if layer in group.layer_names:
            spec = group.kv_cache_spec
            inner: Optional[Mapping[str, Any]] = getattr(spec, "kv_cache_specs", None)
            return i, inner[layer] if inner and layer in inner else spec
    if getattr(kv_cache_config, "kv_cache_groups", None):
        raise LayoutError(f"layer {layer} is in no group of the KV cache")
    return 0, None


def _span(memory: Memory) -> _Span:
    layout = memory.layout
    if any(stride < 0 for stride in layout.strides):
        raise LayoutError(f"a KV cache of shape {layout.shape} has negative strides {layout.strides}")
    reach = sum((n - 1) * s for n, s in zip(layout.shape, layout.strides)) + layout.itemsize if math.prod(layout.shape) else 0
    return _Span(memory.address, memory.address + reach, memory.device, memory.owner)


def _merged(spans: Sequence[_Span]) -> list[_Span]:
    """Spans that overlap are one allocation, of which layers are views (all layers of a block side by side)."""

    def join() -> Iterator[_Span]:
        current: Optional[_Span] = None
        for span in sorted(spans, key=lambda s: (s.device, s.start)):
            if current is not None and span.device == current.device and span.start < current.end:
                current = _Span(current.start, max(current.end, span.end), current.device, current.owner)
            else:
                if current is not None:
                    yield current
                current = span
        if current is not None:
            yield current

    return list(join())
