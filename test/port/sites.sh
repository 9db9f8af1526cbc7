#!/usr/bin/env bash
# sites -- events switched on and off by patching their call sites, in a process, on every arch that has them, compiled by gcc and
# by clang; every site is aligned as its arch asks.
# slow
cd "$(dirname "$0")/../.." || exit 1
out=build/port/sites rc=0
mkdir -p $out
flags="-std=gnu11 -O2 -Wall -Wextra -Werror -D_GNU_SOURCE -DFATHOM_PATCH=1 -I. -Itrace -Itrace/include -Iports/user -pthread"
for arch in x86_64 aarch64 riscv64; do
	cc=$arch-linux-gnu-gcc qemu='' lib=build/user-$arch/libfathom.a other="clang --target=$arch-linux-gnu -isystem /usr/$arch-linux-gnu/include"
	[ $arch = x86_64 ] && cc=gcc lib=build/user/libfathom.a other=clang
	[ $arch = riscv64 ] && other="$other -march=rv64gc -mabi=lp64d"
	if [ $arch != x86_64 ]; then
		qemu=$(command -v qemu-$arch-static || command -v qemu-$arch)
		if [ -z "$qemu" ] || ! command -v $cc >/dev/null; then
			echo "skip sites_$arch: package qemu-user-static or gcc-$arch-linux-gnu missing"
			continue
		fi
	fi
	for compiler in "$cc" "$other"; do
		name=$arch
		[ "${compiler%% *}" = clang ] && name=${arch}_clang
		said=$(MAKEFLAGS= make -s $lib 2>&1 &&
			$compiler $flags -c test/port/sites.c -o $out/$name.o 2>&1 && $cc -pthread -static $out/$name.o $lib -o $out/$name 2>&1 && $qemu $out/$name)
		if [ "$said" = "1250 records" ]; then echo "ok sites_$name"; else
			echo "not ok sites_$name: $(head -3 <<<"$said" | tr '\n' ' ')"
			rc=1
		fi
	done
done
exit $rc
