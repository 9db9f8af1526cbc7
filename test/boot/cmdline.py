#!/usr/bin/env python3
"""cmdline.py -- tracing from the kernel's command line: it runs before the first task does."""
# live
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from demo import EXIT_OK, Checks, Demo, need_qemu

need_qemu("cmdline")
c = Checks()
d = Demo(level=6, smp=2, options="trace_event=sched:sched_process_fork,no:such ftrace_filter=smp_init,vm_protect_kernel ftrace=function "
         "trace_instance=early,sched:sched_switch trace_buf_size=256K tp_printk",
         sh="cat current_tracer;cat buffer_size_kb;cat instances/early/set_event;cat trace;exit")
code, text = d.wait(), d.text()
c.check("cmdline_files", code == EXIT_OK and re.search(r"current_tracer\s+function\s.*size_kb\s+2\d\d\s.*set_event\s+sched:sched_switch\s", text, re.S), text[-1500:])
lines = [m.group(1) for m in re.finditer(r"^ .*?\d: (\w+)", text, re.M)]
c.check("cmdline_before_the_first_task", lines[:3] == ["smp_init", "vm_protect_kernel", "sched_process_fork"], lines[:5])
# On the console at once, before the kernel's own greeting.
c.check("cmdline_tp_printk", text.find("sched_process_fork: comm=idle/0 pid=0 child_comm=traceline") in range(0, text.find("demo kernel: level")), text[:500])
c.check("cmdline_wrong", "fathom: error 22: trace_event=" in text, text[:500])
c.done()
