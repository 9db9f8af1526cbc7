#!/usr/bin/env python3
"""merge.py -- fathom merge: a Linux trace and a seL4 stream on one time line."""
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from checks import FATHOM, TOP, check, done  # noqa: E402

os.chdir(TOP)
tmp = tempfile.TemporaryDirectory()
A, B, OUT = f"{tmp.name}/a.dat", "test/data/sel4/ftrace.bin", f"{tmp.name}/m.dat"
with gzip.open("test/data/tracedat/events_v7_zstd.dat.gz") as f, open(A, "wb") as g:
    shutil.copyfileobj(f, g)


def run(*args):
    return subprocess.run([FATHOM, *args], capture_output=True, text=True, timeout=300)


def stat(path):
    return json.loads(run("stat", "--json", "--no-index", path).stdout)


def merge(*args):
    p = run("merge", A, B, "-o", OUT, "--force", *args)
    return p, stat(OUT) if p.returncode == 0 else None


a, b = stat(A), stat(B)
p, m = merge("--clock-b", "1000000", "--align")
check("every event of both", m and m["events"] == a["events"] + b["events"], (p.stderr, m and m["events"]))
check("further CPUs", m and [c["cpu"] for c in m["cpus"]] == [0, 1, 2], m and m["cpus"])
check("both begin together", m and m["cpus"][2]["first"] == a["first"], m and m["cpus"])
check("ticks become nanoseconds", m and m["cpus"][2]["last"] - m["cpus"][2]["first"] == (b["last"] - b["first"]) * 1000, m)
p, m = merge("--clock-b", "1000000000", "--offset", "284900000000")
check("offset", m and m["cpus"][2]["first"] == 284900000000 + b["first"], p.stderr)
p, m = merge("--clock-b", "1000000000", "--at", "1000=400")
check("one common moment", m and m["cpus"][2]["first"] == 600 + b["first"], p.stderr)
p, m = merge("--clock-b", "1000000000", "--align", "--into-buffer", "sel4")
check("a buffer of its own", m and [c["buffer"] for c in m["cpus"] if c["count"]][-1] == "sel4", m and m["cpus"])
p, m = merge("--align")
check("ticks without a rate are refused", p.returncode == 1 and "--clock-b" in p.stderr, p.stderr)
p, m = merge("--clock-b", "1", "--align", "--offset", "1")
check("one relation only", p.returncode == 2, p.stderr)
p, m = merge("--clock-b", "1", "--cpu", "0")
check("an option it would not heed is refused", p.returncode == 2 and "no such option" in p.stderr, p.stderr)
p, m = merge("--clock-b", "1000000", "--align", "--file-version", "5")
check("no such version", p.returncode == 2 and "--file-version takes 7 or 6" in p.stderr, p.stderr)
p, m = merge("--clock-b", "1000000", "--align", "--file-version", "6")
t = subprocess.run(["trace-cmd", "report", OUT], capture_output=True, text=True)
times = [float(l.split("]")[1].split(":")[0]) for l in t.stdout.splitlines() if "] " in l and ": " in l]
check("trace-cmd reads it", t.stdout.count("kernel_entry:") == 3000 and t.stdout.count("sched_switch:") == 788, t.stderr + t.stdout[:200])
check("in the order of time", times and times == sorted(times), times[:5])
j = run("query", OUT, "--type", "funcgraph_exit", "--limit", "1", "--json")
x = json.loads(j.stdout.splitlines()[0]) if j.stdout else {}
x = x.get("fields", x)
check("times inside records move too", int(x.get("rettime", 0)) > 284 * 10**9, j.stdout[:300] + j.stderr)
done()
