# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Found by the children of ``python -m hawser.nixl_compat``, and replaced by what it stands for."""

import hawser.nixl_compat

__hawser__ = True
hawser.nixl_compat.install()
