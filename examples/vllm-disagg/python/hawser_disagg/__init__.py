# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""A small engine that serves a random Llama through a paged KV cache, as vLLM does, for machines without a GPU.

Its scheduler and workers call ``hawser_vllm.connector.HawserConnector`` by the hooks and in the order of vLLM's, so that
what runs here is the connector that vLLM loads.
"""
