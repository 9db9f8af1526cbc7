#!/usr/bin/env bash
# targets.sh -- the library under the flags of hard kernels: 32-bit targets without libgcc, strict C99, all files in one.
# slow
# inputs: trace wire ports/template gcc clang arm-none-eabi-gcc riscv64-linux-gnu-gcc
cd "$(dirname "$0")/../.." || exit 1
out=build/test/targets
mkdir -p "$out"
src="$(ls trace/ring/*.c trace/events/*.c trace/functions/*.c trace/samples/*.c trace/control/*.c trace/send/*.c wire/*.c 2>/dev/null)"
flags="-O2 -ffreestanding -nostdinc -fno-builtin -fno-stack-protector -fno-pic -fno-common -Wall -Wextra -Wstrict-prototypes \
	-Wmissing-prototypes -Wpointer-arith -Wundef -Werror -I. -Itrace -Itrace/include -Iports/template"

# target NAME COMPILER FLAGS...: every file compiles, and all together need nothing but the four functions.
target() {
	local name=$1 cc=$2 f o bad=0
	shift 2
	if ! command -v "$cc" >/dev/null; then
		echo "skip targets_$name: package of $cc missing"
		return
	fi
	rm -rf "${out:?}/$name"
	for f in $src; do
		o=$out/$name/${f%.c}.o
		mkdir -p "$(dirname "$o")"
		$cc $flags "$@" -isystem "$($cc -print-file-name=include)" -c "$f" -o "$o" 2>"$out/$name.log" && continue
		echo "not ok targets_$name: $f: $(grep -m1 -E 'error|warning' "$out/$name.log")"
		bad=1
	done
	[ $bad = 0 ] || return
	find "$out/$name" -name '*.o' -exec nm {} + 2>/dev/null | awk '
		NF == 2 && $1 == "U" { need[$2] } NF == 3 { have[$3] }
		END { for (s in need) if (!(s in have) && s !~ /^(memcpy|memset|memmove|memcmp|__(start|stop)_[a-z_]+)$/ && s !~ /^fathom_arch_/) printf " %s", s }' >"$out/$name.need"
	if [ -s "$out/$name.need" ]; then echo "not ok targets_$name: undefined:$(cat "$out/$name.need")"; else echo "ok targets_$name"; fi
}

target i386 gcc -m32 -march=i686 -mgeneral-regs-only
target cortex-m3 arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb
target rv32 riscv64-linux-gnu-gcc -march=rv32imac -mabi=ilp32
target c99 gcc -std=c99 -mno-red-zone -mgeneral-regs-only
target clang clang -std=gnu11 -mno-red-zone -mgeneral-regs-only

# One file of them all, as seL4 builds: static names may not meet.
for f in $src; do printf '#line 1 "%s"\n' "$f"; cat "$f"; done >"$out/all.c"
if gcc -std=gnu11 $flags -mgeneral-regs-only -mno-red-zone -isystem "$(gcc -print-file-name=include)" -c "$out/all.c" -o "$out/all.o" 2>"$out/all.log"; then
	echo "ok targets_one_file"
else
	echo "not ok targets_one_file: $(grep -m1 error "$out/all.log")"
fi
