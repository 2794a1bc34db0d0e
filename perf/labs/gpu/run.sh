#!/usr/bin/env bash
# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs the GPU tests, then the benchmark, out of the tarball that pack.sh made.
#
#   ./run.sh [tests|bench|all] [FOLDER]   # FOLDER for tests.txt and gpu-bench.json, default: the one it is called in
#
# Exit code: 0 fine, 1 a test failed, or the benchmark found no GPU.
set -uo pipefail
box="$(cd "$(dirname "$0")" && pwd)"
what="${1:-all}"
out="${2:-$PWD}"
mkdir -p "$out"
folders="$(printf '%s:' "$box"/classes/* "$box"/tests/*)"
java=("$box/java/bin/java" --enable-native-access=ALL-UNNAMED -Xmx4g -cp "$folders$box/lib/*")
nvidia-smi -L >"$out/gpus.txt" 2>&1 || echo "run.sh: nvidia-smi finds no GPU: $(head -1 "$out/gpus.txt")" >&2
rc=0
if [ "$what" != bench ]; then
  "${java[@]}" -ea org.junit.platform.console.ConsoleLauncher execute --disable-banner --disable-ansi-colors \
    --details=tree --config=junit.jupiter.execution.timeout.default=2m \
    --include-classname='.*(Cuda|FakeGpu|Kernel).*Test' --scan-classpath="$folders" >"$out/tests.txt" 2>&1 || rc=1
  tail -30 "$out/tests.txt"
fi
if [ "$what" != tests ]; then
  "${java[@]}" dev.hawser.memory.gpu.GpuBench "$out/gpu-bench.json" || rc=1
fi
exit $rc
