# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""kv_transfer_params: what goes with a request from the producer through the proxy to the consumer.

The names are those of vLLM's NixlConnector, so that proxies written for it work.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Sequence

from .errors import ParametersError
from .peers import Address

PULL = "pull"
PUSH = "push"


def transfer_id(params: Mapping[str, Any], request_id: str) -> str:
    """The id by which both engines know a request: the proxy's, or the producer's own."""
    told = params.get("transfer_id") or params.get("remote_request_id") or request_id
    if not isinstance(told, str) or not 0 < len(told) <= 256:
        raise ParametersError(f"kv_transfer_params: transfer_id {told!r} is not a text of at most 256 characters")
    try:
        told.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can say
        raise ParametersError(f"kv_transfer_params: transfer_id {told!r} has characters that are none") from None
    return told


def digest(request: Any, blocks: Sequence[Sequence[int]] = ()) -> str:
    """By which both engines find that they mean the same: tokens, the adapter, and what images and the like stand for some of
    them; in a pull also where they are. Not the salt of the prefix cache, which keeps equal keys and values apart."""
    adapter = getattr(getattr(request, "lora_request", None), "lora_name", "") or ""
    features = getattr(request, "mm_features", None) or ()
    media = [getattr(feature, "identifier", "") for feature in features] or list(getattr(request, "mm_hashes", None) or ())
    # Without any cache for them vLLM names them by the request: REQUEST-MODALITY-NUMBER, another at each engine.
    told = [str(name) for name in media if not request.request_id.startswith(str(name).rsplit("-", 2)[0])]
    whole = hashlib.sha256(json.dumps([adapter, told]).encode())
    for numbers in (request.prompt_token_ids, *blocks):  # in the scheduler's thread: 100,000 are no text
        whole.update(array("q", (len(numbers),)))
        whole.update(array("q", numbers))
    return whole.hexdigest()[:32]


@dataclass(frozen=True)
class Remote:
    """Where a request's KV cache is, as the consumer is told.

    Attributes:
        transfer_id: by which both engines know it.
        address: of the producer's handshake.
        blocks: ids there, for each group; None in a push, whose producer knows them.
        tokens: of which there are keys and values; None if not told.
        push: whether the producer writes.
        request: the producer's own id of it, which tells it from others under the same transfer's; empty if not told.
    """

    transfer_id: str
    address: Address
    blocks: Optional[tuple[tuple[int, ...], ...]]
    tokens: Optional[int]
    push: bool
    request: str = ""

    @staticmethod
    def of(params: Mapping[str, Any], request_id: str) -> "Remote":
        """Reads a consumer's parameters.

        Raises:
            ParametersError: if something is missing or of the wrong kind; it names it.
        """
        mode = params.get("transfer_mode") or PULL
        if mode not in (PULL, PUSH):
            raise ParametersError(f"kv_transfer_params: transfer_mode {mode!r} is neither 'pull' nor 'push'")
        host, port = params.get("remote_host"), params.get("remote_port")
        if not isinstance(host, str) or not host or not _is_int(port) or not 0 < port < 65536:
            raise ParametersError(f"kv_transfer_params: remote_host {host!r} and remote_port {port!r} name no engine")
        tokens = params.get("remote_num_tokens")
        if tokens is not None and (not _is_int(tokens) or tokens < 1):
            raise ParametersError(f"kv_transfer_params: remote_num_tokens {tokens!r} is no number of tokens")
        address = Address(host, port, str(params.get("remote_engine_id") or ""), str(params.get("remote_instance") or ""))
        blocks = None if mode == PUSH else _blocks(params.get("remote_block_ids"))
        request = params.get("remote_request_id") or ""
        if not isinstance(request, str) or len(request) > 1024:
            raise ParametersError("kv_transfer_params: remote_request_id is not a text of at most 1024 characters")
        return Remote(transfer_id(params, request_id), address, blocks, tokens, mode == PUSH, request)


def _is_int(value: Any) -> bool:
    """True is 1 to Python, and no number to a client."""
    return isinstance(value, int) and not isinstance(value, bool)


def _blocks(told: Any) -> tuple[tuple[int, ...], ...]:
    if isinstance(told, (list, tuple)) and told and all(_is_int(i) for i in told):
        told = [told]  # before there were groups
    if not isinstance(told, (list, tuple)) or not told:
        raise ParametersError(f"kv_transfer_params: remote_block_ids {told!r} are no lists of block ids")
    for group in told:
        if not isinstance(group, (list, tuple)) or not all(_is_int(i) and 0 <= i < 1 << 31 for i in group):
            raise ParametersError("kv_transfer_params: remote_block_ids has a group that is no list of block ids")
    return tuple(tuple(group) for group in told)
