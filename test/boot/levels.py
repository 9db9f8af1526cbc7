#!/usr/bin/env python3
"""levels.py -- every porting level builds, boots and gives what docs/PORTING.md says it gives."""
# slow
# live
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from demo import ARCH, EXIT_OK, EXIT_PANIC, FATHOM, MACHINE, TOP, Checks, Demo, kernel_file, need_qemu

need_qemu("levels")
c = Checks()
LEVELS = [int(n) for n in os.environ.get("LEVELS", "0 1 2 3 4 5 6").split()]


def from_memory(level, tmp):
    """Level 0: nothing but RAM."""
    sock, raw, out = (os.path.join(tmp, n) for n in ("qmp", "raw", "out.dat"))
    d = Demo(level=level, sh="trace on;run ipc 10;trace off;sleep 1", extra=["-m", "64M", "-qmp", f"unix:{sock},server=on,wait=off"])
    d.until(rb"events off.*# sleep 1\r\n# ")
    s = socket.socket(socket.AF_UNIX)
    s.connect(sock)
    f = s.makefile("rw")
    f.readline()
    for cmd in ({"execute": "qmp_capabilities"},
                {"execute": "pmemsave", "arguments": {"val": MACHINE.ram, "size": 64 << 20, "filename": raw}}):
        f.write(json.dumps(cmd) + "\n")
        f.flush()
        while "return" not in f.readline():
            pass
    d.kill()
    p = subprocess.run([FATHOM, "record", "--from-memory", raw, "--base", str(MACHINE.ram), "--kernel", kernel_file(level), "-o", out], capture_output=True, text=True)
    return p.returncode == 0 and re.search(r": \d{3,} events in", p.stdout), p.stdout + p.stderr


building = threading.Lock()


def over_line(level, tmp, smp):
    out = os.path.join(tmp, "out.dat")
    p = subprocess.run([FATHOM, "record", "--qemu", kernel_file(level), "-s", str(smp), "-r", "run load", "--json", "-t", "400", "-o", out],
                       capture_output=True, text=True)
    cpus = json.loads(p.stdout)["cpus"] if p.returncode == 0 else []
    return len(cpus) == (smp if level >= 2 else 1) and all(s["events"] > 100 for s in cpus), p.stdout + p.stderr


def over_serial(level, tmp):
    """A machine without a virtio console; a UART takes byte by byte, so little is recorded."""
    out = os.path.join(tmp, "serial.dat")
    p = subprocess.run([FATHOM, "record", "--qemu", kernel_file(level), "--via", "serial", "-s", "1", "-e", "sched:*", "-r", "run ipc 20", "-o", out],
                       capture_output=True, text=True)
    return p.returncode == 0 and re.search(r": \d{2,} events in", p.stdout), p.stdout + p.stderr


def try_level(level, check, tmp):
    with building:  # two levels may share a library
        p = subprocess.run(["make", "-s", "demo-kernel", f"LEVEL={level}", f"ARCH={ARCH}"], cwd=TOP, capture_output=True, text=True)
    if not check("builds", p.returncode == 0, p.stderr[-500:]):
        return
    d = Demo(level=level, smp=4, sh="run ipc 20;run touch 8;exit")
    code = d.wait()
    want = 4 if level >= 2 else 1
    check("boots", code == EXIT_OK and f"level {level}, {want} CPUs" in d.text() and d.text().count("exit 0") == 2, d.text()[-500:])
    check("memory", *from_memory(level, tmp))
    if level >= 1:
        check("line", *over_line(level, tmp, 2))
    if level >= 3:
        d = Demo(level=level, smp=2, sh="trace on;run ipc 10;panic")
        code = d.wait()
        check("panic", code == EXIT_PANIC and re.search(r"ipc-\d+ +\[00\d\].*sched_switch: ", d.text()), d.text()[-500:])
    if level >= 4:
        d = Demo(level=level, smp=2, sh="trace tracer function;run ipc 3;trace dump 4000;exit")
        d.wait()
        check("function", re.search(r": (\w+) <-(do_ipc|ipc|syscall)", d.text()), d.text()[-800:])
    if level >= 6:
        check("serial", *over_serial(level, tmp))
        d = Demo(level=level, smp=2, sh="echo function_graph > current_tracer;run ipc 3;echo nop > current_tracer;cat current_tracer;exit")
        d.wait()
        check("tree", re.search(r"# cat current_tracer\nnop\n", d.text()), d.text()[-500:])


def one(level):
    """A level in a folder of its own: several run at a time, and what each found is printed in order."""
    found = []

    def check(name, good, why=""):
        found.append((f"level{level}_{name}", good, why))
        return good

    with tempfile.TemporaryDirectory() as tmp:
        try:
            try_level(level, check, tmp)
        except (OSError, RuntimeError, subprocess.SubprocessError) as e:
            check("ran", False, e)
    return found


with ThreadPoolExecutor(os.cpu_count()) as pool:
    for results in pool.map(one, LEVELS):
        for result in results:
            c.check(*result)
c.done()
