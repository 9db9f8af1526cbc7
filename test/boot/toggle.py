#!/usr/bin/env python3
"""toggle.py -- tracers go on and off while 4 CPUs work and NMIs come: nothing crashes, every result is right.

`make boot-toggle` does it 1,000 times; TOGGLES says how often (100)."""
# slow
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from demo import EXIT_OK, Checks, Demo, need_qemu

need_qemu("toggle")
c = Checks()
n = int(os.environ.get("TOGGLES", "100"))
d = Demo(smp=4, timeout=60 + n, sh=f"nmi {n * 200};run storm {n * 10} &;run many 24 &;run ipc {n * 2} &;toggle {n};"
         "run ipc 50;run fib 18;run touch 32;run many 24;cpus;exit")
code = d.wait()
text = d.text()
c.check("toggle_exit", code == EXIT_OK, f"exit code {code}: {text[-600:]}")
c.check("toggle_all", f"toggled {n} times, error 0" in text, text[-600:])
c.check("toggle_nmis", sum(int(x) for x in re.findall(r"(\d+) NMIs", text)) >= n * 10, text[-600:])
for prog in ("ipc", "fib", "touch", "many"):
    c.check(f"toggle_{prog}", re.search(rf"\] {prog}: exit 0\n", text), f"no `{prog}: exit 0` in: {text[-800:]}")
c.check("toggle_no_failure", not re.search(r"panic|exit [1-9-]", text), text[-800:])
c.done()
