#!/usr/bin/env bash
# planted.sh -- bugs planted into the ring and into hooks (test/model/plant) must be found by the model test.
# slow 20
cd "$(dirname "$0")/../.." || exit 1
test/model/plant --list | while IFS=$'\t' read -r name scenario what; do
	if out=$(timeout 600 "build/test/plant/$name/model" "$scenario"); then
		echo "not ok planted_$name: $scenario does not see that $what"
	elif grep -q "^not ok model_$scenario:" <<<"$out"; then
		echo "ok planted_$name ($scenario sees that $what)"
	else
		echo "not ok planted_$name: the model test did not run"
	fi
done
