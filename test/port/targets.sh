#!/usr/bin/env bash
# targets.sh -- the library under the flags of hard kernels: 32-bit targets without libgcc, strict C99, all files in one. Every
# object is linked into an image that uses it; nothing may be left undefined.
# slow
# inputs: trace wire ports/template gcc clang arm-none-eabi-gcc riscv64-linux-gnu-gcc
cd "$(dirname "$0")/../.." || exit 1
out=build/test/targets
mkdir -p "$out"
list() { printf 'include trace/files.mk\nall:\n\t@echo $(%s)\n' "$1" | MAKEFLAGS= make -sf -; }
src="$(list FATHOM_SRC) $(ls wire/*.c)"
flags="-O2 -ffreestanding -nostdinc -fno-builtin -fno-stack-protector -fno-pic -fno-common -Wall -Wextra -Wstrict-prototypes \
	-Wmissing-prototypes -Wpointer-arith -Wundef -Werror -I. -Itrace -Itrace/include -Iports/template"

# target NAME ARCH COMPILER FLAGS...: every file compiles, and all together are an image, by ld and its --gc-sections.
target() {
	local name=$1 arch=$2 cc=$3 f o bad=0 how
	shift 3
	if ! command -v "$cc" >/dev/null; then
		echo "skip targets_$name: package of $cc missing"
		return
	fi
	rm -rf "${out:?}/$name"
	for f in $src $(list FATHOM_ARCH_SRC_$arch) test/port/targets.c; do
		o=$out/$name/${f%.*}.o
		mkdir -p "$(dirname "$o")"
		$cc $flags "$@" -isystem "$($cc -print-file-name=include)" -c "$f" -o "$o" 2>"$out/$name.log" && continue
		echo "not ok targets_$name: $f: $(grep -m1 -E 'error|warning' "$out/$name.log")"
		bad=1
	done
	[ $bad = 0 ] || return
	for how in '' -Wl,--gc-sections; do
		$cc "$@" -nostdlib -static -no-pie $how -Wl,-e,start -Wl,-z,noexecstack -Wl,-T,test/port/targets.lds $(find "$out/$name" -name '*.o') \
			-o "$out/$name.elf" 2>"$out/$name.log" && continue
		echo "not ok targets_$name: $(grep -m3 -oE 'undefined reference to .*|error: .*|cannot .*' "$out/$name.log" | sort -u | tr '\n' ' ')"
		return
	done
	echo "ok targets_$name"
}

target i386 none gcc -m32 -march=i686 -mgeneral-regs-only
target cortex-m3 none arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb
target rv32 none riscv64-linux-gnu-gcc -march=rv32imac -mabi=ilp32
target c99 x86_64 gcc -std=c99 -mno-red-zone -mgeneral-regs-only
target clang x86_64 clang -std=gnu11 -mno-red-zone -mgeneral-regs-only

# One file of them all, as seL4 builds: static names may not meet.
for f in $src; do printf '#line 1 "%s"\n' "$f"; cat "$f"; done >"$out/all.c"
if gcc -std=gnu11 $flags -mgeneral-regs-only -mno-red-zone -isystem "$(gcc -print-file-name=include)" -c "$out/all.c" -o "$out/all.o" 2>"$out/all.log"; then
	echo "ok targets_one_file"
else
	echo "not ok targets_one_file: $(grep -m1 error "$out/all.log")"
fi
