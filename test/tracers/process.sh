#!/usr/bin/env bash
# process.sh -- a program compiled with sites traces its own calls through FATHOM_TRACE, and trace-cmd draws them.
cd "$(dirname "$0")/../.." || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
prog=build/test/traced_process
check() { if eval "$2"; then echo "ok $1"; else echo "not ok $1: $2"; head -5 "$tmp/report" 2>/dev/null; failed=1; fi; }
failed=0
FATHOM_TRACE="tracer=function_graph,filter=ret_*,filter=hij_*,quiet=1,out=$tmp/g.dat" $prog 2>"$tmp/err"
check process_runs '[ $? -eq 0 ] && [ ! -s "$tmp/err" ]'
build/fathom report "$tmp/g.dat" >"$tmp/fathom" 2>/dev/null
check process_report 'grep -q ret_leaf "$tmp/fathom"'
# The rate that calls are timed by was measured in a millisecond, the records' one over the whole run.
check process_clock 'build/fathom report --like 3.1 -R "$tmp/g.dat" | python3 -c "
import re, sys
m = re.search(r\"([0-9.]+): funcgraph_exit.*rettime=([0-9a-f]+)\", sys.stdin.read())
sys.exit(abs(int(m[2], 16) / 1e9 / float(m[1]) - 1) > 5e-4)"'
build/fathom timeline --output "$tmp/t.html" "$tmp/g.dat" >/dev/null
check process_timeline 'PYTHONPATH=test/lib python3 -c "import sys, pagedata
sys.exit(\"ret_leaf\" not in pagedata.Page(open(sys.argv[1]).read()).meta[\"names\"])" "$tmp/t.html"'
build/fathom flame --output "$tmp/f.svg" "$tmp/g.dat" >/dev/null
check process_flame 'grep -q ret_leaf "$tmp/f.svg" && ! grep -qE "<rect.*hsl\((19|20|21).," "$tmp/f.svg"' # blue: a kernel's
if command -v trace-cmd >/dev/null; then
	trace-cmd report "$tmp/g.dat" >"$tmp/report" 2>/dev/null
	check process_trace_cmd_open 'grep -qE "\|  ret_top\(\) \{" "$tmp/report"'
	check process_trace_cmd_leaf 'grep -qE "us +\|      ret_leaf\(\);" "$tmp/report"'
	check process_trace_cmd_close 'grep -qE "us +\|    \}" "$tmp/report"'
else
	echo "skip process_trace_cmd: package trace-cmd missing"
fi
FATHOM_TRACE="tracer=function,filter=hij_leaf,out=$tmp/f.dat" $prog
check process_function '[ "$(build/fathom query --count "$tmp/f.dat" 2>/dev/null)" -gt 0 ]'
FATHOM_TRACE="tracer=function,filter=nosuch,out=$tmp/n.dat" $prog 2>"$tmp/err"
check process_unknown_function 'grep -q "no function matches: nosuch" "$tmp/err" && [ ! -e "$tmp/n.dat" ]'
FATHOM_TRACE="tracer=function_graph,option=funcgraph-args,option=nofuncgraph-args,option=funcgraph-retval,filter=hij_*,out=$tmp/o.dat" $prog 2>"$tmp/err"
check process_options 'build/fathom report --trace -O funcgraph-retval "$tmp/o.dat" >"$tmp/report" 2>/dev/null &&
	grep -q "ret=" "$tmp/report" && ! grep -q "hij_leaf(.*=.*)" "$tmp/report"'
FATHOM_TRACE="option=nonix,out=$tmp/n.dat" $prog 2>"$tmp/err"
check process_unknown_option 'grep -q "option=nonix: there is no such trace option" "$tmp/err" && [ ! -e "$tmp/n.dat" ]'
FATHOM_TRACE="tracer=nosuch,out=$tmp/n.dat" $prog 2>"$tmp/err"
check process_unknown_tracer 'grep -q "nosuch: cannot be started" "$tmp/err" && [ ! -e "$tmp/n.dat" ]'
FATHOM_TRACE="quiet=1,out=$tmp/e.dat" $prog 2>"$tmp/err" # a program without events: trace_printk, the control tree
check process_without_events '[ ! -s "$tmp/err" ] && [ "$(build/fathom query --count "$tmp/e.dat")" = 0 ]'
exit $failed
