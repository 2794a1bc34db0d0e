# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""``python -m hawser.nixl_compat script.py [ARGUMENT...]`` or ``... -m module``: runs a program that imports NIXL."""

from __future__ import annotations

import os
import runpy
import sys

from . import install


def main() -> int:
    """The command."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__, file=sys.stderr)
        return 2
    install(children=True)
    if arguments[0] == "-m":
        if len(arguments) < 2:
            print("hawser.nixl_compat: -m needs the name of a module", file=sys.stderr)
            return 2
        sys.argv = arguments[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path.insert(0, os.path.dirname(os.path.abspath(arguments[0])))
        runpy.run_path(arguments[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
