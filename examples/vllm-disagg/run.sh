#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A disaggregated deployment on this machine: see README.md, or --help. Builds it on the first run, and again when a source
# is newer.
#
#   HAWSER_JAVA_HOME   the JDK to use (25 or newer), before all others
#   PYTHON             the Python to use (3.9 or newer); python3 unless set
set -euo pipefail

here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
home=$(cd "$here/../.." && pwd)
target=$here/target
stamp=$target/run.built

fail() {
  printf 'run.sh: error: %s\n' "$1" >&2
  exit 1
}

usage() {
  cat <<'TEXT'
run.sh [--port N] [--mode pull|push]   prefill, decode and proxy processes, and a metadata service; then use curl
run.sh --check [--short] [--only TEXT] the check: what two engines compute is, bit for bit, what one computes
run.sh --java [OPTIONS]                the demonstration in Java, of the bytes alone (--java --help tells its options)

Of the first two: --backend auto|numpy|transformers, --device cuda:N|cpu   what computes; unless told, transformers
                                       on a GPU where PyTorch finds one, else numpy
TEXT
}

# The release file tells the version without starting a JVM.
is_jdk25() { # DIR
  local version
  [ -x "$1/bin/javac" ] && [ -r "$1/release" ] || return 1
  version=$(sed -nE 's/^JAVA_VERSION="([0-9]+).*/\1/p' "$1/release")
  [ -n "$version" ] && [ "$version" -ge 25 ]
}

find_jdk() {
  local dir javac
  [ -z "${HAWSER_JAVA_HOME:-}" ] || is_jdk25 "$HAWSER_JAVA_HOME" \
    || fail "HAWSER_JAVA_HOME=$HAWSER_JAVA_HOME is not a JDK 25 or newer; set it to one, or unset it"
  javac=$(readlink -f "$(command -v javac || true)")
  for dir in "${HAWSER_JAVA_HOME:-}" "${JAVA_HOME:-}" "${javac%/bin/javac}" /usr/lib/jvm/* /usr/lib64/jvm/* \
    /opt/*jdk* /opt/java/* "$HOME"/.sdkman/candidates/java/* "$HOME"/.jdks/*; do
    if [ -n "$dir" ] && is_jdk25 "$dir"; then
      printf '%s\n' "$dir"
      return 0
    fi
  done
  return 1
}

is_built() {
  local dirs=("$home/pom.xml" "$here/pom.xml" "$here/src/main") module
  [ -e "$stamp" ] && [ -d "$target/lib" ] || return 1
  for module in memory-registry engine transfer-agent metadata-service; do
    dirs+=("$home/$module/pom.xml" "$home/$module/src/main")
  done
  [ -z "$(find "${dirs[@]}" -newer "$stamp" -print -quit)" ]
}

build() {
  local log=$target/run-build.log
  command -v mvn >/dev/null || fail "Maven 3.8.7 or newer builds the demonstration on the first run and was not found; install it (Debian, Ubuntu: apt install maven; sdk install maven)"
  printf 'run.sh: building (the first run, or a source has changed) ...' >&2
  mkdir -p "$target"
  rm -rf "$target/lib" "$target"/hawser-example-*.jar # of other versions
  : >"$stamp.new" # before the build begins: what is edited meanwhile is newer
  if ! (cd "$home" && JAVA_HOME=$jdk mvn -B -q -ntp -pl examples/vllm-disagg -am -DskipTests \
    -Dspotless.check.skip=true package) </dev/null >"$log" 2>&1; then
    printf '\n' >&2
    grep -m 5 -E '^\[ERROR\]' "$log" >&2 || tail -n 5 "$log" >&2
    fail "the build failed; see $log"
  fi
  printf ' done\n' >&2
  mv "$stamp.new" "$stamp"
}

# A Python with numpy: the one that there is, or a virtual environment of ours.
find_python() {
  local wanted=${PYTHON:-python3} log=$target/pip.log
  command -v "$wanted" >/dev/null || fail "Python 3.9 or newer was not found; install it (Debian, Ubuntu: apt install python3 python3-venv), or name it in PYTHON"
  if "$wanted" -c 'import numpy' 2>/dev/null; then
    python=$wanted
    return
  fi
  python=$target/venv/bin/python
  if ! "$python" -c 'import numpy' 2>/dev/null; then
    printf 'run.sh: installing numpy into %s ...' "$target/venv" >&2
    "$wanted" -m venv "$target/venv" >"$log" 2>&1 && "$python" -m pip install --quiet numpy >>"$log" 2>&1 \
      || { printf '\n' >&2; fail "numpy could not be installed (see $log): install it for $wanted, or configure pip for an index that has it"; }
    printf ' done\n' >&2
  fi
}

java() { # MAIN ARGUMENT...
  local jars=("$target"/hawser-example-*.jar "$target"/lib/*.jar)
  exec "$jdk/bin/java" --enable-native-access=ALL-UNNAMED -XX:+UseSerialGC \
    -Djava.util.logging.config.file="$here/src/main/config/logging.properties" \
    -cp "$(IFS=:; printf '%s' "${jars[*]}")" "$@"
}

engine() { # ARGUMENT...
  exec "$python" -m hawser_disagg.server "$@"
}

pids=()
# The last that was started is the first to go: the proxy, which lets its requests end.
stop() {
  local pid i code=0
  trap '' INT TERM
  for ((i = ${#pids[@]} - 1; i >= 0; i--)); do
    pid=${pids[i]}
    kill -TERM "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || code=$?
  done
  rm -rf "$logs"
  return 0
}

# Starts a command; its first line of output is "ready URL", which goes into $url.
start() { # NAME COMMAND...
  local name=$1 line=''
  shift
  mkfifo "$logs/$name"
  "$@" >"$logs/$name" &
  pids+=($!)
  exec {fd}<"$logs/$name"
  read -r -t 120 line <&"$fd" || true
  [[ $line == ready\ * ]] || fail "the $name process did not start"
  url=${line#ready }
  printf '%-9s %s (process %s)\n' "$name" "$url" "${pids[-1]}"
}

serve() {
  local port=8000 mode=pull computing=() backend side
  while [ $# -gt 0 ]; do
    case $1 in
      --port) port=${2:?--port needs a number} ;;
      --mode) mode=${2:?--mode needs pull or push} ;;
      --backend | --device) computing+=("$1" "${2:?$1 needs a name}") ;;
      *) usage >&2; exit 2 ;;
    esac
    shift 2
  done
  logs=$(mktemp -d)
  trap stop EXIT
  trap 'exit 0' INT TERM
  backend=$("$python" -m hawser_disagg.backend "${computing[@]}") || exit
  computing=(--backend "${backend%% on *}" --device "${backend##* on }") # decided once
  printf '%-9s %s\n' model "a small Llama with random weights, computed by $backend"
  start metadata java dev.hawser.example.disagg.MetadataMain
  metadata=$url
  side=$("$python" -c 'from hawser_disagg.processes import free_port; print(free_port(), free_port())')
  start prefill engine --engine-id prefill --port 0 --side-channel-port "${side% *}" "${computing[@]}" --metadata "$metadata" --seed 1
  prefill=$url
  start decode engine --engine-id decode --port 0 --side-channel-port "${side#* }" "${computing[@]}" --metadata "$metadata" --seed 2 --block-tokens 32
  decode=$url
  start proxy java dev.hawser.example.disagg.proxy.ProxyMain --port "$port" --mode "$mode" --prefill "$prefill" --decode "$decode"
  printf '\ncurl -s %s/v1/completions -H "Content-Type: application/json" -d '\''{"prompt": "A hawser is a thick rope", "max_tokens": 16}'\''\n\n' "$url"
  wait -n "${pids[@]}" || true
  fail "one of the processes has ended; all are stopped"
}

case ${1:-} in
  -h | --help) usage; exit 0 ;;
esac
if ! jdk=$(find_jdk); then
  [ -z "${HAWSER_JAVA_HOME:-}" ] || exit 1 # said already
  fail "a JDK 25 or newer is needed and none was found; install one (Debian, Ubuntu: apt install openjdk-25-jdk-headless; anywhere: sdk install java 25-tem, or https://adoptium.net), or set HAWSER_JAVA_HOME to it"
fi
is_built || build
if [ "${1:-}" = --java ]; then
  shift
  java dev.hawser.example.disagg.Demonstration "$@"
fi
find_python
export HAWSER_JAVA_HOME=$jdk HAWSER_PYTHON_JARS=$target/lib PYTHONPATH=$here/python:$home/python/src PYTHONUNBUFFERED=1
if [ "${1:-}" = --check ]; then
  shift
  exec "$python" -m hawser_disagg.check "$@"
fi
serve "$@"
