#!/usr/bin/env bash
# prefix.sh -- functions with NOPs in front of them too (-fpatchable-function-entry=N,M) are traced where calls come by; those that
# have them only in front are refused and not patched in vain.
# slow
cd "$(dirname "$0")/../.." || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0
no() { echo "not ok prefix_$1: $2" && failed=1; }

build() { # NAME COMPILER LIBRARY FLAGS...
	local name=$1 cc=$2 lib=$3
	shift 3
	$cc -std=gnu11 -O2 "$@" -c test/tracers/traced_hij.c -o "$tmp/hij.o" &&
		$cc -std=gnu11 -O2 "$@" -c test/tracers/traced_ret.c -o "$tmp/ret.o" &&
		$cc -std=gnu11 -O2 test/tracers/process.c "$tmp/hij.o" "$tmp/ret.o" -static -Wl,--whole-archive "$lib" -Wl,--no-whole-archive \
			-pthread -o "$tmp/$name" 2>"$tmp/err" || no "$name" "$(head -2 "$tmp/err")"
}

traced() { # NAME QEMU
	FATHOM_TRACE="tracer=function_graph,filter=hij_leaf,out=$tmp/$1.dat" ${2:+"$2"} "$tmp/$1" 2>"$tmp/err" || return 1
	[ "$(build/fathom query --count "$tmp/$1.dat" 2>/dev/null || echo 0)" -ge 600 ]
}

one() { # NAME QEMU COMPILER LIBRARY FLAGS...
	if ! command -v "${2:-$3}" >/dev/null || ! command -v "$3" >/dev/null; then
		echo "skip prefix_$1: package $3 or qemu-user missing"
		return
	fi
	build "$1" "${@:3}" || return
	if traced "$1" "$2"; then echo "ok prefix_$1"; else no "$1" "$(head -2 "$tmp/err") $(build/fathom query --count "$tmp/$1.dat" 2>&1)"; fi
}

one gcc "" gcc build/user/libfathom.a -fpatchable-function-entry=16,8 -fno-ipa-ra
one gcc_cet "" gcc build/user/libfathom.a -fpatchable-function-entry=16,8 -fcf-protection=full -fno-ipa-ra
one clang "" clang build/user/libfathom.a -fpatchable-function-entry=10,5
one aarch64 "$(command -v qemu-aarch64-static || echo qemu-aarch64)" aarch64-linux-gnu-gcc build/user-aarch64/libfathom.a \
	-fpatchable-function-entry=4,2 -fno-ipa-ra
one aarch64_bti "$(command -v qemu-aarch64-static || echo qemu-aarch64)" aarch64-linux-gnu-gcc build/user-aarch64/libfathom.a \
	-fpatchable-function-entry=4,2 -fno-ipa-ra -mbranch-protection=standard
one riscv64 "$(command -v qemu-riscv64-static || echo qemu-riscv64)" riscv64-linux-gnu-gcc build/user-riscv64/libfathom.a \
	-fpatchable-function-entry=8,4 -fno-ipa-ra -falign-functions=4
if build only gcc build/user/libfathom.a -fpatchable-function-entry=16,16 && ! traced only "" &&
	grep -q "no function has sites" "$tmp/err"; then
	echo "ok prefix_only"
else
	no only "$(head -2 "$tmp/err")"
fi
exit $failed
