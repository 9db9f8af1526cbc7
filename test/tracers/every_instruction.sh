#!/usr/bin/env bash
# every_instruction.sh -- the tracers' unit tests with an interrupt at every single instruction, and more interrupted interrupts.
# slow 30
cd "$(dirname "$0")/../.." || exit 1
STEP_STRIDE=1 build/test/unit/tracers_graph interrupt_at_every_instruction
STEP_STRIDE=1 build/test/unit/tracers_graph interrupt_at_every_instruction_of_a_page_end
NEST_RUNS=500 build/test/unit/tracers_nesting interrupted_interrupts
