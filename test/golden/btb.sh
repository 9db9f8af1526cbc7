#!/usr/bin/env bash
# btb.sh -- backtracer captures: every step and every text form equals the original tools' answer.
#
# test/data/l4re/sums are sha256 sums of what the original wrote. Where it is wrong the right answer is tested instead:
#   lostblock  the original gives up on one lost block; the answer is that of `large`, the capture without the loss
#   a raw section in the middle ends the original's decompression; here what follows is read (test section_after_raw)
#   a binary mapped twice ends it; here the later mapping holds (test mapped_twice)
#   weights of overlapping CPUs wrap to 1.8e19 there; here none does (test weights_do_not_wrap)
cd "$(dirname "$0")/../.." || exit 1
fathom=$PWD/build/fathom
data=$PWD/test/data/l4re
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$data"/. "$work"
cd "$work" || exit 1
gunzip -f ./*.gz
chmod -R u+w .

check() { # NAME CONDITION...
	local name=$1
	shift
	if "$@"; then echo "ok $name"; else echo "not ok $name: $*"; fi
}
convert() { "$fathom" convert "$@" 2>>"$work/err"; }

# small: file by file, in one go from the log and step by step.
for form in cleaned compressed btb interpreted btb_lines folded histogram durations; do
	mkdir -p out
	cp -r small binaries.list small.traced out/
	convert --per-cpu out/small.traced out/small.$form
	check "small.$form" cmp -s out/small.$form "$data/small.$form"
done
for form in interpreted btb_lines folded histogram durations; do
	check "small-0.$form" cmp -s out/small-0.$form "$data/small-0.$form"
done
mkdir steps
cp -r small binaries.list steps/
convert small.traced steps/small.cleaned && convert steps/small.cleaned steps/small.compressed &&
	convert steps/small.compressed steps/small.btb && convert steps/small.btb steps/small.folded
check steps_one_by_one cmp -s steps/small.folded "$data/small.folded"
convert tinycomp.compressed tiny.btb
check tinycomp cmp -s tiny.btb "$data/tinycomp.btb"

# large and smp: by the sums of the original's files.
for name in large smp; do
	for form in cleaned compressed btb interpreted btb_lines folded durations; do
		convert --per-cpu $name.traced $name.$form
	done
done
while read -r sum file; do
	check "$file" test "$(sha256sum <"$file" | cut -d' ' -f1)" = "$sum"
done <"$data/sums"

# lostblock: everything is recovered, and it says what it did.
for form in compressed btb folded; do
	convert lostblock.traced lostblock.$form
	check "lostblock.$form" cmp -s lostblock.$form large.$form
done
check lostblock_is_told grep -q '124 words rebuilt by XOR' "$work/err"

# section_after_raw: two raw sections back to back.
cat tinycomp.compressed small.compressed small.compressed >two.compressed
convert two.compressed two.btb
check section_after_raw test "$(stat -c %s two.btb)" -eq $((32 + 1280 + 1280))

# mapped_twice: the MAPPING entry of hello once more, at the same place.
python3 - <<'EOF'
import struct
w = list(struct.unpack("<160Q", open("small.btb", "rb").read()))
at = next(i for i in range(0, 160) if w[i] == 2 and w[i + 1] == 11)
w[at + 11:at + 11] = w[at:at + 11]
open("twice.btb", "wb").write(struct.pack(f"<{len(w)}Q", *w))
EOF
cp -r small twice
convert twice.btb twice.folded
check mapped_twice grep -q 'rom/hello`_start;rom/hello`main' twice.folded

# weights_do_not_wrap: the second of two CPUs begins while the first is still at it.
python3 - <<'EOF'
import struct
w = list(struct.unpack("<160Q", open("small.btb", "rb").read()))
first = next(i for i in range(0, 160) if w[i] == 1 and w[i + 1] == 13)
second = first + 13
w[second + 2] = w[first + 2] + 100  # 3.9 us before the first ends
w[second + 4] = 1                   # on CPU 1
open("overlap.btb", "wb").write(struct.pack("<160Q", *w))
EOF
convert overlap.btb overlap.folded
check weights_do_not_wrap awk '{ if ($NF > 1e12) exit 1 }' overlap.folded

# Every command works on a capture.
check stat grep -q 'btb:stack' <("$fathom" stat smp.traced 2>/dev/null)
check query grep -q 'KERNEL\|sys_ipc_all' <("$fathom" report smp.traced 2>/dev/null)
check flame_folded test "$("$fathom" flame smp.traced --samples --format folded -o - 2>/dev/null | awk '{n+=$NF} END {print n}')" -eq 400

# A capture is a source like the others: events are chosen in it as in any trace.
folded() { "$fathom" flame "$@" --samples --format folded -o - 2>/dev/null | awk '{n+=$NF} END {print n+0}'; }
check flame_by_filter test $(($(folded smp.traced --filter 'CPU == 0') + $(folded smp.traced --filter 'CPU != 0'))) -eq 400
check flame_filter_takes_a_part test "$(folded smp.traced --filter 'CPU == 0')" -lt 400
check flame_from_the_start test "$(folded smp.traced --from +0s)" -eq 400
check flame_from_the_end test "$(folded smp.traced --from -50ms)" -lt 400
check flame_of_a_stream test "$(folded - <smp.traced)" -eq 400
check flame_by_task grep -q '^hello-42;rom/hello`' <("$fathom" flame smp.traced --by task --format folded -o - 2>/dev/null)
check symbols_save grep -q 'tables of [1-9]' <("$fathom" symbols save smp.traced -o kept 2>&1)
check symbols_are_kept test "$("$fathom" flame smp.traced --symbols kept --format folded -o - 2>/dev/null | sha256sum)" = \
	"$("$fathom" flame smp.traced --format folded -o - 2>/dev/null | sha256sum)"

# Bad input: a clear message, exit 1, no output left behind that looks right.
echo "hello" >plain.traced
"$fathom" flame plain.traced -o plain.svg 2>err
check not_a_capture test $? -eq 1
check not_a_capture_says grep -q 'no line of a backtracer' err
: >empty.traced
"$fathom" flame empty.traced 2>err
check empty_file test $? -eq 1
head -c 100000 large.traced >cut.traced
"$fathom" flame cut.traced -o cut.svg 2>err
check cut_file_is_drawn test $? -eq 0
check cut_file_is_told grep -q 'lost' err
