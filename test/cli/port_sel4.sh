#!/usr/bin/env bash
# port_sel4.sh -- the dump that ports/sel4 made in test/unit/port_sel4.c, read by the program.
cd "$(dirname "$0")/../.." || exit 1
log=build/test/port_sel4.log
[ -s $log ] || { echo "not ok port_sel4: no $log: test/unit/port_sel4 makes it"; exit 1; }
expect() {
	if [ "$2" = "$3" ]; then echo "ok $1"; else echo "not ok $1: $3, want $2"; fi
}
sum=$(build/fathom stat --summary $log 2>&1)
get() { echo "$sum" | sed -n "s/^$1: //p" | tr -d ,; }
expect "entries and exits" "10000 10000" "$(get kernel_entry) $(get kernel_exit)"
expect "interrupts" 5000 "$(get interrupt)"
expect "calls and returns" "5000 5000" "$(get func_enter) $(get func_exit)"
expect "switches" "5000 5000" "$(get thread) $(get vmid)"
expect "fast path" 2500 "$(build/fathom query $log --type kernel_entry | grep -c fastpath=1)"
expect "durations are true" "" "$(build/fathom query $log --type kernel_exit | grep -E 'duration=0$' | head -1)"
expect "nothing is damaged" 0 "$(build/fathom verify $log >/dev/null; echo $?)"
