#!/usr/bin/env python3
"""million.py -- a million events of 4 CPUs, and then with NMIs in the middle of the writers: all true, all accounted."""
# slow 30
# live
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from checker import check_file
from demo import KINDS, Checks, check_counters, console, record, report_checker, need_qemu

need_qemu("million")
c = Checks()
BIG = ["--via", "memory", "-m", "768", "-a", "trace_mib=320"]
with tempfile.TemporaryDirectory() as tmp:
    out = os.path.join(tmp, "trace.dat")
    cpus = record(out, ["run load 105"], extra=BIG, timeout=600)
    if c.check("million_recorded", cpus is not None):
        events = sum(s["events"] for s in cpus)
        c.check("million_events", events >= 1000000, f"{events}")
        check_counters(c, "million", cpus)
        report_checker(c, "million", check_file(out, 12), KINDS)
    os.unlink(out)
    # NMIs hit all CPUs in turn, 20 us apart, while they write; each one writes an event of its own.
    cpus = record(out, ["nmi 100000", "run load 20", "cpus"], extra=BIG, timeout=600)
    if c.check("nmi_recorded", cpus is not None):
        check_counters(c, "nmi", cpus)
        result = check_file(out, 12)
        report_checker(c, "nmi", result, KINDS + ("nmi_handler",))
        handled = sum(int(n) for n in re.findall(r"(\d+) NMIs", console(out)))
        c.check("nmi_many", handled > 1000, f"{handled} NMIs")
        c.check("nmi_each_recorded", result.nmis >= handled, f"{handled} handled when counted, {result.nmis} in the trace")
c.done()
