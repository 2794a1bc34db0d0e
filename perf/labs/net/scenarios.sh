#!/usr/bin/env bash
# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs the scenarios of the network lab and compares what comes out with what is wanted. See README.md, or --help.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PATH=$PATH:/usr/sbin:/sbin

usage() {
  cat <<'TEXT'
Runs the scenarios of the network lab; ends with 1 if one falls short. Needs root, iperf3 and run.sh's tools.

  scenarios.sh [OPTION...] [SCENARIO...]      all, if none is named

  sum        4 rails, one request at a time, beside 4 iperf3
  slow       one rail at a tenth of the speed
  ecmp       4 equal ways, one of them half loaded by others
  cut        a rail goes down, and comes back
  blackhole  a rail swallows everything, and comes back
  incast     4 senders to one target
  random     random cuts, black holes and restores, every byte compared
  telemetry  a slow rail, and a target that is stopped for a second: what is said of them
  healthy    load and nothing else: no path may be given up

  --rate RATE     of a rail (1gbit)
  --events N      of random (30)
  --seed S        of random (1)
  --healthy TIME  of healthy, in seconds (20)
  --relax FACTOR  for a machine that is busy otherwise: multiplies what is tolerated, shares and times (1)
  --keep FOLDER   keep what was measured
TEXT
}
wrong() {
  printf 'net scenarios: %s; see %s --help\n' "$1" "$0" >&2
  exit 2
}

rate=1gbit count=30 seed=1 healthy=20 relax=1 keep='' names=()
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help)
      usage
      exit 0
      ;;
    --rate | --events | --seed | --healthy | --relax | --keep)
      [ $# -ge 2 ] || wrong "$1 needs a value"
      case $1 in
        --rate) [[ $2 =~ ^[0-9]+(mbit|gbit)$ ]] && rate=$2 || wrong "--rate $2: write it as 250mbit" ;;
        --events) [[ $2 =~ ^[0-9]+$ ]] && count=$2 || wrong "--events $2 is no number" ;;
        --seed) [[ $2 =~ ^[0-9]+$ ]] && seed=$2 || wrong "--seed $2 is no number" ;;
        --healthy) [[ $2 =~ ^[0-9]+$ ]] && healthy=$2 || wrong "--healthy $2 is no number of seconds" ;;
        --relax) [[ $2 =~ ^[0-9]+(\.[0-9]+)?$ ]] && relax=$2 || wrong "--relax $2 is no number" ;;
        --keep) mkdir -p "$2" && keep=$(realpath "$2") || wrong "--keep $2: no such folder can be made" ;;
      esac
      shift 2
      ;;
    sum | slow | ecmp | cut | blackhole | incast | random | telemetry | healthy)
      names+=("$1")
      shift
      ;;
    *) wrong "there is no scenario $1" ;;
  esac
done
[ "${#names[@]}" -gt 0 ] || names=(sum slow ecmp cut blackhole incast random telemetry healthy)
command -v iperf3 >/dev/null || { echo "net scenarios: iperf3 is missing; install it (Debian, Ubuntu: apt install iperf3)" >&2; exit 125; }
work=${keep:-$(mktemp -d)}
[ -n "$keep" ] || trap 'rm -rf "$work"' EXIT
case $rate in *mbit) gbits=$(awk "BEGIN { print ${rate%mbit} / 1000 }") ;; *) gbits=${rate%gbit} ;; esac
tenth=$(awk "BEGIN { printf \"%dkbit\", $gbits * 100000 }") half=$(awk "BEGIN { printf \"%dkbit\", $gbits * 500000 }")
export HAWSER_HEARTBEAT=${HAWSER_HEARTBEAT:-50ms}
failed=0

verdict() { # WHAT FIGURE OPERATOR WANTED UNIT: share (wanted at least), ms or x (at most)
  local ok
  ok=$(awk -v a="$2" -v b="$4" -v op="$3" -v r="$relax" 'BEGIN {
    if (a == "") { print "no"; exit }
    if (op == ">=") { t = 1 - (1 - b) * r; print (a >= t) ? "yes" : "no" } else print (a <= b * r) ? "yes" : "no" }')
  [ "$ok" = yes ] || failed=1
  printf '%-58s %10s %s%-3s %s\n' "$1" "${2:-none}" "$3 $4" " ${5-}" "$([ "$ok" = yes ] && echo ok || echo 'FALLS SHORT')"
}
lab() { # NAME RUN-OPTION... -- COMMAND
  local name=$1 code=0
  shift
  "$here/run.sh" --rate "$rate" --timeout 15m "$@" >"$work/$name.out" 2>&1 || code=$?
  [ "$code" -eq 0 ] && return
  failed=1
  printf '%-58s FAILED with %s:\n' "$name" "$code"
  tail -n 8 "$work/$name.out" | sed 's/^/    /'
  return 1
}
bench() { # of run.sh's command: a shell that has $work
  printf 'hawser bench --role initiator --peer target --metadata $HAWSER_METADATA --transport tcp --op write %s' "$1"
}
gbits_of() { # FILE REQUEST-BYTES
  awk -v want="$2" '/"request_bytes"/ { gsub(/[^0-9]/, ""); at = $0 } /"gbits_per_s"/ { split($0, x, /[:,]/); if (at == want) print x[2] + 0 }' "$1" | head -n 1
}
# Bits per microsecond that the first host sent from one time to another, in seconds relative to an event.
rate_between() { # FILE EVENT-MICROSECONDS FROM TO
  awk -F, -v e="$2" -v f="$3" -v t="$4" '
    NF >= 3 { s = 0; for (i = 2; i < NF; i += 2) s += $i; x = ($1 - e) / 1e6
      if (x >= f && !seen) { seen = 1; x0 = x; s0 = s }
      if (x <= t) { x1 = x; s1 = s } }
    END { if (seen && x1 > x0) printf "%.4f\n", (s1 - s0) * 8e-9 / (x1 - x0) }' "$1"
}
# The best rate in 300 ms before an event.
best_before() { # FILE EVENT
  awk -F, -v e="$2" '
    NF >= 3 { s = 0; for (i = 2; i < NF; i += 2) s += $i
      n++; x[n] = ($1 - e) / 1e6; y[n] = s
      while (x[n] - x[b + 1] > 0.3) b++
      if (b > 0 && x[n] <= 0) { r = (y[n] - y[b]) * 8e-9 / (x[n] - x[b]); if (r > best) best = r } }
    END { print best }' "$1"
}
# Milliseconds from an event until what is sent in 100 ms reaches a rate for the first time.
back_after() { # FILE EVENT RATE
  awk -F, -v e="$2" -v want="$3" '
    NF >= 3 { s = 0; for (i = 2; i < NF; i += 2) s += $i
      n++; x[n] = ($1 - e) / 1e6; y[n] = s
      while (x[n] - x[b + 1] > 0.1) b++
      if (b > 0 && x[b] >= 0 && (y[n] - y[b]) * 8e-9 / (x[n] - x[b]) >= want) { printf "%.0f\n", x[b] * 1000; exit } }' "$1"
}
# The least rate in 100 ms between two times.
least_between() { # FILE EVENT FROM TO
  awk -F, -v e="$2" -v f="$3" -v t="$4" '
    NF >= 3 { s = 0; for (i = 2; i < NF; i += 2) s += $i
      n++; x[n] = ($1 - e) / 1e6; y[n] = s
      while (x[n] - x[b + 1] > 0.1) b++
      if (b > 0 && x[b] >= f && x[n] <= t) { r = (y[n] - y[b]) * 8e-9 / (x[n] - x[b]); if (least == "" || r < least) least = r } }
    END { print least }' "$1"
}
# Seconds from an event until the last 100 ms in which at least a tenth of a rate was sent were over.
loaded_until() { # FILE EVENT RATE
  awk -F, -v e="$2" -v r="$3" '
    NF >= 3 { s = 0; for (i = 2; i < NF; i += 2) s += $i
      n++; x[n] = ($1 - e) / 1e6; y[n] = s
      while (x[n] - x[b + 1] > 0.1) b++
      if (b > 0 && (y[n] - y[b]) * 8e-9 / (x[n] - x[b]) >= r / 10) last = x[n] }
    END { printf "%.2f\n", last }' "$1"
}
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (a != "" && b > 0) printf "%.3f\n", a / b }'; }
event() { awk -v what="$2" '$2 == what { print $1; exit }' "$1"; } # FILE cut|blackhole|restore

export folder=$work
cat >"$work/iperf" <<'IPERF'
# The sum of one iperf3 stream on each of 4 rails at the same time, Gb/s.
for r in 0 1 2 3; do ip netns exec h2 iperf3 -s -1 -B 10.77.$r.2 -p 5201 >/dev/null & done
sleep 0.5
for r in 0 1 2 3; do iperf3 -c 10.77.$r.2 -p 5201 -t 3 -O 1 -f k >"$folder/iperf.$r" & done
wait
cat "$folder"/iperf.? | awk '/receiver/ { for (i = 1; i < NF; i++) if ($(i + 1) == "Kbits/sec") s += $i } END { print s / 1e6 }' >"$folder/iperf.sum"
IPERF

cat >"$work/incast" <<'INCAST'
# Hosts 1, 3, 4 and 5 write to host 2, which is told; what each of them sends is counted while all are at it.
sent() { ip netns exec "h$1" cat /sys/class/net/rail0/statistics/tx_bytes; }
for h in 1 3 4 5; do
  HAWSER_LISTEN=10.77.0.$h:0 ip netns exec "h$h" hawser bench --role initiator --name "sender-$h" --peer target \
    --metadata "$HAWSER_METADATA" --transport tcp --op write --sizes 4M --depth 2 --duration 16s --warmup 2s \
    --verify sample --json "$folder/incast.$h.json" >"$folder/incast.$h.out" 2>&1 &
  senders+=($!)
done
deadline=$((SECONDS + 60))
for h in 1 3 4 5; do
  until [ "$(sent "$h")" -gt 30000000 ]; do
    [ "$SECONDS" -lt "$deadline" ] || { tail -n 3 "$folder/incast.$h.out" >&2; exit 1; }
    sleep 0.1
  done
done
for h in 1 3 4 5; do before[h]=$(sent "$h"); done
sleep 8
for h in 1 3 4 5; do echo $(($(sent "$h") - before[h])); done >"$folder/incast.shares"
for each in "${senders[@]}"; do wait "$each" || exit 1; done
INCAST

for name in "${names[@]}"; do
  case $name in
    sum)
      lab sum --rails 4 -- bash -c ". $work/iperf; $(bench '--sizes 64M,1M --depth 1 --duration 3s --warmup 200ms --verify sample') --json $work/sum.json" || continue
      iperf=$(<"$work/iperf.sum")
      verdict "sum: one 64 MiB request over 4 rails, of 4 iperf3" "$(ratio "$(gbits_of "$work/sum.json" 67108864)" "$iperf")" '>=' 0.95
      verdict "sum: single 1 MiB requests, of 4 iperf3" "$(ratio "$(gbits_of "$work/sum.json" 1048576)" "$iperf")" '>=' 0.8
      ;;
    slow)
      lab slow --rails 4 --slow "2=$tenth" -- bash -c ". $work/iperf; $(bench '--sizes 64M --depth 1 --duration 3s --warmup 400ms --verify sample') --json $work/slow.json" || continue
      verdict "slow: one rail at a tenth, of what 4 iperf3 get" "$(ratio "$(gbits_of "$work/slow.json" 67108864)" "$(<"$work/iperf.sum")")" '>=' 0.93
      ;;
    ecmp)
      lab ecmp --ecmp 4 --foreign "1=$half" -- bash -c "$(bench '--sizes 64M --depth 2 --paths 32 --duration 4s --warmup 400ms --verify sample') --json $work/ecmp.json" || continue
      free=$(awk "BEGIN { print $gbits * (4 * 0.956 - 0.5 * 1.03) }") # TCP's headers, and those of UDP
      verdict "ecmp: 4 ways, one half loaded, of what is free" "$(ratio "$(gbits_of "$work/ecmp.json" 67108864)" "$free")" '>=' 0.9
      ;;
    cut | blackhole)
      rm -f "$work/$name".flows*
      # The last figure is of the time until 9.5 s: a load that ends before that would pass for a rail that is slow.
      lab "$name" --rails 4 "--$name" 1@3s --restore 1@6s --timeline "$work/$name.csv" --events "$work/$name.events" -- \
        bash -c "export HAWSER_TELEMETRY=$work/$name.flows HAWSER_TELEMETRY_INTERVAL=100ms; $(bench '--sizes 64M --depth 4 --duration 10s --warmup 0ms --verify sample') --json $work/$name.json" || continue
      told='nothing came for'
      [ "$name" = blackhole ] || told=PORT_DOWN
      verdict "$name: was told as \"$told\" (1: yes)" "$(grep -q "\"fault\":\"[^\"]*$told" "$work/$name.flows" && echo 1 || echo 0)" '>=' 1
      csv=$work/$name.csv at=$(event "$work/$name.events" "$name") again=$(event "$work/$name.events" restore)
      before=$(best_before "$csv" "$at")
      three=$(awk "BEGIN { print $before * 0.75 }")
      verdict "$name: from 200 ms later on, of 3 rails" "$(ratio "$(rate_between "$csv" "$at" 0.2 2.2)" "$three")" '>=' 0.95
      verdict "$name: back to 0.95 of 3 rails" "$(back_after "$csv" "$at" "$(awk "BEGIN { print $three * 0.95 }")")" '<=' 200 ms
      verdict "$name: load until the last figure, 3.5 s after that" "$(loaded_until "$csv" "$again" "$before" | awk '{ printf "%.3f\n", $1 < 3.5 ? $1 / 3.5 : 1 }')" '>=' 1
      verdict "$name: from 2 s after it is restored on, of 4 rails" "$(ratio "$(rate_between "$csv" "$again" 2 3.5)" "$before")" '>=' 0.95
      verdict "$name: least 100 ms meanwhile, of 3 rails" "$(ratio "$(least_between "$csv" "$again" 0 2)" "$three")" '>=' 0.5
      ;;
    incast)
      lab incast --hosts 5 --rails 1 -- bash "$work/incast" || continue
      # Of what each host has sent in the seconds in which all were at it; then the slowest hundredth of all requests.
      verdict "incast: 4 to 1, the farthest from its fair share" "$(awk '
        { v[NR] = $1; sum += $1 }
        END { for (i = 1; i <= NR; i++) { d = v[i] / (sum / NR) - 1; if (d < 0) d = -d; if (d > worst) worst = d } if (NR == 4) printf "%.3f\n", 1 - worst }' "$work/incast.shares")" '>=' 0.9
      ideal=$(awk "BEGIN { print 4 * 2 * 4194304 * 8 / ($gbits * 0.956 * 1000) }") # microseconds: 4 hosts, 2 requests each
      verdict "incast: p99 of a request, of what is ideal" "$(ratio "$(cat "$work"/incast.?.json | awk '/"p99"/ && !post { split($0, x, /"p99"[ :]*/); sub(/[,}].*/, "", x[2]); if (x[2] > worst) worst = x[2] } /"post_us"/ { post = 1 } /"latency_us"/ { post = 0 } END { print worst }')" "$ideal")" '<=' 2
      ;;
    random) # half of the events, of 0.6 s each, fall on either size, with some time to spare
      lab random --rails 4 --random "$count" --seed "$seed" --events "$work/random.events" --watch "$work/random.watch" -- \
        bash -c "$(bench '--sizes 64M,1M --depth 2 --warmup 100ms --verify full') --duration $((count * 2 / 5 + 3))s --timeout 60s --json $work/random.json" || continue
      verdict "random: $count cuts, black holes, restores: requests failed" "$(awk '/"errors"/ { gsub(/[^0-9]/, ""); n += $0 } END { print n + 0 }' "$work/random.json")" '<=' 0
      # From 10 s after each process began until its end: descriptors, and memory, must not grow.
      verdict "random: file descriptors more at the end" "$(awk -F, '!($2 in t) { t[$2] = $1 } $1 > t[$2] + 10 && !($2 in first) { first[$2] = $4 } { last[$2] = $4 } END { for (p in first) { d = last[p] - first[p]; if (d > worst) worst = d } print worst + 0 }' "$work/random.watch")" '<=' 16
      # A collector takes its time to find its size: what the second minute needed at most is the measure of the last one.
      [ "$count" -lt 300 ] || verdict "random: memory at the end, of what was needed in the second minute" "$(awk -F, '
        !($2 in t) { t[$2] = $1 } { if ($1 > last) last = $1; n++; at[n] = $1; pid[n] = $2; kb[n] = $3 }
        END { for (i = 1; i <= n; i++) { p = pid[i]; x = at[i] - t[p]
                if (x > 60 && x <= 120 && kb[i] > early[p]) early[p] = kb[i]
                if (at[i] > last - 60 && kb[i] > late[p]) late[p] = kb[i] }
              for (p in early) if (late[p] / early[p] > worst) worst = late[p] / early[p]; printf "%.3f\n", worst }' "$work/random.watch")" '<=' 1.1
      ;;
    telemetry)
      rm -f "$work"/flows*
      lab telemetry --rails 4 --slow "2=$tenth" -- bash -c "export HAWSER_TELEMETRY=$work/flows HAWSER_TELEMETRY_INTERVAL=50ms
        $(bench '--sizes 64M --depth 4 --duration 6s --warmup 400ms --verify sample') &
        sleep 5
        for p in \$(ip netns pids h2); do grep -qa -- 'target' /proc/\$p/cmdline && grep -qa java /proc/\$p/comm && t=\$p; done
        kill -STOP \$t; sleep 1; kill -CONT \$t; wait %1" || continue
      verdict "telemetry: marks of a slow rail that are on the slow one" "$(awk '/slow_rail/ { n++; if (/"rail":"tcp:10.77.2.1"/) on++ } END { if (n) printf "%.3f\n", on / n }' "$work/flows")" '>=' 0.8
      verdict "telemetry: was told of the stopped target (1: yes)" "$(grep -q peer_not_ready "$work/flows" && echo 1 || echo 0)" '>=' 1
      verdict "telemetry: paths given up meanwhile" "$(grep -c '"fault":"[^"]*nothing came' "$work/flows")" '<=' 0
      ;;
    healthy)
      rm -f "$work"/healthy.flows*
      lab healthy --rails 4 -- bash -c "export HAWSER_TELEMETRY=$work/healthy.flows; $(bench '--sizes 64M --depth 4 --warmup 400ms --verify sample') --duration ${healthy}s" || continue
      verdict "healthy: paths given up in $healthy s under load" "$(grep -c '"fault":"[^"]' "$work/healthy.flows")" '<=' 0
      ;;
  esac
done
exit "$failed"
