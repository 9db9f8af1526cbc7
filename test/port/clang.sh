#!/usr/bin/env bash
# clang.sh -- clang has nothing to say about the host program, as gcc has not; the library's sources are in amalgamation.sh.
# slow 20
# inputs: tools wire clang
cd "$(dirname "$0")/../.." || exit 1
command -v clang >/dev/null || { echo "skip host_clang: package clang missing"; exit; }
mkdir -p build/port
if find tools wire -name '*.c' -print0 | xargs -0 clang -std=gnu11 -Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	-Wundef -Werror -D_GNU_SOURCE -DWIRE_HOST=1 -I. -Itools -fsyntax-only 2>build/port/clang.log; then
	echo "ok host_clang"
else
	echo "not ok host_clang: $(grep -m2 -E 'error|warning' build/port/clang.log | tr '\n' ' ')"
fi
