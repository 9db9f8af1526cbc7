#!/usr/bin/env bash
# install.sh -- `make install`, then the trees of ports/examples built from the installed files alone: C by pkg-config, C++17 by CMake, a
# kernel with the amalgamation, booted.
# slow 20
set -u
cd "$(dirname "$0")/../.." || exit 1
out=$PWD/build/port/install rc=0
rm -rf "$out" && mkdir -p "$out"
result() { # OK NAME WHY
	if [ "$1" = 0 ]; then echo "ok $2"; else
		echo "not ok $2: $3"
		rc=1
	fi
}
MAKEFLAGS= make -s install PREFIX="$out/usr" >"$out/log" 2>&1
result $? install "$(tail -1 "$out/log")"
cp -r ports/examples "$out/trees"
export PKG_CONFIG_PATH=$out/usr/lib/pkgconfig
traced() { # PROGRAM: events of its trace, by the installed program
	rm -f trace.dat
	"$1" >/dev/null 2>&1
	"$out/usr/bin/fathom" report trace.dat 2>/dev/null | grep -c 'step: *n='
}
cd "$out/trees/c" || exit 1
for how in archive shared; do
	rm -f app
	MAKEFLAGS= make -s app CC=gcc SHARED="$([ $how = shared ] && echo 1)" >"$out/log" 2>&1
	result $? install_c_$how "$(head -1 "$out/log")"
	n=$(LD_LIBRARY_PATH=$out/usr/lib traced ./app)
	[ "$n" = 10 ]
	result $? install_c_${how}_runs "$n events, not 10"
done
readelf -d app | grep -q 'NEEDED.*libfathom.so.0'
result $? install_soname "$(readelf -d app | grep NEEDED | tr '\n' ' ')"
# Only what the headers name is exported, all of it beginning with fathom_, and what stands before the C library's _exit().
foreign=$(nm -D --defined-only "$out/usr/lib/libfathom.so.0" | awk '$3 !~ /^(fathom_|FATHOM_0|GLIBC_[0-9.]*$|_[eE]xit@@GLIBC_)/ {print $3}' | head -3)
result "$([ -z "$foreign" ] && echo 0 || echo 1)" install_exports_only_public "$foreign"
inner=$(nm -D --defined-only "$out/usr/lib/libfathom.so.0" | grep -cE ' fathom_(ctl_|view_|pool_|filter_|hist_|sites_|shadow_)')
result "$inner" install_exports_nothing_inner "$inner names"
cd "$out/trees/cxx" || exit 1
if command -v cmake >/dev/null; then
	cmake -S . -B cmake -DCMAKE_PREFIX_PATH="$out/usr" >"$out/log" 2>&1 && cmake --build cmake >>"$out/log" 2>&1
	result $? install_cmake "$(grep -m1 -i error "$out/log")"
	for how in fathom shared; do
		n=$(LD_LIBRARY_PATH=$out/usr/lib traced ./cmake/app_$how)
		[ "$n" = 10 ]
		result $? install_cmake_$how "$n events, not 10"
	done
else
	echo "skip install_cmake: package cmake missing"
fi
cd "$out/trees/kernel" || exit 1
if command -v riscv64-linux-gnu-gcc >/dev/null && command -v qemu-system-riscv64 >/dev/null; then
	MAKEFLAGS= make -s OPT=-O1 FATHOM="$(pkg-config --variable=amalgamation fathom)" >"$out/log" 2>&1
	result $? install_kernel "$(grep -m1 error "$out/log")"
	said=$(timeout 300 qemu-system-riscv64 -M virt -bios none -display none -serial stdio -monitor none -kernel kernel.elf </dev/null 2>&1)
	[ "$(grep -cE 'square <-squares|squares <-' <<<"$said")" = 6 ] && grep -q 'work: round=2 sum=5' <<<"$said" &&
		grep -q 'sched_switch: prev_comm=kernel' <<<"$said" && grep -q 'done after 3 rounds' <<<"$said" && grep -q '^end' <<<"$said"
	result $? install_kernel_boots "it says: $(head -3 <<<"$said")"
else
	echo "skip install_kernel: package gcc-riscv64-linux-gnu or qemu-system-misc missing"
fi
exit $rc
