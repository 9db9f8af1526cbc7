#!/usr/bin/env bash
# uops.sh -- the recording fast paths keep within their micro-operations (make uops; bounds of gcc 12).
cd "$(dirname "$0")/../.." || exit 1
if ! readelf -p .comment build/bench/tracers | grep -q 'GCC: .* 12\.'; then
	echo "skip uops: the bounds in bench/uops.py are of gcc 12"
elif out=$(bench/uops.py 2>&1); then
	echo "ok uops"
else
	echo "not ok uops: $(grep ^uops: <<<"$out" | head -1)"
fi
