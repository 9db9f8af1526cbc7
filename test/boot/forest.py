#!/usr/bin/env python3
"""forest.py -- every program of the demo kernel under function_graph and function, on both kinds of sites.

Calls and returns of each task form a forest, NMIs and all, callees take no longer than callers, edges are in the code."""
# slow 20
# live
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from demo import ARCH, FATHOM, MACHINE, TOP, Checks, kernel_file, need_qemu
from calls import Code, Forest, record

need_qemu("forest")
c = Checks()
RUNS = (["nmi 2000"] if MACHINE.nmi else []) + ["run ipc 10", "run fib 10", "run touch 8", "run many 12", "run storm 20", "run crash", "run periodic 5", "run short 3", "run load 1"]


def check(name, level):
    with tempfile.TemporaryDirectory(prefix="fathom-forest-") as tmp:
        dat = os.path.join(tmp, "trace.dat")
        forest = Forest(record(dat, "function_graph", RUNS, level))
        lost = json.loads(subprocess.run([FATHOM, "stat", "--json", dat], check=True, capture_output=True, text=True).stdout)["lost"]
        c.check(f"forest_{name}_whole", lost == 0, f"{lost} events lost")
        c.check(f"forest_{name}_nests", not forest.faults, f"{len(forest.faults)}: " + "; ".join(forest.faults[:5]))
        c.check(f"forest_{name}_size", forest.pairs > 10000 and forest.nested > 5000, f"{forest.pairs} calls, {forest.nested} nested")
        c.check(f"forest_{name}_moved", forest.moved, "no call began on one CPU and ended on another")
        code = Code(kernel_file(level))
        edges = code.edges(record(dat, "function", RUNS, level))
        c.check(f"forest_{name}_edges", len(edges) > 100 and not code.wrong(edges), f"{len(edges)} edges, wrong: {code.wrong(edges)[:10]}")


if ARCH == "x86_64":
    check("return_sites", "6")
    subprocess.run(["make", "-s", "-j2", "SITES=entry", "demo-kernel"], cwd=TOP, check=True)
    check("replaced", "6-entry")
else:
    check("replaced", "6")  # there are no others
c.done()
