"""The check: what two engines compute together is, bit for bit, what one computes alone. ``python -m hawser_disagg.check``

Each case sends prompts through a prefill engine and a decode engine, in processes of their own, whose only connection for
KV bytes is Hawser. Compared with a run in this process are the logits of the decode engine's first step, bit for bit, and
all tokens; between the engines, a checksum of each layer's each few tokens. Blocks that nobody was given must hold their
poison. Negative controls plant a fault, and pass only if the comparison fails.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Callable, Optional, Sequence

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

if __name__ == "__main__":
    from . import needs

    needs.numpy()

import base64  # noqa: E402

from .backend import Backend, BackendError, Model, add_arguments, choose  # noqa: E402
from .model import LlamaShape  # noqa: E402
from .pool import EnginePool, RequestStore  # noqa: E402
from .processes import EngineProcess, ProcessError, call, free_port, until  # noqa: E402

UNIT = 8
TOKENS = 12


class Mismatch(Exception):
    """What two engines computed is not what one computes."""


@dataclass(frozen=True)
class Kind:
    """How an engine is set up."""

    role: str
    layout: str = "HND"
    block_tokens: int = 16
    tp: int = 1
    pp: int = 1
    dtype: str = "float32"
    chunk: int = 0
    lease: float = 30.0
    model: int = 7
    policy: str = "fail"
    transports: str = ""
    prefixes: bool = False
    number: int = 0

    def options(self) -> list[str]:
        """For the command line."""
        options = ["--layout", self.layout, "--block-tokens", str(self.block_tokens), "--tp", str(self.tp)]
        options += ["--pp", str(self.pp), "--dtype", self.dtype, "--chunk-tokens", str(self.chunk)]
        options += ["--lease", str(self.lease), "--model-seed", str(self.model), "--load-failure-policy", self.policy]
        options += ["--seed", "3" if self.role == "P" else "5", "--load-timeout", "6", "--request-timeout", "40"]
        options += ["--blocks", str(4096 // self.block_tokens), "--debug", "--digest-unit", str(UNIT)]
        options += ["--transports", self.transports] if self.transports else []
        options += [] if self.prefixes else ["--no-prefix-cache"]
        return options


class Reference:
    """The same model in this process, by the same steps: a prompt at once (or in chunks), its last token again, then one
    by one."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self._models: dict[tuple[int, str], Model] = {}
        self._lock = threading.Lock()
        self._known: dict[Any, tuple[bytes, list[int]]] = {}

    def generate(self, prompt: Sequence[int], kind: Kind) -> list[int]:
        """The tokens that transformers alone computes."""
        with self._lock:
            return self._model(kind).generate(prompt, TOKENS)

    def _model(self, kind: Kind) -> Any:
        key = (kind.model, kind.dtype)
        if key not in self._models:
            self._models[key] = self.backend.model(LlamaShape(seed=kind.model), kind.dtype)
        return self._models[key]

    def run(self, prompt: Sequence[int], kind: Kind, tokens: int = TOKENS) -> tuple[bytes, list[int]]:
        """The logits of the first step behind the prefill, and the tokens. Thread-safe."""
        key = (tuple(prompt), kind.dtype, kind.chunk, kind.model, tokens)
        with self._lock:
            if key not in self._known:
                self._known[key] = self._computed(prompt, kind, tokens)
            return self._known[key]

    def _computed(self, prompt: Sequence[int], kind: Kind, tokens: int) -> tuple[bytes, list[int]]:
        model = self._model(kind)
        pool = EnginePool(model.shape, "NHD", 4096 // 16, 16, 1, 1, self.backend.arrays(kind.dtype))
        store = RequestStore(pool, list(range(1, 256)))
        chunk = kind.chunk or len(prompt)
        for first in range(0, len(prompt), chunk):
            model.forward(prompt[first : first + chunk], first, store)
        logits = model.forward([prompt[-1]], len(prompt) - 1, store)
        first_logits = logits.tobytes()
        out = [int(logits.argmax())]
        while len(out) < tokens:
            logits = model.forward([out[-1]], len(prompt) + len(out) - 1, store)
            out.append(int(logits.argmax()))
        return first_logits, out


def prompt_of(length: int, seed: int) -> list[int]:
    """A prompt."""
    return [(i * 37 + seed * 101 + (i * i * seed) % 89 + 11) % 512 for i in range(length)]


class Check:
    """Cases, and the engines that they share."""

    def __init__(self, log: str, metadata: Optional[str], backend: Backend) -> None:
        self._log = log
        self._metadata = metadata
        self._backend = backend
        self._engines: dict[Kind, EngineProcess] = {}
        self._number = 0
        self._requests = itertools.count(1)
        self.reference = Reference(backend)

    def engine(self, kind: Kind) -> EngineProcess:
        """An engine of this kind, started if there is none."""
        if kind not in self._engines:
            self._engines[kind] = self.start(kind)
        return self._engines[kind]

    def begin(self, *kinds: Kind) -> None:
        """Starts those that there are not yet, side by side, and waits until they serve."""
        for engine in [self.engine(kind) for kind in kinds]:
            engine.url  # raises if it does not start

    def start(self, kind: Kind, name: Optional[str] = None, port: Optional[int] = None) -> EngineProcess:
        """Another engine of this kind."""
        self._number += 1
        options = kind.options() + ["--backend", self._backend.name, "--device", self._backend.device]
        options += ["--metadata", self._metadata] if self._metadata else []
        return EngineProcess(name or f"{kind.role.lower()}{self._number}", *options, log=self._log, side_channel_port=port)

    def replace(self, kind: Kind, engine: EngineProcess) -> None:
        """Has another engine serve from now on."""
        self._engines[kind] = engine

    def drop(self, kind: Kind) -> None:
        """Ends an engine, which may be in disorder."""
        engine = self._engines.pop(kind, None)
        if engine is not None:
            engine.kill()

    def close(self) -> None:
        """Ends all engines."""
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(lambda engine: engine.stop(), self._engines.values()))

    # ------------------------------------------------------------------------------------------ one request

    def request_id(self) -> str:
        """A new one."""
        return f"r{next(self._requests)}"

    def pull(self, p: Kind, d: Kind, prompt: Sequence[int], tokens: int = TOKENS) -> str:
        """Prefill, then decode; compares. Gives the request's id."""
        request_id = self.request_id()
        params = self.prefill(p, prompt, request_id)
        reply = self.engine(d).complete(
            {"prompt": list(prompt), "max_tokens": tokens, "kv_transfer_params": params}, request_id, 60
        )
        self.compare(p, d, prompt, request_id, reply, tokens)
        return request_id

    def prefill(self, p: Kind, prompt: Sequence[int], request_id: str) -> dict[str, Any]:
        """The first phase; gives kv_transfer_params."""
        told = {"do_remote_decode": True, "do_remote_prefill": False, "transfer_id": request_id}
        reply = self.engine(p).complete({"prompt": list(prompt), "max_tokens": 1, "kv_transfer_params": told}, request_id)
        if reply.status != 200:
            raise Mismatch(f"the prefill engine answered {reply.status}: {reply.body}")
        return reply.body["kv_transfer_params"]

    def push(self, p: Kind, d: Kind, prompt: Sequence[int], tokens: int = TOKENS, decode_first: bool = True) -> str:
        """Both phases at once: the prefill engine writes each layer as it is computed."""
        request_id = self.request_id()
        prefill, decode = self.engine(p), self.engine(d)
        address = call(prefill.url, "GET", "/health").body["kv_transfer"]
        told = {"do_remote_decode": True, "transfer_id": request_id, "transfer_mode": "push"}
        asked = {**address, "do_remote_prefill": True, "transfer_id": request_id, "transfer_mode": "push"}
        bodies = [
            (prefill, {"prompt": list(prompt), "max_tokens": 1, "kv_transfer_params": told}),
            (decode, {"prompt": list(prompt), "max_tokens": tokens, "kv_transfer_params": asked}),
        ]
        with ThreadPoolExecutor(2) as threads:
            order = reversed(bodies) if decode_first else bodies
            futures = []
            for engine, body in order:
                futures.append((engine, threads.submit(engine.complete, body, request_id)))
                time.sleep(0.05)
            replies = {engine: future.result() for engine, future in futures}
        if replies[prefill].status != 200:
            raise Mismatch(f"the prefill engine answered {replies[prefill].status}: {replies[prefill].body}")
        self.compare(p, d, prompt, request_id, replies[decode], tokens)
        return request_id

    def compare(self, p: Kind, d: Kind, prompt: Sequence[int], request_id: str, reply: Any, tokens: int) -> None:
        """Compares with the run in one process, and both engines with each other."""
        if reply.body.get("kv_recomputed"):
            raise Mismatch("the decode engine computed the prompt again")
        theirs, ours = self.engine(p).look(request_id), self.engine(d).look(request_id)
        checksums = _differences(theirs.get("digests"), ours.get("digests"), -(-len(prompt) // UNIT))
        if reply.status != 200:
            answer = f"the decode engine answered {reply.status}: {reply.body.get('error', reply.body)}"
            raise Mismatch(f"{checksums}; {answer}" if checksums else answer)
        if checksums:
            raise Mismatch(checksums)
        logits, expected = self.reference.run(prompt, p, tokens)
        if base64.b64decode(ours["logits"]) != logits:
            raise Mismatch("the logits of the first step are not those of one process")
        got = reply.body["choices"][0]["token_ids"]
        if got != expected:
            raise Mismatch(f"the tokens are {got}, of one process {expected}")

    def clean(self, *kinds: Kind) -> None:
        """All blocks are free again, and nothing was written to those that nobody was given."""
        for kind in kinds:
            engine = self.engine(kind)
            until(f"all blocks of {engine.name} are free", lambda: _idle(engine.state()))
            strays = engine.state()["strays"]
            if strays:
                raise Mismatch(f"blocks {strays} of {engine.name} were given to nobody, and were written to")

    def refused(self, reply: Any, *words: str) -> None:
        """An HTTP error with these words, and no tokens."""
        if reply.status < 400 or "choices" in reply.body:
            raise Mismatch(f"answered {reply.status} with {reply.body}: tokens instead of an error")
        message = str(reply.body.get("error", {}).get("message"))
        if not any(word in message for word in words):
            raise Mismatch(f"the error does not say {words}: {message}")


def _differences(theirs: Optional[list[str]], ours: Optional[list[str]], units: int) -> str:
    """Where the checksums of two engines differ; empty if nowhere."""
    if not theirs or len(theirs) != len(ours or ()):
        return "an engine has no checksums of the request"
    wrong = [i for i, (a, b) in enumerate(zip(theirs, ours or ())) if a != b]
    if not wrong:
        return ""
    return (
        f"{len(wrong)} of {len(theirs)} checksums differ, first: layer {wrong[0] // units}, tokens from"
        f" {wrong[0] % units * UNIT} on"
    )


def _idle(state: dict[str, Any]) -> bool:
    return state["free_blocks"] == state["blocks"] and not (state["running"] or state["waiting"] or state["receiving"])


P, D = Kind("P"), Kind("D")
LENGTHS = (1, 7, 16, 17, 53, 128)


def pulls(p: Kind, d: Kind, lengths: Sequence[int] = (53, 64)) -> Callable[[Check], str]:
    """A case of pulls."""

    def run(check: Check) -> str:
        check.begin(p, d)
        for i, length in enumerate(lengths):
            check.pull(p, d, prompt_of(length, i + 1))
        check.clean(p, d)
        return f"{len(lengths)} prompts"

    return run


def pushes(p: Kind, d: Kind, lengths: Sequence[int] = (53, 64)) -> Callable[[Check], str]:
    """A case of pushes, in which now the one engine and now the other hears first."""

    def run(check: Check) -> str:
        check.begin(p, d)
        for i, length in enumerate(lengths):
            check.push(p, d, prompt_of(length, i + 1), decode_first=i % 2 == 0)
        check.clean(p, d)
        return f"{len(lengths)} prompts"

    return run


def baseline(check: Check) -> str:
    """The model is worth comparing: it depends on its context."""
    _, tokens = check.reference.run(prompt_of(53, 1), P, 32)
    _, others = check.reference.run([5] + prompt_of(53, 1)[1:], P, 32)
    if len(set(tokens)) < 16:
        raise Mismatch(f"the tokens of one process hardly differ: {tokens}")
    if tokens == others:
        raise Mismatch("another first token of the prompt changes nothing")
    return f"{len(set(tokens))} different tokens of 32"


def by_transformers_alone(check: Check) -> str:
    """The reference itself: its tokens are those that transformers computes with the cache that it brings."""
    prompts = [prompt_of(length, 70 + length) for length in (17, 53)]
    for prompt in prompts:
        alone = check.reference.generate(prompt, P)
        ours = check.reference.run(prompt, P)[1]
        if ours != alone:
            raise Mismatch(f"the tokens of a paged cache are {ours}, of transformers alone {alone}")
    return f"{len(prompts)} prompts"


def late_device(check: Check) -> str:
    """The GPU is behind when a layer is told to be computed: nothing is sent before it is there."""
    check.begin(P, D)
    check.engine(P).plant("late")
    try:
        for i, length in enumerate((53, 64)):
            check.push(P, D, prompt_of(length, 80 + i))
    finally:
        check.engine(P).plant(None)
    check.clean(P, D)
    return "2 prompts"


def prefix_hit(check: Check) -> str:
    """The decode engine has the front of the prompt already, and gets only the rest."""
    d = replace(D, prefixes=True)
    first = prompt_of(53, 9)
    check.pull(P, d, first)
    check.clean(P, d)
    before = _moved(check.engine(d))
    check.pull(P, d, first[:32] + prompt_of(31, 10))
    moved = _moved(check.engine(d)) - before
    whole = 4 * 4 * 32 * 4  # layers, heads, elements of a token's key and value, bytes
    if moved > 32 * whole:
        raise Mismatch(f"{moved} bytes were moved for 31 tokens")
    check.clean(P)
    return f"{moved} bytes for 31 of 63 tokens"


def _moved(engine: EngineProcess) -> float:
    text = call(engine.url, "GET", "/metrics").body["text"]
    return float(text.split("hawser_kv_bytes_transferred_total ")[1].split()[0])


def concurrent(check: Check) -> str:
    """Many requests at once, pulled and pushed."""
    check.begin(P, D)
    with ThreadPoolExecutor(8) as threads:
        jobs = [threads.submit(check.pull if i % 2 else check.push, P, D, prompt_of(40 + 3 * i, 20 + i)) for i in range(8)]
        for job in jobs:
            job.result()
    check.clean(P, D)
    return "8 requests"


def freed_blocks_are_reused(check: Check) -> str:
    """The prefill engine overwrites its blocks as soon as they are free: the decode engine must have them by then."""
    check.engine(P).plant("overwrite-freed")
    try:
        for i in range(4):
            check.pull(P, D, prompt_of(100, 30 + i))
    finally:
        check.engine(P).plant(None)
    check.clean(P, D)
    return "4 prompts"


def streaming(check: Check) -> str:
    """Streamed tokens are the same."""
    prompt = prompt_of(33, 40)
    request_id = check.request_id()
    params = check.prefill(P, prompt, request_id)
    body = {"prompt": prompt, "max_tokens": TOKENS, "stream": True, "kv_transfer_params": params}
    text = check.engine(D).complete(body, request_id).body["text"]
    tokens = [int(part.split("]")[0]) for part in text.split('"token_ids": [')[1:] if part[0] != "]"]
    if tokens != check.reference.run(prompt, P)[1] or not text.rstrip().endswith("data: [DONE]"):
        raise Mismatch(f"streamed were {tokens}")
    check.clean(P, D)
    return f"{len(tokens)} events"


def abort_at_decode(check: Check) -> str:
    """A client goes while its KV cache is awaited: both engines get their blocks back."""
    request_id = check.request_id()
    params = check.prefill(P, prompt_of(60, 41), request_id)
    check.engine(P).plant("deaf")
    try:
        try:
            check.engine(D).complete({"prompt": prompt_of(60, 41), "kv_transfer_params": params}, request_id, timeout=0.6)
        except ProcessError:
            pass  # that is the client's going
        else:
            raise Mismatch("there was an answer, although the prefill engine was deaf")
        check.clean(P, D)
    finally:
        check.engine(P).plant(None)
    check.pull(P, D, prompt_of(60, 42))
    return "blocks of both engines are free"


def abort_at_push(check: Check) -> str:
    """A decode engine waits for a push that nobody begins, and its client goes."""
    request_id = check.request_id()
    address = call(check.engine(P).url, "GET", "/health").body["kv_transfer"]
    asked = {**address, "do_remote_prefill": True, "transfer_id": request_id, "transfer_mode": "push"}
    try:
        check.engine(D).complete({"prompt": prompt_of(60, 43), "kv_transfer_params": asked}, request_id, timeout=0.6)
    except ProcessError:
        pass  # that is the client's going
    else:
        raise Mismatch("there was an answer, although nothing was pushed")
    check.clean(P, D)
    check.push(P, D, prompt_of(60, 44))
    return "blocks are free"


def not_pushed_in_time(check: Check) -> str:
    """A push that nobody begins is an error, not tokens."""
    request_id = check.request_id()
    address = call(check.engine(P).url, "GET", "/health").body["kv_transfer"]
    asked = {**address, "do_remote_prefill": True, "transfer_id": request_id, "transfer_mode": "push"}
    reply = check.engine(D).complete({"prompt": prompt_of(60, 45), "kv_transfer_params": asked}, request_id)
    check.refused(reply, "did not arrive")
    check.clean(D)
    return f"{reply.status}"


def expired(check: Check) -> str:
    """A decode engine comes when the lease is over."""
    p = replace(P, lease=0.5)
    request_id = check.request_id()
    params = check.prefill(p, prompt_of(60, 46), request_id)
    check.clean(p)
    reply = check.engine(D).complete({"prompt": prompt_of(60, 46), "kv_transfer_params": params}, request_id)
    check.refused(reply, "lease has expired")
    check.clean(D)
    return f"{reply.status}: {reply.body['error']['message']}"


def stale(check: Check) -> str:
    """The blocks are reused between the lending and the reading."""
    check.engine(P).plant("stale")
    try:
        request_id = check.request_id()
        params = check.prefill(P, prompt_of(60, 47), request_id)
        reply = check.engine(D).complete({"prompt": prompt_of(60, 47), "kv_transfer_params": params}, request_id)
        check.refused(reply, "STALE")
    finally:
        check.engine(P).plant(None)
    check.clean(P, D)
    return f"{reply.status}: {reply.body['error']['message'][:90]}"


def recomputed(check: Check) -> str:
    """Where that is the policy, a failed transfer is made good by computing here."""
    d = replace(D, policy="recompute")
    prompt = prompt_of(60, 48)
    check.engine(P).plant("stale")
    try:
        request_id = check.request_id()
        params = check.prefill(P, prompt, request_id)
        reply = check.engine(d).complete(
            {"prompt": prompt, "max_tokens": TOKENS, "kv_transfer_params": params}, request_id
        )
    finally:
        check.engine(P).plant(None)
    tokens = reply.body.get("choices", [{}])[0].get("token_ids")
    # It computes the prompt whole, and does not compute the last token again: other shapes, the same tokens.
    if reply.status != 200 or not reply.body.get("kv_recomputed") or tokens != check.reference.run(prompt, P)[1]:
        raise Mismatch(f"answered {reply.status}: {reply.body}")
    check.clean(P, d)
    return "the tokens of one process"


def other_model(check: Check) -> str:
    """Another model's KV cache is refused by the handshake."""
    p = replace(P, model=8)
    request_id = check.request_id()
    params = check.prefill(p, prompt_of(60, 49), request_id)
    reply = check.engine(D).complete({"prompt": prompt_of(60, 49), "kv_transfer_params": params}, request_id)
    check.refused(reply, "weights is 8 there, 7 here")
    check.clean(D)
    check.drop(p)
    return f"{reply.status}: {reply.body['error']['message'][-60:]}"


def other_prompt(check: Check) -> str:
    """The prompt of another length is refused before anything is moved."""
    request_id = check.request_id()
    params = check.prefill(P, prompt_of(60, 50), request_id)
    reply = check.engine(D).complete({"prompt": prompt_of(61, 50), "kv_transfer_params": params}, request_id)
    check.refused(reply, "of another prompt")
    reply = check.engine(D).complete({"prompt": prompt_of(60, 50), "kv_transfer_params": params}, request_id)
    if reply.status != 200:
        raise Mismatch(f"the right prompt was answered with {reply.status}: {reply.body}")
    check.clean(P, D)
    return "400"


def bad_parameters(check: Check) -> str:
    """Parameters that cannot be used are the client's fault."""
    engine = check.engine(D)
    for params in (
        {"do_remote_prefill": True},
        {"do_remote_prefill": True, "remote_host": "127.0.0.1", "remote_port": "5600", "remote_block_ids": [[1]]},
        {"do_remote_prefill": True, "remote_host": "127.0.0.1", "remote_port": 5600, "remote_block_ids": "1"},
        {"do_remote_prefill": True, "remote_host": "127.0.0.1", "remote_port": 5600, "transfer_mode": "tow"},
    ):
        reply = engine.complete({"prompt": [1, 2, 3], "kv_transfer_params": params}, check.request_id())
        check.refused(reply, "kv_transfer_params")
        if reply.status != 400:
            raise Mismatch(f"{params} was answered with {reply.status}")
    nobody = {"remote_host": "127.0.0.1", "remote_port": free_port(), "remote_block_ids": [[1]], "do_remote_prefill": True}
    check.refused(
        engine.complete({"prompt": [1, 2, 3], "kv_transfer_params": nobody}, check.request_id()), "does not answer the handshake"
    )
    check.clean(D)
    return "4 of 400, 1 of 500"


def killed(check: Check) -> str:
    """The prefill engine dies while it is waited for; another comes under its name and is used."""
    p = replace(P, number=1)
    first = check.engine(p)
    request_id = check.request_id()
    check.pull(p, D, prompt_of(60, 51))
    prompt = prompt_of(60, 52)
    params = check.prefill(p, prompt, request_id)
    first.plant("deaf")
    begun = time.monotonic()
    timer = threading.Timer(0.3, first.kill)
    timer.start()
    reply = check.engine(D).complete({"prompt": prompt, "kv_transfer_params": params}, request_id)
    took = time.monotonic() - begun
    timer.join()
    check.refused(reply, "")
    if took > 8:
        raise Mismatch(f"the error came after {took:.1f} s, not within the time for loading")
    check.replace(p, check.start(p, first.name, first.side_channel_port))
    # What the dead one had promised is refused, and what the new one promises is served.
    late = check.engine(D).complete({"prompt": prompt, "kv_transfer_params": params}, check.request_id()) if check.engine(p).url else reply
    check.refused(late, "restarted")
    check.pull(p, D, prompt_of(60, 53))
    check.clean(p, D)
    return f"an error after {took:.1f} s; its successor serves"


def control(p_fault: Optional[str], d_fault: Optional[str], push: bool = False) -> Callable[[Check], str]:
    """A negative control: with these faults the comparison must fail."""

    def run(check: Check) -> str:
        p, d = replace(P, number=9), replace(D, number=9)
        check.begin(p, d)
        transfer = check.push if push else check.pull
        transfer(p, d, prompt_of(60, 61))  # without the fault these engines agree
        check.engine(p).plant(p_fault)
        check.engine(d).plant(d_fault)
        try:
            transfer(p, d, prompt_of(60, 60))
        except Mismatch as e:
            if "checksums differ" not in str(e):
                raise Mismatch(f"something else went wrong: {e}") from None
            return f"noticed: {e}"
        finally:
            if d_fault == "no-wait":  # its blocks were given back while they were written to
                check.drop(d)
            else:
                check.engine(d).plant(None)
            check.engine(p).plant(None)
        raise Mismatch("the fault was not noticed: this check proves nothing")

    return run


@dataclass(frozen=True)
class Case:
    """One line of the verdict."""

    name: str
    run: Callable[[Check], str]
    short: bool = False
    needs: str = ""

    def lacks(self, backend: Backend) -> str:
        """What it needs and is not there."""
        if self.needs == "a GPU" and not backend.on_gpu:
            return self.needs
        if self.needs == "transformers" and backend.name != "transformers":
            return self.needs
        return ""


CASES = (
    Case("one process", baseline, True),
    Case("one process, by transformers alone", by_transformers_alone, True, "transformers"),
    Case("pull, partial and full blocks", pulls(P, D, LENGTHS), True),
    Case("push by layers", pushes(P, D, LENGTHS), True),
    Case("streaming", streaming, True),
    Case("8 requests at once", concurrent, True),
    Case("prefix hit", prefix_hit),
    Case("pull HND to NHD", pulls(P, replace(D, layout="NHD"))),
    Case("pull NHD to HND", pulls(replace(P, layout="NHD"), D), True),
    Case("pull split K/V to packed", pulls(replace(P, layout="SPLIT"), D)),
    Case("pull packed to split K/V", pulls(P, replace(D, layout="SPLIT"))),
    Case("pull all layers in a block to HND", pulls(replace(P, layout="CROSS"), D)),
    Case("pull bfloat16", pulls(replace(P, dtype="bfloat16"), replace(D, dtype="bfloat16"))),
    Case("pull, blocks of 16 to 64", pulls(P, replace(D, block_tokens=64), (53, 64, 130)), True),
    Case("pull, blocks of 64 to 16", pulls(replace(P, block_tokens=64), D, (53, 64, 130))),
    Case("pull, tensor parallel 2 to 1", pulls(replace(P, tp=2), D), True),
    Case("pull, tensor parallel 1 to 2", pulls(P, replace(D, tp=2))),
    Case("pull, pipeline 2 to 1", pulls(replace(P, pp=2), D)),
    Case("pull, TP 2 x PP 2 of NHD blocks of 8 to split blocks of 64",
         pulls(replace(P, tp=2, pp=2, layout="NHD", block_tokens=8), replace(D, layout="SPLIT", block_tokens=64))),
    Case("push, tensor parallel 2 to 1, blocks of 16 to 64", pushes(replace(P, tp=2), replace(D, block_tokens=64))),
    Case("push, pipeline 2 to 1", pushes(replace(P, pp=2), D)),
    Case("push, prompt in chunks of 24", pushes(replace(P, chunk=24), D, (53, 96))),
    Case("push, the device is late", late_device, True, "a GPU"),
    Case("pull over shm", pulls(replace(P, transports="shm"), replace(D, transports="shm")), False, "a GPU"),
    Case("pull over tcp", pulls(replace(P, transports="tcp"), replace(D, transports="tcp"))),
    Case("push over tcp", pushes(replace(P, transports="tcp"), replace(D, transports="tcp"))),
    Case("freed blocks are reused at once", freed_blocks_are_reused, True),
    Case("abort while the KV cache is awaited", abort_at_decode),
    Case("abort while a push is awaited", abort_at_push),
    Case("a push that does not come", not_pushed_in_time),
    Case("lease expired", expired, True),
    Case("blocks reused while they are read", stale, True),
    Case("failed transfer, recomputed", recomputed),
    Case("another model's KV cache", other_model),
    Case("another prompt", other_prompt),
    Case("bad parameters", bad_parameters),
    Case("prefill engine killed, and restarted", killed),
    Case("control: a block dropped", control(None, "drop-block"), True),
    Case("control: two blocks swapped", control(None, "swap-blocks"), True),
    Case("control: a byte flipped", control(None, "flip-byte"), True),
    Case("control: stale grant ignored", control("stale", "ignore-grant"), True),
    Case("control: no wait for the data", control(None, "no-wait"), True),
    Case("control: no wait for the device", control("no-stream-wait", None, push=True), True, "a GPU"),
)


def main() -> int:
    """Runs the cases; 0 if all are as they should be."""
    parser = argparse.ArgumentParser(prog="check", description=__doc__)
    parser.add_argument("--short", action="store_true", help="fewer cases")
    parser.add_argument("--only", help="cases whose name has this in it")
    parser.add_argument("--log", help="where the engines' logs go; default: a file that is kept if a case fails")
    parser.add_argument("--metadata", help="URL of Hawser's metadata service, for the agents")
    add_arguments(parser)
    options = parser.parse_args()
    try:
        backend = choose(options.backend, options.device)
    except BackendError as e:
        parser.error(str(e))
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # and end the engines, too
    folder = None if options.log else tempfile.mkdtemp(prefix="hawser-check-")
    log = options.log or os.path.join(str(folder), "engines.log")
    chosen = [c for c in CASES if (c.short or not options.short) and (not options.only or options.only in c.name)]
    print(f"      computed by {backend}", flush=True)
    check = Check(log, options.metadata, backend)
    failed = skipped = 0
    begun = time.monotonic()
    try:
        for case in chosen:
            if case.lacks(backend):
                skipped += 1
                print(f"skip  {case.name}: needs {case.lacks(backend)}", flush=True)
                continue
            try:
                print(f"ok    {case.name}: {case.run(check)}", flush=True)
            except (Mismatch, ProcessError) as e:
                failed += 1
                print(f"FAIL  {case.name}: {e}", flush=True)
    finally:
        check.close()
    ran = len(chosen) - skipped
    if not ran:
        print(f"FAIL  nothing was run: {skipped or 'no'} cases are chosen, and none of them can be run here", flush=True)
        return 1
    verdict = "all as it should be" if not failed else f"{failed} wrong; the engines' log is {log}"
    print(f"{'FAIL' if failed else 'ok  '}  {ran} cases in {time.monotonic() - begun:.0f} s: {verdict}", flush=True)
    if folder is not None and not failed:
        shutil.rmtree(folder)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
