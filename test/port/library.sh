#!/usr/bin/env bash
# library.sh -- events in a shared library: linked, opened, closed and opened again; patched call sites and tested flags.
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
top=$PWD
include=(-I. -Itrace -Itrace/include -Iports/user)

cat >"$work/lib.c" <<'END'
#define CREATE_TRACE_POINTS
#include "fathom/tracepoint.h"
#include "fathom/object.h"
#include "fathom_user.h"

TRACE_DEFINE(plug, step, "n=%d what=%s", (S32, n), (STR, what))
FATHOM_USER_LIBRARY;

void plug_run(int n);
void plug_run(int n)
{
	for (int i = 0; i < n; i++)
		trace_step(i, "in the library");
}
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
	trace-cmd report "$work/trace.dat" 2>&1 | sed -n 's/.*\(tick\|step\): *n=\([0-9]*\).*/\1\2/p; s/.*UNKNOWN.*/unknown/p' | tr '\n' ' '
}
traced() { (cd "$work" && rm -f trace.dat && FATHOM_TRACE=$1 "./$2" "${@:3}") >/dev/null 2>"$work/err"; }

for patch in 0 1; do
	gcc -O2 -Wall -Wextra -Werror -DFATHOM_PATCH=$patch "${include[@]}" -fPIC -shared "$work/lib.c" -o "$work/libplug.so" || exit 1
	gcc -O2 -Wall -Wextra -Werror -DFATHOM_PATCH=$patch "${include[@]}" -fPIC -shared -Wl,-z,nodelete "$work/lib.c" -o "$work/libkeep.so" || exit 1
	link=(-rdynamic -Wl,--whole-archive "$top/build/user/libfathom.a" -Wl,--no-whole-archive -pthread)
	gcc -O2 -DFATHOM_PATCH=$patch "${include[@]}" "$work/main.c" "${link[@]}" -o "$work/opens" || exit 1
	gcc -O2 -DFATHOM_PATCH=$patch -DLINKED "${include[@]}" "$work/main.c" "${link[@]}" "$work/libplug.so" -Wl,-rpath,"$work" -o "$work/linked" || exit 1
	traced 1 opens ./libplug.so
	check "opened_$patch" "$(told)" "tick1 step0 step1 step2 tick3 "
	traced 1 linked
	check "linked_$patch" "$(told)" "tick1 step0 step1 step2 tick3 "
	traced events=plug:step linked
	check "chosen_by_name_$patch" "$(told)" "step0 step1 step2 "
	traced events=app:* opens ./libplug.so
	check "not_chosen_$patch" "$(told)" "tick1 tick3 "
	traced 1 opens ./libkeep.so close
	check "opened_twice_$patch" "$(told)" "tick1 step0 step1 step2 tick2 step0 step1 tick3 "
	traced 1 opens ./libplug.so close
	check "closed_and_opened_again_$patch" "$(told)" "tick1 step0 step1 step2 tick2 step0 step1 tick3 "
	traced 0 opens ./libplug.so close
	check "off_$patch" "$? $(ls "$work"/*.dat 2>/dev/null | wc -l)" "0 0"
done
