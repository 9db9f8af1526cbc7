#!/usr/bin/env python3
"""toggle.py -- tracers go on and off while 4 CPUs work and NMIs come: nothing crashes, every result is right.

On two kernels: one whose functions have return sites, and one whose return addresses are replaced.
`make boot-toggle` does it 1,000 times; TOGGLES says how often (20)."""
# slow
# live
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from demo import ARCH, EXIT_OK, MACHINE, TOP, Checks, Demo, need_qemu

need_qemu("toggle")
c = Checks()
n = int(os.environ.get("TOGGLES", "20"))


def toggle(name, level):
    d = Demo(smp=4, level=level, timeout=400 + n, sh=(f"nmi {n * 200};" if MACHINE.nmi else "") + f"run storm {n * 10} &;toggle {n} load;"
             "run ipc 50;run fib 18;run touch 32;run many 24;cpus;exit")
    code = d.wait()
    text = d.text()
    tail = f"exit code {code}: {text[-400:]}"
    runs = re.search(r"(\d+) runs of load beside it, (\d+) failed", text)
    c.check(f"{name}_exit", code == EXIT_OK, tail)
    c.check(f"{name}_all", f"toggled {n} times, error 0" in text, tail)
    c.check(f"{name}_load", runs and int(runs[1]) >= 1 and int(runs[2]) == 0, runs[0] if runs else tail)
    if MACHINE.nmi:
        # One that finds another pending is not delivered: how many are depends on how much a CPU runs.
        c.check(f"{name}_nmis", sum(int(x) for x in re.findall(r"(\d+) NMIs", text)) > 0, tail)
    for prog in ("ipc", "fib", "touch", "many"):
        c.check(f"{name}_{prog}", re.search(rf"\] {prog}: exit 0\n", text), f"no `{prog}: exit 0` in: {tail}")
    c.check(f"{name}_no_failure", not re.search(r"panic|exit [1-9-]", text), tail)
    print(f"# {name}: {runs[0] if runs else ''}; {''.join(re.findall('returns of earlier.*', text))}")


toggle("toggle", 6)
if ARCH == "x86_64":
    subprocess.run(["make", "-s", "-j2", "SITES=entry", "demo-kernel"], cwd=TOP, check=True)
    toggle("toggle_replaced", "6-entry")
c.done()
