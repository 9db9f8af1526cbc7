#!/usr/bin/env bash
# readme.sh -- the README's example compiles, runs, and is read by fathom and by trace-cmd as the README says.
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
check() { # NAME CONDITION...
	local name=$1
	shift
	if "$@"; then echo "ok $name"; else echo "not ok $name: $*"; fi
}
awk '/<!-- readme-example -->/{on=1} on && /^```c/{p=1; next} p && /^```/{exit} p' README.md >"$work/shop.c"
check the_example_is_short test "$(wc -l <"$work/shop.c")" -le 40
make -s build/user/libfathom.a build/fathom || echo "not ok build: make failed"
cc -O2 -Wall -Wextra -Werror -DFATHOM_PATCH=1 -I. -Itrace -Itrace/include -Iports/user "$work/shop.c" \
	build/user/libfathom.a -pthread -o "$work/shop"
check compiles test -x "$work/shop"
(cd "$work" && FATHOM_TRACE=1 ./shop)
check orders test "$(build/fathom report "$work/trace.dat" 2>/dev/null | grep -c ' order: ')" -eq 2000
check paid test "$(build/fathom report "$work/trace.dat" 2>/dev/null | grep -c ' paid: .*by=cash')" -eq 334
check printk grep -q 'closed after 2000 orders' <(build/fathom report "$work/trace.dat" 2>/dev/null)
check query test "$(build/fathom query "$work/trace.dat" --filter 'cents > 20000 && id & 1' --limit 5 2>/dev/null | grep -c order)" -eq 5
cc -O2 -fpatchable-function-entry=5 -fno-ipa-ra -DFATHOM_PATCH=1 -I. -Itrace -Itrace/include -Iports/user "$work/shop.c" \
	build/user/libfathom.a -pthread -o "$work/calls"
mkdir "$work/calls.d" && (cd "$work/calls.d" && FATHOM_TRACE=tracer=function_graph ../calls)
check calls_as_linux_draws_them test "$(build/fathom report --trace "$work/calls.d/trace.dat" | grep -cE '^ +[0-9]+\).*\|  till\(\)')" -eq 2
check calls_as_a_tree grep -qE '1 +[0-9.]+ %    till$' <(build/fathom graph --min 0 "$work/calls.d/trace.dat")
check calls_over_time grep -q '"till"' <(build/fathom timeline -o - "$work/calls.d/trace.dat" 2>/dev/null |
	PYTHONPATH=test/lib python3 -c 'import json, sys, pagedata; print(json.dumps(pagedata.Page(sys.stdin.read()).meta["names"]))')
if command -v trace-cmd >/dev/null; then
	trace-cmd report -i "$work/trace.dat" >"$work/tc" 2>"$work/err"
	check trace_cmd_reads_it test "$(grep -c ' order: ' "$work/tc")" -eq 2000
	check trace_cmd_has_no_complaint test ! -s "$work/err"
else
	echo "skip trace_cmd: package trace-cmd missing"
fi
