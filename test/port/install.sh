#!/usr/bin/env bash
# install.sh -- `make install`, then programs built from the installed files alone: with pkg-config and with CMake.
# slow
set -u
cd "$(dirname "$0")/../.." || exit 1
out=$PWD/build/port/install rc=0
rm -rf "$out" && mkdir -p "$out/tree"
result() { # OK NAME WHY
	if [ "$1" = 0 ]; then echo "ok $2"; else
		echo "not ok $2: $3"
		rc=1
	fi
}
MAKEFLAGS= make -s install PREFIX="$out/usr" >"$out/log" 2>&1
result $? install "$(tail -1 "$out/log")"
cat >"$out/tree/main.c" <<'END'
#define CREATE_TRACE_POINTS
#include "fathom/events/sched.h"
#include "fathom/tracepoint.h"
#include "fathom_user.h"
TRACE_DEFINE(app, step, "n=%u", (U32, n))
int main(void)
{
	fathom_user_start("events=*,out=trace.dat");
	for (unsigned i = 0; i < 10; i++)
		trace_step(i);
	return 0;
}
END
cat >"$out/tree/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(app C)
find_package(Fathom REQUIRED)
add_executable(app main.c)
target_link_libraries(app Fathom::fathom)
END
cd "$out/tree" || exit 1
traced() { # PROGRAM: events of its trace, by the installed program
	rm -f trace.dat
	"$1" >/dev/null 2>&1
	"$out/usr/bin/fathom" report trace.dat 2>/dev/null | grep -c 'step: *n='
}
export PKG_CONFIG_PATH=$out/usr/lib/pkgconfig
gcc -std=gnu11 -O2 -Wall -Wextra -Werror $(pkg-config --cflags fathom) main.c $(pkg-config --libs fathom) -o app 2>"$out/log"
result $? install_pkg_config "$(head -1 "$out/log")"
n=$(traced ./app)
[ "$n" = 10 ]
result $? install_pkg_config_runs "$n events, not 10"
if command -v cmake >/dev/null; then
	cmake -S . -B cmake -DCMAKE_PREFIX_PATH="$out/usr" >"$out/log" 2>&1 && cmake --build cmake >>"$out/log" 2>&1
	result $? install_cmake "$(grep -m1 -i error "$out/log")"
	n=$(traced ./cmake/app)
	[ "$n" = 10 ]
	result $? install_cmake_runs "$n events, not 10"
else
	echo "skip install_cmake: package cmake missing"
fi
exit $rc
