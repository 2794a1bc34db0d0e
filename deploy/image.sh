#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes a container image of the hawser command line, without pulling anything: a runtime of only the JDK modules that
# are needed, the jars, and the C library of this machine. It has no shell, and its user is not root.
#
#   deploy/image.sh [TAG]      default hawser:latest
#   DOCKER=podman deploy/image.sh
set -euo pipefail
home=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tag=${1:-hawser:latest}
docker=${DOCKER:-docker}
target=$home/perf/target
fail() { echo "deploy/image.sh: $1" >&2; exit 1; }

"$docker" version >/dev/null 2>&1 || fail "$docker does not answer; start it, or set DOCKER to a command that builds images"
"$home/hawser" --version >/dev/null # builds it, if need be
read -r jdk <"$target/hawser.built"
[ -x "$jdk/bin/jlink" ] || fail "$jdk has no jlink; set HAWSER_JAVA_HOME to a JDK 25 that has"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/rootfs
mkdir -p "$root/opt/hawser/lib" "$root/etc" "$root/tmp"
chmod 1777 "$root/tmp"
"$jdk/bin/jlink" --output "$root/opt/hawser/runtime" --strip-debug --no-man-pages --no-header-files --compress=zip-6 \
  --add-modules java.base,java.logging,java.management,java.naming,java.net.http,java.xml,jdk.jfr,jdk.management,jdk.unsupported
cp "$target"/hawser-perf-*.jar "$target"/lib/*.jar "$root/opt/hawser/lib/"
printf 'hawser:x:65532:65532::/:/nonexistent\n' >"$root/etc/passwd"
printf 'hosts: files dns\n' >"$root/etc/nsswitch.conf"

# What the runtime is linked with, at the paths where the linker looks.
runtime=$root/opt/hawser/runtime
find "$runtime/bin/java" "$runtime/lib" -type f \( -name java -o -name '*.so' \) -exec ldd {} + 2>/dev/null \
  | grep -oE '/[^ ]+\.so[^ ]*' | grep -v "^$runtime" | sort -u | while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
  done

cp "$home/deploy/Dockerfile" "$work/"
"$docker" build -q -t "$tag" "$work" >/dev/null
echo "$tag: $("$docker" image inspect --format '{{.Size}}' "$tag" | awk '{ printf "%.0f MB", $1 / 1e6 }')"
