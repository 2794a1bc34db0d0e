# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""``python real_cuda.py SOCKET``: memory of a real GPU through the sidecar at a socket: read, written, lent, freed, and that
of PyTorch, where it is installed. Says what it did; exit code 0 if all of it was right."""

from __future__ import annotations

import ctypes as c
import os
import subprocess
import sys
import time
from typing import Any

import hawser
from hawser import BlockList

BYTES, BLOCK = 64 << 20, 64 << 10


class Gpu:
    """The first GPU that this process sees, by its driver."""

    def __init__(self) -> None:
        self.driver = c.CDLL("libcuda.so.1")
        self.driver.cuInit.argtypes = [c.c_uint]
        device, context = c.c_int(), c.c_void_p()
        self(self.driver.cuInit(0))
        self(self.driver.cuDeviceGet(c.byref(device), 0))
        self(self.driver.cuDevicePrimaryCtxRetain(c.byref(context), device))
        self(self.driver.cuCtxSetCurrent(context))

    def __call__(self, result: int) -> None:
        assert result == 0, f"CUDA error {result}"

    def allocate(self, nbytes: int) -> int:
        address = c.c_uint64()
        self(self.driver.cuMemAlloc_v2(c.byref(address), c.c_size_t(nbytes)))
        return address.value

    def put(self, address: int, content: bytes) -> None:
        self(self.driver.cuMemcpyHtoD_v2(c.c_uint64(address), content, c.c_size_t(len(content))))

    def get(self, address: int, nbytes: int) -> bytes:
        content = c.create_string_buffer(nbytes)
        self(self.driver.cuMemcpyDtoH_v2(content, c.c_uint64(address), c.c_size_t(nbytes)))
        return content.raw

    def free(self, address: int) -> None:
        self(self.driver.cuMemFree_v2(c.c_uint64(address)))


def pattern(seed: int, nbytes: int) -> bytes:
    """Bytes that depend on their place."""
    return b"".join(((seed << 40) + i).to_bytes(8, "little") for i in range(nbytes // 8))


def told(call: Any, kind: type, word: str) -> None:
    try:
        call()
    except kind as e:
        assert word in str(e), e
        print(f"refused: {e}")
    else:
        raise AssertionError(f"not refused: {word}")


def raw(transport: str) -> None:
    """A driver's own allocation, with an agent of the host beside, in the same sidecar."""
    gpu = Gpu()
    whole = gpu.allocate(2 * BYTES)
    address = whole + BYTES  # within its allocation
    with hawser.Agent(f"gpu-{transport}", transports=transport) as owner, hawser.Agent(
        f"host-{transport}", transports=transport
    ) as other:
        region = owner.register((address, BYTES, "cuda:0"), "kv")
        assert (region.address, region.device) == (address, "cuda:0"), region
        host = other.allocate(BYTES, "host")
        there = other.add_peer(owner.metadata())
        here = owner.add_peer(other.metadata())
        count = BYTES // BLOCK
        turned = list(reversed(range(count)))

        content = pattern(1, BYTES)
        gpu.put(address, content)
        began = time.monotonic()
        other.read(host.blocks(BLOCK), there, there.region("kv").blocks(BLOCK), remote_indices=turned).wait(30)
        first = time.monotonic() - began
        got = bytes(host.buffer())
        assert all(got[i * BLOCK : (i + 1) * BLOCK] == content[t * BLOCK : (t + 1) * BLOCK] for i, t in enumerate(turned))

        content = pattern(2, BYTES)
        host.buffer()[:] = content
        other.write(host.blocks(BLOCK), there, there.region("kv").blocks(BLOCK), flush=True).wait(30)
        assert gpu.get(address, BYTES) == content

        content = pattern(3, BYTES)
        host.buffer()[:] = content
        local = BlockList.strided(address, (count,), (BLOCK,), BLOCK, "cuda:0")
        prepared = owner.prepare("READ", local, here, here.region("host").blocks(BLOCK))
        best = 1e9
        for _ in range(5):
            began = time.monotonic()
            prepared.post().wait(30)
            best = min(best, time.monotonic() - began)
        assert gpu.get(address, BYTES) == content
        lent = other.accept(owner.grant(local).to_bytes())
        host.buffer()[:] = bytes(BYTES)
        other.read(host.blocks(BLOCK), there, lent.blocks, grant=lent).wait(30)
        assert bytes(host.buffer()) == content
        region.close()
        gpu.free(whole)  # nobody is at it any more
        again = gpu.allocate(2 * BYTES)
        owner.register((again, BYTES, "cuda:0")).close()
        gpu.free(again)
    print(f"{transport}: first {first * 1e3:.1f} ms, best {BYTES / best / 1e9:.1f} GB/s")


TORCH = """
import sys, torch, hawser
from hawser import BlockList
cache = torch.arange(1 << 20, dtype=torch.int64, device="cuda").reshape(64, -1)
torch.cuda.synchronize()
with hawser.Agent("torch") as owner, hawser.Agent("other") as other:
    region = owner.register(cache, "kv")
    assert region.address == cache.data_ptr()
    host = other.allocate(cache.numel() * 8, "host")
    there, block = other.add_peer(owner.metadata()), cache.numel() * 8 // 64
    other.read(host.blocks(block), there, there.region("kv").blocks(block)).wait(30)
    mine = torch.frombuffer(host.buffer(), dtype=torch.int64).reshape(64, -1)
    assert torch.equal(mine, cache.cpu())
    mine += 5
    here = owner.add_peer(other.metadata())
    owner.read(BlockList.of_tensor(cache), here, here.region("host").blocks(block)).wait(30)
    assert torch.equal(cache.cpu(), mine)
print("torch", torch.__version__)
"""


def torch(path: str) -> None:
    """Tensors, and allocators of PyTorch whose memory nobody else can open."""
    try:
        import torch as _
    except ImportError:
        print("torch is not installed here: its tensors were not tried")
        return
    for setting, words in (
        ("", "torch "),
        ("expandable_segments:True", "expandable_segments:False"),
        ("backend:cudaMallocAsync", "backend:native"),
    ):
        environment = {**os.environ, "HAWSER_PYTHON_SIDECAR": path, "PYTORCH_CUDA_ALLOC_CONF": setting}
        done = subprocess.run([sys.executable, "-c", TORCH], capture_output=True, text=True, env=environment, timeout=120)
        said = (done.stdout + done.stderr).strip().splitlines()[-1:]
        assert words in "".join(said) and (done.returncode == 0) == (setting == ""), (setting, done.stdout, done.stderr)
        print(f"{setting or 'the usual allocator'}: {said[0][:160]}")


def main() -> int:
    """The command."""
    path = sys.argv[1]
    os.environ["HAWSER_PYTHON_SIDECAR"] = path
    for transport in ("gpu-ipc", "tcp"):
        raw(transport)
    assert "libjvm" not in open("/proc/self/maps").read()
    with hawser.Agent("a") as agent:
        told(lambda: agent.register((1 << 40, 4096, "cuda:0")), hawser.InvalidArgument, "freed, or is the host's")
    torch(path)
    print("fine")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
