#!/usr/bin/env python3
"""blk.py -- the blk tracer on the demo kernel: its text is what a workload did, as the workload and the disk say themselves.

The shell's `disk work SEED` prints each transfer that it submits and, at the end, each request that the RAM disk served. What a
block layer makes of the one to get the other (splits, merges, plugs) is done again here, from the documented rules.
"""
# slow
# live
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from demo import FATHOM, NAME, Checks, Demo, need_qemu

need_qemu("blk")
c = Checks("blk")
MOST = 32  # sectors of a request
LINE = re.compile(r"^ +(\S+)-(\d+) +\[(\d+)\] \S{5} +([\d.]+): +1,0 +(\w+) +(\w+) ?(.*)$", re.M)


def workload(text):
    """([bursts of (op, sector, count)], [(op, sector, count) that the disk served]), from what the shell printed."""
    bios = re.findall(r"^disk bio (\w+) (\d+) \+ (\d+)", text, re.M)
    did = re.findall(r"^disk did (\w+) (\d+) \+ (\d+)", text, re.M)
    return [(o, int(s), int(n)) for o, s, n in bios], [(o, int(s), int(n)) for o, s, n in did]


class Layer:
    """The rules: split at 32 sectors; back and front merges within a plug, of one operation, up to 32; an elevator by sector."""

    def __init__(self):
        self.plug, self.said = [], []

    def say(self, act, op, rest):
        self.said.append((act, op, rest))

    def piece(self, op, at, n):
        for r in self.plug:
            if r[0] != op or r[2] + n > MOST:
                continue
            if r[1] + r[2] == at:
                r[2] += n
                return self.say("M", op, f"{at} + {n} [shell]")
            if at + n == r[1]:
                r[1:] = at, r[2] + n
                return self.say("F", op, f"{at} + {n} [shell]")
        self.say("G", op, f"{at} + {n} [shell]")
        if not self.plug:
            self.say("P", "N", "[shell]")
        self.plug.append([op, at, n])
        if len(self.plug) == 16:
            self.unplug()
        return None

    def bio(self, op, at, n):
        self.say("Q", op, f"{at} + {n} [shell]")
        while n > MOST:
            self.say("X", op, f"{at} / {at + MOST} [shell]")
            self.piece(op, at, MOST)
            at, n = at + MOST, n - MOST
        self.piece(op, at, n)

    def unplug(self):
        if self.plug:
            self.say("U", "N", f"[shell] {len(self.plug)}")
        for op, at, n in self.plug:
            self.say("I", op, f"{at} + {n} [shell]")
        self.plug = []


def expected(bios, shown):
    """What the shell's task must have said. Where a burst ends is seen in the trace: at an unplug before the plug is full."""
    layer, at = Layer(), 0
    for b in bios:
        layer.bio(*b)
        at = len(layer.said)
        if at < len(shown) and shown[at][0] == "U":
            layer.unplug()
    return layer.said


d = Demo(smp=2)
sh = d.ask
tracers = sh("cat available_tracers").split()
c.check("available", "blk" in tracers, tracers)
sh("echo blk > current_tracer")
c.check("options", all("no" + o in sh("cat trace_options").split() for o in ("blk_classic", "blk_cgroup", "blk_cgname")), sh("cat trace_options"))
for seed in (7, 12):
    sh("echo > trace")
    said = sh(f"disk work {seed} 20")
    bios, did = workload(said)
    c.check(f"data_{seed}", ", 0 sectors wrong" in said and len(bios) > 20, said[-300:])
    text = sh("cat trace")
    c.check(f"head_{seed}", text.startswith("# tracer: blk\n#\n  "), text[:200])
    lines = [m.groups() for m in LINE.finditer(text)]
    c.check(f"every_line_{seed}", len(lines) == len(text.splitlines()) - 2, f"{len(lines)} of {len(text.splitlines()) - 2}")
    of_shell = [(act, op, rest) for comm, _, _, _, act, op, rest in lines if comm == "shell"]
    want = expected(bios, of_shell)
    wrong = [(i, a, b) for i, (a, b) in enumerate(zip(of_shell, want)) if a != b]
    c.check(f"submitted_{seed}", of_shell == want, wrong[:3] or (len(of_shell), len(want)))
    for act, end in (("D", "[ramdisk]"), ("C", "[0]")):
        served = [(op, rest) for comm, _, _, _, a, op, rest in lines if a == act]
        c.check(f"served_{act}_{seed}", served == [(o, f"{s} + {n} {end}") for o, s, n in did], (served[:3], did[:3]))
    sectors = sum(n for _, _, n in bios)
    c.check(f"sectors_{seed}", sectors == sum(n for _, _, n in did), f"{sectors} submitted")
kinds = {a for a, _, _ in of_shell}
c.check("all_kinds", kinds == set("QMFGPUIX"), kinds)

# blkparse's form: the same lines, with CPU, time and pid in columns of their own
sh("echo 1 > options/blk_classic")
classic = sh("cat trace")
c.check("classic_head", classic.startswith("# tracer: blk\n#\n# DEV   CPU TIMESTAMP     PID ACT FLG\n#  |     |     |           |   |   |\n"), classic[:200])
found = re.findall(r"^  1,0 +(\d+) +(\d+\.\d{9}) +(\d+) +(\w+) +(\w+) ?(.*)$", classic, re.M)
same = [(int(p), a, o, r) for _, _, p, a, o, r in found] == [(int(p), a, o, r) for _, p, _, _, a, o, r in lines]
c.check("classic", same and len(found) == len(lines), classic[-400:])
sh("echo 1 > options/verbose")
c.check("words", re.search(r" frontmerge +\w+ \d+ \+", sh("cat trace")), sh("cat trace")[:300])
sh("echo 0 > options/verbose")
sh("echo 0 > options/blk_classic")

# without the tracer the same calls are ordinary events
sh("echo nop > current_tracer")
sh("echo 1 > events/block/enable")
sh("disk write 100 4 9")
sh("echo 0 > events/block/enable")
text = sh("cat trace")
names = re.findall(r": (block_\w+): ", text)
c.check("events", names == ["block_bio_queue", "block_getrq", "block_plug", "block_unplug", "block_rq_insert", "block_rq_issue", "block_rq_complete"]
        and "block_rq_issue: 1,0 WS 2048 () 100 + 4 [ramdisk]" in text, text)
c.check("refused", "error 22" in sh("disk read 4095 2") and "first byte 9, 0 sectors wrong" in sh("disk read 100 4"), sh("disk read 100 4"))

# a program writes markers through a system call
sh("echo > trace")
ran = sh("run mark 3")
text = sh("cat trace")
marks = re.findall(r"^ +mark-(\d+) +.*: tracing_mark_write: (step \d of the program)$", text, re.M)
c.check("marks", "exit 0" in ran and [m[1] for m in marks] == [f"step {i} of the program" for i in range(3)] and f"[{marks[0][0]}]" in ran, ran + text[-400:])
d.ask("echo 1 > tracing_on")
d.kill()

# recorded and summed up on the host
with tempfile.TemporaryDirectory() as tmp:
    out = f"{tmp}/blk.dat"
    p = subprocess.run([FATHOM, "record", "--qemu", NAME, "-s", "2", "-e", "kmem", "-r", "echo blk > current_tracer", "-r", "disk work 7 20", "-o", out],
                       capture_output=True, text=True, timeout=300, check=False)
    text = subprocess.run([FATHOM, "report", "--trace", "--tracer", "blk", out], capture_output=True, text=True, check=False).stdout
    lines = [m.groups() for m in LINE.finditer(text)]
    got = json.loads(subprocess.run([FATHOM, "latency", "--disks", "--json", out], capture_output=True, text=True, check=False).stdout or "{}")
    disk = (got.get("devices") or [{}])[0]
    acts = {a: [(o, r) for _, _, _, _, x, o, r in lines if x == a] for a in "QMFXDC"}
    want = {"queued": acts["Q"], "issued": acts["D"], "completed": acts["C"]}
    for key, ones in want.items():
        sums = {w: (sum(o[0] == w for o, _ in ones), sum(int(r.split()[2]) * 512 for o, r in ones if o[0] == w)) for w in "RW"}
        have = {w: (disk.get(key, {}).get(n), disk.get(key, {}).get(n + "_bytes")) for w, n in (("R", "reads"), ("W", "writes"))}
        c.check(f"host_{key}", ones and sums == have, (sums, have, p.stderr[-300:]))
    c.check("host_merges", (disk.get("back_merges"), disk.get("front_merges"), disk.get("splits")) == tuple(len(acts[a]) for a in "MFX"), disk)
    stages = {s["stage"]: s["count"] for s in disk.get("stages", [])}
    c.check("host_stages", stages.get("Q2C") == stages.get("Q2D") == len(acts["Q"]) and stages.get("D2C") == len(acts["D"]) and disk.get("open") == 0, stages)
    # D2C of each request, from the text: they are served one after the other
    times = [(float(t), x) for _, _, _, t, x, _, _ in lines if x in "DC"]
    total = sum(b[0] - a[0] for a, b in zip(times[::2], times[1::2]))
    d2c = next((s for s in disk.get("stages", []) if s["stage"] == "D2C"), {})
    c.check("host_time", abs(d2c.get("total_ns", 0) / 1e9 - total) < 1e-6 * len(times), (d2c, total))
c.done()
