# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""The scheduler's half of the connector."""

from __future__ import annotations

import logging
import time
import uuid
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Mapping, Optional

from . import handshake
from .config import ConnectorConfig
from .errors import ParametersError
from .metadata import HawserHandshakeMetadata, HawserMetadata, Reception, Sending
from .params import PULL, PUSH, Remote, digest, transfer_id
from .plan import BlockMap

logger = logging.getLogger("hawser.vllm")

Groups = tuple[tuple[int, ...], ...]


def groups_of(block_ids: Any) -> Groups:
    """Block ids per group, of a list of ids, of lists, or what vLLM's manager of blocks gives."""
    if hasattr(block_ids, "get_block_ids"):
        block_ids = block_ids.get_block_ids()
    told = list(block_ids or [])
    if told and isinstance(told[0], int):
        told = [told]
    return tuple(tuple(group) for group in told)


@dataclass
class _Pushing:
    """A request that is pushed, under which id, and from which blocks."""

    request: Any
    transfer: str
    groups: list[list[int]]
    resumed: bool = False

    @property
    def tokens(self) -> int:
        return len(self.request.prompt_token_ids)

    @property
    def preempted(self) -> bool:
        """Whether its blocks may be others' by now. One that was preempted between two steps may run again already."""
        return self.resumed or _status(self.request) == "PREEMPTED"


class SchedulerHalf:
    """Decides what is received, held and pushed. One thread, that of the scheduler."""

    def __init__(self, config: ConnectorConfig, clock: Callable[[], float] = time.monotonic) -> None:
        self._config = config
        self._clock = clock
        self.instance = uuid.uuid4().hex
        self._server: Optional[handshake.HandshakeServer] = None
        self._step = HawserMetadata()
        self._waiting: dict[str, Remote] = {}
        self._receiving: dict[str, str] = {}
        self._sending: set[str] = set()
        self._senders: dict[str, str] = {}  # by transfer: the request whose blocks it means
        self._pushing: dict[str, _Pushing] = {}
        self._push_begun: dict[str, _Pushing] = {}
        self._told_alive = clock()

    # ------------------------------------------------------------------------------------------- the start

    def workers_known(self, metadata: Mapping[Any, HawserHandshakeMetadata]) -> None:
        """All workers of this engine: from now on the handshake is answered."""
        workers = [(md.geometry, md.blob) for _, md in sorted(metadata.items(), key=lambda item: str(item[0]))]
        if self._server is None:
            self._server = handshake.HandshakeServer(self._config.side_channel_host, self._config.side_channel_port)
        self._server.describe(handshake.describe(self._config.engine_id, self.instance, self._config.facts, workers))

    @property
    def port(self) -> int:
        """Where the handshake is answered."""
        return self._config.side_channel_port if self._server is None else self._server.port

    # -------------------------------------------------------------------------------------- of the consumer

    def _remote(self, request: Any) -> Optional[Remote]:
        params = getattr(request, "kv_transfer_params", None)
        if not params or not params.get("do_remote_prefill"):
            return None
        if not _of_tokens(request):
            logger.warning("request %s is computed here: its prompt is of embeddings, which are not told apart", request.request_id)
            params["do_remote_prefill"] = False
            return None
        try:
            return Remote.of(params, request.request_id)
        except ParametersError as e:
            logger.warning("request %s is computed here: %s", request.request_id, e)
            params["do_remote_prefill"] = False
            return None

    def new_request(self, request: Any) -> None:
        """A request has come: while it is queued, its producer is told to keep its blocks."""
        remote = self._remote(request)
        if remote is not None:
            self._waiting[request.request_id] = remote

    def matched(self, request: Any, computed: int) -> tuple[int, bool]:
        """Tokens that can be received beyond those that are here."""
        remote = self._remote(request)
        if remote is None:
            return 0, False
        tokens = len(request.prompt_token_ids)
        if remote.tokens is not None and remote.tokens != tokens:
            logger.warning(
                "request %s is computed here: its producer has the keys of %d tokens, its prompt has %d",
                request.request_id,
                remote.tokens,
                tokens,
            )
            self._release(request, remote)
            return 0, False
        if remote.transfer_id in self._receiving.values():
            logger.warning(
                "request %s is computed here: another receives transfer %s, which is for one", request.request_id, remote.transfer_id
            )
            self._waiting.pop(request.request_id, None)
            request.kv_transfer_params["do_remote_prefill"] = False
            return 0, False
        self._waiting.setdefault(request.request_id, remote)
        return max(0, tokens - computed), tokens > computed

    def allocated(self, request: Any, blocks: Any, external: int) -> None:
        """Blocks for what is received; called a second time, with 0, when it is there."""
        self._allocated_for_push(request, blocks)
        remote = self._waiting.get(request.request_id)
        if remote is None or self._remote(request) is None:
            return
        if external <= 0:  # all of it is here: of the prefix cache
            self._release(request, remote)
            return
        del self._waiting[request.request_id]
        request.kv_transfer_params["do_remote_prefill"] = False  # preempted, it is computed here
        tokens = len(request.prompt_token_ids)
        ours = groups_of(blocks)
        if remote.push:
            theirs: Groups = ()
        else:
            theirs = remote.blocks or ()
            if len(theirs) != len(ours):
                logger.warning("request %s: %d groups here, %d there", request.request_id, len(ours), len(theirs))
                theirs = tuple(() for _ in ours)  # fails in the worker, which reports the blocks as invalid
        self._receiving[request.request_id] = remote.transfer_id
        blocks_map = BlockMap(tokens, tokens - external, ours, theirs)
        prompt = digest(request, remote.blocks or ())
        self._step.receive.append(
            Reception(request.request_id, remote.transfer_id, remote.address, blocks_map, remote.push, remote.request, prompt)
        )

    def _release(self, request: Any, remote: Remote) -> None:
        request.kv_transfer_params["do_remote_prefill"] = False
        self._waiting.pop(request.request_id, None)
        self._let_go(remote)

    def _let_go(self, remote: Remote) -> None:
        """Tells the producer that nothing is wanted, unless another request wants it still."""
        waiting = any(other.transfer_id == remote.transfer_id for other in self._waiting.values())
        if not waiting and remote.transfer_id not in self._receiving.values():
            self._step.release.append(remote)

    # -------------------------------------------------------------------------------------- of the producer

    def _wanted_elsewhere(self, request: Any) -> Optional[str]:
        params = getattr(request, "kv_transfer_params", None)
        if not params or not params.get("do_remote_decode") or not self._config.producer or not _of_tokens(request):
            return None
        try:
            return transfer_id(params, request.request_id)
        except ParametersError as e:
            logger.warning("request %s is not lent: %s", request.request_id, e)
            return None

    def _is_push(self, request: Any) -> bool:
        mode = (getattr(request, "kv_transfer_params", None) or {}).get("transfer_mode")
        return mode == PUSH or (mode is None and self._config.push)

    def _sent_as(self, request: Any) -> Optional[str]:
        """The transfer that means this request's blocks from now on; None if it means another's still."""
        wanted = self._wanted_elsewhere(request)
        if wanted is None:
            return None
        sender = self._senders.setdefault(wanted, request.request_id)
        if sender != request.request_id:
            logger.warning("request %s is not lent: transfer %s is request %s's", request.request_id, wanted, sender)
            return None
        return wanted

    def _allocated_for_push(self, request: Any, blocks: Any) -> None:
        if not self._is_push(request) or request.request_id in self._push_begun:
            return
        wanted = self._sent_as(request)
        if wanted is not None:
            self._pushing[request.request_id] = _Pushing(request, wanted, [list(group) for group in groups_of(blocks)])

    def _pushed_in(self, output: Any) -> None:
        """Which requests' prompts are computed to the end in this step."""
        scheduled: Mapping[str, int] = getattr(output, "num_scheduled_tokens", None) or {}
        computed: dict[str, int] = {}
        for new in getattr(output, "scheduled_new_reqs", None) or ():
            computed[new.req_id] = new.num_computed_tokens
            if new.req_id in self._push_begun:  # some versions of vLLM tell of one that is resumed as of a new one
                self._push_begun[new.req_id].resumed = True
            if new.req_id in self._pushing:
                self._pushing[new.req_id].groups = [list(group) for group in groups_of(new.block_ids)]
        cached = getattr(output, "scheduled_cached_reqs", None)
        for i, request_id in enumerate(getattr(cached, "req_ids", None) or ()):
            computed[request_id] = cached.num_computed_tokens[i]
            more = cached.new_block_ids[i]
            resumed = _is_resumed(cached, i)
            if resumed and request_id in self._push_begun:
                self._push_begun[request_id].resumed = True
            if request_id in self._pushing and more:
                for group, ids in zip(self._pushing[request_id].groups, groups_of(more)):
                    group[:] = ids if resumed else group + list(ids)
        for request_id in [r for r in self._pushing if r in scheduled]:
            pushing = self._pushing[request_id]
            if computed.get(request_id, 0) + scheduled[request_id] >= pushing.tokens:
                self._push_begun[request_id] = self._pushing.pop(request_id)
                groups = groups_of(pushing.groups)
                self._step.push.append(Sending(pushing.transfer, groups, pushing.tokens, digest(pushing.request)))

    def finished(self, request: Any, groups: Groups) -> tuple[bool, Optional[dict[str, Any]]]:
        """A request has finished: whether its blocks are kept, and what its client is told."""
        request_id = request.request_id
        remote = self._waiting.pop(request_id, None)
        if remote is not None:  # aborted before there were blocks for it
            self._let_go(remote)
        if request_id in self._receiving:
            self._step.abort[request_id] = self._receiving[request_id]
        wanted = self._sent_as(request)
        if wanted is None:
            return False, None
        begun = self._push_begun.pop(request_id, None) is not None
        self._pushing.pop(request_id, None)
        if not _complete(request):
            self._step.drop[wanted] = "its prefill was aborted"
            if begun:  # writes may be under way from these blocks
                self._step.hold[wanted] = request_id
                self._sending.add(request_id)
            else:
                del self._senders[wanted]
            return begun, None
        self._step.drop.pop(wanted, None)  # another's, of which nothing was lent
        self._step.hold[wanted] = request_id
        if begun:
            self._step.kept[wanted] = groups
        else:  # also what was to be pushed and is not, as its transfer's id was another's when it was computed
            self._step.lent[wanted] = digest(request, groups)
        self._sending.add(request_id)
        return True, {
            "do_remote_prefill": True,
            "do_remote_decode": False,
            "transfer_id": wanted,
            "transfer_mode": PUSH if begun else PULL,
            "remote_request_id": request_id,
            "remote_block_ids": [list(group) for group in groups],
            "remote_num_tokens": len(request.prompt_token_ids),
            "remote_blocks_expiry_seconds": self._config.lease,
            **self.address(),
        }

    def address(self) -> dict[str, Any]:
        """By which other engines find this one."""
        return {
            "remote_engine_id": self._config.engine_id,
            "remote_instance": self.instance,
            "remote_host": self._config.side_channel_host,
            "remote_port": self.port,
            "tp_size": self._config.tp_size,
            "pp_size": self._config.pp_size,
        }

    # --------------------------------------------------------------------------------------- of each step

    def build(self, scheduler_output: Any) -> HawserMetadata:
        """What the workers are told in this step."""
        self._pushed_in(scheduler_output)
        for begun in self._push_begun.values():
            if begun.preempted:  # in this step others write to its blocks
                self._step.drop[begun.transfer] = "its prefill was preempted"
        now = self._clock()
        if self._waiting and now - self._told_alive >= self._config.lease / 6:
            self._told_alive = now
            for remote in self._waiting.values():
                self._step.alive.setdefault(remote.address, []).append(remote.transfer_id)
        step, self._step = self._step, HawserMetadata()
        return step

    def workers_did(self, sent: Optional[Iterable[str]], received: Optional[Iterable[str]]) -> None:
        """What the workers have ended."""
        for request_id in sent or ():
            self._sending.discard(request_id)
            for transfer in [t for t, sender in self._senders.items() if sender == request_id]:
                del self._senders[transfer]
        for request_id in received or ():
            self._receiving.pop(request_id, None)

    @property
    def pushes_pending(self) -> bool:
        """Whether pushes are to be polled although no request runs."""
        return bool(self._pushing or self._push_begun or self._step.hold or (self._config.push and self._sending))

    def close(self) -> None:
        """Stops answering handshakes."""
        if self._server is not None:
            self._server.close()
            self._server = None


def _is_resumed(cached: Any, i: int) -> bool:
    """Whether a request was preempted and begins anew: then the blocks told are all that it has."""
    resumed = getattr(cached, "resumed_req_ids", None)
    if resumed is not None:
        return cached.req_ids[i] in resumed
    flags = getattr(cached, "resumed_from_preemption", None)  # as vLLM told it before
    return bool(flags and flags[i])


def _of_tokens(request: Any) -> bool:
    """Whether a prompt is told by token ids. One of embeddings has none, or such as stand for nothing."""
    return request.prompt_token_ids is not None and getattr(request, "prompt_embeds", None) is None


def _complete(request: Any) -> bool:
    """Whether a request ended because it had all its tokens, and not because somebody gave it up."""
    return _status(request) in ("FINISHED_LENGTH_CAPPED", "FINISHED_STOPPED")


def _status(request: Any) -> str:
    status = getattr(request, "status", None)
    return str(getattr(status, "name", status))
