#!/usr/bin/env python3
"""uops.py -- make uops: fused micro-operations of the recording fast paths, counted from the disassembly, and their bounds.

On Intel nothing issues while rdtsc runs, so every micro-operation after it is paid for. Measured on Ice Lake, and right
within 1.5 %: cycles = 31 per rdtsc + micro-operations / 5 + 5 per other microcoded instruction + 25 per mispredicted return.
A bound on the count is a bound on that time, on any machine. A path is followed to its first `ret`: the fast one falls
through, whatever is not ordinary jumps away.
"""
import re
import subprocess
import sys

CORE, TRACERS = "build/bench/core/core", "build/bench/tracers"
FUSES = re.compile(r"(cmp|test|add|sub|and|inc|dec)[bwlq]?$")
MICROCODED = re.compile(r"(lock|xchg|cmpxchg|xadd|div|idiv|rep|cpuid|rdtscp|mfence|lfence|pushf|popf)")

# Name, cycles of the floor, clock reads, micro-operations beside those of the functions, bound, functions. Floors: what perf counts of the benches' own.
PATHS = [
    ("event", 33.0, 1, 0, 38, [(CORE, "fathom_evprobe_two")]),
    ("return sites", 68.0, 2, 0, 166, [(TRACERS, "fathom_arch_entry_graph"),
                                       (TRACERS, "fathom_arch_exit_ret"), (TRACERS, "fathom_graph_leave")]),
    # The first is both ends, up to its ret. Beside it: the site's jmp, the prefix (2), the two after that ret.
    ("replaced return", 68.0, 2, 5, 189, [(TRACERS, "fathom_arch_entry_prefix"), (TRACERS, "fathom_graph_enter_kept"),
                                          (TRACERS, "fathom_graph_return")]),
]
listings = {}


def instructions(binary, function):
    if binary not in listings:
        listings[binary] = subprocess.run(["objdump", "-d", "--no-show-raw-insn", binary], capture_output=True, text=True,
                                          check=True).stdout
    found = re.search(r"<%s>:\n(.*?)(\n\n|\Z)" % re.escape(function), listings[binary], re.S)
    if not found:
        sys.exit(f"uops: {binary} has no function {function}: has it another name now? Its path is in bench/uops.py")
    return [line.split("\t")[1].strip() for line in found.group(1).split("\n") if "\t" in line]


def count(binary, function):
    """Micro-operations up to the first ret, and the microcoded instructions among them."""
    uops, heavy, before = 0, [], ""
    for text in instructions(binary, function):
        op = text.split()[0]
        if op == "rdtsc" or (op[0] == "j" and op != "jmp" and FUSES.match(before)):
            pass
        elif MICROCODED.match(op):
            uops += 6
            heavy.append(op)
        else:
            uops += 2 if op in ("call", "ret") or op.startswith(("mul", "imul")) and "," not in text else 1
        if op == "ret" or (op == "jmp" and text.split()[1].startswith("*")):
            break
        before = op
    return uops, heavy


def main():
    failed = 0
    print(f"{'path':18}{'uops':>6}{'bound':>7}{'microcoded':>12}{'cycles':>8}{'x floor':>9}   (predicted for Ice Lake)")
    for name, floor, clocks, beside, bound, functions in PATHS:
        uops, heavy = beside, []
        for binary, function in functions:
            n, h = count(binary, function)
            uops += n
            heavy += h
        cycles = 31 * clocks + uops / 5 + 5 * len(heavy)
        print(f"{name:18}{uops:6}{bound:7}{len(heavy):12}{cycles:8.1f}{cycles / floor:9.2f}")
        if uops > bound:
            failed = 1
            print(f"uops: the path of {name} has {uops} micro-operations, {bound} are allowed (bench/uops.py)")
        if heavy:
            failed = 1
            print(f"uops: the path of {name} has microcoded instructions: {' '.join(heavy)}")
    return failed


sys.exit(main())
