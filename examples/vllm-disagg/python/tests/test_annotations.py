# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Annotations name what there is: nothing evaluates them when a module is loaded, but tools do."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import typing

import pytest

import hawser_disagg
import hawser_vllm

NEEDS_MORE = {"hawser_disagg.torch_arrays", "hawser_disagg.transformers_model"}
"""Than this environment may have: PyTorch and transformers."""
MODULES = [module.name for package in (hawser_disagg, hawser_vllm) for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")]


@pytest.mark.parametrize("name", sorted(set(MODULES) - NEEDS_MORE))
def test_every_annotation_can_be_evaluated(name: str) -> None:
    module = importlib.import_module(name)
    for thing in vars(module).values():
        if getattr(thing, "__module__", None) != name:
            continue
        if inspect.isfunction(thing):
            typing.get_type_hints(thing)
        elif inspect.isclass(thing):
            typing.get_type_hints(thing)
            for method in vars(thing).values():
                if inspect.isfunction(method):
                    typing.get_type_hints(method)
