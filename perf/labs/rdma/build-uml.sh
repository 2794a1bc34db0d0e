#!/usr/bin/env bash
# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0
#
# Puts the User-Mode Linux kernel of run.sh --fast into the cache, built once from Debian's kernel source, and prints its
# path. Does nothing when it is there. The build takes some ten minutes and 2 GB, which it gives back.
#
#   HAWSER_LAB_JOBS   how many compilers at once (one for each processor)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/hawser/rdma-lab

lab="rdma lab"
. "$here/../lib.sh"

mkdir -p "$cache/uml"
exec 9>"$cache/uml/lock"
flock -n 9 || fail "another run builds the fast kernel; see who holds $cache/uml/lock"
key=$(sha256sum <"$here/uml.config" | cut -c 1-16)
kernel=$cache/uml/linux-$key
if [ -x "$kernel" ]; then
  printf '%s\n' "$kernel"
  exit 0
fi

missing=()
for pair in gcc:gcc make:make flex:flex bison:bison bc:bc xz:xz-utils; do
  command -v "${pair%:*}" >/dev/null || missing+=("${pair#*:}")
done
[ -e /usr/include/stdlib.h ] || missing+=(libc6-dev)
[ -e /usr/include/libelf.h ] || missing+=(libelf-dev)
[ "${#missing[@]}" -eq 0 ] \
  || fail "not installed: ${missing[*]}; install with: apt-get install -y --no-install-recommends ${missing[*]}"

work=$(mktemp -d "$cache/uml/build.XXXXXX")
trap 'rm -rf "$work"' EXIT
source=/usr/src/linux-source-6.1.tar.xz
if [ ! -r "$source" ]; then
  command -v apt-get >/dev/null && command -v dpkg >/dev/null \
    || fail "the source is Debian's package linux-source-6.1, and there is no apt-get here"
  printf 'rdma lab: fetching linux-source-6.1 (140 MB, once) ...\n' >&2
  (cd "$work" && timeout 600 apt-get download -q linux-source-6.1 >download.log 2>&1) \
    || fail "linux-source-6.1 could not be downloaded: $(tail -n 1 "$work/download.log"); run apt-get update and try again"
  dpkg -x "$work"/linux-source-6.1_*.deb "$work/package"
  source=$work/package/usr/src/linux-source-6.1.tar.xz
fi
printf 'rdma lab: building the fast kernel (some ten minutes, once) ...\n' >&2
tar -xJf "$source" -C "$work"
tree=$work/linux-source-6.1
# Ticks have no question of their own; at 100 a second two processes that spin would trade places too rarely.
sed -i '/^config HZ$/,/default/s/default 100$/default 1000/' "$tree/arch/um/Kconfig"
make_it() {
  make -C "$tree" ARCH=um O="$work/out" "$@" >"$work/log" 2>&1 \
    || fail "the fast kernel does not build: $(grep -E 'error|Error' "$work/log" | head -n 3 | paste -sd ' ')"
}
mkdir "$work/out"
make_it KCONFIG_ALLCONFIG="$here/uml.config" allnoconfig
lost=()
while IFS= read -r option; do
  grep -qxF "$option" "$work/out/.config" || lost+=("$option")
done < <(grep -E '^CONFIG_[A-Z0-9_]+=y$' "$here/uml.config")
[ "${#lost[@]}" -eq 0 ] || fail "this source does not know, or cannot have: ${lost[*]}"
make_it -j"${HAWSER_LAB_JOBS:-$(nproc)}" linux
strip -s -o "$kernel.new" "$work/out/linux"
mv "$kernel.new" "$kernel"
printf '%s\n' "$kernel"
