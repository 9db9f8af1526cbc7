#!/usr/bin/env bash
# slow.sh -- the scenarios of the model tests that take seconds each.
# slow 85
cd "$(dirname "$0")/../../build/test/model" || exit 1
./model --slow
./model_weak --slow
./hooks --slow
