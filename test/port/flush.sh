#!/usr/bin/env bash
# flush.sh -- the cache maintenance that written text needs is in the library's code, in the architecture's order.
# An emulator has no caches, so the instructions themselves are looked at.
cd "$(dirname "$0")/../.." || exit 1

has() { # ARCH OBJDUMP PATTERNS...: the function has them in this order
	arch=$1 objdump=$2
	shift 2
	command -v "$objdump" >/dev/null || { echo "skip flush_$arch: package binutils for $arch missing"; return; }
	make -s build/$arch/trace/arch/$arch/flush.o || { echo "not ok flush_$arch: it does not compile"; return; }
	"$objdump" -d --no-show-raw-insn build/$arch/trace/arch/$arch/flush.o | awk -F'\t' 'NF>1{print $2, $3}' >build/test/flush-$arch.txt
	want="$*" got=$(awk -v want="$want" 'BEGIN{n=split(want,w," ")} {o=$1; if (o=="dc"||o=="ic") o=o "_" $2; gsub(",","",o); if ($2=="0x0000100f") o="fence.i"} k<n && o==w[k+1] {k++} END{print k "/" n}' build/test/flush-$arch.txt)
	if [ "$got" = "$#/$#" ]; then echo "ok flush_$arch"; else echo "not ok flush_$arch: $got of: $want"; fi
}
mkdir -p build/test
has aarch64 aarch64-linux-gnu-objdump dc_cvau dc_cvau dsb ic_ivau ic_ivau dsb isb ret
has riscv64 riscv64-linux-gnu-objdump fence.i ret
