#!/usr/bin/env bash
# sel4.sh -- the seL4 stream through the program: query, stat, index, report.
cd "$(dirname "$0")/../.." || exit 1
fathom=${FATHOM:-build/fathom} data=test/data/sel4
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
cp $data/ftrace.bin $data/ftrace.meta "$tmp"/

same() { # NAME EXPECTED COMMAND...
	local name=$1 want=$2 got
	shift 2
	got=$("$@" 2>&1)
	if [ "$got" = "$want" ]; then echo "ok $name"; else
		echo "not ok $name: $* printed"
		diff <(echo "$want") <(echo "$got") | head -10
	fi
}

same "query by number" "1:[7] THREAD tcb=0x80afeb3800" "$fathom" query "$tmp"/ftrace.bin --event 7
same "query with context" "1:[0] VMID 1
1:[1] KENTRY Syscall Call cap=1 tag=42
1:[2] SYSCALL 1" "$fathom" query "$tmp"/ftrace.bin --event 1 --context 1
same "query by type" "1:[10] IRQ 27
2:[125] IRQ 27" "$fathom" query "$tmp"/ftrace.bin --type INTERRUPT --limit 2
same "query by type, offset" "2:[125] IRQ 27" "$fathom" query "$tmp"/ftrace.bin --type interrupt --limit 1 --offset 1
same "count by type" 3000 "$fathom" query "$tmp"/ftrace.bin --type kernel_exit --count
same "function types by the note's names" 9068 "$fathom" query "$tmp"/ftrace.bin --type func_enter --count
summary="Records: 28,937
func_exit: 9,068
func_enter: 9,068
syscall: 3,000
kernel_entry: 3,000
kernel_exit: 3,000
vmid: 430
vspace: 429
thread: 429
interrupt: 273
init_pt: 120
safe_pte: 30
create_obj: 30
pt_map: 30
vm_fault: 10
user_fault: 10
tracepoint: 10"
same "summary of the stream" "$summary" "$fathom" stat --summary "$tmp"/ftrace.bin
same "summary of the log" "$summary" "$fathom" stat --summary $data/sel4.log

"$fathom" query "$tmp"/ftrace.bin --type KERNEL_ENTRY >"$tmp"/before
"$fathom" index "$tmp"/ftrace.bin >/dev/null
if [ -s "$tmp"/ftrace.bin.fidx ]; then echo "ok index is written"; else echo "not ok index is written: no file"; fi
same "index is up to date" "$tmp/ftrace.bin.fidx: is up to date, 28937 events, $(stat -c %s "$tmp"/ftrace.bin.fidx) bytes" "$fathom" index "$tmp"/ftrace.bin
same "same answer with the index" "$(cat "$tmp"/before)" "$fathom" query "$tmp"/ftrace.bin --type KERNEL_ENTRY
# A damaged or stale index is not believed.
printf 'x' | dd of="$tmp"/ftrace.bin.fidx bs=1 seek=100 conv=notrunc 2>/dev/null
same "damaged index is not used" "$(cat "$tmp"/before)" "$fathom" query "$tmp"/ftrace.bin --type KERNEL_ENTRY
same "report tells every kernel entry" 3000 sh -c "$fathom report '$tmp'/ftrace.bin | grep -c kernel_entry:"
for simd in scalar avx2 avx512; do
	FATHOM_SIMD=$simd "$fathom" index --force "$tmp"/ftrace.bin >/dev/null && cp "$tmp"/ftrace.bin.fidx "$tmp"/$simd.fidx
done
if cmp -s "$tmp"/scalar.fidx "$tmp"/avx2.fidx && cmp -s "$tmp"/scalar.fidx "$tmp"/avx512.fidx; then
	echo "ok same index by every instruction set"
else
	echo "not ok same index by every instruction set: they differ"
fi
same "flame counts every call" 9068 sh -c "$fathom flame --samples --format folded -o - '$tmp'/ftrace.bin 2>/dev/null | awk '{s += \$NF} END {print s}'"
