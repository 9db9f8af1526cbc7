#!/usr/bin/env python3
"""ends.py -- a machine that ends by itself: the test log, and fathom record, say why."""
import contextlib
import io
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from demo import TOP, Checks, Demo, need_qemu  # noqa: E402

need_qemu("ends")

# The first instruction faults, and there is no interrupt table: that faults thrice.
KERNEL = """
	.section .note.pvh, "a", @note
	.long 4, 8, 18
	.asciz "Xen"
	.quad start
	.text
	.code32
	.globl start
start:	ud2
"""

c = Checks()
with tempfile.TemporaryDirectory() as d:
    with open(d + "/k.S", "w") as f:
        f.write(KERNEL)
    subprocess.run(["gcc", "-nostdlib", "-static", "-no-pie", "-Wl,-Ttext=0x100000,--build-id=none", "-Wl,-e,start", d + "/k.S", "-o", d + "/k.elf"],
                   check=True)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = Demo(kernel=d + "/k.elf").wait()
    c.check("ends_harness_says_why", code == 0 and "code 0, a triple fault" in said.getvalue(),
            f"code {code}: {said.getvalue()}")
    p = subprocess.run([os.path.join(TOP, "build/fathom"), "record", "--qemu", d + "/k.elf", "-t", "200", "-o", d + "/t.dat"],
                       capture_output=True, text=True, timeout=300)
    c.check("ends_record_says_why", p.returncode != 0 and "a triple fault reset the machine" in p.stderr, p.stderr)
c.done()
