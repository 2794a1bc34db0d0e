#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the demonstration: see README.md, or --help. Builds it on the first run, and again when a source is newer.
#
#   HAWSER_JAVA_HOME   the JDK to use (25 or newer), before all others
set -euo pipefail

here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
home=$(cd "$here/../.." && pwd)
target=$here/target
stamp=$target/run.built

fail() {
  printf 'run.sh: error: %s\n' "$1" >&2
  exit 1
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

if ! jdk=$(find_jdk); then
  [ -z "${HAWSER_JAVA_HOME:-}" ] || exit 1 # said already
  fail "a JDK 25 or newer is needed and none was found; install one (Debian, Ubuntu: apt install openjdk-25-jdk-headless; anywhere: sdk install java 25-tem, or https://adoptium.net), or set HAWSER_JAVA_HOME to it"
fi
is_built || build

jars=("$target"/hawser-example-*.jar "$target"/lib/*.jar)
exec "$jdk/bin/java" --enable-native-access=ALL-UNNAMED -XX:+UseSerialGC \
  -Djava.util.logging.config.file="$here/src/main/config/logging.properties" \
  -cp "$(IFS=:; printf '%s' "${jars[*]}")" dev.hawser.example.disagg.Demonstration "$@"
