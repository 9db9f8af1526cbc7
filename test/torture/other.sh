#!/usr/bin/env bash
# other.sh -- the torture test under ThreadSanitizer and, by qemu-user, on aarch64 and riscv64; the control of the stepping test.
# slow
cd "$(dirname "$0")/../.." || exit 1
rename() { sed -E "s/^(ok|not ok) torture_/\1 torture_$1_/"; }
TSAN_OPTIONS=halt_on_error=1 build/test/torture-tsan/torture 400000 2>&1 | rename tsan
[ "${PIPESTATUS[0]}" = 0 ] || echo "not ok torture_tsan: exit code"
for arch in aarch64 riscv64; do
	qemu=$(command -v qemu-$arch-static || command -v qemu-$arch)
	if [ -z "$qemu" ]; then
		echo "skip torture_$arch: package qemu-user-static missing"
		continue
	fi
	timeout 600 "$qemu" build/test/torture-$arch/torture 400000 | rename $arch
done
if build/test/plant/plain-tail/stepping 200 | grep -q '^not ok stepping_write_write'; then
	echo "ok stepping_control (a plain store of the tail is found)"
else
	echo "not ok stepping_control: a plain store of the tail is not found"
fi
