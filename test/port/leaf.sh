#!/usr/bin/env bash
# leaf.sh -- the entries of FATHOM_PORT_LEAF link where their section lies far from the rest of a kernel's text (riscv64: a j reaches 1 MiB).
cd "$(dirname "$0")/../.." || exit 1
cc=riscv64-linux-gnu-gcc out=build/port/leaf
if ! command -v $cc >/dev/null; then
	echo "skip leaf_far: package gcc-riscv64-linux-gnu missing"
	exit 0
fi
mkdir -p $out
cat >$out/far.lds <<-END
	SECTIONS {
		. = 0x80000000; .text : { *(.text) }
		. = 0x90000000; .hot : { *(.text.*) }
		.rest : { *(*) }
	}
END
said=$({ for f in functions/hot.c arch/riscv64/entry.S; do
	$cc -std=gnu11 -O2 -march=rv64imac -mabi=lp64 -mcmodel=medany -ffreestanding -I. -Itrace -Itrace/include -Ibench/icount \
		-c trace/$f -o $out/$(basename ${f%.*}).o || exit
done
riscv64-linux-gnu-ld -T $out/far.lds --unresolved-symbols=ignore-all -e 0 $out/hot.o $out/entry.o -o $out/far.elf; } 2>&1 |
	grep -v warning: | head -3)
if [ -z "$said" ]; then echo "ok leaf_far"; else
	echo "not ok leaf_far: $said"
	exit 1
fi
