#!/usr/bin/env bash
# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs the GPU tests and the benchmarks out of the tarball that pack.sh made, and holds the figures against their bars.
#
#   ./run.sh [PART]... [FOLDER]
#
# Parts, each with a bound on its time, in the order in which they are named (all but `two`, in this order, if none is):
#   ipc      gpu-ipc beside the driver's own copies                               ipc.json, ipc-host.json
#   blocks   shuffled blocks over gpu-ipc beside kernel and batch                 blocks4.json, blocks1.json
#   staged   memory of the GPU over tcp and shm, in turn with the host's          staged.jsonl, staged.txt
#   chunks   memory of the GPU over tcp, by the smallest chunk                    chunks.jsonl, chunks.txt
#   tests    the GPU tests                                                        tests.txt
#   ops      copies, kernels and posting within one process                       ops.json
#   two      what needs two GPUs: its tests, and cuda:0 to cuda:1 by gpu-ipc, tcp and shm
#                                                    two-tests.txt, two.json, two-blocks.json, two-staged.jsonl, topology.txt
# FOLDER is where their files go, one that contains a slash; default: the folder it is called in. What a part writes is
# complete when the part is, so that a run that is cut off leaves something. At the end, and in verdicts.txt: each figure
# that a bar was set for, with its ratio and whether it holds.
# ROUNDS (3), and TOTAL (525), the seconds that all parts together may take, may be set.
# Exit code: 0 fine, 1 a part failed or ran out of time. A bar that is missed is a figure, no failure.
set -uo pipefail
box="$(cd "$(dirname "$0")" && pwd)"
out="$PWD"
parts=()
for word in "$@"; do
  case $word in
    */*) out="$word" ;;
    ipc | blocks | staged | tests | chunks | ops | two) parts+=("$word") ;;
    all) ;;
    *)
      echo "run.sh: '$word' is neither a part (ipc, blocks, staged, tests, chunks, ops, two) nor a folder (with a slash)" >&2
      exit 2
      ;;
  esac
done
[ ${#parts[@]} -gt 0 ] || parts=(ipc blocks staged chunks tests ops)
mkdir -p "$out"
total="${TOTAL:-525}"
rounds="${ROUNDS:-3}"

main="$(printf '%s:' "$box"/classes/*)"
tests="$(printf '%s:' "$box"/tests/*)"
options=(--enable-native-access=ALL-UNNAMED -Xmx4g)
nvidia-smi -L >"$out/gpus.txt" 2>&1 || echo "run.sh: nvidia-smi finds no GPU: $(head -1 "$out/gpus.txt")" >&2
gpus="$(grep -c '^GPU ' "$out/gpus.txt")"

# What can run out of time: run SECONDS ARGUMENTS…
run() {
  local bound=$1 left=$((total - SECONDS))
  shift
  [ "$left" -ge 3 ] || {
    echo "run.sh: the $total s of TOTAL are over" >&2
    return 124
  }
  timeout --kill-after=5 "$((bound < left ? bound : left))" "$box/java/bin/java" "${options[@]}" "$@"
}

hawser() {
  local bound=$1
  shift
  run "$bound" -XX:+UseSerialGC -cp "$main$box/lib/*" dev.hawser.perf.Hawser "$@"
}

# run_tests SECONDS CLASSES FILE: those whose names match.
run_tests() {
  run "$1" -cp "$main$tests$box/lib/*" -ea org.junit.platform.console.ConsoleLauncher execute --disable-banner \
    --disable-ansi-colors --details=tree --config=junit.jupiter.execution.timeout.default=2m \
    --include-classname="$2" --scan-classpath="$tests" >"$3" 2>&1
  local rc=$?
  grep -E '\[X\]' "$3" | cut -c1-200 | head -20
  tail -13 "$3" | grep -E 'tests (found|skipped|successful|failed)'
  return $rc
}

tests() { run_tests 240 '.*(Cuda|FakeGpu|Kernel|LostDevice).*Test' "$out/tests.txt"; }

# bench_line FILE BENCH-ARGUMENTS…: one line of JSON behind the others; what it printed goes to the .txt beside.
bench_line() {
  local file=$1 rc=0
  shift
  rm -f "$out/row.json"
  hawser 30 bench "$@" --verify sample --json "$out/row.json" >>"${file%.jsonl}.txt" 2>&1 || rc=1
  [ -s "$out/row.json" ] && tr -d '\n' <"$out/row.json" >"$out/row.line"
  rm -f "$out/row.json"
  return $rc
}

# staged_turns FILE ROUNDS OTHER-DEVICE: in turn, for the speed of a machine's memory changes from minute to minute.
staged_turns() {
  local file=$1 times=$2 other=$3 round transport memory rc=0
  for ((round = 1; round <= times; round++)); do
    for transport in tcp shm; do
      for memory in cuda host; do
        local from=host to=host
        [ "$memory" = host ] || { from=cuda:0 to=$other; }
        if bench_line "$file" --transport "$transport" --initiator-memory "$from" --target-memory "$to" \
          --sizes 1M,64M --duration 500ms; then
          cat "$out/row.line" >>"$file"
          echo >>"$file"
        else
          rc=1
          tail -3 "${file%.jsonl}.txt" >&2
        fi
      done
    done
  done
  return $rc
}

staged() { staged_turns "$out/staged.jsonl" "$rounds" cuda:0; }

chunks() {
  local round chunk rc=0 memory
  for ((round = 1; round <= 2; round++)); do
    for chunk in 65536 131072 262144 524288 1048576 host; do
      memory=cuda:0
      [ "$chunk" != host ] || memory=host
      if HAWSER_TCP_STAGED_CHUNK_BYTES="${chunk/host/1048576}" bench_line "$out/chunks.jsonl" --transport tcp \
        --initiator-memory "$memory" --target-memory "$memory" --sizes 1M --duration 400ms; then
        echo "{\"chunk\":\"$chunk\",\"bench\":$(cat "$out/row.line")}" >>"$out/chunks.jsonl"
      else
        rc=1
      fi
    done
  done
  return $rc
}

# compared SECONDS FILE BENCH-ARGUMENTS…: gpu-ipc beside the driver's copies.
compared() {
  local bound=$1 file=$2
  shift 2
  hawser "$bound" bench --transport gpu-ipc --verify sample --compare --pairs 3 --duration 300ms --json "$file" "$@"
}

ipc() {
  local rc=0
  hawser 30 bench --transport gpu-ipc --initiator-memory cuda:0 --target-memory host --sizes 64M --verify sample \
    --duration 300ms --json "$out/ipc-host.json" || rc=1
  compared 75 "$out/ipc.json" --initiator-memory cuda:0 --target-memory cuda:0 --sizes 1M,64M,1G || rc=1
  return $rc
}

blocks() {
  local rc=0
  compared 60 "$out/blocks4.json" --initiator-memory cuda:0 --target-memory cuda:0 --block-bytes 4K --batch 32768 ||
    rc=1
  hawser 30 bench --transport gpu-ipc --initiator-memory cuda:0 --target-memory cuda:0 --block-bytes 1K --batch 32768 \
    --verify sample --duration 500ms --json "$out/blocks1.json" || rc=1
  return $rc
}

ops() { run 90 -cp "$main$tests$box/lib/*" dev.hawser.memory.gpu.GpuBench "$out/ops.json" | cut -c1-150; }

two() {
  local rc=0
  [ "$gpus" -ge 2 ] || {
    echo "run.sh: 'two' needs two GPUs, here are $gpus" >&2
    return 1
  }
  { nvidia-smi topo -m; nvidia-smi topo -p2p r; } >"$out/topology.txt" 2>&1
  head -12 "$out/topology.txt" | cut -c1-120
  run_tests 100 '.*TwoGpus.*Test' "$out/two-tests.txt" || rc=1
  grep '^gpu-ipc ' "$out/two-tests.txt"
  compared 75 "$out/two.json" --initiator-memory cuda:0 --target-memory cuda:1 --sizes 1M,64M,1G || rc=1
  compared 40 "$out/two-blocks.json" --initiator-memory cuda:0 --target-memory cuda:1 --block-bytes 4K --batch 32768 ||
    rc=1
  staged_turns "$out/two-staged.jsonl" 1 cuda:1 || rc=1
  return $rc
}

rc=0
for part in "${parts[@]}"; do
  begun=$SECONDS
  "$part" || {
    echo "run.sh: $part failed, or did not end in time; see $out" >&2
    rc=1
  }
  echo "run.sh: $part took $((SECONDS - begun)) s"
done
rm -f "$out/row.line"
total=$((SECONDS + 20))
run 20 -cp "$main$tests$box/lib/*" dev.hawser.perf.GpuVerdicts "$out" | tee "$out/verdicts.txt" || rc=1
exit $rc
