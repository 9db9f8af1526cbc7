#!/usr/bin/env python3
# live
"""gdb.py -- a kernel without a line is recorded through QEMU's stub of GDB's protocol: what it counted is in the file, or missing by number."""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from checker import check_file
from demo import FATHOM, Checks, Demo, kernel_file, need_qemu, until

need_qemu("gdb")
c = Checks()
CPUS = 2


class Recorder:
    """fathom record through the stub, once it has begun."""

    def __init__(self, tmp, where=None):
        self.out = os.path.join(tmp, "trace.dat")
        if os.path.exists(self.out):
            os.unlink(self.out)
        self.p = subprocess.Popen([FATHOM, "record", "--target", where or f"gdb:unix:{tmp}/stub", "-k", kernel_file(), "-o", self.out, "--json"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        until(lambda: os.path.exists(self.out) or self.p.poll() is not None)

    def end(self, ask=True):
        if ask:
            self.p.send_signal(signal.SIGINT)
        said, self.errors = self.p.communicate(timeout=120)
        self.said = json.loads(said) if said else {}
        self.cpus = self.said.get("cpus", [])
        return self

    def sum(self, name):
        return sum(s[name] for s in self.cpus)

    def report(self):
        return subprocess.run([FATHOM, "report", self.out], capture_output=True, text=True).stdout


def listens(port):
    """Asked of this machine: a connection would halt the target."""
    with open("/proc/net/tcp", encoding="ascii") as f:
        return f" 0100007F:{port:04X} 00000000:0000 0A " in f.read()


def counted(d, name):
    return sum(int(x) for i in range(CPUS) for x in re.findall(rf"^{name}: (\d+)$", d.ask(f"cat per_cpu/cpu{i}/stats"), re.M))


with tempfile.TemporaryDirectory() as tmp:
    d = Demo(smp=CPUS, extra=["-chardev", f"socket,id=stub,path={tmp}/stub,server=on,wait=off", "-gdb", "chardev:stub"])
    for line in ("echo 1 > events/sched/enable", "run short 1"):
        d.ask(line)
    r = Recorder(tmp)
    for line in ("run ipc 50", "echo 0 > events/enable"):
        d.ask(line)
    r.end()
    c.check("recorded", r.p.returncode == 0 and not r.errors and r.said["ended"] == "interrupted by SIGINT", f"{r.errors} {r.said}")
    c.check("all_events", r.sum("events") == counted(d, "entries") > 100 and not r.sum("missed"), f"{r.cpus} {counted(d, 'entries')}")
    result = check_file(r.out, 12)
    c.check("true", not result.errors and {"sched_switch", "sched_wakeup"} <= set(result.kinds), f"{result.errors} {list(result.kinds)}")
    text = r.report()
    c.check("before_and_after", 0 < text.find("short") < text.find("ipc_client") and "shell" in text, text[:500])
    halted = r.said["halted"]
    c.check("halts", halted["times"] > 2 and halted["longest_us"] <= halted["us"] < halted["of_us"], str(halted))

    # Rings that overflow between two looks: what the kernel wrote since then is in the file, or the file has its number.
    d.ask("echo 12 > buffer_size_kb")
    d.ask("echo > trace")
    r = Recorder(tmp)
    for line in ("echo 1 > events/enable", "run load 2", "echo 0 > events/enable"):
        d.ask(line)
    r.end()
    written = counted(d, "entries") + counted(d, "overrun")
    c.check("overflow_adds_up", r.sum("events") + r.sum("missed") == written, f"{written} {r.cpus}")
    c.check("overflow_by_cause", r.sum("missed") == r.sum("overwritten") + r.sum("full") + r.sum("nested"), str(r.cpus))

    # Rings that change under the recorder: larger ones, and a snapshot that takes them away.
    r = Recorder(tmp)
    for line in ("echo one > trace_marker", "echo 400 > buffer_size_kb", "echo two > trace_marker", "echo 1 > snapshot", "echo three > trace_marker",
                 "echo > trace", "echo four > trace_marker"):
        d.ask(line)
        if "marker" in line:
            word = line.split()[1]
            c.check(f"sees_{word}", until(lambda: r.p.poll() is not None or word in r.report()) and r.report().count(word) == 1, r.report()[-500:])
    r.end()
    c.check("changes", r.p.returncode == 0 and not r.errors, r.errors)

    # The end of the target is not the end of the file.
    r = Recorder(tmp)
    d.ask("echo last > trace_marker")
    until(lambda: r.p.poll() is not None or "last" in r.report())
    d.leave()
    r.end(ask=False)
    c.check("target_ends", r.p.returncode == 0 and ("went away" in r.said["ended"] or "the target ended" in r.said["ended"])
            and "last" in r.report(), f"{r.said} {r.errors}")

# From the first instruction on: the kernel has no beacon yet.
with tempfile.TemporaryDirectory() as tmp:
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    d = Demo(smp=CPUS, options="trace_event=sched", sh="run ipc 5", extra=["-S", "-gdb", f"tcp:127.0.0.1:{port}"])
    until(lambda: listens(port))
    r = Recorder(tmp, f"gdb:127.0.0.1:{port}")
    d.ask("echo 0 > events/enable")
    r.end()
    c.check("from_boot_on", r.p.returncode == 0 and r.sum("events") == counted(d, "entries") > 10 and not r.sum("missed"), f"{r.cpus} {r.errors}")
    d.kill()

# What cannot be.
for name, args, word in (("no_kernel", (), "wants --kernel"), ("no_steering", ("-k", kernel_file(), "-e", "sched"), "is only read"),
                         ("no_stub", ("-k", kernel_file()), "cannot connect")):
    p = subprocess.run([FATHOM, "record", "--target", "gdb:localhost:1", "-o", "/dev/null", *args], capture_output=True, text=True, timeout=60)
    c.check(name, p.returncode and word in p.stderr, p.stderr)
c.done()
