#!/usr/bin/env python3
# live
"""boots.py -- the demo kernel boots on 1 and 4 CPUs, runs every workload rightly, and leaves no memory behind."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from demo import EXIT_OK, Checks, Demo, need_qemu

need_qemu("boots")
c = Checks()
SCRIPT = "run short;mem;run fib 18;run touch 32;run many 24;run storm 50;run ipc 50;run crash;mem;ps;exit"
for smp in (1, 4):
    d = Demo(smp=smp, sh=SCRIPT)
    code = d.wait()
    text = d.text()
    c.check(f"boot_{smp}_exit", code == EXIT_OK, f"exit code {code}: {text[-400:]}")
    c.check(f"boot_{smp}_cpus", f"{smp} CPUs" in text, text[:200])
    for prog in ("fib", "touch", "many", "storm", "ipc"):
        c.check(f"boot_{smp}_{prog}", re.search(rf"\] {prog}: exit 0\n", text), f"no `{prog}: exit 0` in: {text[-800:]}")
    c.check(f"boot_{smp}_crash", re.search(r"crash\[\d+\]: page fault at ip [0-9a-f]+, address dead000", text), text[-400:])
    free = re.findall(r"(\d+) frames free", text)
    c.check(f"boot_{smp}_memory", len(free) == 2 and free[0] == free[1], f"free frames before and after: {free}")

# Little memory for the tracer: the tree is there, the sampler only where that has enough.
for mib in (1, 4, 8):
    d = Demo(smp=4, options=f"trace_mib={mib}", sh="echo function > current_tracer;cat current_tracer;mkdir instances/a;sample start;sample stop;exit")
    code = d.wait()
    c.check(f"boot_{mib}_mib", code == EXIT_OK and "\nfunction\n" in d.text() and "instances/a: error" not in d.text(), f"exit code {code}: {d.text()[-400:]}")
c.done()
