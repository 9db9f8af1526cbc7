#!/usr/bin/env python3
# live
"""sel4.py -- the demo kernel records the 16-bit stream, dumps it on the console, and the host reads it."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from demo import EXIT_OK, FATHOM, Checks, Demo, icount, kernel_file, need_qemu

need_qemu("sel4")
c = Checks()
fathom, kernel = FATHOM, kernel_file()


def run(*args):
    p = subprocess.run([fathom, *args], capture_output=True, text=True, timeout=300)
    return p.stdout + p.stderr


with tempfile.TemporaryDirectory() as tmp:
    for dump, smp in (("dump", 1), ("dump91", 2)):
        d = Demo(smp=smp, sh=f"trace tracer sel4;run ipc 40;run touch 8;trace tracer nop;trace stream status;trace stream {dump};exit",
                 extra=icount(3) if smp == 1 else ())
        code = d.wait()
        c.check(f"{dump}_exit", code == EXIT_OK, d.text()[-300:])
        log = f"{tmp}/{dump}.log"
        with open(log, "wb") as f:
            f.write(d.out)
        out = run("verify", log)
        c.check(f"{dump}_checksum", not re.search("(?<!not )damaged", out, re.I), out)
        n = {k: int(v.replace(",", "")) for k, v in re.findall(r"^(\w+): ([\d,]+)$", run("stat", "--summary", log), re.M)}
        c.check(f"{dump}_pairs", n.get("kernel_entry", 0) > 100 and n["kernel_entry"] == n["kernel_exit"], n)
        c.check(f"{dump}_interrupts", n.get("interrupt", 0) > 3, n)
        c.check(f"{dump}_functions", n.get("func_enter", 0) > 500, n)
        lines = run("query", log, "--type", "kernel_entry").splitlines()
        fast = sum("fastpath=1" in l for l in lines)
        slow = sum("Syscall " in l and "cap=4" in l and "fastpath=1" not in l for l in lines)
        # With one CPU the partner waits there, and but for a tick in between every call is fast; with two, luck decides.
        least = 0.8 * (fast + slow) if smp == 1 else 0
        c.check(f"{dump}_fastpath", fast > least and slow > 0, f"{fast} fast, {slow} slow")
        exits = [int(x) for x in re.findall(r"KEXIT duration=(\d+)", run("query", log, "--type", "kernel_exit"))]
        c.check(f"{dump}_durations", exits and min(exits) > 0, exits[:10])
        report = run("report", "--kernel", kernel, log)
        # A call by the fast path: its functions nest, and the switch is the innermost.
        nest = r"(?:.*\n){0,3}?.*\|".join([r"\|  sys_call\(\) \{\n", r"    ipc\(\) \{\n", r"      run_partner\(\) \{\n",
                                           r"        sched_handoff\(\) \{\n", r"          switch_tasks\(\) \{"])
        c.check(f"{dump}_nesting", re.search(nest, report), report[2000:2600])
        events, words, packed = [sum(int(x[i]) for x in re.findall(r"^ +\d+ +(\d+) +(\d+) +(\d+) +[\d.]+ +[\d.]+ +\d+\r?$", d.text(), re.M)) for i in range(3)]
        c.check(f"{dump}_cost", events > 1000 and words < 3 * events, (events, words, packed))
        dat = f"{tmp}/{dump}.dat"
        run("convert", "--kernel", kernel, log, dat)
        try:
            t = subprocess.run(["trace-cmd", "report", dat], capture_output=True, text=True, timeout=300).stdout
            c.check(f"{dump}_trace_cmd", len(re.findall(r" kernel_entry: ", t)) == n["kernel_entry"] and "sys_call() {" in t, t[:300])
        except FileNotFoundError:
            print(f"skip {dump}_trace_cmd: package trace-cmd missing")
c.done()
