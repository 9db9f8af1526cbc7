#!/usr/bin/env bash
# other.sh -- the function tracers on aarch64 and riscv64, by qemu-user: sites patched under threads, and -finstrument-functions.
# slow
cd "$(dirname "$0")/../.." || exit 1
for arch in aarch64 riscv64; do
	qemu=$(command -v qemu-$arch-static || command -v qemu-$arch)
	if [ -z "$qemu" ]; then
		echo "skip tracers_$arch: package qemu-user-static missing"
		continue
	fi
	for t in graph instrument; do
		timeout 100 "$qemu" build/test/tracers-$arch/$t | sed -E "s/^(ok|not ok) /\1 tracers_${arch}_/"
		[ "${PIPESTATUS[0]}" = 0 ] || echo "not ok tracers_${arch}_$t: exit code"
	done
done
