# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""The Llama of Hugging Face's transformers, with random weights, through a paged cache.

Source: transformers 5.17, ``Cache`` of given layers and ``CacheLayerMixin``.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.cache_utils import Cache, CacheLayerMixin

from .model import KvStore, LlamaShape
from .torch_arrays import TorchArrays


class TransformersLlama:
    """The model. Its weights follow from the seed; equal shapes in equal steps give equal bits."""

    def __init__(self, shape: LlamaShape, dtype: str, device: str) -> None:
        self.shape = shape
        self._device = torch.device(device)
        # Not torch.use_deterministic_algorithms: with it, writing elements of a tensor that is not contiguous writes all of it
        # back, and so undoes what has arrived in other blocks meanwhile. All that is used here gives equal bits without.
        # On the CPU, whose generator gives the same numbers wherever the model goes afterwards.
        torch.manual_seed(shape.seed)
        config = LlamaConfig(
            vocab_size=shape.vocab,
            hidden_size=shape.hidden,
            intermediate_size=shape.inter,
            num_hidden_layers=shape.layers,
            num_attention_heads=shape.heads,
            num_key_value_heads=shape.kv_heads,
            head_dim=shape.head_dim,
            max_position_embeddings=4096,
            # Wide enough that the next token depends on all of the context: else a wrong cache would not be noticed.
            initializer_range=shape.width,
            tie_word_embeddings=False,
            bos_token_id=None,
            eos_token_id=None,
            pad_token_id=None,
            attn_implementation="eager",
        )
        self._model = LlamaForCausalLM(config).to(self._device, TorchArrays(dtype, device).dtype).eval()

    def forward(
        self, tokens: Sequence[int], start: int, store: KvStore, on_layer: Callable[[int], None] = lambda layer: None
    ) -> np.ndarray:
        """See :meth:`hawser_disagg.model.Llama.forward`; a layer may be told while the GPU still computes it."""
        layers: Any = [_PagedLayer(store, i, start, on_layer) for i in range(self.shape.layers)]
        positions = torch.arange(start, start + len(tokens), device=self._device)[None]
        with torch.no_grad():
            output = self._model(
                input_ids=torch.tensor([list(tokens)], device=self._device),
                position_ids=positions,
                past_key_values=Cache(layers=layers),
                use_cache=True,
                logits_to_keep=1,
            )
        return output.logits[0, -1].float().cpu().numpy()

    def generate(self, prompt: Sequence[int], tokens: int) -> list[int]:
        """The most likely tokens by transformers alone, through the cache that it brings."""
        ids = torch.tensor([list(prompt)], device=self._device)
        with torch.no_grad():
            output = self._model.generate(
                ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=tokens, min_new_tokens=tokens
            )
        return [int(token) for token in output[0, len(prompt) :]]


class _PagedLayer(CacheLayerMixin):
    """One layer of a request's cache, whose keys and values are in the store: ``[1, heads, tokens, dim]`` for the model."""

    is_sliding = False

    def __init__(self, store: KvStore, layer: int, length: int, on_layer: Callable[[int], None]) -> None:
        super().__init__()
        self._store = store
        self._layer = layer
        self._length = length
        self._on_layer = on_layer
        self.is_initialized = True

    def lazy_initialization(self, *args: Any, **kwargs: Any) -> None:
        pass

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        self._store.write(self._layer, self._length, key_states[0].transpose(0, 1), value_states[0].transpose(0, 1))
        self._length += key_states.shape[-2]
        self._on_layer(self._layer)
        keys, values = self._store.gather(self._layer, self._length)
        return keys.transpose(0, 1)[None].contiguous(), values.transpose(0, 1)[None].contiguous()

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self._length + query_length, 0

    def get_seq_length(self) -> int:
        return self._length

    def get_max_length(self) -> int:
        return -1

    get_max_cache_shape = get_max_length  # its name before transformers 5.15
