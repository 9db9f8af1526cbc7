#!/usr/bin/env bash
# amalgamation.sh -- fathom.c for every target, compiler and kind of level, 32-bit targets without libgcc and strict C99 among them: no
# warning, and an image that uses it has nothing undefined, with --gc-sections and without.
# slow 55
# inputs: trace wire ports/template test/port/targets.c test/port/targets.lds gcc clang arm-none-eabi-gcc aarch64-linux-gnu-gcc riscv64-linux-gnu-gcc
cd "$(dirname "$0")/../.." || exit 1
out=build/port/amalgamation
mkdir -p $out
trace/amalgamate $out/src || { echo "not ok amalgamation: it is not made"; exit 1; }
# What is undefined or stands there twice does not depend on -O, and the sources by themselves are compiled with -O2.
flags="-O0 -ffreestanding -nostdinc -isystem trace/include/freestanding -fno-builtin -fno-stack-protector -fno-pic -fno-common -ffunction-sections
	-Wall -Wextra -Wundef -Wstrict-prototypes -Werror -I$out/src -Iports/template"
rc=0
# target NAME COMPILER LINKER FLAGS...: at the levels in $levels
target() {
	local name=$1 cc=$2 ld=$3 level image
	shift 3
	for need in ${cc%% *} ${ld%% *}; do
		command -v $need >/dev/null || { echo "skip amalgamation_$name: package of $need missing"; return; }
	done
	for level in $levels; do
		if $cc $flags "$@" -DFATHOM_LEVEL=$level -c $out/src/fathom.c -o $out/$name.o 2>$out/$name.log &&
			$cc $flags "$@" -DFATHOM_LEVEL=$level -c test/port/targets.c -o $out/$name-main.o 2>>$out/$name.log &&
			image="$out/$name.o $out/$name-main.o -nostdlib -static -no-pie -Wl,--build-id=none,-e,start,-z,noexecstack,-T,test/port/targets.lds" &&
			$ld $image -o $out/$name.elf 2>>$out/$name.log && $ld $image -Wl,--gc-sections -o $out/$name.elf 2>>$out/$name.log; then
			echo "ok amalgamation_${name}_$level"
		else
			echo "not ok amalgamation_${name}_$level: $(grep -m2 -E 'error|warning|undefined' $out/$name.log | tr '\n' ' ')"
			rc=1
		fi
	done
}
kernel=(-std=gnu11 -mno-red-zone -mgeneral-regs-only)
# Which files a level has does not depend on target and compiler: all kinds of level with clang, which is several times as fast.
levels='0 4 6' target x86_64_clang clang gcc "${kernel[@]}"
levels='0 6' target cortex_m3_clang "clang --target=arm-none-eabi -meabi gnu" "arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb" -std=gnu11 -mcpu=cortex-m3 -mthumb
# gcc compiles it for x86_64 in libfathom.so and for riscv64 in install.sh.
levels=6
target i386 "gcc -m32" "gcc -m32" -std=gnu11 -march=i686 -mgeneral-regs-only
target aarch64 aarch64-linux-gnu-gcc aarch64-linux-gnu-gcc -std=gnu11 -mno-outline-atomics -mgeneral-regs-only
target cortex_m3 arm-none-eabi-gcc "arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb" -std=gnu11 -mcpu=cortex-m3 -mthumb
target rv32 riscv64-linux-gnu-gcc "riscv64-linux-gnu-gcc -march=rv32imac -mabi=ilp32" -std=gnu11 -march=rv32imac -mabi=ilp32
target aarch64_clang "clang --target=aarch64-linux-gnu" aarch64-linux-gnu-gcc -std=gnu11 -mno-outline-atomics -mgeneral-regs-only
target riscv64_clang "clang --target=riscv64-linux-gnu" "riscv64-linux-gnu-gcc -march=rv64imac -mabi=lp64" -std=gnu11 -march=rv64imac -mabi=lp64 -mcmodel=medany
if gcc $flags -std=c99 -mno-red-zone -mgeneral-regs-only -fsyntax-only $out/src/fathom.c 2>$out/c99.log; then echo "ok amalgamation_c99"; else
	echo "not ok amalgamation_c99: $(grep -m1 -E 'error|warning' $out/c99.log)"
	rc=1
fi
exit $rc
