#!/usr/bin/env bash
# link -- the registry survives every way kernels are linked: ld, lld, --gc-sections, fathom.lds; and off is one NOP.
set -u
cd "$(dirname "$0")/../.." || exit 1
out=build/port/link rc=0
mkdir -p $out
free=(-std=gnu11 -O2 -ffreestanding -fno-pic -fno-stack-protector -fno-asynchronous-unwind-tables -mno-red-zone
	-mgeneral-regs-only -mcmodel=kernel -ffunction-sections -fdata-sections -Wall -Wextra -Werror
	-I. -Itrace -Itrace/include -Iports/template)
result() { # OK NAME WHY
	if [ "$1" = 0 ]; then echo "ok $2"; else
		echo "not ok $2: $3"
		rc=1
	fi
}
cat >$out/events.c <<'END'
#define CREATE_TRACE_POINTS
#include "fathom/events/sched.h"
#include "fathom/events/irq.h"
#include "fathom/events/kmem.h"
#include "fathom/events/ipc.h"
END
cat >$out/start.c <<'END'
#include "fathom/events/kmem.h"
#include "fathom/trace.h"
void start(void);
void off_path(uint64_t frame);
void off_path(uint64_t frame)
{
	trace_frame_free(frame, 3);
}
void start(void)
{
	fathom_event_enable("*", 1);
	trace_printk("%d\n", 1);
	off_path(1);
}
END
printf 'SECTIONS {\n. = 0x100000;\n.text : { *(.text .text.*) }\n.rodata : { *(.rodata .rodata.*) INCLUDE trace/fathom.lds }\n.data : { *(.data .data.*) }\n.bss : { *(.bss .bss.*) }\n/DISCARD/ : { *(.comment .note.* .eh_frame) }\n}\n' >$out/script.lds
count() { # ELF: pointers in the registry, by its bounds
	nm "$1" | awk '$3 == "__start_fathom_events" {a = $1} $3 == "__stop_fathom_events" {b = $1} END {print a, b}' |
		{ read -r a b; [ -n "$b" ] && echo $(((0x$b - 0x$a) / 8)) || echo 0; }
}
mem=(--defsym=memcpy=0 --defsym=memset=0 --defsym=memmove=0 --defsym=memcmp=0)
want=
for cc in gcc clang; do
	f=("${free[@]}")
	$cc "${f[@]}" -DFATHOM_PATCH=1 -c $out/events.c -o $out/events-$cc.o && $cc "${f[@]}" -DFATHOM_PATCH=1 -c $out/start.c -o $out/start-$cc.o ||
		{ result 1 compile_$cc "does not compile"; continue; }
	for ld in ld ld.lld; do
		for how in plain gc script; do
			name=link_${cc}_${ld}_$how
			opt=(-static -e start)
			[ $how != plain ] && opt+=(--gc-sections)
			[ $how = script ] && opt+=(-T $out/script.lds) || opt+=(-Ttext=0x100000)
			$ld "${opt[@]}" "${mem[@]}" $out/start-$cc.o $out/events-$cc.o build/x86_64/libfathom.a -o $out/$name.elf 2>$out/$name.log
			got=$([ -s $out/$name.elf ] && count $out/$name.elf || head -1 $out/$name.log)
			want=${want:-$got}
			[ "$got" = "$want" ] && [ "$got" -gt 25 ]
			result $? $name "$got events in the registry, not $want"
		done
	done
	code=$(objdump -d --no-show-raw-insn $out/start-$cc.o | sed -n '/<off_path>:/,/ret/p' | awk -F'\t' 'NR > 1 {print $2}' | awk '{print $1}' | tr '\n' ' ')
	[ "$code" = "nopl ret " ]
	result $? off_is_one_nop_$cc "$code"
	$cc "${f[@]}" -DFATHOM_PATCH=0 -c $out/start.c -o $out/load-$cc.o
	code=$(objdump -d --no-show-raw-insn $out/load-$cc.o | sed -n '/<off_path>:/,/ret/p' | awk -F'\t' 'NR > 1 {print $2}' | awk '{print $1}' | tr '\n' ' ')
	case $code in "mov test jne ret " | "cmpl jne ret " | "mov test je ret ") true ;; *) false ;; esac
	result $? off_is_load_and_branch_$cc "$code"
done
# What events define in a kernel's file is not traced, whatever that file is compiled with.
traced() { # FLAGS...: functions of events.o that would be
	gcc "${free[@]}" "$@" -c $out/events.c -o $out/notrace.o && {
		objdump -dr $out/notrace.o | awk '/^[0-9a-f]+ <.*>:/ {f = $2} /__cyg_profile_func_enter|__fentry__/ {print f}'
		objdump -h $out/notrace.o | grep -o __patchable_function_entries
	}
}
for how in "-finstrument-functions -finstrument-functions-exclude-file-list=fathom,wire/" "-pg -mfentry" -fpatchable-function-entry=5; do
	got=$(traced $how | sort -u | head -3 | tr '\n' ' ')
	[ -z "$got" ]
	result $? "notrace_$(tr -dc 'a-z' <<<"${how%% *}")" "$got"
done
exit $rc
