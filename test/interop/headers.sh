#!/usr/bin/env bash
# slow
# inputs: trace wire ports/user test/interop test/data/linux/formats /usr/src/linux-headers-6.1*-common/include/trace gcc
# headers -- the kernel's own event headers, unchanged, against our macros; types come from stubs.h, nothing is copied.
# Five must compile and print Linux's format files; test/interop/all_headers tries them all.
# KERNEL=DIR names the package's folder; default: the newest linux-headers-6.1*-common that is installed.
set -u
cd "$(dirname "$0")/../.." || exit 1
kernel=${KERNEL:-$(ls -d /usr/src/linux-headers-6.1*-common 2>/dev/null | sort -V | tail -1)}
if [ -z "$kernel" ] || [ ! -d "$kernel/include/trace/events" ]; then
	echo "skip headers: package linux-headers-amd64 missing"
	exit 0
fi
events=$kernel/include/trace/events
out=build/interop
rm -rf "$out" && mkdir -p "$out/inc/trace" "$out/stub" "$out/obj"
# Only trace/events (and what it shares) is taken from the package, by link; every other header is an empty stub.
ln -s "$events" "$out/inc/trace/events"
ln -s "$kernel/include/trace/misc" "$out/inc/trace/misc"
grep -ohE '#[[:space:]]*include[[:space:]]*<[^>]+>' "$events"/*.h "$kernel"/include/trace/misc/*.h | sed 's/.*<//; s/>.*//' | sort -u |
	while read -r h; do
		case $h in
		trace/* | linux/tracepoint.h) ;;
		*) mkdir -p "$out/stub/$(dirname "$h")" && echo '#include "test/interop/stubs.h"' >"$out/stub/$h" ;;
		esac
	done
common=(-std=gnu11 -O1 -D_GNU_SOURCE -I. -Itrace -Itrace/include -Iports/user)
flags=("${common[@]}" -Wno-pointer-sign -include test/interop/stubs.h -Itrace/include/linux-compat "-I$out/inc" "-I$out/stub"
	-DCONFIG_SCHEDSTATS=1 -DCONFIG_SMP=1 -DCONFIG_DETECT_HUNG_TASK=1)

# Types that a header only names: structs are declared, enums get one value.
named() {
	grep -ohE 'struct [a-z_0-9]+' "$1" | sort -u | sed 's/$/;/'
	grep -ohE 'enum [a-z_0-9]+' "$1" | sort -u | while read -r _ e; do
		grep -qE "enum $e( \{|$)" "$1" test/interop/stubs.h || echo "enum $e { stub_$e };"
	done
}

compile() { # NAME FLAGS...: one header, its definitions and its declarations
	{
		named "$events/$1.h"
		printf '#define CREATE_TRACE_POINTS\n#include <trace/events/%s.h>\n' "$1"
	} >"$out/obj/$1.c"
	gcc "${flags[@]}" "${@:2}" -c "$out/obj/$1.c" -o "$out/obj/$1.o" 2>"$out/obj/$1.log"
}

rc=0
must="sched irq signal workqueue timer"
for h in $must; do
	if compile "$h" -Wall -Wno-unused-function -Wno-format -Werror; then echo "ok header_$h"; else
		echo "not ok header_$h: $(grep -m1 error "$out/obj/$h.log")"
		rc=1
	fi
done

# The same definitions print the format files of a real 6.1.
if [ $rc -eq 0 ] && make -s build/user/libfathom.a &&
	gcc "${common[@]}" test/interop/formats.c $(printf "$out/obj/%s.o " $must) build/user/libfathom.a -pthread -o "$out/formats"; then
	"$out/formats" test/data/linux/formats || rc=1
else
	echo "not ok headers_formats: does not link"
	rc=1
fi
exit $rc
