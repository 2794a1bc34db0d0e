# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""An engine behind HTTP, in the style of OpenAI's completions: ``python -m hawser_disagg.server --help``."""

from __future__ import annotations

import argparse
import base64
import json
import logging
import os
import queue
import signal
import socket
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Optional

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # equal bits in every process, and no more threads than it takes

if __name__ == "__main__":
    from . import needs

    needs.numpy()

from hawser_vllm.errors import ParametersError  # noqa: E402
from hawser_vllm.params import Remote, transfer_id  # noqa: E402
from hawser_vllm.stats import COUNTERS, LISTS  # noqa: E402

from .arrays import DTYPES  # noqa: E402
from .backend import BackendError, add_arguments, choose  # noqa: E402
from .engine import Engine, EngineConfig, Outcome, Request  # noqa: E402
from .model import LlamaShape  # noqa: E402
from .pool import LAYOUTS  # noqa: E402

logger = logging.getLogger("hawser.disagg")

_MAX_BODY = 8 << 20
_REMEMBERED = 256


class BadRequest(Exception):
    """What a client sent cannot be used."""


def tokenize(text: str, vocab: int) -> list[int]:
    """Bytes are tokens."""
    return [b % vocab for b in text.encode()]


def detokenize(token: int) -> str:
    """Printable ASCII is itself, the rest is named."""
    return chr(token) if 32 <= token < 127 else f"<{token}>"


class Server:
    """HTTP around an engine. Each connection has a thread, which only waits for tokens."""

    def __init__(self, engine: Engine, host: str, port: int, *, debug: bool, request_timeout: float) -> None:
        """Binds; port 0 takes a free one. With debug, tests can look inside and plant faults."""
        self.engine = engine
        self.debug = debug
        self.request_timeout = request_timeout
        self.draining = False
        self.totals: dict[str, float] = {}
        self._requests: dict[str, Request] = {}
        self._lock = threading.Lock()
        self._busy = 0
        outer = self

        class Handler(_Handler):
            server_state = outer

        self._http = ThreadingHTTPServer((host, port), Handler)
        self._http.daemon_threads = True
        self.port: int = self._http.server_address[1]

    def serve(self) -> None:
        """Serves until :meth:`stop`."""
        self._http.serve_forever(poll_interval=0.05)

    def stop(self, patience: float) -> None:
        """Takes no more requests, waits for those that are here, and ends."""
        self.draining = True
        deadline = time.monotonic() + patience
        idle = threading.Event()
        while self._busy and time.monotonic() < deadline:
            idle.wait(0.02)
        self.engine.wait_idle(max(0.0, deadline - time.monotonic()))
        self._http.shutdown()
        self._http.server_close()
        self.engine.close()

    def enter(self, request: Request) -> None:
        """A request begins. Those before it are remembered for a while, for tests."""
        with self._lock:
            self._busy += 1
            if self.debug:
                self._requests[request.request_id] = request
                while len(self._requests) > _REMEMBERED:
                    del self._requests[next(iter(self._requests))]

    def leave(self) -> None:
        """A request has been answered."""
        with self._lock:
            self._busy -= 1

    def remembered(self, request_id: str) -> Optional[Request]:
        """A request, by the id that the client gave."""
        with self._lock:
            return self._requests.get(request_id)

    def health(self) -> dict[str, Any]:
        """Whether it takes requests, and where its KV cache is reached, which a proxy needs for pushes."""
        status = "draining" if self.draining else "ok"
        return {"status": status, "kv_transfer": self.engine.scheduler.scheduler.address()}

    def metrics(self) -> str:
        """Prometheus' text, with the names of vLLM's connector."""
        for _, worker in self.engine.workers:
            for name, values in worker.worker.kv.stats.take().items():
                self.totals[name] = self.totals.get(name, 0) + sum(values)
                if name == LISTS[0]:
                    self.totals["transfers"] = self.totals.get("transfers", 0) + len(values)
        lines = [f"hawser_kv_{name}_total {self.totals.get(name, 0)}" for name in ("transfers", *LISTS, *COUNTERS)]
        lines += [f"hawser_engine_{name} {value}" for name, value in self.engine.state().items()]
        return "\n".join(lines) + "\n"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_state: Server

    def log_message(self, format: str, *args: Any) -> None:
        logger.debug(format, *args)

    def do_GET(self) -> None:  # noqa: N802
        state = self.server_state
        path, _, query = self.path.partition("?")
        if path == "/health":
            self._json(503 if state.draining else 200, state.health())
        elif path == "/v1/models":
            model = f"random-llama-{state.engine.config.model.seed}"
            self._json(200, {"object": "list", "data": [{"id": model, "object": "model"}]})
        elif path == "/metrics":
            self._answer(200, "text/plain; version=0.0.4", state.metrics().encode())
        elif state.debug and path == "/debug/request":
            self._debug_request(query)
        elif state.debug and path == "/debug/state":
            self._json(200, {**state.engine.state(), "strays": state.engine.strays()})
        else:
            self._error(404, f"there is no {path} here")

    def _debug_request(self, request_id: str) -> None:
        request = self.server_state.remembered(request_id)
        if request is None:
            self._error(404, f"request {request_id} is not known")
            return
        logits = None if request.first_logits is None else base64.b64encode(request.first_logits).decode()
        self._json(200, {"logits": logits, "digests": request.digests, "tokens": request.tokens, "error": request.error})

    def do_POST(self) -> None:  # noqa: N802
        try:
            length = int(self.headers.get("Content-Length") or 0)
            if length > _MAX_BODY:
                self.close_connection = True
                raise BadRequest(f"the body has {length} bytes; at most {_MAX_BODY} are taken")
            body = json.loads(self.rfile.read(length) or b"{}")
            if not isinstance(body, dict):
                raise BadRequest("the body is no JSON object")
        except (ValueError, BadRequest) as e:
            self._error(400, f"the body cannot be read: {e}")
            return
        if self.path == "/v1/completions":
            self._completions(body)
        elif self.server_state.debug and self.path == "/debug/fault":
            self._fault(body)
        else:
            self._error(404, f"there is no {self.path} here")

    def _fault(self, body: dict[str, Any]) -> None:
        from .faults import plant

        try:
            plant(self.server_state.engine, body.get("fault"))
        except ValueError as e:
            self._error(400, str(e))
            return
        self._json(200, {"fault": body.get("fault")})

    # ------------------------------------------------------------------------------------------ completions

    def _completions(self, body: dict[str, Any]) -> None:
        state = self.server_state
        if state.draining:
            self._error(503, "this server is about to stop; send the request to another")
            return
        request_id = self.headers.get("X-Request-Id") or f"cmpl-{uuid.uuid4().hex}"
        try:
            request = self._request(body, request_id)
        except (BadRequest, ParametersError) as e:
            self._error(400, str(e), request_id)
            return
        state.enter(request)
        try:
            state.engine.submit(request)
            if body.get("stream"):
                self._stream(request, request_id)
            else:
                self._whole(request, request_id)
        except (BrokenPipeError, ConnectionResetError):
            state.engine.abort(request)
            self.close_connection = True
        finally:
            state.leave()

    def _request(self, body: dict[str, Any], request_id: str) -> Request:
        config = self.server_state.engine.config
        prompt = body.get("prompt")
        if isinstance(prompt, str):
            tokens = tokenize(prompt, config.model.vocab)
        elif isinstance(prompt, list) and all(isinstance(t, int) and 0 <= t < config.model.vocab for t in prompt):
            tokens = list(prompt)
        else:
            raise BadRequest(f"prompt: give a text, or token ids below {config.model.vocab}")
        most = body.get("max_tokens", body.get("max_completion_tokens", 16))
        if not isinstance(most, int) or not 1 <= most <= 4096:
            raise BadRequest(f"max_tokens: {most!r} is no number from 1 to 4096")
        capacity = (config.blocks - 1) * config.block_tokens
        if not tokens or len(tokens) + most > capacity:
            raise BadRequest(f"prompt: {len(tokens)} tokens and {most} to come; from 1 to {capacity} together fit the cache")
        params = body.get("kv_transfer_params")
        if params is not None and not isinstance(params, dict):
            raise BadRequest("kv_transfer_params: give an object")
        if params and params.get("do_remote_prefill"):
            remote = Remote.of(params, request_id)
            if remote.tokens is not None and remote.tokens != len(tokens):
                raise BadRequest(
                    f"kv_transfer_params: the keys of {remote.tokens} tokens are offered for a prompt of {len(tokens)}:"
                    " the prefill was of another prompt"
                )
        elif params and params.get("do_remote_decode"):
            transfer_id(params, request_id)
        # An engine's own id is never the client's: the same request may come again.
        return Request(request_id if self.server_state.debug else f"{request_id}-{uuid.uuid4().hex[:8]}", tokens, most, params)

    def _next(self, request: Request, deadline: float) -> Any:
        """The next token, or the outcome; hears of a client that has gone."""
        while True:
            try:
                return request.out.get(timeout=0.1)
            except queue.Empty:
                if self._client_gone():
                    raise ConnectionResetError from None
                if time.monotonic() > deadline:
                    self.server_state.engine.abort(request)
                    return Outcome("error", f"no token came within {self.server_state.request_timeout} s", None, False)

    def _client_gone(self) -> bool:
        try:
            return self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    def _whole(self, request: Request, request_id: str) -> None:
        deadline = time.monotonic() + self.server_state.request_timeout
        tokens: list[int] = []
        while True:
            item = self._next(request, deadline)
            if isinstance(item, Outcome):
                break
            tokens.append(item)
        if item.error is not None and not item.recomputed:
            self._error(500, item.error, request_id)
            return
        answer = self._chunk(request_id, tokens, item.finish_reason)
        answer["object"] = "text_completion"
        answer["usage"] = {
            "prompt_tokens": len(request.prompt_token_ids),
            "completion_tokens": len(tokens),
            "total_tokens": len(request.prompt_token_ids) + len(tokens),
        }
        answer["kv_transfer_params"] = item.kv_transfer_params
        if item.recomputed:
            answer["kv_recomputed"] = True
        self._json(200, answer, request_id)

    def _stream(self, request: Request, request_id: str) -> None:
        deadline = time.monotonic() + self.server_state.request_timeout
        item = self._next(request, deadline)
        if isinstance(item, Outcome) and item.error is not None:
            self._error(500, item.error, request_id)  # nothing was sent yet: the status can still tell it
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("X-Request-Id", request_id)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while not isinstance(item, Outcome):
            self._event(json.dumps(self._chunk(request_id, [item], None)))
            item = self._next(request, deadline)
        if item.error is not None and not item.recomputed:
            self._event(json.dumps({"error": {"message": item.error, "type": "server_error", "code": 500}}))
        else:
            self._event(json.dumps(self._chunk(request_id, [], item.finish_reason)))
            self._event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def _event(self, data: str) -> None:
        event = f"data: {data}\n\n".encode()
        self.wfile.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")
        self.wfile.flush()

    def _chunk(self, request_id: str, tokens: list[int], finish_reason: Optional[str]) -> dict[str, Any]:
        text = "".join(detokenize(token) for token in tokens)
        choice = {"index": 0, "text": text, "token_ids": tokens, "logprobs": None, "finish_reason": finish_reason}
        model = f"random-llama-{self.server_state.engine.config.model.seed}"
        return {"id": request_id, "object": "text_completion", "model": model, "choices": [choice]}

    # --------------------------------------------------------------------------------------------- answers

    def _error(self, status: int, message: str, request_id: Optional[str] = None) -> None:
        kind = "invalid_request_error" if status < 500 else "server_error"
        self._json(status, {"error": {"message": message, "type": kind, "code": status}}, request_id)

    def _json(self, status: int, value: Any, request_id: Optional[str] = None) -> None:
        self._answer(status, "application/json", json.dumps(value).encode(), request_id)

    def _answer(self, status: int, kind: str, body: bytes, request_id: Optional[str] = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if request_id is not None:
            self.send_header("X-Request-Id", request_id)
        self.end_headers()
        self.wfile.write(body)


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="hawser_disagg.server", description="A small random Llama behind HTTP.")
    parser.add_argument("--engine-id", default="engine")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one, which is printed")
    parser.add_argument("--side-channel-port", type=int, required=True, help="where other engines ask for the handshake")
    parser.add_argument("--metadata", help="URL of Hawser's metadata service")
    parser.add_argument("--transports", help="those to use, such as shm or tcp; default: all that work")
    add_arguments(parser)
    parser.add_argument("--layout", choices=LAYOUTS, default="HND")
    parser.add_argument("--dtype", choices=DTYPES, default="float32")
    parser.add_argument("--blocks", type=int, default=256)
    parser.add_argument("--block-tokens", type=int, default=16)
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--pp", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1, help="of the order of the blocks")
    parser.add_argument("--model-seed", type=int, default=7)
    parser.add_argument("--chunk-tokens", type=int, default=0, help="of a prompt in a step; 0: all")
    parser.add_argument("--lease", type=float, default=30.0, help="seconds that blocks are held for a decode engine")
    parser.add_argument("--load-timeout", type=float, default=30.0)
    parser.add_argument("--load-failure-policy", choices=("fail", "recompute"), default="fail")
    parser.add_argument("--no-prefix-cache", action="store_true")
    parser.add_argument("--request-timeout", type=float, default=120.0)
    parser.add_argument("--debug", action="store_true", help="lets tests look inside and plant faults")
    parser.add_argument("--digest-unit", type=int, default=0, help="with --debug: tokens of a checksum")
    return parser


def main() -> int:
    """Runs a server until SIGTERM or SIGINT."""
    options = arguments().parse_args()
    try:
        backend = choose(options.backend, options.device)
    except BackendError as e:
        print(f"error: {e}", file=sys.stderr)
        return 2
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format=f"%(asctime)s {options.engine_id} %(levelname)s %(message)s")
    extra: dict[str, Any] = {
        "side_channel_port": options.side_channel_port,
        "lease_seconds": options.lease,
        "load_timeout_seconds": options.load_timeout,
        "agent_name": options.engine_id,
        "compatibility": {"weights": options.model_seed, "computed by": backend.name},
    }
    if options.metadata:
        extra["metadata"] = options.metadata
    if options.transports:
        extra["transports"] = options.transports
    engine = Engine(
        EngineConfig(
            engine_id=options.engine_id,
            model=LlamaShape(seed=options.model_seed),
            backend=backend,
            layout=options.layout,
            dtype=options.dtype,
            blocks=options.blocks,
            block_tokens=options.block_tokens,
            tp=options.tp,
            pp=options.pp,
            seed=options.seed,
            chunk_tokens=options.chunk_tokens,
            load_failure_policy=options.load_failure_policy,
            reuse_prefixes=not options.no_prefix_cache,
            digest_unit=options.digest_unit if options.debug else 0,
            extra=extra,
        )
    )
    server = Server(engine, options.host, options.port, debug=options.debug, request_timeout=options.request_timeout)

    def stop(_signal: int, _frame: Any) -> None:
        threading.Thread(target=server.stop, args=(30.0,), name="stop").start()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    print(f"ready http://{options.host}:{server.port}", flush=True)
    server.serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
