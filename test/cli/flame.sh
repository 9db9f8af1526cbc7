#!/usr/bin/env bash
# flame.sh -- what of a trace goes into a flame graph: parts that are cut by frame, CPU and time add up to the whole.
cd "$(dirname "$0")/../.." || exit 1
fathom=build/fathom
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

check() { # NAME GOT WANT
	if [ "$2" = "$3" ]; then echo "ok $1"; else echo "not ok $1: $2, want $3"; fi
}
# Samples in a flame graph of FILE with OPTIONS.
samples() {
	"$fathom" flame "$@" --samples --format folded -o - 2>>"$work/err" | awk '{n += $NF} END {print n + 0}'
}

capture=$work/smp.traced
gzip -dc test/data/l4re/smp.traced.gz >"$capture"
cp -r test/data/l4re/smp test/data/l4re/binaries.list "$work"
graph=$work/graph.dat
all=$(samples "$capture")
check all_samples "$([ "$all" -gt 20 ] && echo many)" many
check only_and_without_are_the_whole $(($(samples "$capture" --only main) + $(samples "$capture" --without main))) "$all"
check cpus_are_the_whole $(($(samples "$capture" --cpu 0) + $(samples "$capture" --cpu 1-63))) "$all"
check a_cpu_is_a_part "$([ "$(samples "$capture" --cpu 0)" -lt "$all" ] && echo less)" less
middle=$("$fathom" report "$capture" 2>/dev/null | grep 'stack:' | awk '{v[NR] = $0} END {print v[int(NR / 2)]}' |
	grep -o '[0-9]\+\.[0-9]\{6,9\}' | head -1)
check times_are_the_whole $(($(samples "$capture" --to "$middle") + $(samples "$capture" --from "${middle}1"))) "$all"
check a_time_is_a_part "$([ "$(samples "$capture" --to "$middle")" -lt "$all" ] && echo less)" less
"$fathom" flame "$capture" --samples --format folded -o "$work/all.folded" 2>/dev/null
check folded_text_is_cut_alike "$(samples "$work/all.folded" --only main)" "$(samples "$capture" --only main)"

"$fathom" flame "$capture" --only '(' -o - >"$work/out" 2>"$work/err"
check a_wrong_expression_fails $? 1
check and_is_named "$(grep -c "'(' is not a regular expression" "$work/err")" 1
"$fathom" flame "$capture" --only nothing_is_called_so -o - --format folded >"$work/out" 2>"$work/err"
check nothing_left_is_said "$(grep -c 'no stack matches' "$work/err")" 1
"$fathom" flame "$capture" --by clock -o - >"$work/out" 2>"$work/err"
check a_wrong_group_is_usage $? 2
"$fathom" flame "$capture" --run 7 -o - >"$work/out" 2>"$work/err"
check a_run_that_is_not_there_fails "$? $(grep -c 'there is no run 7' "$work/err")" "1 1"

gzip -dc test/data/tracedat/graph_v7_zstd.dat.gz >"$graph"
all=$(samples "$graph")
check calls_are_there "$([ "$all" -gt 100 ] && echo many)" many
check calls_only_and_without $(($(samples "$graph" --only '^_') + $(samples "$graph" --without '^_'))) "$all"
check calls_by_cpu $(($(samples "$graph" --cpu 0) + $(samples "$graph" --cpu 1-63))) "$all"
check calls_by_filter $(($(samples "$graph" --filter 'CPU == 0') + $(samples "$graph" --filter 'CPU != 0'))) "$all"
check a_filter_takes_a_part "$([ "$(samples "$graph" --filter 'CPU == 0')" -lt "$all" ] && echo less)" less
"$fathom" flame "$graph" --filter 'CPU ==' -o - >"$work/out" 2>"$work/err"
check a_wrong_filter_fails "$? $(grep -c -- '--filter' "$work/err")" "2 1"
for o in "--cpu 0" "--from 1" "--filter CPU==0"; do
	# shellcheck disable=SC2086
	"$fathom" flame "$work/all.folded" $o -o - >"$work/out" 2>"$work/err"
	check "folded_text_takes_no_${o%% *}" "$? $(grep -c 'to select by' "$work/err")" "1 1"
done
"$fathom" flame "$work/all.folded" --format folded >"$work/out" 2>"$work/err"
check never_over_its_input "$? $(grep -c 'is the trace that is read' "$work/err")" "1 1"

# The last step of the backtracer's pipeline.
"$fathom" convert "$capture" "$work/c.svg" 2>"$work/err"
check convert_draws "$? $(grep -c '</svg>' "$work/c.svg")" "0 1"
"$fathom" convert "$capture" "$work/c.svg" 2>"$work/err"
check convert_draws_over_nothing "$? $(grep -c -- '--force' "$work/err")" "1 1"
"$fathom" convert "$graph" "$work/g.folded" --cpu 0 2>"$work/err"
"$fathom" flame "$graph" --cpu 0 -o "$work/f.folded" 2>/dev/null
check convert_folds_any_trace "$(cmp "$work/g.folded" "$work/f.folded" && wc -l <"$work/g.folded")" "$(wc -l <"$work/f.folded")"
