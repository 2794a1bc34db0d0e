#!/usr/bin/env bash
# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0
#
# Makes one tarball that runs the GPU tests and the benchmarks, the hawser command line among them, on a machine that has
# nothing but NVIDIA's driver:
#
#   perf/labs/gpu/pack.sh [FILE]        # default: target/hawser-gpu-lab.tar.gz
#
# There: tar xzf hawser-gpu-lab.tar.gz && hawser-gpu-lab/run.sh   (see run.sh beside this script)
# Needs what the build needs: Maven and a JDK 25 (JAVA_HOME_25, JAVA_HOME, or under /usr/lib/jvm).
set -euo pipefail
lab="$(cd "$(dirname "$0")" && pwd)"
root="$(cd "$lab/../../.." && pwd)"
out="$(realpath -m "${1:-$root/target/hawser-gpu-lab.tar.gz}")"

for candidate in "${JAVA_HOME_25:-}" "${JAVA_HOME:-}" /usr/lib/jvm/*25*; do
  if [ -x "$candidate/bin/jlink" ] && "$candidate/bin/java" -version 2>&1 | grep -q '"25'; then
    jdk="$candidate"
  fi
done
[ -n "${jdk:-}" ] || {
  echo "pack.sh: no JDK 25; set JAVA_HOME_25 to one" >&2
  exit 2
}

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
box="$work/hawser-gpu-lab"
mkdir -p "$box/lib"

cd "$root"
tested=(memory-registry engine transfer-agent perf) # those with tests for a GPU, and what reads the figures
modules=("${tested[@]}" metadata-service)
# What the etcd store, HTTP/3 and other tests need is not needed there.
mvn -q -pl "$(IFS=,; echo "${modules[*]}")" test-compile dependency:copy-dependencies -DincludeScope=test \
  -DexcludeGroupIds=dev.hawser,io.etcd,io.grpc,com.google.protobuf,com.google.api.grpc,com.google.guava,org.testcontainers,com.tngtech.archunit,net.bytebuddy \
  -DexcludeArtifactIds=netty-codec-classes-quic,netty-codec-http3 -DoutputDirectory="$box/lib"
console="$(sed -n 's/.*<junit-console.version>\(.*\)<.*/\1/p' pom.xml)"
mvn -q -N dependency:copy -DoutputDirectory="$box/lib" -Dartifact="org.junit.platform:junit-platform-console-standalone:$console"
rm -f "$box"/lib/junit-jupiter-*.jar "$box"/lib/junit-platform-{commons,engine,launcher}-*.jar # the console has them
for module in "${modules[@]}"; do
  mkdir -p "$box/classes/$module"
  cp -r "$module/target/classes/." "$box/classes/$module"
done
for module in "${tested[@]}"; do
  mkdir -p "$box/tests/$module"
  cp -r "$module/target/test-classes/." "$box/tests/$module"
done
cp "$lab/run.sh" "$box/run.sh"
git rev-parse HEAD >"$box/commit" 2>/dev/null || echo unknown >"$box/commit"

"$jdk/bin/jlink" --output "$box/java" --strip-debug --no-man-pages --no-header-files --compress=zip-9 \
  --add-modules java.base,java.logging,java.xml,java.management,java.instrument,java.compiler,java.naming,java.net.http,java.sql,jdk.management,jdk.unsupported,jdk.jfr

mkdir -p "$(dirname "$out")"
tar czf "$out" -C "$work" hawser-gpu-lab
bytes="$(stat -c %s "$out")"
echo "$out: $((bytes >> 20)) MiB"
[ "$bytes" -lt $((60 << 20)) ] || {
  echo "pack.sh: more than 60 MiB" >&2
  exit 1
}
