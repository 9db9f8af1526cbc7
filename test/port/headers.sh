#!/usr/bin/env bash
# headers.sh -- each public header alone, as kernels and programs of other habits include it: pedantic C11, C++17, and C99 without the
# compiler's own headers (trace/include/freestanding has the three it needs); by gcc and by clang.
# slow
# inputs: trace/include trace/arch wire ports/template ports/user gcc clang
cd "$(dirname "$0")/../.." || exit 1
out=build/port/headers rc=0
mkdir -p $out
inc="-I. -Itrace -Itrace/include"
warn="-Wall -Wextra -Werror -Wundef"
# attempt NAME HEADER COMMAND...
attempt() {
	local name=$1 said
	said=$("${@:3}" 2>&1) && return
	echo "not ok headers_$name: $2: $(grep -m1 -E 'error|warning' <<<"$said")"
	rc=1 bad=1
}
for cc in gcc clang; do
	for how in c11 cxx17 c99; do
		bad=0
		for h in trace/include/fathom/*.h trace/include/fathom/events/*.h ports/user/fathom_user.h ports/user/fathom_serve.h; do
			n=${h#trace/include/}
			n=${n#ports/user/}
			[ "$n" = fathom/define_trace.h ] && continue # stands at the end of a header of events, which is tried
			port=ports/template
			case $h in ports/*) port=ports/user ;; esac
			[ $how = c99 ] && [ $port = ports/user ] && continue # a program has libc's headers
			f=$out/$cc-$how-$(tr -c 'a-z0-9\n' _ <<<"$n")
			printf '#include "%s"\nextern int headers_alone;\n' "$n" >"$f"
			case $how in
			c11) attempt ${cc}_c11 "$n" $cc -x c -std=c11 -pedantic $warn $inc -I$port -fsyntax-only "$f" ;;
			cxx17) attempt ${cc}_cxx17 "$n" $cc -x c++ -std=c++17 $warn $inc -I$port -fsyntax-only "$f" ;;
			c99) attempt ${cc}_c99 "$n" $cc -x c -std=c99 -nostdinc -isystem trace/include/freestanding $warn $inc -I$port -fsyntax-only "$f" ;;
			esac
		done
		[ $bad = 0 ] && echo "ok headers_${cc}_$how"
	done
done
# And used: events are called and switched on from C++17 and from pedantic C11.
cat >$out/use.inc <<'END'
#include "fathom/events/sched.h"
#include "fathom/trace.h"
#include "fathom/tracepoint.h"
TRACE_DEFINE(headers, used, "n=%u s=%s", (U32, n), (STR, s))
int use(void);
int use(void)
{
	trace_used(1, "text");
	trace_sched_wakeup("a", 1, 120, 0);
	return fathom_event_enable("*", 1);
}
END
for cc in gcc clang; do
	bad=0
	attempt ${cc}_used use.inc $cc -x c -std=c11 -pedantic $warn $inc -Iports/template -fsyntax-only $out/use.inc
	attempt ${cc}_used use.inc $cc -x c++ -std=c++17 $warn $inc -Iports/template -fsyntax-only $out/use.inc
	[ $bad = 0 ] && echo "ok headers_${cc}_used"
done
exit $rc
