#!/usr/bin/env bash
# arguments -- what stands in the brackets of trace_<event>() is not evaluated while the event is off: headers as they
# are, lazy_calls, gcc and clang, patched and not.
set -u
cd "$(dirname "$0")/../.." || exit 1
out=build/port/arguments rc=0
mkdir -p $out
result() { # OK NAME WHY
	if [ "$1" = 0 ]; then echo "ok $2"; else
		echo "not ok $2: $3"
		rc=1
	fi
}
# A header as one would bring it from Linux: nothing of Fathom's in it, and an event made by a macro of its own.
cat >$out/disk.h <<'END'
#undef TRACE_SYSTEM
#define TRACE_SYSTEM disk
#if !defined(TRACE_DISK_H) || defined(TRACE_HEADER_MULTI_READ)
#define TRACE_DISK_H
#include "fathom/tracepoint.h"
DECLARE_EVENT_CLASS(disk_op,
	TP_PROTO(int disk, long sector),
	TP_ARGS(disk, sector),
	TP_STRUCT__entry(__field(int, disk) __field(long, sector)),
	TP_fast_assign(__entry->disk = disk; __entry->sector = sector;),
	TP_printk("disk=%d sector=%ld", __entry->disk, __entry->sector)
);
#define DISK_EVENT(name) DEFINE_EVENT(disk_op, disk_##name, TP_PROTO(int disk, long sector), TP_ARGS(disk, sector))
DISK_EVENT(read);
DISK_EVENT(write);
TRACE_EVENT_CONDITION(disk_slow,
	TP_PROTO(long sector), TP_ARGS(sector), TP_CONDITION(sector > 100),
	TP_STRUCT__entry(__field(long, sector)),
	TP_fast_assign(__entry->sector = sector;),
	TP_printk("sector=%ld", __entry->sector)
);
TRACE_DEFINE(disk, disk_flush, "")
#endif
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE disk
#include "fathom/define_trace.h"
END
cat >$out/program.c <<'END'
#include <stdio.h>
#define CREATE_TRACE_POINTS
#include "disk.h"
#include "fathom_user.h"
#include "fathom/inside/event.h"
static int asked;
__attribute__((noinline)) static long ask(void)
{
	return ++asked;
}
__attribute__((noinline)) void off_path(void)
{
	trace_disk_read((int)ask(), ask());
}
int main(void)
{
	int yes = 1;

	fathom_user_start("events=disk:disk_flush,out=/dev/null");
	off_path();
	yes ? trace_disk_write((int)ask(), 1) : trace_disk_slow(ask()); /* an expression, as a call is */
	if (yes)
		trace_disk_slow(ask());
	else
		trace_disk_flush();
	printf("off %d ", asked);
	fathom_event_enable("disk:disk_read", 1);
	fathom_event_enable("disk:disk_slow", 1);
	off_path();
	trace_disk_slow(ask());
	trace_disk_flush();
	(trace_disk_write)((int)ask(), 2); /* the function is still there */
	printf("on %d\n", asked);
	return 0;
}
END
inc=(-std=gnu11 -O2 -Wall -Wextra -Werror -D_GNU_SOURCE -I. -Itrace -Itrace/include -Iports/user -I$out)
trace/lazy_calls disk.h -- gcc "${inc[@]}" >$out/lazy_calls.h
result $? lazy_calls "it failed"
[ "$(grep -c '^#define' $out/lazy_calls.h)" = 4 ]
result $? lazy_calls_all "not the four events: $(tr '\n' ' ' <$out/lazy_calls.h)"
trace/lazy_calls >/dev/null 2>&1
[ $? = 2 ]
result $? lazy_calls_usage "no usage"
for cc in gcc clang; do
	for patch in 1 0; do
		name=${cc}_$([ $patch = 1 ] && echo patched || echo branch)
		$cc "${inc[@]}" -DFATHOM_PATCH=$patch -include $out/lazy_calls.h $out/program.c build/user/libfathom.a -pthread -o $out/$name 2>$out/$name.log
		result $? arguments_build_$name "$(head -3 $out/$name.log | tr '\n' ' ')"
		said=$($out/$name)
		[ "$said" = "off 0 on 4" ]
		result $? arguments_$name "evaluated: $said"
		code=$(objdump -d --no-show-raw-insn $out/$name | awk '/<off_path>:/{p=1;next} p&&/ret/{exit} p&&/^ /{sub(/^[^\t]*\t/,"");print}')
		if [ $patch = 1 ]; then
			# clang keeps a frame that only the other way needs
			[ "$(grep -vcE '^(push|pop) ' <<<"$code")" = 1 ] && grep -q '^nop' <<<"$code"
		else
			! grep -q call <<<"$code"
		fi
		result $? arguments_off_path_$name "$(tr '\n' ';' <<<"$code")"
	done
done
exit $rc
