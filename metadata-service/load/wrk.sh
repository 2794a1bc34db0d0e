#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Requests per second of the service against those of a bare Vert.x route that returns 4 KiB, both in JVMs of their own,
# in ABBA order under wrk: medians, and the ratio of each pair. After `mvn -pl metadata-service -am test-compile`.
#
#   load/wrk.sh [PAIRS]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
pairs=${1:-10}
command -v wrk >/dev/null || { echo "wrk is needed: apt-get install wrk" >&2; exit 1; }
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
"$java" -version 2>&1 | grep -qE '"(2[5-9]|[3-9][0-9])' || { echo "set JAVA_HOME to a JDK 25 or newer" >&2; exit 1; }

mvn -q -B dependency:build-classpath -Dmdep.outputFile=target/load.classpath >/dev/null
classpath="target/classes:target/test-classes:$(cat target/load.classpath)"
started=()
trap 'kill "${started[@]}" 2>/dev/null || true; wait 2>/dev/null || true' EXIT

serve() { # CLASS ARGUMENT...; prints the URL
  local log
  log=$(mktemp)
  "$java" -cp "$classpath" "$@" >"$log" 2>/dev/null &
  started+=($!)
  for _ in $(seq 200); do
    if grep -q '^http' "$log"; then url=$(cat "$log"); rm -f "$log"; return 0; fi
    sleep 0.1
  done
  echo "$1 did not start" >&2
  return 1
}

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
serve dev.hawser.metadata.load.BareRoute "$port"; bare=$url
serve dev.hawser.metadata.chaos.Replica memory 0; ours=$url

once() { # URL KIND SECONDS
  case $2 in
    fetch) wrk -t1 -c16 -d"$3"s -H 'Accept: application/octet-stream' "$1/v1/agents/agent-1" ;;
    publish) wrk -t1 -c16 -d"$3"s -s load/publish.lua "$1" ;;
  esac | awk '/Non-2xx/ { bad = 1 } /Requests\/sec/ { rate = $2 } END { if (bad) exit 1; print rate }'
}

for url in "$bare" "$ours"; do once "$url" publish 3 >/dev/null; once "$url" fetch 3 >/dev/null; done
for kind in fetch publish; do
  for i in $(seq "$pairs"); do
    if [ $((i % 2)) -eq 1 ]; then a=$(once "$bare" $kind 1); b=$(once "$ours" $kind 1)
    else b=$(once "$ours" $kind 1); a=$(once "$bare" $kind 1); fi
    echo "$kind $a $b"
  done
done | python3 -c '
import statistics, sys
rows = {}
for line in sys.stdin:
    kind, bare, ours = line.split()
    rows.setdefault(kind, []).append((float(bare), float(ours)))
for kind, pairs in rows.items():
    ratios = sorted(ours / bare for bare, ours in pairs)
    print("%-8s bare %6.0f/s  service %6.0f/s  ratio median %.2f, from %.2f to %.2f (%d pairs)" % (
        kind, statistics.median(p[0] for p in pairs), statistics.median(p[1] for p in pairs),
        statistics.median(ratios), ratios[0], ratios[-1], len(ratios)))
'
