#!/usr/bin/env bash
# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0
#
# The RDMA lab: runs a command where libibverbs finds two devices. See README.md, or --help.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
home=$(cd "$here/../../.." && pwd)
PATH=$PATH:/usr/sbin:/sbin
lab="rdma lab"
. "$here/../lib.sh"

usage() {
  cat <<'TEXT'
Runs a command on real libibverbs: soft-RoCE in QEMU guests that see this host's files, with a layer of their own over
them for what they write. Output and exit code are those of the command; 125 means that the lab itself failed.

  run.sh one [OPTION...] -- COMMAND   in one guest, with the rails rxe0 and rxe1 at the two ends of one cable
  run.sh two [OPTION...] -- COMMAND   on the initiator of two guests, whose rails rxe0 and rxe1 are cabled pairwise

Options
  --link-down RAIL@TIME       pull the cable of rail 0 or 1 so long after the command began, as 0@3s; may be repeated
  --link-up RAIL@TIME         put it back
  --loss PERCENT              lose packets at random, as 1%, on both rails
  --delay TIME                hold packets back, as 1ms, on both rails
  --target-command COMMAND    what the other guest runs, by a shell (metadata service and hawser bench --role target)
  --target-port PORT          it is up when it listens there; without, when it listens anywhere, or after --target-wait
  --target-wait TIME          how long to wait for that (60s with a port, else 3s; 5m for ours)
  --share FOLDER              a folder of this host that the guests may write to
  --fast                      one guest only: the kernel as a process of this host, six times as fast, on one CPU; for
                              measurements. It is built on first use
  --cpus N, --memory MIB      of a guest (one: 2, 4096; two: 1, 2048)
  --timeout TIME              of the command (10m)
  --verbose                   show the guests' consoles
Names in two guests: initiator and target (apart from the rails), initiator-rail0, target-rail0, ...-rail1.
TEXT
}

cable() { # OPTION RAIL@TIME
  [[ $2 == [01]@* ]] || wrong "$1 $2 names no cable; write RAIL@TIME, as 0@3s, with rail 0 or 1"
  printf '%s@%s\n' "${2%%@*}" "$(seconds "$1" "${2#*@}")"
}

mode=${1:-}
case $mode in
  one) cpus=2 memory=4096 ;;
  two) cpus=1 memory=2048 ;;
  -h | --help)
    usage
    exit 0
    ;;
  '') wrong "say one or two" ;;
  *) wrong "$mode is neither one nor two" ;;
esac
shift

link_down=() link_up=() loss='' delay='' target_command='' target_port='' target_wait='' share='' timeout=600 verbose=false fast=false
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  case $1 in
    -h | --help)
      usage
      exit 0
      ;;
    --verbose)
      verbose=true
      shift
      continue
      ;;
    --fast)
      fast=true
      shift
      continue
      ;;
    --link-down | --link-up | --loss | --delay | --target-command | --target-port | --target-wait | --share | --cpus | --memory | --timeout)
      [ $# -ge 2 ] && [ "$2" != -- ] || wrong "$1 wants a value"
      ;;
    *) wrong "$1 is not an option" ;;
  esac
  case $1 in
    --link-down) link_down+=("$(cable "$1" "$2")") ;;
    --link-up) link_up+=("$(cable "$1" "$2")") ;;
    --loss)
      [[ $2 =~ ^[0-9]+(\.[0-9]+)?%$ ]] || wrong "--loss $2 is no percentage; write it as 1%"
      loss=$2
      ;;
    --delay) delay=$(seconds "$1" "$2")s ;;
    --target-command) target_command=$2 ;;
    --target-port) target_port=$2 ;;
    --target-wait) target_wait=$(seconds "$1" "$2") ;;
    --share) share=$2 ;;
    --cpus) cpus=$2 ;;
    --memory) memory=$2 ;;
    --timeout) timeout=$(seconds "$1" "$2") ;;
  esac
  shift 2
done
[ $# -ge 2 ] || wrong "say -- COMMAND"
shift
for pair in "--target-port:$target_port" "--cpus:$cpus" "--memory:$memory"; do
  [[ ${pair#*:} =~ ^[0-9]*$ ]] || wrong "${pair%%:*} ${pair#*:} is no number"
done
if [ "$mode" = one ] && [ -n "$target_command$target_port$target_wait" ]; then
  wrong "only two guests have a target; with one, COMMAND starts both sides"
fi
if $fast; then
  [ "$mode" = one ] || wrong "--fast is for one guest"
  [ -z "$share" ] || wrong "--share does not go together with --fast"
fi
if [ -n "$share" ]; then
  [ -d "$share" ] && [ -w "$share" ] || wrong "--share $share is not a folder that can be written"
  share=$(cd "$share" && pwd)
fi

missing=()
need() { # COMMAND PACKAGE
  command -v "$1" >/dev/null || missing+=("$2")
}
if $fast; then
  need unshare util-linux
else
  need qemu-system-x86_64 qemu-system-x86
  need cpio cpio
  need depmod kmod
fi
need busybox busybox-static
need ip iproute2
need rdma iproute2
need setpriv util-linux
compgen -G '/usr/lib*/*/libibverbs/librxe-*.so' >/dev/null || compgen -G '/usr/lib*/libibverbs/librxe-*.so' >/dev/null \
  || missing+=(ibverbs-providers)
case "$* $target_command" in
  *ibv_*) need ibv_devinfo ibverbs-utils ;;
  *ib_write_* | *ib_read_* | *ib_send_*) need ib_write_bw perftest ;;
esac
if [ "${#missing[@]}" -gt 0 ]; then
  fail "not installed: ${missing[*]}; install with: apt-get install -y --no-install-recommends ${missing[*]}"
fi

# A guest cannot build: what it is to run must be there.
builds=false
[ "$mode" = one ] || [ -n "$target_command" ] || builds=true
[ "${1##*/}" != hawser ] || builds=true
! $builds || "$home/hawser" --version >/dev/null || fail "hawser does not build; see above"

if $fast; then
  kernel=$("$here/build-uml.sh") || exit 125
else
  prepared=$("$here/prepare.sh") || exit 125
  kernel=${prepared%%$'\n'*} initrd=${prepared#*$'\n'}
fi

# Of runs that were killed before they could clean up.
for old in "${TMPDIR:-/tmp}"/hawser-rdma-lab.*; do
  [ -d "$old" ] && [ -O "$old" ] || continue
  owner=${old##*/hawser-rdma-lab.} owner=${owner%%.*}
  kill -0 "$owner" 2>/dev/null || rm -rf "$old"
done
run=$(mktemp -d "${TMPDIR:-/tmp}/hawser-rdma-lab.$$.XXXXXX")
machines=()
helpers=()
clean() {
  local pid
  for pid in "${machines[@]}" "${helpers[@]}"; do
    kill -KILL "$pid" 2>/dev/null || true
  done
  wait 2>/dev/null || true
  rm -rf "$run"
}
trap clean EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

cp "$here/guest.sh" "$run/guest.sh"
{
  printf 'link_down=%q\nlink_up=%q\n' "${link_down[*]}" "${link_up[*]}"
  printf 'loss=%q\ndelay=%q\nshared=%q\n' "$loss" "$delay" "$share"
  printf 'megahertz=%q\n' "$(sed -nE 's/^cpu MHz\s*: ([0-9.]+).*/\1/p' /proc/cpuinfo | sed -n 1p)"
  # Ours says itself when it is up; of others it is seen when they listen.
  target_says=false
  wait_default=3
  [ -z "$target_port" ] || wait_default=60
  if [ "$mode" = two ] && [ -z "$target_command" ]; then
    target_says=true
    wait_default=300
  fi
  printf 'target_port=%q\ntarget_wait=%q\ntarget_says=%q\n' "$target_port" "${target_wait:-$wait_default}" "$target_says"
} >"$run/settings"

script() { # FILE: the user's environment, then what stdin says
  {
    local name
    for name in PATH HOME USER LANG LC_ALL ${!JAVA*} ${!HAWSER_*}; do
      [ -z "${!name+set}" ] || [[ $name == HAWSER_LAB_* ]] || printf 'export %s=%q\n' "$name" "${!name}"
    done
    # What is loaded for the first time takes seconds in an emulated machine.
    [ -n "${HAWSER_METADATA_TIMEOUT+set}" ] || printf 'export HAWSER_METADATA_TIMEOUT=60s\n'
    printf 'export RDMA_LAB=%q TMPDIR=/tmp\ncd %q\n' "$mode" "$PWD"
    cat
  } >"$1"
}
printf -v words '%q ' "$@"
script "$run/command" <<<"exec $words"
if [ "$mode" = two ]; then
  if [ -z "$target_command" ]; then
    printf -v launcher '%q' "$home/hawser"
    target_command="$launcher metadata --listen target:7300 --allow-anonymous &
      until (: </dev/tcp/target/7300) 2>/dev/null; do sleep 0.2; done
      for warm in 1 2 3; do # the first answers take seconds in an emulated machine, longer than agents wait
        exec 5<>/dev/tcp/target/7300
        printf 'HEAD /v1/agents/nobody HTTP/1.1\\r\\nHost: target\\r\\nConnection: close\\r\\n\\r\\n' >&5
        timeout 60 cat <&5 >/dev/null
        exec 5>&-
      done
      $launcher bench --role target --metadata http://target:7300 --listen 10.77.9.2:0 | while IFS= read -r line; do
        printf '%s\\n' \"\$line\"
        touch /run/target-up
      done
      exit \${PIPESTATUS[0]}"
  fi
  script "$run/target" <<<"$target_command"
fi

# Starts a guest whose ports are pipes in $run. Dies with this script, even when that is killed outright.
machine() { # NAME [QEMU OPTION...]
  local name=$1 pipe
  shift
  for pipe in control monitor; do
    mkfifo "$run/$name.$pipe.in" "$run/$name.$pipe.out"
  done
  mkfifo "$run/$name.stdout" "$run/$name.stderr"
  : >"$run/$name.console"
  local shared=()
  [ -z "$share" ] || shared=(-virtfs "local,path=$share,mount_tag=shared,security_model=none,multidevs=remap")
  setpriv --pdeathsig KILL qemu-system-x86_64 -name "hawser-$name" -M q35 \
    -cpu qemu64,+ssse3,+sse4.1,+sse4.2,+popcnt,+pclmulqdq -accel tcg,thread=multi,tb-size=512 \
    -smp "$cpus" -m "$memory" -kernel "$kernel" -initrd "$initrd" \
    -append "console=ttyS0 quiet panic=-1 mitigations=off net.ifnames=0 hawser.run=$run hawser.role=$name" \
    -virtfs local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap "${shared[@]}" \
    -display none -nodefaults -no-reboot \
    -serial "file:$run/$name.console" \
    -chardev "pipe,id=monitor,path=$run/$name.monitor" -mon chardev=monitor \
    -device virtio-serial-pci \
    -chardev "pipe,id=control,path=$run/$name.control" -device virtserialport,chardev=control,name=control \
    -chardev "file,id=out,path=$run/$name.stdout" -device virtserialport,chardev=out,name=out \
    -chardev "file,id=err,path=$run/$name.stderr" -device virtserialport,chardev=err,name=err \
    "$@" </dev/null >"$run/$name.qemu" 2>&1 &
  machines+=($!)
  cat "$run/$name.monitor.out" >/dev/null &
  helpers+=($!)
  if $verbose; then
    tail -n +1 -F --pid="${machines[-1]}" "$run/$name.console" 2>/dev/null | sed -u "s/^/[$name console] /" >&2 &
    helpers+=($!)
  fi
}

# The same, of User-Mode Linux: its processes are in a namespace of their own, all of which ends with the first.
fast_machine() { # NAME
  local name=$1
  mkfifo "$run/$name.control.in" "$run/$name.control.out" "$run/$name.stdout" "$run/$name.stderr"
  : >"$run/$name.qemu"
  setpriv --pdeathsig KILL unshare --fork --pid --kill-child=KILL "$kernel" mem="${memory}M" rootfstype=hostfs \
    root=/dev/root ro init="$here/init-uml" con=null con0=null,fd:1 con1=fd:3,fd:4 con2=null,fd:5 con3=null,fd:6 \
    ssl=null umid="hawser-$$" uml_dir="$run/" quiet hawser.run="$run" hawser.role="$name" hawser.fast \
    </dev/null >"$run/$name.console" 2>&1 \
    3<>"$run/$name.control.in" 4<>"$run/$name.control.out" 5>"$run/$name.stdout" 6>"$run/$name.stderr" &
  machines+=($!)
}

nic() { # NETDEV MAC PEER-ROLE SOCKET: one end of a cable between the two guests
  local server=off
  [ "$3" = initiator ] || server=on
  printf '%s\n' -netdev "stream,id=$1,server=$server,addr.type=unix,addr.path=$4" \
    -device "virtio-net-pci,netdev=$1,mac=$2,host_mtu=4200"
}

died() { # NAME
  local reason
  reason=$(grep -h 'rdma lab: guest:' "$run/$1.console" | tail -n 1 | tr -d '\r') \
    || reason=$(cat "$run/$1.qemu" "$run/$1.console" | tail -n 3 | tr -d '\r' | paste -sd ' ')
  fail "the guest $1 has died: ${reason:-no word of why}"
}

hear() { # NAME FD PID DEADLINE WORD...: waits for a line that begins with one of the words; leaves it in $line
  local name=$1 fd=$2 pid=$3 deadline=$4 word
  shift 4
  while :; do
    if IFS= read -r -t 0.5 line <&"$fd"; then
      case $line in
        failed*) fail "guest $name: ${line#failed }" ;;
        cable*)
          cables_seen+=" ${line#cable };"
          printf 'rdma lab: %s\n' "$line" >&2
          ;;
        pull*) pull "${line#pull }" ;;
        still*)
          printf 'rdma lab: rail %s stands still: no ping came through for three seconds, though its cable is in\n' "${line#still }" >&2
          ;;
        lost*)
          packets=${line#lost }
          printf 'rdma lab: lost %s packets\n' "$packets" >&2
          ;;
      esac
      for word in "$@"; do
        [ "${line%% *}" != "$word" ] || return 0
      done
    elif ! kill -0 "$pid" 2>/dev/null; then
      # It may have said its last word just before.
      if IFS= read -r -t 0.2 line <&"$fd" && [ "${line%% *}" = exit ]; then
        return 0
      fi
      died "$name"
    elif [ "$SECONDS" -ge "$deadline" ]; then
      return 1
    fi
  done
}

pull() { # RAIL up|down: the cable between two guests
  printf 'set_link n%s %s\n' "${1% *}" "$([ "${1#* }" = up ] && echo on || echo off)" >"$run/initiator.monitor.in"
}

cables_seen='' packets=''
boot_deadline=$((SECONDS + 120))
target_limit=${target_wait:-$wait_default}
if [ "$mode" = two ]; then
  role=target
  mapfile -t nics < <(
    nic n0 02:00:00:00:00:20 target "$run/cable0"
    nic n1 02:00:00:00:00:21 target "$run/cable1"
    nic n2 02:00:00:00:00:22 target "$run/cable2"
  )
  machine target "${nics[@]}"
  target_pid=${machines[-1]}
  exec {target_control}<>"$run/target.control.out"
  sed -u 's/^/[target] /' "$run/target.stdout" >&2 &
  helpers+=($!)
  sed -u 's/^/[target] /' "$run/target.stderr" >&2 &
  helpers+=($!)
  for _ in $(seq 100); do
    [ ! -S "$run/cable2" ] || break
    kill -0 "$target_pid" 2>/dev/null || died target
    sleep 0.1
  done
  role=initiator
  mapfile -t nics < <(
    nic n0 02:00:00:00:00:10 initiator "$run/cable0"
    nic n1 02:00:00:00:00:11 initiator "$run/cable1"
    nic n2 02:00:00:00:00:12 initiator "$run/cable2"
  )
  machine initiator "${nics[@]}"
else
  role=one
  if $fast; then
    fast_machine one
  else
    machine one -nic none
  fi
fi
pid=${machines[-1]}
exec {control}<>"$run/$role.control.out"
cat "$run/$role.stdout" &
readers=($!)
cat "$run/$role.stderr" >&2 &
readers+=($!)

hear "$role" "$control" "$pid" "$boot_deadline" ready || fail "the guest $role did not boot within two minutes"
if [ "$mode" = two ]; then
  hear target "$target_control" "$target_pid" $((boot_deadline + ${target_limit%.*})) up || fail "the target did not come up"
fi
echo go >"$run/$role.control.in"
hear "$role" "$control" "$pid" $((SECONDS + 60)) started || fail "the guest $role does not answer"

limit=$(awk "BEGIN { print int($timeout + 0.999) }")
hear "$role" "$control" "$pid" $((SECONDS + limit)) exit || fail "the command has not ended within $limit s and was stopped"
code=${line#exit }
# A fault that did not happen proves nothing.
for what in "${link_down[@]}"; do
  [[ $cables_seen == *" ${what%@*} down;"* ]] \
    || fail "the cable of rail ${what%@*} was not seen to go down; did the command end (with $code) before ${what#*@} s?"
done
for what in "${link_up[@]}"; do
  [[ $cables_seen == *" ${what%@*} up;"* ]] \
    || fail "the cable of rail ${what%@*} was not seen to come up; did the command end (with $code) before ${what#*@} s?"
done
if [ -n "$loss" ] && [ "${packets%% *}" = 0 ]; then
  fail "--loss $loss has lost nothing: $packets packets"
fi
if [ "$code" -eq 137 ] && grep -q 'Out of memory' "$run/$role.console"; then
  printf 'rdma lab: the guest had too little memory and ended a process; try --memory with more than %s\n' "$memory" >&2
fi
# A port takes nothing from the guest that it has not passed on: all output is in the pipes by now.
kill "$pid" 2>/dev/null || true
wait "${readers[@]}" 2>/dev/null || true
exit "$code"
