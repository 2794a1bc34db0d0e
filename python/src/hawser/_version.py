# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""The version, for the package and for its build."""

VERSION = "0.1.0.dev0"
