#!/usr/bin/env bash
# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0
#
# Compiles kernels.cu to the kernels.ptx beside it, which is checked in: users need no CUDA toolkit. Run it after each
# change of the source; a unit test fails while the two disagree.
# Needs nvcc 12 or 13 (on the PATH, or named by NVCC).
set -euo pipefail
cd "$(dirname "$0")/../../../memory-registry/src/main/resources/dev/hawser/memory/gpu"
nvcc="${NVCC:-nvcc}"
command -v "$nvcc" >/dev/null || {
  echo "ptx.sh: no nvcc; install NVIDIA's CUDA toolkit, or set NVCC to its nvcc" >&2
  exit 2
}
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
"$nvcc" -ptx -arch=compute_75 -fmad=false kernels.cu -o "$work/raw.ptx"
{
  echo "// Made from kernels.cu by ptx.sh; do not edit."
  echo "// kernels.cu SHA-256: $(sha256sum kernels.cu | cut -d' ' -f1)"
  # nvcc names the newest PTX version that it knows, which older drivers refuse. Nothing in these kernels is newer than 7.0.
  sed -e 's/^\.version .*/.version 7.0/' -e '/^\/\/ Compiler Build ID/d' "$work/raw.ptx"
} >"$work/kernels.ptx"
ptxas="$(dirname "$(command -v "$nvcc")")/ptxas"
if [ -x "$ptxas" ]; then
  for arch in sm_75 sm_80 sm_90 sm_100; do
    "$ptxas" -arch="$arch" "$work/kernels.ptx" -o /dev/null
  done
fi
mv "$work/kernels.ptx" kernels.ptx
