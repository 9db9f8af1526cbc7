#!/usr/bin/env python3
"""latency.py -- the latency tracers on the demo kernel keep the worst case, and `trace` shows it."""
# slow
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from demo import EXIT_OK, Checks, Demo, need_qemu

need_qemu("latency")
c = Checks()
for tracer in ("irqsoff", "preemptoff", "preemptirqsoff", "wakeup"):
    d = Demo(smp=4, timeout=60, sh=f"echo {tracer} > current_tracer;run ipc 50;echo 0 > tracing_on;cat tracing_max_latency;cat trace;exit")
    code = d.wait()
    text = d.text()
    c.check(f"latency_{tracer}_exit", code == EXIT_OK, f"exit code {code}: {text[-400:]}")
    most = re.search(r"# cat tracing_max_latency\n(\d+)\n", text)
    banner = re.search(rf"# {tracer} latency trace v1\.1\.5 on demo\n.*\n# latency: (\d+) us, #(\d+)/\d+, CPU#(\d)", text)
    if not c.check(f"latency_{tracer}_banner", most and banner and most.group(1) == banner.group(1), text[-800:]):
        continue
    lines = re.findall(r"^ *\S+-\d+ +(\d)\S{5} +(\d+)us.: (.*)$", text, re.M)
    c.check(f"latency_{tracer}_entries", len(lines) == int(banner.group(2)) and len(lines) >= 3, f"{len(lines)} lines: {text[-800:]}")
    last = int(lines[-1][1])
    c.check(f"latency_{tracer}_length", last * 2 >= int(banner.group(1)), f"the last entry is at {last} us of {banner.group(1)}")
    if tracer == "wakeup":
        c.check("latency_wakeup_marks", re.search(r"\d+:\s*\d+:R   \+ \[00\d\]", text) and re.search(r" ==> \[00\d\]", text), text[-800:])
    else:
        c.check(f"latency_{tracer}_where", "=> started at: " in text and {l[0] for l in lines} == {banner.group(3)}, text[-800:])
c.done()
