#!/usr/bin/env bash
# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0
#
# Puts the lab's kernel and first root into the cache and prints their paths, one a line. Does nothing when they are
# there. The kernel is Debian's own, unpacked from its package and never installed.
#
#   HAWSER_LAB_KERNEL    another kernel image (x86_64), with
#   HAWSER_LAB_MODULES   its folder of modules, such as /lib/modules/6.1.0-57-amd64
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/hawser/rdma-lab
PATH=$PATH:/usr/sbin:/sbin

lab="rdma lab"
. "$here/../lib.sh"

# What the guest loads; each brings what it depends on. Without crc32_generic rxe finds no CRC and refuses every link.
modules=(virtio_pci virtio_net virtio_console 9p 9pnet_virtio overlay crc32_generic crc32-pclmul
  rdma_rxe ib_uverbs rdma_ucm dummy veth sch_netem)

missing=()
need() { # COMMAND PACKAGE
  command -v "$1" >/dev/null || missing+=("$2")
}
need busybox busybox-static
need cpio cpio
need depmod kmod
need flock util-linux
if [ "${#missing[@]}" -gt 0 ]; then
  fail "not installed: ${missing[*]}; install with: apt-get install -y --no-install-recommends ${missing[*]}"
fi

mkdir -p "$cache"
exec 9>"$cache/lock"
flock -w 300 9 || fail "another run has prepared the cache for five minutes; see who holds $cache/lock"

# Unpacks Debian's current kernel into $cache/NAME; prints nothing, leaves the name in $cache/kernel.
fetch_kernel() {
  local name package folder=$cache/unpack
  command -v apt-get >/dev/null && command -v dpkg >/dev/null \
    || fail "Debian's kernel package is fetched with apt-get, which is not here; set HAWSER_LAB_KERNEL and HAWSER_LAB_MODULES to an x86_64 kernel with rdma_rxe and its modules"
  name=$(apt-cache depends linux-image-amd64 2>/dev/null | sed -nE 's/^ *Depends: (linux-image-[0-9].*-amd64)$/\1/p' | head -n 1)
  [ -n "$name" ] || fail "apt knows no linux-image-amd64; run apt-get update (on another distribution set HAWSER_LAB_KERNEL and HAWSER_LAB_MODULES)"
  rm -rf "$folder"
  mkdir -p "$folder"
  printf 'rdma lab: fetching %s (70 MB, once) ...\n' "$name" >&2
  (cd "$folder" && timeout 300 apt-get download -q "$name" >download.log 2>&1) \
    || fail "$name could not be downloaded: $(tail -n 1 "$folder/download.log"); run apt-get update and try again"
  package=$(ls "$folder"/*.deb)
  dpkg -x "$package" "$folder/root"
  rm -rf "${cache:?}/$name"
  mkdir "$cache/$name"
  mv "$folder/root"/boot/vmlinuz-* "$cache/$name/vmlinuz"
  mv "$folder/root"/lib/modules/* "$cache/$name/"
  rm -rf "$folder"
  printf '%s\n' "$name" >"$cache/kernel.new"
  mv "$cache/kernel.new" "$cache/kernel"
}

if [ -n "${HAWSER_LAB_KERNEL:-}" ]; then
  kernel=$HAWSER_LAB_KERNEL
  tree=${HAWSER_LAB_MODULES:-}
  [ -r "$kernel" ] || fail "HAWSER_LAB_KERNEL=$kernel cannot be read"
  [ -d "$tree/kernel" ] || fail "HAWSER_LAB_MODULES=$tree is not that kernel's folder of modules"
else
  name=
  [ ! -r "$cache/kernel" ] || read -r name <"$cache/kernel"
  if [ -z "$name" ] || [ ! -r "$cache/$name/vmlinuz" ]; then
    fetch_kernel
    read -r name <"$cache/kernel"
  fi
  kernel=$cache/$name/vmlinuz
  tree=$(ls -d "$cache/$name"/*/kernel)
  tree=${tree%/kernel}
fi

version=$(basename "$tree")
busybox=$(command -v busybox)
key=$( { cat "$here/init" "$busybox"; printf '%s\n' "$version" "$tree" "${modules[@]}"; } | sha256sum | cut -c 1-16)
initrd=$cache/initrd-$version-$key.gz

make_initrd() {
  local root=$cache/initrd.$$ module path
  rm -rf "$cache"/initrd.* "$cache"/initrd-*.gz
  # depmod and modprobe want ROOT/lib/modules/VERSION.
  mkdir -p "$root/all/lib/modules" "$root/small/lib/modules/$version" "$root/small/bin" \
    "$root"/small/{proc,sys,dev,host,layer,guest}
  ln -s "$tree" "$root/all/lib/modules/$version"
  [ -r "$tree/modules.dep" ] || depmod -b "$root/all" "$version"
  for module in "${modules[@]}"; do
    modprobe -d "$root/all" -S "$version" --show-depends "$module" \
      || fail "the kernel $version has no module $module"
  done | sed -nE 's/^insmod ([^ ]+).*/\1/p' | sort -u | while IFS= read -r path; do
    path=${path#"$root/all/lib/modules/$version/"}
    mkdir -p "$root/small/lib/modules/$version/$(dirname "$path")"
    cp "$tree/$path" "$root/small/lib/modules/$version/$path"
  done
  cp "$tree"/modules.order "$tree"/modules.builtin "$tree"/modules.builtin.modinfo "$root/small/lib/modules/$version/" 2>/dev/null || true
  depmod -b "$root/small" "$version"
  cp "$busybox" "$root/small/bin/busybox"
  cp "$here/init" "$root/small/init"
  chmod 755 "$root/small/init" "$root/small/bin/busybox"
  printf '%s\n' "${modules[@]}" >"$root/small/modules"
  (cd "$root/small" && find . | cpio -o -H newc --quiet | gzip -1) >"$initrd.new"
  mv "$initrd.new" "$initrd"
  rm -rf "$root"
}

[ -r "$initrd" ] || make_initrd
printf '%s\n' "$kernel" "$initrd"
