# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""NIXL's Python API on Hawser, so that code written for NIXL 1.5 runs unchanged.

::

    import hawser.nixl_compat as compat
    compat.install()                 # from now on "import nixl" (and "rixl") means this
    from nixl._api import nixl_agent

or ``python -m hawser.nixl_compat script.py``, which holds for the processes that the script starts, too.

Every public name of ``nixl._api``, ``nixl._bindings``, ``nixl._utils`` and ``nixl.logging`` is here, with its defaults,
states and exceptions. There is one backend, ``"UCX"``, which is Hawser with all of its transports; other network backends
are taken for it too. Storage backends and the GPU's device-side API are not there: they raise NIXL's own "not found" and
"not supported". What is different:

- The agents on both sides have to be Hawser's; blobs and sockets of NIXL itself are not understood.
- Nothing listens beyond loopback unless ``HAWSER_LISTEN`` says so (and ``HAWSER_PYTHON_NIXL_LISTEN`` for the metadata
  listener), while NIXL listens everywhere.
- Without an address, metadata goes to Hawser's metadata service (``HAWSER_METADATA``) instead of etcd.
- ``release_xfer_handle`` of an active transfer cancels it and waits until nothing touches local memory any more.
- A restarted peer's metadata replaces the old; NIXL refuses it.
- Where the agents are in a sidecar that does not answer, a transfer is "PROC" until it does, and all else raises
  ``nixlBackendError``; where that has ended everything raises ``nixlRemoteDisconnectError``.
- Descriptor lists are serialised as plain numbers, never as pickles that run code.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import os
import sys
import types
from pathlib import Path

from . import _api, _bindings, _utils, logging
from ._api import (
    DEFAULT_COMM_PORT,
    nixl_agent,
    nixl_agent_config,
    nixl_backend_handle,
    nixl_prepped_dlist_handle,
    nixl_thread_sync_t,
    nixl_xfer_handle,
)

__all__ = [
    "DEFAULT_COMM_PORT",
    "install",
    "nixl_agent",
    "nixl_agent_config",
    "nixl_backend_handle",
    "nixl_prepped_dlist_handle",
    "nixl_thread_sync_t",
    "nixl_xfer_handle",
]

_PACKAGES = ("nixl", "rixl", "nixl_cu12", "nixl_cu13", "nixl_rocm")
_MODULES = ("_api", "_bindings", "_utils", "logging")


def install(children: bool = False) -> None:
    """Makes ``nixl``, ``rixl`` and NIXL's packages for each GPU maker mean this, for imports from now on.

    Args:
        children: whether also in processes that this one starts, by way of PYTHONPATH.

    Raises:
        RuntimeError: if NIXL itself has been imported: its objects would not fit.
    """
    for package in _PACKAGES:
        present = sys.modules.get(package)
        if present is not None and not getattr(present, "__hawser__", False):
            raise RuntimeError(
                f"{package} is imported from {getattr(present, '__file__', '?')} already: call"
                " hawser.nixl_compat.install() before anything imports it"
            )
    for package in _PACKAGES:
        module = types.ModuleType(package, __doc__)
        module.__path__ = []  # a package, of which nothing is looked up in files
        module.__spec__ = importlib.machinery.ModuleSpec(package, None, is_package=True)
        module.__hawser__ = True  # type: ignore[attr-defined]
        for name in _MODULES:
            part = importlib.import_module(f"{__name__}.{name}")
            sys.modules[f"{package}.{name}"] = part
            setattr(module, name, part)
        for part in (_api, _bindings, _utils, logging):
            for name in dir(part):
                if not name.startswith("_"):
                    setattr(module, name, getattr(part, name))
        module.logging = logging  # type: ignore[attr-defined]
        module.__all__ = [name for name in __all__ if name != "install"]  # type: ignore[attr-defined]
        sys.modules[package] = module
    if children:
        stubs = str(Path(__file__).parent / "stubs")
        if stubs not in sys.path:
            sys.path.append(stubs)  # multiprocessing hands its path on
        before = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        if stubs not in before:
            package_root = str(Path(__file__).parents[2])
            os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [stubs, *before, package_root]))
