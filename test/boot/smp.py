#!/usr/bin/env python3
"""smp.py -- 1, 2, 4 and 8 CPUs: a trace over the line, true and complete, with events of every CPU."""
# slow
# live
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from checker import check_file
from demo import KINDS, MACHINE, Checks, check_counters, record, report_checker, need_qemu

need_qemu("smp")
c = Checks()
with tempfile.TemporaryDirectory() as tmp:
    out = os.path.join(tmp, "trace.dat")
    for smp in [int(n) for n in os.environ.get("SMP", "1 2 4 8").split()]:
        cpus = record(out, (["nmi 100"] if MACHINE.nmi else []) + ["run load 1"], smp=smp)
        if not c.check(f"smp{smp}_recorded", cpus is not None):
            continue
        check_counters(c, f"smp{smp}", cpus)
        result = check_file(out, 12)
        report_checker(c, f"smp{smp}", result, KINDS + (("nmi_handler",) if MACHINE.nmi else ()))
        c.check(f"smp{smp}_every_cpu", result.cpus == set(range(smp)), f"events only of CPUs {sorted(result.cpus)}")
c.done()
