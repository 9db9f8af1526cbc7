#!/usr/bin/env bash
# other.sh -- the function tracers on aarch64 and riscv64, by qemu-user, under sanitizers, and on functions that clang compiled: sites patched
# under threads, and text that cannot be written: -finstrument-functions, -pg.
# slow 15
# inputs: build/test/tracers-aarch64 build/test/tracers-riscv64 build/test/tracers-san build/test/tracers-clang build/test/tracers-gcc
# inputs: build/test/tracers-leaf qemu-aarch64 qemu-riscv64
cd "$(dirname "$0")/../.." || exit 1
export TOGGLES=200 # an emulator translates the text again after each
run() { # NAME [QEMU [TEST...]]
	for t in ${3:-graph instrument}; do
		timeout 1200 ${2:+"$2"} build/test/tracers-$1/$t | sed -E "s/^(ok|not ok) /\1 tracers_$1_/"
		[ "${PIPESTATUS[0]}" = 0 ] || echo "not ok tracers_$1_$t: exit code"
	done
}
for arch in aarch64 riscv64; do
	qemu=$(command -v qemu-$arch-static || command -v qemu-$arch)
	if [ -n "$qemu" ]; then
		run $arch "$qemu"
		[ $arch = riscv64 ] || run leaf "$qemu" graph
	else
		echo "skip tracers_$arch: package qemu-user missing"
	fi
done
# Under sanitizers a call has ten times the instructions; each of them is interrupted in the tests without.
STEP_STRIDE=43 run san "" "graph nesting"
run clang "" "graph instrument fentry"
run gcc "" fentry
