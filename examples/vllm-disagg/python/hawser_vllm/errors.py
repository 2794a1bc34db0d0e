# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""What this package raises. Each message says what happened, to what, and what to do."""

from __future__ import annotations


class KvTransferError(Exception):
    """Everything that this package raises is one of these."""


class LayoutError(KvTransferError):
    """A KV cache has a shape or strides that cannot be transferred, or two caches do not fit together."""


class IncompatibleEngine(KvTransferError):
    """The other engine serves another model, or computes its KV cache in another way."""


class HandshakeError(KvTransferError):
    """The other engine does not answer, or its answer cannot be read."""


class ParametersError(KvTransferError):
    """A request's kv_transfer_params cannot be used."""


class NotLent(KvTransferError):
    """The blocks are not, or no longer, lent: the lease has expired, or the request is not known there."""
