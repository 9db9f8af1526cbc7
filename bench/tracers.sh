#!/usr/bin/env bash
# tracers.sh -- make bench-tracers: a traced call and its return under Fathom and others, in one run.
# Each program runs several times, in turns: the least of all runs counts, since another load, or where the kernel put
# the stack, only ever adds.
cd "$(dirname "$0")/.." || exit 1
turns=${TURNS:-6}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bar() { awk -v n="$1" -v m="$2" -v g="$3" -v op="$4" 'BEGIN { ok = op == "<=" ? m <= g : m >= g; printf "bar %s %.2f %s%s %s\n", n, m, op, g, ok ? "ok" : "SHORT" }'; }

# As its manual says, with its own settings. The program reports its own cost; what uftrace recorded is thrown away.
uftrace_run() { # PROGRAM MODE [OPTION...]
	uftrace record -d "$tmp/uftrace" "${@:3}" "build/bench/tracers_other_$1" 2>"$tmp/err.$1" | tail -1 |
		awk -v n="uftrace record, $2" 'NF == 2 { print "floor: two clock reads, two stores|" $1; print n "|" $2 }'
}

lib=$(ls /usr/lib/*/liblttng-ust-cyg-profile-fast.so 2>/dev/null | head -1)
lttng=
if [ -n "$lib" ] && command -v lttng >/dev/null; then
	export LTTNG_HOME=$tmp
	timeout 10 lttng-sessiond -d >/dev/null 2>&1
	timeout 20 lttng create bench --output="$tmp/lttng" >/dev/null 2>&1 &&
		timeout 20 lttng enable-event -u 'lttng_ust_cyg_profile*' >/dev/null 2>&1 && timeout 20 lttng start >/dev/null 2>&1 && lttng=1
fi

for _ in $(seq "$turns"); do
	build/bench/tracers || exit 1
	if command -v uftrace >/dev/null; then
		uftrace_run pg -pg
		uftrace_run cyg -finstrument-functions
		uftrace_run nop '-P, patched NOPs' -P subject_other
	fi
	[ -n "$lttng" ] && LD_PRELOAD=$lib timeout 60 build/bench/tracers_other_cyg 2>/dev/null | tail -1 |
		awk 'NF == 2 { print "LTTng cyg-profile-fast|" $2 }'
done >"$tmp/all"
if [ -n "$lttng" ]; then timeout 20 lttng destroy >/dev/null 2>&1; fi
[ -f "$tmp/.lttng/lttng-sessiond.pid" ] && kill "$(cat "$tmp/.lttng/lttng-sessiond.pid")" 2>/dev/null

awk -F'|' '!($1 in least) { order[++n] = $1; least[$1] = $2 } $2 < least[$1] { least[$1] = $2 }
	END { for (i = 1; i <= n; i++) print order[i] "|" least[order[i]] }' "$tmp/all" >"$tmp/least"
least() { awk -F'|' -v n="$1" 'index($1, n) == 1 { print $2; exit }' "$tmp/least"; }
floor=$(least floor)
printf '%-40s %11s %6s\n' 'a call and its return' least ratio
awk -F'|' -v f="$floor" '{ printf "%-40s %8.2f ns %6.2f\n", $1, $2, $2 / f }' "$tmp/least"
grep -q uftrace "$tmp/least" || echo "uftrace: does not run here (package uftrace missing?)"
[ -n "$lttng" ] || echo "LTTng: does not run here (packages lttng-tools and liblttng-ust-dev missing?)"

ret=$(least 'function_graph, return sites')
bar graph-return-sites "$(awk "BEGIN { print $ret / $floor }")" 1.40 '<='
bar graph-replaced-return "$(awk "BEGIN { print $(least 'function_graph, replaced') / $floor }")" 1.65 '<='
if grep -q uftrace "$tmp/least"; then
	# Its forms: patched as ours is, the one its manual begins with, and the one that happens to be the fastest. How many
	# times cheaper depends on what two clock reads cost here: of what those alone would give, 70 % must be reached.
	for form in '-P, patched NOPs' -pg -finstrument-functions; do
		its=$(least "uftrace record, $form")
		awk "BEGIN { printf \"%.2f times cheaper than uftrace $form (two clock reads and nothing else: %.2f)\n\", $its / $ret, $its / $floor }"
		bar "share-of-the-floor-against-uftrace${form%%[, ]*}" "$(awk "BEGIN { print ($its / $ret) / ($its / $floor) }")" 0.7 '>='
	done
fi
bar off-costs-ns "$(awk "BEGIN { print $(least off) - $(least 'a call') }")" 0.5 '<='
