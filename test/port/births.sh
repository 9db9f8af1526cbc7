#!/usr/bin/env bash
# births.sh -- signals that come while a thread gets its ring wait for it: no event of theirs is refused. Where there is no
# ring, refusing is cheap and counted.
cd "$(dirname "$0")/../.." || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
gcc -std=gnu11 -O2 -Wall -D_GNU_SOURCE -DFATHOM_PATCH=1 -I. -Itrace -Itrace/include -Iports/user test/port/births.c build/user/libfathom.a \
	-pthread -o "$tmp/births" || exit 1
failed=0
check() { # NAME, what came, what should have
	if [ "$2" = "$3" ]; then
		echo "ok $1"
	else
		echo "not ok $1: '$2', not '$3'"
		failed=1
	fi
}
want=$(FATHOM_TRACE="out=$tmp/b.dat,buffer_kb=32768" "$tmp/births" 2>"$tmp/err")
check births "$(build/fathom query --count "$tmp/b.dat") events, $(head -2 "$tmp/err")" "$want events, fathom: $tmp/b.dat: $want events"
check refused_is_cheap "$(FATHOM_TRACE="out=$tmp/c.dat,cpus=1,quiet=1" "$tmp/births" crowd 2>"$tmp/err")" \
	"200000 refused, each for less than a system call"
check refused_is_counted "$(cat "$tmp/err")" \
	"fathom: 200000 events were refused: more threads traced at a time than cpus= allows"
exit "$failed"
