#!/usr/bin/env bash
# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs the GPU tests and the benchmarks out of the tarball that pack.sh made.
#
#   ./run.sh [PART]... [FOLDER]
#
# Parts, each with a bound on its time, in the order in which they are named (all of them, in this order, if none is):
#   tests    the GPU tests                                                        tests.txt
#   staged   memory of the GPU over tcp and shm, in turn with the host's          staged.jsonl, staged.txt
#   ipc      gpu-ipc beside the driver's own copies                               ipc.json, ipc-host.json
#   ops      copies, kernels and posting within one process                       ops.json
# FOLDER is where their files go, one that contains a slash; default: the folder it is called in. What a part writes is
# complete when the part is, so that a run that is cut off leaves something.
# ROUNDS (3) and SECONDS_A_PART (150) may be set. Exit code: 0 fine, 1 a part failed or ran out of time.
set -uo pipefail
box="$(cd "$(dirname "$0")" && pwd)"
out="$PWD"
parts=()
for word in "$@"; do
  case $word in
    */*) out="$word" ;;
    tests | staged | ipc | ops) parts+=("$word") ;;
    all) ;;
    *)
      echo "run.sh: '$word' is neither a part (tests, staged, ipc, ops) nor a folder (with a slash)" >&2
      exit 2
      ;;
  esac
done
[ ${#parts[@]} -gt 0 ] || parts=(tests staged ipc ops)
mkdir -p "$out"
bound="${SECONDS_A_PART:-150}"
rounds="${ROUNDS:-3}"

main="$(printf '%s:' "$box"/classes/*)"
tests="$(printf '%s:' "$box"/tests/*)"
options=(--enable-native-access=ALL-UNNAMED -Xmx4g)
nvidia-smi -L >"$out/gpus.txt" 2>&1 || echo "run.sh: nvidia-smi finds no GPU: $(head -1 "$out/gpus.txt")" >&2

run() { # what can run out of time
  timeout --kill-after=5 "$bound" "$box/java/bin/java" "${options[@]}" "$@"
}

hawser() { bound=30 run -XX:+UseSerialGC -cp "$main$box/lib/*" dev.hawser.perf.Hawser "$@"; }

tests() {
  run -cp "$main$tests$box/lib/*" -ea org.junit.platform.console.ConsoleLauncher execute --disable-banner \
    --disable-ansi-colors --details=tree --config=junit.jupiter.execution.timeout.default=2m \
    --include-classname='.*(Cuda|FakeGpu|Kernel|LostDevice).*Test' --scan-classpath="$tests" >"$out/tests.txt" 2>&1
  local rc=$?
  tail -13 "$out/tests.txt"
  return $rc
}

# In turn, for the speed of a machine's memory changes from minute to minute.
staged() {
  local round transport memory rc=0
  for ((round = 1; round <= rounds; round++)); do
    for transport in tcp shm; do
      for memory in cuda:0 host; do
        hawser bench --transport "$transport" --initiator-memory "$memory" --target-memory "$memory" --sizes 1M,64M \
          --duration 500ms --verify sample --json "$out/row.json" >>"$out/staged.txt" 2>&1 || rc=1
        tr -d '\n' <"$out/row.json" >>"$out/staged.jsonl"
        echo >>"$out/staged.jsonl"
        rm -f "$out/row.json"
      done
    done
  done
  grep -vE '^ *$' "$out/staged.txt" | tail -120 | cut -c1-120
  return $rc
}

ipc() {
  local rc=0
  hawser bench --transport gpu-ipc --initiator-memory cuda:0 --target-memory host --sizes 64M --verify sample \
    --duration 300ms --json "$out/ipc-host.json" || rc=1
  hawser bench --transport gpu-ipc --initiator-memory cuda:0 --target-memory cuda:0 --sizes 1M,64M,1G --verify sample \
    --compare --pairs 3 --duration 300ms --json "$out/ipc.json" || rc=1
  return $rc
}

ops() { run -cp "$main$tests$box/lib/*" dev.hawser.memory.gpu.GpuBench "$out/ops.json"; }

rc=0
for part in "${parts[@]}"; do
  begun=$SECONDS
  "$part" || {
    echo "run.sh: $part failed, or did not end within $bound s; see $out" >&2
    rc=1
  }
  echo "run.sh: $part took $((SECONDS - begun)) s"
done
exit $rc
