# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""What the tests share."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
