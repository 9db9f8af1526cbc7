#!/usr/bin/env bash
# exceptions.sh -- C++ exceptions pass traced calls: with return sites, and with return addresses that were replaced.
cd "$(dirname "$0")/../.." || exit 1
command -v g++ >/dev/null || { echo "skip exceptions: package g++ missing"; exit 0; }
[ "$(uname -m)" = x86_64 ] || { echo "skip exceptions: replaced returns that are on the stack are x86_64's"; exit 0; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0
check() { if eval "$2"; then echo "ok $1"; else echo "not ok $1: $2: $(tail -3 "$tmp/out")"; failed=1; fi; }
count() { build/fathom query --count --filter "func == $2" --type "$1" "$tmp/t.dat" 2>/dev/null; }
trace() { # NAME COMPILER FLAGS
	name=exceptions_$1
	$2 -O2 -g -Wall -Wextra -Werror -fno-pie $3 -c test/port/exceptions/program.cc -o "$tmp/p.o" &&
		$2 -no-pie "$tmp/p.o" -Wl,-u,fathom_user_start build/user/libfathom.a -pthread -o "$tmp/p" 2>"$tmp/out"
	check "${name}_builds" '[ -x "$tmp/p" ]'
	FATHOM_TRACE="tracer=function_graph,out=$tmp/t.dat" "$tmp/p" >"$tmp/out" 2>&1
	check "${name}_runs" '[ $? -eq 0 ] && grep -q "^0 wrong" "$tmp/out"'
	at=0x$(nm "$tmp/p" | sed -n 's/ T _Z7catcheri$//p')
	check "${name}_calls" '[ "$(count funcgraph_entry $at)" = 300 ]'
	check "${name}_return" '[ "$(count funcgraph_exit $at)" = 300 ]'
	rm -f "$tmp/p" "$tmp/t.dat"
}
trace sites g++ "-pg -mfentry -mnop-mcount -mrecord-mcount -minstrument-return=nop5 -mrecord-return"
trace replaced g++ "-fpatchable-function-entry=5 -fno-ipa-ra"
if command -v clang++ >/dev/null; then trace clang clang++ "-fpatchable-function-entry=5"; else echo "skip exceptions_clang: package clang missing"; fi
exit $failed
