# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Says in one line that numpy is missing, for what is run as a program: to be asked for before anything that imports it."""

from __future__ import annotations

import importlib
import sys


def numpy() -> None:
    """Ends the program if numpy cannot be loaded."""
    try:
        importlib.import_module("numpy")
    except ImportError as e:
        print(f"error: numpy is needed and cannot be loaded ({e}): {sys.executable} -m pip install numpy", file=sys.stderr)
        sys.exit(2)
