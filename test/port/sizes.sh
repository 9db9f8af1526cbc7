#!/usr/bin/env bash
# sizes.sh -- every size of port_default.h: a value out of its range is refused with its name, and nothing else defines one.
cd "$(dirname "$0")/../.." || exit 1
out=build/port/sizes
mkdir -p $out
: >$out/one.c
echo '#include "fathom/port_default.h"' >$out/one.c
flags=(-std=gnu11 -Wall -Wextra -Werror -I. -Itrace -Itrace/include -Iports/template -fsyntax-only)
result() { # WHY NAME
	if [ -z "$1" ]; then echo "ok $2"; else
		echo "not ok $2: $1"
		rc=1
	fi
}
rc=0
bad="CPUS_MAX=0 CPUS_MAX=65 PAGE_BYTES=256 PAGE_BYTES=3000 PAGE_BYTES=8192 SCRATCH_BYTES=100 DUMP_BYTES=512 DUMP_LINE=16 MARKER_MAX=16
	MARKER_MAX=2000 HOOKS_MAX=0 RING_RETRIES=0 SHADOW_DEPTH=48 SHADOW_DEPTH=2 PIDS_MAX=0 PROBES_MAX=1 MODULES_MAX=0 MODULES_MAX=256
	STACK_FRAMES=1 STACK_FRAMES=1000 STACK_SEEN_MAX=1 INSTANCES_MAX=0 INSTANCES_MAX=31 TASK_NAMES=12 ERRORS_MAX=0 TREE_BYTES=4096
	HIST_ENTRIES=100 HIST_ENTRIES=262144 P9_FIDS=1 P9_WAITS=0 P9_MSIZE=100 P9_MSIZE=100000 SAMPLE_FRAMES=5 SAMPLE_WALK=2 PROGRAMS_MAX=0 PROGRAMS_MAX=256
	DYNAMIC_MAX=0 DYNAMIC_MAX=1025
	PROGRAM_BUDGET=0 LINK_BYTES=400 LINK_BYTES=4100 LINK_BYTES=5000"
for b in $bad; do
	said=$(gcc "${flags[@]}" -DFATHOM_$b $out/one.c 2>&1)
	grep -q "#error.*FATHOM_${b%=*}" <<<"$said"
	result "$([ $? = 0 ] || echo "it says: $(head -1 <<<"$said")")" "sizes_${b/=/_}"
done
# Every size of the header is in the list above, but for those that any number is right for.
missing=$(grep -oE '^#ifndef FATHOM_[A-Z0-9_]+' trace/include/fathom/port_default.h | sed 's/.*FATHOM_//' |
	grep -vxE 'PORT_DEFAULT_H|NOTRACE|PATCH|FUNCTIONS|ATTACH|EVENT_TEXT|LINK_PACKED|SAVE_FP|PORT_LEAF|DEBUG|STACK_BYTES|PROGRAM_BYTES' | while read -r s; do
	grep -q "\b$s=" <<<"$bad" || echo $s
done)
result "$missing" sizes_all_tested
# No other file gives a port's size a default of its own, and each has a line that says what it is.
others=$(grep -rnE '^#ifndef FATHOM_[A-Z0-9_]+(MAX|BYTES|FIDS|WAITS|MSIZE|DEPTH|FRAMES|RETRIES|NAMES|LINE)$' trace wire | grep -v port_default.h)
result "$others" sizes_in_one_place
unsaid=$(grep -oE '^#ifndef (FATHOM|fathom)_\w+' trace/include/fathom/port_default.h | sed 's/#ifndef //' | grep -v _H$ | while read -r s; do
	grep -qE "^(/\*| \*).*\b$s\b" trace/include/fathom/port_default.h || echo $s
done)
result "$unsaid" sizes_explained
# As small as they may be, the library compiles.
small="-DFATHOM_CPUS_MAX=1 -DFATHOM_PAGE_BYTES=512 -DFATHOM_DUMP_BYTES=1024 -DFATHOM_DUMP_LINE=128 -DFATHOM_MARKER_MAX=64 -DFATHOM_HOOKS_MAX=1
	-DFATHOM_SHADOW_DEPTH=4 -DFATHOM_PIDS_MAX=1 -DFATHOM_PROBES_MAX=2 -DFATHOM_MODULES_MAX=1 -DFATHOM_STACK_FRAMES=2 -DFATHOM_STACK_SEEN_MAX=2
	-DFATHOM_INSTANCES_MAX=1 -DFATHOM_TASK_NAMES=8 -DFATHOM_ERRORS_MAX=1 -DFATHOM_TREE_BYTES=8192 -DFATHOM_HIST_ENTRIES=128 -DFATHOM_P9_FIDS=4
	-DFATHOM_P9_WAITS=1 -DFATHOM_P9_MSIZE=256 -DFATHOM_SAMPLE_FRAMES=4 -DFATHOM_SAMPLE_WALK=4 -DFATHOM_RING_RETRIES=1 -DFATHOM_SCRATCH_BYTES=16 -DFATHOM_LINK_BYTES=528"
said=$(for f in trace/*/*.c wire/*.c; do gcc "${flags[@]}" $small $f || echo "$f"; done 2>&1 | head -3)
result "$said" sizes_smallest_compile
exit $rc
