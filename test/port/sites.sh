#!/usr/bin/env bash
# sites -- events switched on and off by patching their call sites, in a process, on every arch that has them.
# slow
cd "$(dirname "$0")/../.." || exit 1
out=build/port/sites rc=0
mkdir -p $out
for arch in x86_64 aarch64 riscv64; do
	cc=$arch-linux-gnu-gcc qemu='' lib=build/user-$arch/libfathom.a
	[ $arch = x86_64 ] && cc=gcc lib=build/user/libfathom.a
	if [ $arch != x86_64 ]; then
		qemu=$(command -v qemu-$arch-static || command -v qemu-$arch)
		if [ -z "$qemu" ] || ! command -v $cc >/dev/null; then
			echo "skip sites_$arch: package qemu-user-static or gcc-$arch-linux-gnu missing"
			continue
		fi
	fi
	said=$(MAKEFLAGS= make -s $lib 2>&1 &&
		$cc -std=gnu11 -O2 -Wall -Wextra -D_GNU_SOURCE -DFATHOM_PATCH=1 -I. -Itrace -Itrace/include -Iports/user -pthread -static \
			test/port/sites.c $lib -o $out/$arch 2>&1 && $qemu $out/$arch)
	if [ "$said" = "1050 records" ]; then echo "ok sites_$arch"; else
		echo "not ok sites_$arch: $(head -3 <<<"$said" | tr '\n' ' ')"
		rc=1
	fi
done
exit $rc
