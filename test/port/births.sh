#!/usr/bin/env bash
# births.sh -- signals that come while a thread gets its ring wait for it: no event of theirs is refused.
cd "$(dirname "$0")/../.." || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
gcc -std=gnu11 -O2 -Wall -D_GNU_SOURCE -DFATHOM_PATCH=1 -I. -Itrace -Itrace/include -Iports/user test/port/births.c build/user/libfathom.a \
	-pthread -o "$tmp/births" || exit 1
want=$(FATHOM_TRACE="out=$tmp/b.dat,buffer_kb=32768" "$tmp/births" 2>"$tmp/err")
got=$(build/fathom query --count "$tmp/b.dat")
if [ -n "$want" ] && [ "$want" = "$got" ] && [ ! -s "$tmp/err" ]; then
	echo "ok births"
else
	echo "not ok births: $got of $want events; $(head -2 "$tmp/err")"
	exit 1
fi
