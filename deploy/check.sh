#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Tries the deployment out: makes the image, runs compose.yaml with an etcd image made of this machine's etcd, publishes at
# one replica and fetches at the other, kills a replica and a member of etcd in between, and takes everything down again.
# Checks the systemd unit and the Kubernetes manifests as far as this machine's tools can.
#
#   deploy/check.sh      needs a Docker daemon, docker-compose, etcd on the path, curl
set -euo pipefail
home=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
fail() { echo "deploy/check.sh: $1" >&2; exit 1; }
say() { echo "deploy/check.sh: $1"; }

if command -v docker-compose >/dev/null; then
  compose=(docker-compose)
elif docker compose version >/dev/null 2>&1; then
  compose=(docker compose)
else
  fail "neither docker-compose nor docker compose is here; install one (Debian: docker-compose)"
fi
timeout 10 docker version >/dev/null 2>&1 || fail "no Docker daemon answers; start dockerd"
etcd=$(command -v etcd) || fail "no etcd on the path to make an image of; install one (Debian: etcd-server)"
command -v curl >/dev/null || fail "curl is needed; install it"

work=$(mktemp -d)
project=hawser-check-$$
export HAWSER_IMAGE=$project/hawser ETCD_IMAGE=$project/etcd HAWSER_TOKENS=$work/tokens
# shellcheck disable=SC2317 # by the trap
down() {
  "${compose[@]}" -p "$project" -f "$home/deploy/compose.yaml" down -v -t 5 >"$work/down.log" 2>&1 || cat "$work/down.log" >&2
  docker image rm -f "$HAWSER_IMAGE" "$ETCD_IMAGE" >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap down EXIT
run() { timeout 120 "${compose[@]}" -p "$project" -f "$home/deploy/compose.yaml" "$@" >"$work/compose.log" 2>&1 \
  || { cat "$work/compose.log" >&2; fail "compose $* failed"; }; }

# ---- the systemd units
if command -v systemd-analyze >/dev/null; then
  # Where the unit expects Hawser, there need not be any here.
  for unit in hawser-metadata hawser-agent; do
    sed "s:/opt/hawser/hawser :$home/hawser :" "$home/deploy/$unit.service" >"$work/$unit.service"
    systemd-analyze verify --man=no "$work/$unit.service" || fail "the systemd unit $unit is wrong"
  done
  say "systemd units: verified"
else
  say "systemd units: skipped, systemd-analyze is not here (Debian: systemd)"
fi

# ---- the Kubernetes manifests
if PYTHONPATH=$work/python python3 -c 'import kubernetes_validate' 2>/dev/null \
  || python3 -m pip install -q --disable-pip-version-check --root-user-action=ignore --target "$work/python" kubernetes-validate 2>"$work/pip.log"; then
  for version in 1.28 1.31 1.34; do
    PYTHONPATH=$work/python python3 -m kubernetes_validate --strict -k "$version" "$home/deploy/kubernetes.yaml" >"$work/kubernetes.log" 2>&1 \
      || { cat "$work/kubernetes.log" >&2; fail "the Kubernetes manifests do not fit version $version"; }
  done
  say "Kubernetes manifests: fit the schemas of 1.28, 1.31 and 1.34"
else
  say "Kubernetes manifests: skipped, Python's kubernetes-validate is not here and could not be installed ($(tail -n 1 "$work/pip.log"))"
fi

# ---- images
"$home/deploy/image.sh" "$HAWSER_IMAGE"
mkdir -p "$work/etcd/usr/bin"
cp -L "$etcd" "$work/etcd/usr/bin/etcd"
{ ldd "$etcd" 2>/dev/null || true; } | grep -oE '/[^ ]+\.so[^ ]*' | while read -r library; do
  mkdir -p "$work/etcd$(dirname "$library")"
  cp -L "$library" "$work/etcd$library"
done
tar -C "$work/etcd" -c . | docker import - "$ETCD_IMAGE" >/dev/null

# ---- the compose file
admin=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')
printf 'admin * %s\n' "$admin" >"$HAWSER_TOKENS"
chmod 644 "$HAWSER_TOKENS"
free_port() { # the kernel's choice, free until somebody else is given it
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
HAWSER_PORT0=$(free_port)
HAWSER_PORT1=$(free_port)
export HAWSER_PORT0 HAWSER_PORT1
urls=("http://127.0.0.1:$HAWSER_PORT0" "http://127.0.0.1:$HAWSER_PORT1")

ask() { curl -sS -m 15 -o "$work/answer" -w '%{http_code}' -H "Authorization: Bearer $admin" "$@" 2>"$work/curl.log" || true; }
await() { # WHAT STATUS curl arguments…
  local what=$1 status=$2 deadline=$((SECONDS + 90)) seen
  shift 2
  until seen=$(ask "$@") && [ "$seen" = "$status" ]; do
    if [ "$SECONDS" -ge "$deadline" ]; then
      run ps -a
      cat "$work/compose.log" >&2
      fail "$what: $seen instead of $status after 90 s ($(cat "$work/answer" "$work/curl.log" 2>/dev/null))"
    fi
    sleep 0.3
  done
}
publish() { # URL NAME EPOCH BLOB
  await "publish $2 at $1" "${5:-201}" -X PUT -H 'Content-Type: application/octet-stream' -H "Hawser-Epoch: $3" \
    -H 'Hawser-Ttl-Millis: 600000' --data-binary "$4" "$1/v1/agents/$2"
}
fetch() { # URL NAME BLOB
  await "fetch $2 at $1" 200 -H 'Accept: application/octet-stream' "$1/v1/agents/$2"
  [ "$(cat "$work/answer")" = "$3" ] || fail "$2 is '$(cat "$work/answer")' at $1 instead of '$3'"
}

run up -d
for url in "${urls[@]}"; do await "$url is ready" 200 "$url/health/ready"; done
[ "$(curl -s -m 15 -o /dev/null -w '%{http_code}' "${urls[0]}/v1/agents")" = 401 ] || fail "it lets anyone in"
publish "${urls[0]}" a 1 first
fetch "${urls[1]}" a first
say "compose: two replicas on three members of etcd serve one another's agents"

run kill -s KILL metadata0
publish "${urls[1]}" a 2 second 200
run start metadata0
await "the killed replica is ready" 200 "${urls[0]}/health/ready"
fetch "${urls[0]}" a second
run kill -s KILL etcd0
publish "${urls[0]}" b 1 third
fetch "${urls[1]}" b third
run start etcd0
say "compose: goes on without a replica, and without a member of etcd"

began=$SECONDS
run stop -t 15 metadata1
[ $((SECONDS - began)) -lt 14 ] || fail "a replica did not end on SIGTERM"
# Into a file: grep ends at the first match, and compose would fail on the closed pipe.
"${compose[@]}" -p "$project" -f "$home/deploy/compose.yaml" logs --no-color metadata0 >"$work/metadata0.log" 2>/dev/null || true
grep -q 'hawser metadata: http://' "$work/metadata0.log" || fail "a replica did not print where it listens: $(cat "$work/metadata0.log")"
say "compose: a replica ends on SIGTERM"
