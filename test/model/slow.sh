#!/usr/bin/env bash
# slow.sh -- the scenarios of the model test that take seconds each.
# slow
exec "$(dirname "$0")/../../build/test/model/model" --slow
