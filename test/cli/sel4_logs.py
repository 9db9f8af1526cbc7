#!/usr/bin/env python3
"""sel4_logs.py -- seL4's own benchmark logs, TII's variant and VeridianOS's dump as sources."""
import json
import os
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from checks import FATHOM, TOP, check, done  # noqa: E402

os.chdir(TOP)
tmp = tempfile.TemporaryDirectory()


def run(*args):
    return subprocess.run([FATHOM, *args], capture_output=True, text=True, timeout=300)


def put(name, data):
    path = f"{tmp.name}/{name}"
    with open(path, "wb") as f:
        f.write(data)
    return path


def entry(start, duration, path, word):
    return struct.pack("<QIB", start, duration, path) + struct.pack("<Q", word) + b"\0\0\0"


# The two examples of the record's layout, byte for byte.
call = bytes.fromhex("8877665544332211ccbbaa990611a80000000000000000" "00")
assert entry(0x1122334455667788, 0x99aabbcc, 6, 1 | 1 << 4 | 42 << 10) == call
irq = entry(0x1122334455667800, 5, 1, 27 << 3 | 2)
log = put("entries", call + irq + entry(0x1122334455667900, 9, 6, 2 | 4 << 4 | 1 << 9) + entry(0x1122334455667a00, 3, 5, 0) + bytes(240))
p = run("report", log)
check("entries: found without --as", p.returncode == 0, p.stderr)
check("entries: a call", "Syscall syscall=1 cap=1 tag=42 fastpath=0" in p.stdout and f"duration={0x99aabbcc}" in p.stdout, p.stdout)
check("entries: an interrupt", "Interrupt" in p.stdout and "core=2 word=0x1b" in p.stdout, p.stdout)
check("entries: the fast path", "syscall=2 cap=4 tag=0 fastpath=1" in p.stdout, p.stdout)
check("entries: ends where the log does", len(p.stdout.splitlines()) == 5, p.stdout)
p = run("stat", "--json", log)
check("entries: stat", json.loads(p.stdout)["events"] == 4, p.stdout)
p = run("convert", log, f"{tmp.name}/e.dat")
t = subprocess.run(["trace-cmd", "report", f"{tmp.name}/e.dat"], capture_output=True, text=True)
check("entries: trace-cmd reads it as trace.dat", t.stdout.count("kernel_entry:") == 4, p.stderr + t.stdout + t.stderr)
bad = put("bad", call + bytes([1] * 24) + irq + b"xyz")
p = run("verify", "--as", "sel4-entries", bad)
check("entries: damage is named", p.returncode == 1 and "00018  " in p.stdout and "00048  " in p.stdout, p.stdout)

tii = put("tii", entry(100, 7, 8, 0xffff0000c7) + entry(200, 8, 5, 1 | 4 << 4) + entry(300, 9, 0, 30 << 3))
p = run("report", "--as", "sel4-tii", tii)
check("tii: switches", "switch:" in p.stdout and "tcb=0xffff0000c7" in p.stdout, p.stdout + p.stderr)
check("tii: its paths in upstream's numbers", "Syscall syscall=1 cap=4" in p.stdout and "Interrupt" in p.stdout, p.stdout)

points = put("points", struct.pack("<8Q", 0, 500, 1, 20, 0, 510, 3, 7))
p = run("report", "--as", "sel4-tracepoints", points)
check("tracepoints", p.stdout.count("tracepoint:") == 4 and "id=3 duration=7" in p.stdout, p.stdout + p.stderr)

ver = put("veridian.log", b"""shell> trace dump 3
=== Trace Dump (most recent 3 per CPU) ===
TIMESTAMP    CPU  EVENT              DATA0              DATA1
        1000 0    syscall_entry      0x00000000000027 0x00000000000000
        1400 0    sched_switch_in    0x00000000000005 0x00000000000006
        1100 1    frame_alloc        0x00000000001000 0x00000000000001
        1200 1    no_such_event      0x00000000001000 0x00000000000001
=== Total events recorded: 3 ===
shell> 12 34 x 1 2
""")
p = run("report", ver)
check("veridian: merged by time", [l.split(": ")[1].strip().split(":")[0] for l in p.stdout.splitlines()[1:]] ==
      ["syscall_entry", "frame_alloc", "sched_switch_in"], p.stdout + p.stderr)
check("veridian: data", "nr=0x27 arg1=0x0" in p.stdout and "frame=0x1000 cpu=0x1" in p.stdout, p.stdout)
p = run("verify", ver)
check("veridian: damage is named", p.returncode == 1 and "no_such_event" in p.stdout, p.stdout)
done()
