#!/usr/bin/env bash
# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs inside a guest, as its second and last process: makes the rails, runs the command, hands output and exit code to
# the host through virtio ports, and powers off. Its argument is the run's folder; settings are in $run/settings.
set -uo pipefail
run=$1
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

power_off() {
  sync
  if $fast; then
    busybox poweroff -f
  else
    echo o >/proc/sysrq-trigger
  fi
  sleep 30
}

give_up() {
  echo "rdma lab: guest: $1" >/dev/console
  echo "failed $1" >&7 2>/dev/null
  power_off
}

fast=false
for word in $(</proc/cmdline); do
  case $word in
    hawser.role=*) role=${word#hawser.role=} ;;
    hawser.fast) fast=true ;;
  esac
done

# Ports by name: /sys/class/virtio-ports/vportXpY/name. User-Mode Linux has terminals, which are made to pass on bytes.
port() { # NAME
  local name place
  if $fast; then
    case $1 in
      control) place=/dev/tty1 ;;
      out) place=/dev/tty2 ;;
      err) place=/dev/tty3 ;;
    esac
    stty -F "$place" raw -echo || return 1
    printf '%s\n' "$place"
    return 0
  fi
  for name in /sys/class/virtio-ports/*/name; do
    if [ "$(<"$name")" = "$1" ]; then
      name=${name%/name}
      printf '/dev/%s\n' "${name##*/}"
      return 0
    fi
  done
  return 1
}
control=$(port control) || give_up "the control port is not there"
exec 7<>"$control"

# shellcheck source=/dev/null
. "$run/settings" # link_down, link_up, loss, delay, shared, megahertz

mount -t tmpfs -o mode=1777 tmp /dev/shm 2>/dev/null || { mkdir -p /dev/shm && mount -t tmpfs -o mode=1777 tmp /dev/shm; }
mkdir -p /dev/pts && mount -t devpts devpts /dev/pts
mount -t tmpfs -o mode=755 run /run
ln -sfn /proc/self/fd /dev/fd
ln -sfn /proc/self/fd/0 /dev/stdin
ln -sfn /proc/self/fd/1 /dev/stdout
ln -sfn /proc/self/fd/2 /dev/stderr
hostname "$role"
ulimit -l unlimited
ulimit -n 65536
if $fast; then # perftest asks for the clock rate, which this kernel does not know
  printf '%s\n' "$(</proc/cpuinfo)" "cpu MHz		: $megahertz" >/run/cpuinfo && mount --bind /run/cpuinfo /proc/cpuinfo
fi

if [ -n "$shared" ]; then
  mkdir -p "$shared" && mount -t 9p -o trans=virtio,version=9p2000.L,msize=1048576,cache=mmap shared "$shared" \
    || give_up "the folder $shared cannot be shared"
fi

rails=()
ip link set lo up
case $role in
  one)
    # The two rails are the two ends of one cable. The kernel would carry traffic between two of its own addresses over
    # loopback; told the neighbours and to take such packets, it really sends them across.
    ip link add v0 type veth peer name v1
    ip link set v0 address 02:00:00:00:00:10
    ip link set v1 address 02:00:00:00:00:11
    rails=(v0 v1)
    for rail in 0 1; do
      echo 1 >/proc/sys/net/ipv4/conf/v$rail/accept_local
      echo 0 >/proc/sys/net/ipv4/conf/v$rail/rp_filter
      ip addr add 10.77.0.$((rail + 1))/24 dev v$rail
      ip link set v$rail mtu 4200 up
    done
    echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
    ip neigh replace 10.77.0.2 lladdr 02:00:00:00:00:11 dev v0 nud permanent
    ip neigh replace 10.77.0.1 lladdr 02:00:00:00:00:10 dev v1 nud permanent
    hosts="127.0.0.1 localhost one"
    ;;
  initiator | target)
    own=1
    [ "$role" = initiator ] || own=2
    rails=(eth0 eth1)
    for rail in 0 1; do
      ip addr add 10.77.$rail.$own/24 dev eth$rail
      ip link set eth$rail mtu 4200 up
    done
    ip addr add 10.77.9.$own/24 dev eth2
    ip link set eth2 up
    hosts="127.0.0.1 localhost
10.77.9.1 initiator
10.77.9.2 target
10.77.0.1 initiator-rail0
10.77.0.2 target-rail0
10.77.1.1 initiator-rail1
10.77.1.2 target-rail1"
    ;;
esac
printf '%s\n' "$hosts" >/etc/hosts
printf 'hosts: files\n' >/etc/nsswitch.conf
for rail in 0 1; do
  rdma link add rxe$rail type rxe netdev "${rails[rail]}" || give_up "rxe$rail cannot be made"
done

impair() {
  local words=()
  [ -z "$loss" ] || words+=(loss "$loss")
  [ -z "$delay" ] || words+=(delay "$delay")
  [ "${#words[@]}" -gt 0 ] || return 0
  for rail in "${rails[@]}"; do
    tc qdisc add dev "$rail" root netem limit 10000 "${words[@]}" || give_up "netem refuses: ${words[*]}"
  done
}
impair

# Tells the host what the rails' interfaces are seen to do: the proof that a cable was pulled.
watch_cables() {
  local rail now
  local -a last=(up up)
  while :; do
    for rail in 0 1; do
      now=up
      [ "$(</sys/class/net/"${rails[rail]}"/operstate)" != down ] || now=down
      if [ "$now" != "${last[rail]}" ]; then
        last[rail]=$now
        echo "cable $rail $now" >&7
      fi
    done
    sleep 0.1
  done
}

# In one guest a cable is pulled in here; between two, the host pulls it at the emulated NIC.
pull_cable() { # RAIL up|down
  if [ "$role" = one ]; then
    ip link set "${rails[$1]}" "$2"
  else
    echo "pull $1 $2" >&7
  fi
}

cables() { # up|down RAIL@SECONDS...
  local state=$1 what
  shift
  for what in "$@"; do
    (sleep "${what#*@}" && pull_cable "${what%@*}" "$state") &
  done
}

# The command may ask for it, too: echo cable 0 down >/run/rdma-lab, echo loss 1% and echo loss none
hear_command() {
  local watching=false word rail state device
  if [ -n "$link_down$link_up" ]; then
    watch_cables &
    watching=true
  fi
  while read -r word rail state <&8; do
    case "$word $rail $state" in
      "cable "[01]" "up | "cable "[01]" "down)
        if ! $watching; then
          watch_cables &
          watching=true
        fi
        pull_cable "$rail" "$state"
        ;;
      "loss none "*)
        count_lost
        for device in "${rails[@]}"; do
          tc qdisc del dev "$device" root
        done
        ;;
      "loss "[0-9]*"% ")
        for device in "${rails[@]}"; do
          tc qdisc replace dev "$device" root netem limit 10000 loss "$rail"
        done
        ;;
      *) echo "rdma lab: '$word $rail $state' means nothing; write: cable RAIL up|down" >/run/err ;;
    esac
  done
}

count_lost() { # packets that netem has dropped, and those that it has let through
  local lost=0 sent=0 device numbers
  for device in "${rails[@]}"; do
    numbers=$(tc -s qdisc show dev "$device" root | sed -nE 's/.* ([0-9]+) pkt \(dropped ([0-9]+),.*/\1 \2/p')
    sent=$((sent + ${numbers% *}))
    lost=$((lost + ${numbers#* }))
  done
  echo "lost $lost of $((lost + sent))" >&7
}

# An emulated cable may stand still, for good or for as long as a lease, though nobody pulled it: the host is told, so that
# nobody looks elsewhere. Where packets are lost by intention it takes three pings in turn to say so.
watch_for_standstill() {
  local rail device enough
  local -a silent=(0 0)
  while sleep 1; do
    for rail in 0 1; do
      device=${rails[rail]}
      if [ "$(</sys/class/net/"$device"/operstate)" = down ] \
        || busybox ping -q -c 1 -W 3 "10.77.$rail.2" >/dev/null 2>&1; then
        silent[rail]=0
      else
        enough=1
        if tc qdisc show dev "$device" root | grep -q loss; then
          enough=3
        fi
        if [ $((silent[rail] += 1)) -eq "$enough" ]; then
          echo "still $rail" >&7
        fi
      fi
    done
  done
}

listens() { # [PORT]: is there a TCP socket that listens, there or anywhere?
  local wanted=.. hex
  if [ -n "${1:-}" ]; then
    printf -v hex '%04X' "$1"
    wanted=":$hex .*"
  else
    wanted=".*"
  fi
  cat /proc/net/tcp /proc/net/tcp6 | grep -Eq "^ *[0-9]+: [0-9A-F]+$wanted 0A "
}

run_command() { # FILE: its output goes through pipes of its own, so that it may open /dev/stdout as often as it likes
  local out err code
  out=$(port out) err=$(port err)
  mkfifo /run/out /run/err
  cat /run/out >"$out" &
  local first=$!
  cat /run/err >"$err" &
  local second=$!
  mkfifo /run/rdma-lab
  exec 8<>/run/rdma-lab
  echo started >&7
  if [ "$role" != target ]; then
    hear_command &
    [ "$role" = one ] || watch_for_standstill &
    # shellcheck disable=SC2086 # lists
    cables down $link_down
    # shellcheck disable=SC2086
    cables up $link_up
  fi
  bash "$1" </dev/null >/run/out 2>/run/err 7>&- 8>&-
  code=$?
  # What the command left running still holds the pipes: the end of the guest ends it.
  timeout 5 tail --pid="$first" -f /dev/null
  timeout 5 tail --pid="$second" -f /dev/null
  return "$code"
}

echo "ready $(uname -r)" >&7
if [ "$role" = target ]; then
  run_command "$run/target" &
  target=$!
  began=$SECONDS
  while kill -0 "$target" 2>/dev/null; do
    if $target_says; then
      [ ! -e /run/target-up ] || break
    elif listens "$target_port"; then
      break
    fi
    if [ $((SECONDS - began)) -ge "${target_wait%.*}" ]; then
      ! $target_says || give_up "the target agent is not up after $target_wait s"
      [ -z "$target_port" ] || give_up "the target command does not listen on port $target_port after $target_wait s"
      break
    fi
    sleep 0.1
  done
  echo up >&7
  wait "$target"
else
  read -r -t 600 _ <&7 # the host says go, when the other guest is up
  run_command "$run/command"
fi
code=$?
[ -z "$loss" ] || count_lost
[ -z "$shared" ] || umount "$shared" 2>/dev/null || sync
echo "exit $code" >&7
power_off
