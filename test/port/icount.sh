#!/usr/bin/env bash
# icount.sh -- an event and a traced call take no more instructions than they did, on three architectures (make icount).
# slow
# inputs: build/icount/aarch64.elf build/icount/riscv64.elf build/icount/aarch64-calls.elf build/icount/riscv64-calls.elf build/icount/cortex-m3.elf bench/icount/run
cd "$(dirname "$0")/../.." || exit 1
arches=
for need in aarch64:aarch64-linux-gnu-gcc:qemu-system-aarch64 riscv64:riscv64-linux-gnu-gcc:qemu-system-riscv64 \
	cortex-m3:arm-none-eabi-gcc:qemu-system-arm; do
	IFS=: read -r arch cc qemu <<<"$need"
	if ! command -v "$qemu" >/dev/null; then
		echo "skip icount_$arch: $qemu missing"
	elif ! $cc --version | head -1 | grep -q ' 12\.'; then
		echo "skip icount_$arch: the counts in bench/icount/run are of gcc 12"
	else
		arches+=" $arch"
	fi
done
bench/icount/run --test $arches
