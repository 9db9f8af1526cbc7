#!/usr/bin/env bash
# every_instruction.sh -- the tracers' unit test with an interrupt at every single instruction.
# slow
cd "$(dirname "$0")/../.." || exit 1
STEP_STRIDE=1 build/test/unit/tracers_graph interrupt_at_every_instruction
