#!/usr/bin/env python3
# live
"""traced.py -- fathom record over the trace line on 2 CPUs: the trace is true, nothing is lost, trace-cmd reads it."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from checker import check_file
from demo import KINDS, Checks, check_counters, record, report_checker, need_qemu

need_qemu("traced")
c = Checks()
with tempfile.TemporaryDirectory() as tmp:
    out = os.path.join(tmp, "trace.dat")
    cpus = record(out, ["run touch 12", "run ipc 20", "run many 6", "run crash"], smp=2)
    if c.check("traced_recorded", cpus is not None):
        check_counters(c, "traced", cpus)
        report_checker(c, "traced", check_file(out, 12), KINDS)
        if shutil.which("trace-cmd"):
            p = subprocess.run(["trace-cmd", "report", out], capture_output=True, text=True)
            c.check("traced_trace_cmd", p.returncode == 0 and not p.stderr, p.stderr[:300])
            c.check("traced_trace_cmd_events", p.stdout.count("\n") - 1 == sum(s["events"] for s in cpus))
        else:
            print("skip traced_trace_cmd: package trace-cmd missing")
    # A ring of a few pages, one CPU busy: much is overwritten, and the counters and the file agree on how much.
    cpus = record(out, ["run ipc 1500"], smp=1, extra=["-a", "trace_mib=1"])
    if c.check("lossy_recorded", cpus is not None):
        c.check("lossy_lost_some", cpus[0]["overwritten"] > 0, str(cpus[0]))
        check_counters(c, "lossy", cpus)
        report_checker(c, "lossy", check_file(out), ())
c.done()
