#!/bin/sh
# slow
# search.sh -- a minute of libFuzzer on each parser of the control tree, two at a time (FUZZ_SECONDS=60). The seed is always the
# same, so that two runs of one tree find the same; `make fuzz-NAME` searches elsewhere each time. A slow machine is no finding.
cd "$(dirname "$0")/../.." || exit 2
seconds=${FUZZ_SECONDS:-60}
log=build/fuzz/log
mkdir -p "$log"

if ! command -v clang >/dev/null; then
	echo "skip fuzz_trace: package clang missing"
	exit 0
fi
if [ ! -e "$(clang --print-file-name=libclang_rt.fuzzer-x86_64.a)" ] &&
	[ ! -e "$(clang --print-resource-dir)/lib/linux/libclang_rt.fuzzer-x86_64.a" ]; then
	echo "skip fuzz_trace: package libclang-rt-14-dev missing"
	exit 0
fi

one() {
	if make -s "fuzz-trace-$1" FUZZ_SECONDS="$seconds" FUZZ_FLAGS="-seed=1 -timeout=60" >"$log/$1" 2>&1; then
		echo "ok fuzz_trace_$1: $(sed -n 's/^Done \([0-9]*\) runs in \([0-9]*\) .*/\1 inputs in \2 s/p' "$log/$1")"
	else
		echo "not ok fuzz_trace_$1: $(grep -m1 -E 'ERROR|runtime error|SUMMARY' "$log/$1"); make fuzz-trace-$1 repeats it"
	fi
}

one filter &
one glob
wait
one trigger &
one p9
wait
