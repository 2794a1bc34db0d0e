# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Registers the connector with vLLM: an entry point of the group vllm.general_plugins, which every process calls."""

from __future__ import annotations


def register() -> None:
    """Makes "HawserConnector" a name that --kv-transfer-config knows without a module path."""
    from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory

    try:
        KVConnectorFactory.register_connector("HawserConnector", "hawser_vllm.connector", "HawserConnector")
    except ValueError:
        pass  # this process has called it before
