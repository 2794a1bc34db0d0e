# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Hawser for vLLM: KV caches of one engine become those of another, on other hosts.

``hawser_vllm.connector.HawserConnector`` is what vLLM loads. Below it, ``KvWorker`` moves blocks between workers and knows
nothing of vLLM; ``plan`` says which bytes on one side are which on the other, and knows nothing of agents.
"""
