#!/usr/bin/env python3
# live
# slow
"""memory.py -- a kernel that hangs with interrupts off on all CPUs: its rings are recovered from images of its memory."""
import json
import os
import re
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from checker import check_file
from demo import FATHOM, KINDS, MACHINE, Checks, Demo, kernel_file, need_qemu, report_checker, trace_line, until

need_qemu("memory")
c = Checks()
KERNEL = kernel_file()
MIB = 64


def qmp(path, *commands):
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    f = s.makefile("rw")
    f.readline()
    for cmd in ({"execute": "qmp_capabilities"},) + commands:
        f.write(json.dumps(cmd) + "\n")
        f.flush()
        while True:
            answer = json.loads(f.readline())
            if "return" in answer or "error" in answer:
                break
        if "error" in answer:
            raise RuntimeError(str(answer))
    s.close()
    return answer["return"]


def all_hang(path):
    """Is every CPU in the loop that hang leaves it in? The line on the console comes before the others have stopped."""
    symbols = subprocess.run(["nm", "-S", KERNEL], capture_output=True, text=True, check=True).stdout
    at, size = (int(x, 16) for x in re.search(r"^(\w+) (\w+) \w hang_cpu$", symbols, re.M).groups())
    text = qmp(path, {"execute": "human-monitor-command", "arguments": {"command-line": "info registers -a"}})
    where = [int(x, 16) for x in re.findall(MACHINE.pc + r"(\w+)", text)]
    return where and all(at <= x < at + size for x in where)


def recover(image, out):
    return subprocess.run([FATHOM, "record", "--from-memory", image, "--base", str(MACHINE.ram), "--kernel", KERNEL, "-o", out, "--json"],
                          capture_output=True, text=True, timeout=300)


def recovered(d, tmp):
    """The counters and the text of what is in the memory of a kernel that hangs."""
    raw, out = os.path.join(tmp, "raw"), os.path.join(tmp, "out.dat")
    d.until(b"hanging with interrupts off")
    until(lambda: all_hang(os.path.join(tmp, "qmp")))
    qmp(os.path.join(tmp, "qmp"), {"execute": "pmemsave", "arguments": {"val": MACHINE.ram, "size": MIB << 20, "filename": raw}})
    d.kill()
    p = recover(raw, out)
    cpus = json.loads(p.stdout)["cpus"] if p.returncode == 0 else []
    return cpus, p.stderr + subprocess.run([FATHOM, "report", "--like", "3.1", "-t", out], capture_output=True, text=True).stdout


# What was cleared or read is not there, and not missed; what a reader has taken and not read is.
with tempfile.TemporaryDirectory() as tmp:
    line = os.path.join(tmp, "line")
    d = Demo(smp=2, extra=["-m", f"{MIB}M", "-qmp", f"unix:{tmp}/qmp,server=on,wait=off", *trace_line(line)])
    for command in ("echo 1 > events/sched/enable", "run ipc 50", "echo cleared > trace_marker", "echo > trace", "run ipc 50",
                    "echo 0 > events/enable", "echo kept > trace_marker"):
        d.ask(command)
    p = subprocess.Popen([FATHOM, "fs", "unix:" + line, "cat", "trace_pipe"], stdout=subprocess.PIPE)
    p.stdout.read(3000)
    p.kill()
    p.wait()
    # The server answers in order, and a new client ends what the killed one had open: once it has its answer, nobody reads.
    subprocess.run([FATHOM, "fs", "unix:" + line, "cat", "tracing_on"], check=True, capture_output=True, timeout=300)
    stats = "".join(d.ask(f"cat per_cpu/cpu{i}/stats") for i in (0, 1))
    entries, read = (sum(int(x) for x in re.findall(rf"^{name}: (\d+)$", stats, re.M)) for name in ("entries", "read events"))
    d.type("hang")
    cpus, text = recovered(d, tmp)
    c.check("read_in_part", entries > 100 and read > 10 and sum(s["events"] for s in cpus) == entries, f"{stats}: {cpus}")
    c.check("read_is_not_missed", cpus and not any(s["missed"] for s in cpus), str(cpus))
    c.check("cleared_is_gone", "cleared" not in text and "kept" in text, text[-500:])

# A snapshot has exchanged the rings: the image has what came behind it.
with tempfile.TemporaryDirectory() as tmp:
    d = Demo(smp=2, extra=["-m", f"{MIB}M", "-qmp", f"unix:{tmp}/qmp,server=on,wait=off"], sh="echo 1 > events/sched/enable;run ipc 5;"
             "echo before > trace_marker;echo 1 > snapshot;echo behind > trace_marker;run short 1;hang")
    cpus, text = recovered(d, tmp)
    c.check("behind_a_snapshot", "behind" in text and "before" not in text and "sched_switch" in text, f"{cpus} {text[-500:]}")

with tempfile.TemporaryDirectory() as tmp:
    sock, raw, core, out = (os.path.join(tmp, n) for n in ("qmp", "raw", "core", "out.dat"))
    d = Demo(smp=4, sh="trace on;run load 2;hang", extra=["-m", f"{MIB}M", "-qmp", f"unix:{sock},server=on,wait=off"])
    c.check("hang_hangs", d.until(b"hanging with interrupts off") > 0, d.text()[-300:])
    c.check("hang_still_there", until(lambda: all_hang(sock)) and d.p.poll() is None)
    qmp(sock, {"execute": "pmemsave", "arguments": {"val": MACHINE.ram, "size": MIB << 20, "filename": raw}},
        {"execute": "dump-guest-memory", "arguments": {"paging": False, "protocol": "file:" + core}})
    d.kill()
    texts = []
    for name, image in (("raw", raw), ("core", core)):
        p = recover(image, out)
        if not c.check(f"{name}_recovered", p.returncode == 0, p.stderr):
            continue
        cpus = json.loads(p.stdout)["cpus"]
        c.check(f"{name}_every_cpu", len(cpus) == 4 and all(s["events"] for s in cpus) and sum(s["events"] for s in cpus) > 2000, p.stdout)
        result = check_file(out, 12)
        report_checker(c, name, result, KINDS)
        texts.append(subprocess.run([FATHOM, "report", "--like", "3.1", "-t", out], capture_output=True, text=True).stdout)
        # Each CPU's own end: they hang one after the other, and the host may stop the one that tells them to in between.
        ends = [[l for l in texts[-1].splitlines() if f"[00{cpu}]" in l][-3:] for cpu in range(4)]
        c.check(f"{name}_last_words", sum(any("irq=66 name=call" in l for l in last) for last in ends) >= 3,
                f"the interrupts that hung the CPUs are not at the end: {ends}")
    c.check("raw_is_core", len(texts) == 2 and texts[0] == texts[1])

    # Damage: a beacon with a changed byte is not believed, what is missing in a cut image is told.
    with open(raw, "r+b") as f:
        data = f.read()
        at = data.find(b"FATHOM BEACON 2\0", 0)
        while at % 4096:
            at = data.find(b"FATHOM BEACON 2\0", at + 1)
        f.seek(at + 40)
        f.write(b"\xff")
    p = recover(raw, out)
    c.check("damaged_beacon", p.returncode == 1 and "beacon is damaged" in p.stderr, p.stderr)
    with open(raw, "wb") as f:
        f.write(data[:at + 8192])
    p = recover(raw, out)
    c.check("cut_image", p.returncode == 0 and "does not hold the formats of the events" in p.stderr, p.stderr)
    with open(raw, "wb") as f:
        f.write(bytes(1 << 20))
    p = recover(raw, out)
    c.check("no_beacon", p.returncode == 1 and "no beacon" in p.stderr, p.stderr)
c.done()
