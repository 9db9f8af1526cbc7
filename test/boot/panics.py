#!/usr/bin/env python3
# live
"""panics.py -- a panic in the middle of a workload: who, where, and the last events of every CPU on the console."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from demo import ARCH, EXIT_PANIC, MACHINE, Checks, Demo, need_qemu

need_qemu("panics")
c = Checks()
d = Demo(smp=4, sh="trace on;run load 2;run load 50 &;sleep 200;panic")
code = d.wait()
text = d.text()
c.check("panic_exit", code == EXIT_PANIC, f"exit code {code}: {text[-300:]}")
c.check("panic_where", re.search(r"PANIC: asked for by the shell\ncpu \d, task shell\[\d+\]\n.* cmd_panic\+0x", text), text[-500:])
dump = text[text.find("last events:"):text.find("---[ end of panic")]
lines = re.findall(r"^\s*(\S+)-(\d+)\s+\[(\d+)\] \S+\s+(\d+\.\d+): (\w+): ", dump, re.M)
c.check("panic_events", len(lines) >= 100, f"{len(lines)} events: {dump[:500]}")
c.check("panic_every_cpu", {l[2] for l in lines} == {"000", "001", "002", "003"}, str({l[2] for l in lines}))
times = [float(l[3]) for l in lines]
c.check("panic_in_order", times == sorted(times), "the dump is not sorted by time")
c.check("panic_names", any(l[0].startswith("ipc") for l in lines), str({l[0] for l in lines}))

# A fault in the kernel ends the same way.
d = Demo(smp=2, sh="trace on;fault")
code = d.wait()
c.check("fault_exit", code == EXIT_PANIC, f"exit code {code}: {d.text()[-300:]}")
c.check("fault_where", re.search(r"PANIC: page fault in the kernel: .* address 8\n", d.text()), d.text()[-800:])
c.check("fault_names_it", " cmd_fault+0x" in d.text(), d.text()[-800:])

# So does a stack that overflows, and a kernel that has lost its own data: what is wrong comes from the oldest frames.
for what, says in (("stack", "kernel stack overflow"), ("cpu", "kernel stack overflow"))[:2 if ARCH == "x86_64" else 1]:
    d = Demo(smp=2, sh=f"trace on;fault {what}")
    code = d.wait()
    c.check(f"fault_{what}_exit", code == EXIT_PANIC, f"exit code {code}: {d.text()[-300:]}")
    c.check(f"fault_{what}_where", re.search(rf"PANIC: {says}: vector 8 (.*\n)+cpu \d, task shell\[\d+\]\n(.*\n)+  \.\.\. \d+ more \.\.\.\n(.*\n)*.* cmd_fault\+0x",
                                             d.text()), d.text()[-1800:])
# The way back is shown as it was before function_graph replaced it.
d = Demo(smp=2, sh="echo function_graph > current_tracer;panic")
code = d.wait()
c.check("panic_traced", code == EXIT_PANIC and re.search(r" cmd_panic\+.*\n.* run_line\S*\+.*\n.* shell\+", d.text()) and "fathom_arch" not in d.text(),
        d.text()[-3000:])

# NMIs on their way to the CPU that panics do not stop it. (Without that three of ten boots hang.)
if MACHINE.nmi:
    codes = [Demo(smp=4, timeout=100, sh="nmi 100000;nmi 100000;nmi 100000;sleep 5;panic").wait() for _ in range(5)]
    c.check("panic_under_nmis", codes == [EXIT_PANIC] * 5, str(codes))
c.done()
