#!/usr/bin/env bash
# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0
#
# The network lab: runs a command on the first of several hosts, which are network namespaces. See README.md, or --help.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
home=$(cd "$here/../../.." && pwd)
PATH=${HAWSER_LAB_BIN:-$home}:$PATH:/usr/sbin:/sbin # another hawser than this repository's, for its own tests
lab="net lab"
. "$here/../lib.sh"

usage() {
  cat <<'TEXT'
Runs a command on the first of several hosts (network namespaces of this machine) that are joined by rails of a known
speed, with a metadata service and a target agent up on the others. Output and exit code are those of the command; 125
means that the lab itself failed, or that a fault which was asked for did not happen. Needs root.

  run.sh [OPTION...] -- COMMAND

Hosts and rails
  --hosts N              hosts (2); the command runs on the first
  --rails N              rails between them (4): host H has the address 10.77.RAIL.H on each, counting from 0 and from 1
  --rate RATE            of each rail, both ways (1gbit)
  --slow RAIL=RATE       of one rail
  --ecmp N               in place of rails: one rail, and N equal ways of --rate behind a router at each end
  --foreign WAY=RATE     other people's traffic on one of these ways, UDP from router to router
Faults; TIME counts from the command's first traffic, as 500ms or 3s; with --ecmp, RAIL is a way
  --cut RAIL@TIME        the link goes down, at both ends
  --blackhole RAIL@TIME  the far side drops every packet, while the link stays up
  --restore RAIL@TIME    both are undone
  --random N             N such events at random, in random pauses, one rail at least stays up
  --seed S               of these (1)
Other
  --targets 0|1          whether metadata service and target agents are started (1)
  --timeline FILE        what each rail of the first host has sent and received, every 5 ms (CSV: microseconds, bytes)
  --events FILE          what was done to rails, and when (microseconds since the epoch, by the clock of --timeline)
  --watch FILE           memory and file descriptors of each Java process, every second (CSV)
  --timeout TIME         of the command (10m)

The command and the target agents see the environment of this script, and HAWSER_METADATA, HAWSER_LISTEN (its host's
addresses), HAWSER_TRANSPORTS=tcp unless it is set. This repository's ./hawser is on the command's path. The agents are
named target (host 2), target-3, target-4, ...
TEXT
}

count() { # OPTION NUMBER LEAST MOST
  [[ $2 =~ ^[0-9]{1,6}$ ]] && [ "$2" -ge "$3" ] && [ "$2" -le "$4" ] || wrong "$1 $2 is no number from $3 to $4"
}
rate() { # OPTION RATE
  [[ $2 =~ ^[0-9]+(kbit|mbit|gbit)$ ]] || wrong "$1: $2 is no rate; write it as 100mbit or 1gbit"
}

hosts=2 rails=4 rate=1gbit slow=() ecmp=0 foreign=() faults=() random=0 seed=1 targets=1 timeline='' events='' watch=''
timeout=600
arguments=("$@")
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  case $1 in -h | --help)
    usage
    exit 0
    ;;
  esac
  [ $# -ge 2 ] && [ "$2" != -- ] || wrong "$1 needs a value"
  case $1 in
    --hosts) count "$1" "$2" 2 64 && hosts=$2 ;;
    --rails) count "$1" "$2" 1 64 && rails=$2 ;;
    --rate) rate "$1" "$2" && rate=$2 ;;
    --slow) [[ $2 =~ ^[0-9]+=.+ ]] && rate "$1" "${2#*=}" && slow+=("$2") || wrong "$1 $2: write RAIL=RATE" ;;
    --ecmp) count "$1" "$2" 1 64 && ecmp=$2 ;;
    --foreign) [[ $2 =~ ^[0-9]+=.+ ]] && rate "$1" "${2#*=}" && foreign+=("$2") || wrong "$1 $2: write WAY=RATE" ;;
    --cut | --blackhole | --restore)
      [[ $2 =~ ^[0-9]+@.+ ]] || wrong "$1 $2: write RAIL@TIME, as 1@500ms"
      faults+=("$(seconds "$1" "${2#*@}") ${1#--} ${2%%@*}")
      ;;
    --random) count "$1" "$2" 1 100000 && random=$2 ;;
    --seed) count "$1" "$2" 0 32767 && seed=$2 ;;
    --targets) count "$1" "$2" 0 1 && targets=$2 ;;
    --timeline) timeline=$(realpath "$2") ;;
    --events) events=$(realpath "$2") ;;
    --watch) watch=$(realpath "$2") ;;
    --timeout) timeout=$(seconds "$1" "$2") ;;
    *) wrong "unknown option $1" ;;
  esac
  shift 2
done
[ $# -ge 2 ] || wrong "no command; write it behind --"
shift
lanes=$rails # what faults are done to
[ "$ecmp" -eq 0 ] || { lanes=$ecmp rails=1; }
[ "$ecmp" -eq 0 ] || [ "$hosts" -eq 2 ] || wrong "--ecmp joins two hosts"
[ "$ecmp" -gt 0 ] || [ "${#foreign[@]}" -eq 0 ] || wrong "--foreign needs --ecmp"
for each in "${slow[@]%%=*}" "${foreign[@]%%=*}"; do
  [ -z "$each" ] || [ "$each" -lt "$lanes" ] || wrong "there is no rail $each: the last is $((lanes - 1))"
done
for each in "${faults[@]}"; do
  [ "${each##* }" -lt "$lanes" ] || wrong "there is no rail ${each##* }: the last is $((lanes - 1))"
done

for tool in ip tc iptables unshare; do
  command -v "$tool" >/dev/null || fail "$tool is missing; install it (Debian, Ubuntu: apt install iproute2 iptables util-linux)"
done
[ "${#foreign[@]}" -eq 0 ] || command -v iperf3 >/dev/null || fail "iperf3 is missing; install it (Debian, Ubuntu: apt install iperf3)"

# Everything lives in namespaces of this very process: whatever ends it, nothing stays behind.
if [ -z "${HAWSER_NET_LAB:-}" ]; then
  [ "$(id -u)" -eq 0 ] || fail "root makes network namespaces; run it as root"
  [ "$targets" -eq 0 ] || hawser --version >/dev/null || fail "./hawser does not start"
  HAWSER_NET_LAB=$$ exec unshare --mount --pid --net --fork --kill-child --mount-proc --propagation private \
    "$here/run.sh" "${arguments[@]}"
fi
unset HAWSER_NET_LAB
trap 'exit 130' INT
trap 'exit 143' TERM
mkdir -p /run/netns
mount -t tmpfs -o mode=700 none /run/netns || fail "cannot mount over /run/netns"
work=/run/netns/.lab # in memory, and gone with these namespaces
mkdir "$work"
on() { ip netns exec "$@"; } # HOST COMMAND...
ip link set lo up

shape() { # NAMESPACE DEVICE RATE
  ip netns exec "$1" tc qdisc add dev "$2" root tbf rate "$3" burst 256k latency 20ms || fail "tc cannot shape $2"
}
rate_of() { # LANE
  local each
  for each in "${slow[@]}"; do
    [ "${each%%=*}" != "$1" ] || { printf '%s\n' "${each#*=}"; return; }
  done
  printf '%s\n' "$rate"
}
join() { # NAME HOST SWITCH: one end in a host, under this name; the other in a switch or the other host
  ip link add "$1" netns "$2" type veth peer name "$4" netns "$3"
  ip -n "$2" link set "$1" up
  ip -n "$3" link set "$4" up
}

ip netns add switch
for ((h = 1; h <= hosts; h++)); do
  ip netns add "h$h"
  ip -n "h$h" link set lo up
  on "h$h" sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0 2>/dev/null || true
done
# What is not measured goes over a link of its own: metadata.
ip -n switch link add service type bridge
ip -n switch link set service up
for ((h = 1; h <= hosts; h++)); do
  join service "h$h" switch "service$h"
  ip -n switch link set "service$h" master service
  ip -n "h$h" addr add "10.78.0.$h/24" dev service
done

# near_NS/near_DEV: the end of a lane whose loss the first host sees; far_*: where faults are done.
if [ "$ecmp" -gt 0 ]; then
  for side in 1 2; do
    ip netns add "r$side"
    ip -n "r$side" link set lo up
    on "r$side" sysctl -qw net.ipv4.ip_forward=1 net.ipv4.fib_multipath_hash_policy=1
    on "r$side" sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
    join rail0 "h$side" "r$side" access
    ip -n "h$side" addr add "10.77.$((side - 1)).$side/24" dev rail0
    ip -n "r$side" addr add "10.77.$((side - 1)).254/24" dev access
    ip -n "h$side" route add default via "10.77.$((side - 1)).254"
  done
  for ((w = 0; w < ecmp; w++)); do
    join "way$w" r1 r2 "way$w"
    for side in 1 2; do
      ip -n "r$side" addr add "10.79.$w.$side/24" dev "way$w"
      shape "r$side" "way$w" "$(rate_of $w)"
    done
  done
  for side in 1 2; do
    ways=()
    for ((w = 0; w < ecmp; w++)); do ways+=(nexthop via "10.79.$w.$((3 - side))"); done
    ip -n "r$side" route add "10.77.$((2 - side)).0/24" "${ways[@]}"
  done
  near=r1 far=r2 device=way
else
  for ((r = 0; r < rails; r++)); do
    if [ "$hosts" -eq 2 ]; then
      join "rail$r" h1 h2 "rail$r"
    else
      ip -n switch link add "rail$r" type bridge
      ip -n switch link set "rail$r" up
    fi
    for ((h = 1; h <= hosts; h++)); do
      if [ "$hosts" -gt 2 ]; then
        join "rail$r" "h$h" switch "rail$r-$h"
        ip -n switch link set "rail$r-$h" master "rail$r"
        shape switch "rail$r-$h" "$(rate_of $r)"
      fi
      shape "h$h" "rail$r" "$(rate_of $r)"
      ip -n "h$h" addr add "10.77.$r.$h/24" dev "rail$r"
    done
  done
  near=h1 far=h2 device=rail
fi

listen() { # HOST: its addresses on every rail
  local r list=''
  for ((r = 0; r < rails; r++)); do
    if [ "$ecmp" -gt 0 ]; then list=10.77.$(($1 - 1)).$1:0; else list+=${list:+,}10.77.$r.$1:0; fi
  done
  printf '%s\n' "$list"
}
export HAWSER_METADATA=http://10.78.0.2:7300 HAWSER_TRANSPORTS=${HAWSER_TRANSPORTS:-tcp}

await() { # PID LOG TEXT: until the process says so
  local deadline=$((SECONDS + 90))
  until grep -qs "$3" "$2"; do
    kill -0 "$1" 2>/dev/null && [ "$SECONDS" -lt "$deadline" ] || {
      tail -n 5 "$2" >&2
      fail "what is to run beside the command did not start: $(basename "$2")"
    }
    sleep 0.1
  done
}
if [ "$targets" -eq 1 ]; then
  # Not by this environment: a metadata service has no metadata service.
  on h2 hawser metadata --listen 10.78.0.2:7300 --allow-anonymous >"$work/metadata" 2>&1 &
  await $! "$work/metadata" 7300
  for ((h = 2; h <= hosts; h++)); do
    agent=target
    [ "$h" -eq 2 ] || agent=target-$h
    HAWSER_LISTEN=$(listen "$h") on "h$h" hawser bench --role target --name "$agent" --metadata "$HAWSER_METADATA" \
      >"$work/$agent" 2>&1 &
    await $! "$work/$agent" "ready as"
  done
fi
for each in "${foreign[@]}"; do
  w=${each%%=*}
  on r2 iperf3 -s -1 --forceflush -B "10.79.$w.2" >"$work/foreign-target" 2>&1 &
  await $! "$work/foreign-target" listening
  on r1 iperf3 -u -c "10.79.$w.2" -B "10.79.$w.1" -b "$(sed 's/bit$//; s/[a-z]/\U&/' <<<"${each#*=}")" -t 86400 -l 1400 \
    >"$work/foreign" 2>&1 &
done

# ------------------------------------------------------------------ what goes on beside the command

HAWSER_LISTEN=$(listen 1) on h1 timeout -k 5 "$timeout" "$@" &
command=$!

cat >"$work/lib" <<'LIB'
now() { printf '%s\n' "${EPOCHREALTIME/[.,]/}"; }
say() { printf '%s %s %s\n' "$1" "$2" "$3" >>"$work/events"; }
problem() { printf '%s\n' "$1" >>"$work/problems"; }
carrier() { local c; read -r c </sys/class/net/"$device$1"/carrier 2>/dev/null || c=0; printf '%s\n' "$c"; }
carried() { # LANE: bytes, both ways
  local tx rx
  read -r tx </sys/class/net/"$device$1"/statistics/tx_bytes
  read -r rx </sys/class/net/"$device$1"/statistics/rx_bytes
  printf '%s\n' $((tx + rx))
}
drops() { # LANE: packets that the far side dropped
  ip netns exec "$far" iptables -w -vxnL | awk -v d="$device$1" '$3 == "DROP" && ($6 == d || $7 == d) { n += $1 } END { print n + 0 }'
}
rules() { # -I|-D LANE
  local chains="INPUT OUTPUT" chain
  [ "$device" = rail ] || chains=FORWARD
  for chain in $chains; do
    [ "$chain" = OUTPUT ] || ip netns exec "$far" iptables -w "$1" "$chain" -i "$device$2" -j DROP
    [ "$chain" = INPUT ] || ip netns exec "$far" iptables -w "$1" "$chain" -o "$device$2" -j DROP
  done
}
end_of() { # the device at the far end of a lane
  if [ "$hosts" -gt 2 ]; then printf 'switch %s-1\n' "$device$1"; else printf '%s %s\n' "$far" "$device$1"; fi
}
until_carrier() { # LANE WANTED
  local deadline=$(($(now) + 2000000))
  until [ "$(carrier "$1")" = "$2" ]; do
    [ "$(now)" -lt "$deadline" ] || return 1
    sleep 0.005
  done
}
declare -A state=()
act() { # cut|blackhole|restore LANE
  local before end is=${state[$2]:-up}
  end=$(end_of "$2")
  before=$(now)
  case $1 in
    cut)
      ip -n ${end% *} link set "${end#* }" down
      until_carrier "$2" 0 || problem "$1 of $device $2: the first host still sees the link"
      ;;
    blackhole) rules -I "$2" ;;
    restore)
      if [ "$is" = blackhole ]; then
        local n
        n=$(drops "$2")
        printf '%s %s\n' "$2" "$n" >>"$work/drops"
        rules -D "$2"
      else
        ip -n ${end% *} link set "${end#* }" up
        until_carrier "$2" 1 || problem "restore of $device $2: the first host does not see the link"
        if [ "$device" = way ]; then
          for side in 1 2; do ip -n "r$side" route replace "10.77.$((2 - side)).0/24" $(nexthops $((3 - side))); done
        fi
      fi
      ;;
  esac
  if [ "$1" = restore ]; then state[$2]=up; else state[$2]=$1; fi
  say "$before" "$1" "$2"
}
nexthops() { local w; for ((w = 0; w < lanes; w++)); do printf 'nexthop via 10.79.%s.%s ' "$w" "$1"; done; }
LIB
export work device near far hosts lanes random seed timeline watch

# Runs where the first host's end of the lanes is, for their files in /sys.
cat >"$work/faults" <<'FAULTS'
set -uo pipefail
. "$work/lib"
first=0
for ((l = 0; l < lanes; l++)); do first=$((first + $(carried "$l"))); done
while :; do
  sum=0
  for ((l = 0; l < lanes; l++)); do sum=$((sum + $(carried "$l"))); done
  [ $((sum - first)) -lt 4194304 ] || break
  sleep 0.02
done
began=$(now)
say "$began" begin -
wait_until() { # MICROSECONDS after the beginning
  local left=$(($1 - ($(now) - began)))
  [ "$left" -le 0 ] || sleep "$((left / 1000000)).$(printf %06d $((left % 1000000)))"
}
while read -r at what lane; do
  [ -n "$at" ] || continue
  wait_until "$(awk "BEGIN { printf \"%d\", $at * 1000000 }")"
  before=$(carried "$lane")
  [ "$what" = restore ] || [ "$before" -gt 1000000 ] || problem "$what of $device $lane: it had carried next to nothing before, so nothing was lost"
  act "$what" "$lane"
  done=$((${done:-0} + 1))
done < <(sort -n "$work/plan")
RANDOM=$seed
for ((i = 0; i < random; i++)); do
  sleep "0.$((RANDOM % 600 + 200))"
  lane=$((RANDOM % lanes)) up=0
  for ((l = 0; l < lanes; l++)); do [ "${state[$l]:-up}" != up ] || up=$((up + 1)); done
  if [ "${state[$lane]:-up}" = up ] && [ "$up" -eq 1 ]; then
    while [ "${state[$lane]:-up}" = up ]; do lane=$(((lane + 1) % lanes)); done
  fi
  if [ "${state[$lane]:-up}" != up ]; then act restore "$lane"; elif [ $((RANDOM % 2)) = 0 ]; then act cut "$lane"; else act blackhole "$lane"; fi
  done=$((${done:-0} + 1))
done
for ((l = 0; l < lanes; l++)); do
  case ${state[$l]:-up} in blackhole) echo "$l" >>"$work/still" ;; esac
done
say "$(now)" end -
FAULTS
printf '%s\n' "${faults[@]}" >"$work/plan"
: >"$work/events"
: >"$work/drops"
if [ "${#faults[@]}" -gt 0 ] || [ "$random" -gt 0 ]; then
  on "$near" bash "$work/faults" &
  actor=$!
fi
if [ -n "$timeline" ]; then
  on "$near" bash -c '. "$work/lib"; exec >"$timeline"
    while :; do
      line=${EPOCHREALTIME/[.,]/}
      for ((l = 0; l < lanes; l++)); do
        read -r tx </sys/class/net/$device$l/statistics/tx_bytes
        read -r rx </sys/class/net/$device$l/statistics/rx_bytes
        line+=,$tx,$rx
      done
      printf "%s\n" "$line"
      read -rt 0.005 <> <(:) || :
    done' &
  sampler=$!
fi
if [ -n "$watch" ]; then
  bash -c 'exec >"$watch"
    while :; do
      for p in /proc/[0-9]*; do
        { read -r name <"$p/comm"; } 2>/dev/null || continue
        [ "$name" = java ] || continue
        fds=("$p"/fd/*)
        printf "%s,%s,%s,%s\n" "$SECONDS" "${p#/proc/}" "$(awk "/^VmRSS/ { print \$2 }" "$p/status" 2>/dev/null)" "${#fds[@]}"
      done
      sleep 1
    done' &
fi

code=0
wait "$command" || code=$?
[ -z "${sampler:-}" ] || kill "$sampler" 2>/dev/null || true
if [ -n "${actor:-}" ]; then
  if kill -0 "$actor" 2>/dev/null && ! grep -q ' end -' "$work/events"; then
    printf 'the command ended before every fault was done: %s of %s events happened\n' \
      "$(grep -vc ' begin -' "$work/events")" "$((${#faults[@]} + random))" >>"$work/problems"
    kill "$actor" 2>/dev/null || true
  else
    wait "$actor" || printf 'what does the faults failed with %s\n' "$?" >>"$work/problems"
  fi
  . "$work/lib"
  while read -r lane; do printf '%s %s\n' "$lane" "$(drops "$lane")" >>"$work/drops"; done < <(cat "$work/still" 2>/dev/null)
  holes=$(wc -l <"$work/drops" 2>/dev/null || echo 0) empty=$(grep -c ' 0$' "$work/drops" 2>/dev/null || true)
  # A rail that nobody uses yet again may see no packet before it is restored; at random that happens.
  if [ "${empty:-0}" -gt 0 ] && { [ "$random" -eq 0 ] || [ $((2 * empty)) -gt "$holes" ]; }; then
    printf '%s of %s black holes dropped no packet\n' "$empty" "$holes" >>"$work/problems"
  fi
fi
for each in "${slow[@]}"; do
  on "$near" tc -s qdisc show dev "$device${each%%=*}" | grep -Eq 'overlimits [1-9]' \
    || printf 'slow %s %s: nothing ever waited for it\n' "$device" "$each" >>"$work/problems"
done
[ -z "$events" ] || cp "$work/events" "$events"
if [ -s "$work/problems" ]; then
  while read -r line; do printf 'net lab: %s\n' "$line" >&2; done <"$work/problems"
  [ "$code" -ne 0 ] || code=125
fi
if [ "$code" -ne 0 ] && [ "$targets" -eq 1 ]; then
  for log in "$work"/target*; do tail -n 5 "$log" | sed "s/^/net lab: $(basename "$log") said: /" >&2; done
fi
exit "$code"
