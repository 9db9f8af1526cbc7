#!/usr/bin/env bash
# riscv64_fp.sh -- functions traced on a riscv64 machine whose FP unit is off, though the compiler has FP registers; and on one whose
# traced functions have live FP arguments (FATHOM_SAVE_FP). Booted in QEMU.
# slow
cd "$(dirname "$0")/../.." || exit 1
out=build/port/riscv64_fp
cc=riscv64-linux-gnu-gcc
for need in qemu-system-riscv64:qemu-system-misc $cc:gcc-riscv64-linux-gnu; do
	command -v ${need%:*} >/dev/null || { echo "skip riscv64_fp: package ${need#*:} missing"; exit 0; }
done
flags="-std=gnu11 -ffreestanding -fno-pic -fno-stack-protector -fno-ipa-ra -falign-functions=4 -march=rv64gc -mabi=lp64d -mcmodel=medany
	-Wall -Wextra -Werror -I. -Itrace -Itrace/include -Itest/port/riscv64"
src=$(printf 'include trace/files.mk\nall:\n\t@echo $(FATHOM_SRC) $(FATHOM_ARCH_SRC_riscv64) wire/*.c\n' | MAKEFLAGS= make -sf -)
rc=0
for fp in 0 1; do
	name=$([ $fp = 0 ] && echo off || echo arguments)
	mkdir -p $out/$name
	if [ $fp = 1 ]; then # the rest does not see the difference
		cp $out/off/*.o $out/$name
		src=$(printf '%s\n' $src | grep -E '^trace/(arch|events|functions)/')
	fi
	# What only steers is compiled the quick way.
	for f in $src test/port/riscv64/boot.c; do
		printf '%s %s %s\n' "$f" "$out/$name/${f//\//-}.o" "$(case $f in trace/control/* | trace/programs/* | trace/dynamic/*) echo -O0 ;; *) echo -O2 ;; esac)"
	done | xargs -P2 -L1 sh -c "$cc ${flags//$'\n'/ } \$2 -DFATHOM_SAVE_FP=$fp -c \$0 -o \$1" 2>$out/$name.log &&
		$cc -nostdlib -static -Wl,--build-id=none -Wl,-T,test/port/riscv64/boot.lds $out/$name/*.o -o $out/$name.elf 2>>$out/$name.log ||
		{ echo "not ok riscv64_fp_$name: $(grep -m1 -E 'error|undefined' $out/$name.log)"; rc=1; continue; }
	said=$(timeout 300 qemu-system-riscv64 -M virt -bios none -display none -serial stdio -monitor none -kernel $out/$name.elf </dev/null 2>&1)
	if [ "$said" = traced ]; then echo "ok riscv64_fp_$name"; else
		echo "not ok riscv64_fp_$name: it says \"$said\""
		rc=1
	fi
done
exit $rc
