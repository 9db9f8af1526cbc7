#!/usr/bin/env python3
"""port_check.py -- the demo's port keeps the contract: `trace check` in its shell names nothing, alone and under load."""
# live
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from demo import EXIT_OK, Checks, Demo, need_qemu

need_qemu("port_check")
c = Checks()
d = Demo(level=6, smp=4, sh="trace check;trace on;run load;trace check;exit")
code = d.wait()
c.check("port_check_demo", code == EXIT_OK and d.text().count("\n0 faults of the port") == 2, d.text()[-800:])
c.done()
