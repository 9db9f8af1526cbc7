#!/usr/bin/env bash
# library.sh -- events in a shared library: linked, opened, closed and opened again; patched call sites and tested flags.
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
top=$PWD
include=(-I"$work" -I. -Itrace -Itrace/include -Iports/user)

cat >"$work/lib.c" <<'END'
#define CREATE_TRACE_POINTS
#include "fathom/tracepoint.h"
#include "fathom/object.h"
#include "fathom_user.h"

TRACE_DEFINE(plug, step, "n=%d what=%s", (S32, n), (STR, what))
#include "heat.h"
FATHOM_USER_LIBRARY;

void plug_run(int n);
void plug_run(int n)
{
	for (int i = 0; i < n; i++)
		trace_step(i, "in the library");
	trace_heat(WARM);
}
END
cat >"$work/heat.h" <<'END'
#undef TRACE_SYSTEM
#define TRACE_SYSTEM plug
#if !defined(HEAT_H) || defined(TRACE_HEADER_MULTI_READ)
#ifndef HEAT_H
enum { COLD = 5, WARM };
#endif
#define HEAT_H
TRACE_DEFINE_ENUM(COLD);
TRACE_DEFINE_ENUM(WARM);
TRACE_EVENT(heat, TP_PROTO(int how), TP_ARGS(how), TP_STRUCT__entry(__field(int, how)), TP_fast_assign(__entry->how = how;),
	    TP_printk("how=%s", __print_symbolic(__entry->how, {COLD, "cold"}, {WARM, "warm"})));
#endif
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE heat
#include "fathom/define_trace.h"
END
cat >"$work/main.c" <<'END'
#include <dlfcn.h>
#define CREATE_TRACE_POINTS
#include "fathom/tracepoint.h"
#include "fathom/trace.h"

TRACE_DEFINE(app, tick, "n=%d", (S32, n))
#ifdef LINKED
void plug_run(int n);
#endif

static void *run(const char *path, int n)
{
	void *library = path ? dlopen(path, RTLD_NOW) : NULL;
#ifdef LINKED
	plug_run(n);
#else
	((void (*)(int))dlsym(library, "plug_run"))(n);
#endif
	return library;
}

int main(int argc, char **argv)
{
	void *library;

	trace_tick(1);
	library = run(argc > 1 ? argv[1] : NULL, 3);
	if (argc > 2) {
		dlclose(library);
		trace_tick(2);
		run(argv[1], 2);
	}
	trace_tick(3);
	return 0;
}
END
check() { # NAME GOT WANT
	if [ "$2" = "$3" ]; then echo "ok $1"; else echo "not ok $1: $2, want $3"; fi
}
# What trace-cmd prints, an event a word: tick1 step0 ...
told() {
	trace-cmd report "$work/trace.dat" 2>&1 | sed -n 's/.*\(tick\|step\): *n=\([0-9]*\).*/\1\2/p; s/.*heat: *how=/heat-/p; s/.*UNKNOWN.*/unknown/p' | tr '\n' ' '
}
traced() { (cd "$work" && rm -f trace.dat && FATHOM_TRACE=$1 "./$2" "${@:3}") >/dev/null 2>"$work/err"; }

for patch in 0 1; do
	gcc -O2 -Wall -Wextra -Werror -DFATHOM_PATCH=$patch "${include[@]}" -fPIC -shared "$work/lib.c" -o "$work/libplug.so" || exit 1
	gcc -O2 -Wall -Wextra -Werror -DFATHOM_PATCH=$patch "${include[@]}" -fPIC -shared -Wl,-z,nodelete "$work/lib.c" -o "$work/libkeep.so" || exit 1
	link=(-rdynamic -Wl,--whole-archive "$top/build/user/libfathom.a" -Wl,--no-whole-archive -pthread)
	gcc -O2 -DFATHOM_PATCH=$patch "${include[@]}" "$work/main.c" "${link[@]}" -o "$work/opens" || exit 1
	gcc -O2 -DFATHOM_PATCH=$patch -DLINKED "${include[@]}" "$work/main.c" "${link[@]}" "$work/libplug.so" -Wl,-rpath,"$work" -o "$work/linked" || exit 1
	traced 1 opens ./libplug.so
	check "opened_$patch" "$(told)" "tick1 step0 step1 step2 heat-warm tick3 "
	traced 1 linked
	check "linked_$patch" "$(told)" "tick1 step0 step1 step2 heat-warm tick3 "
	traced events=plug:step linked
	check "chosen_by_name_$patch" "$(told)" "step0 step1 step2 "
	traced events=app:* opens ./libplug.so
	check "not_chosen_$patch" "$(told)" "tick1 tick3 "
	traced 1 opens ./libkeep.so close
	check "opened_twice_$patch" "$(told)" "tick1 step0 step1 step2 heat-warm tick2 step0 step1 heat-warm tick3 "
	traced 1 opens ./libplug.so close
	check "closed_and_opened_again_$patch" "$(told)" "tick1 step0 step1 step2 heat-warm tick2 step0 step1 heat-warm tick3 "
	traced 0 opens ./libplug.so close
	check "off_$patch" "$? $(ls "$work"/*.dat 2>/dev/null | wc -l)" "0 0"
done
