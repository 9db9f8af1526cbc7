#!/usr/bin/env python3
# live
"""user_port.py -- a traced process: trace-cmd reads its trace.dat without a warning and prints what fathom_dump() prints."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from checks import Checks  # noqa: E402

check = Checks()
WORK = "build/port/work-"
# One line of the dump, and of trace-cmd's report.
DUMP = re.compile(r"^\s*(\S.*)-(\d+)\s+\[(\d+)\] \S{5}\s+(\d+\.\d+): (.*)$")
REPORT = re.compile(r"^\s*(\S.*)-(\d+)\s+\[(\d+)\]\s+(\d+\.\d+): (\w+):\s+(.*)$")
PRINTS = ("bprint", "bputs", "print")


def run(kind, options, args=(), env=()):
    e = dict(os.environ, FATHOM_TRACE=options, **dict(env))
    return subprocess.run([WORK + kind, *args], env=e, capture_output=True, text=True, timeout=300)


def report(path):
    r = subprocess.run(["trace-cmd", "report", path], capture_output=True, text=True, timeout=300)
    return r.stdout.splitlines(), r.stderr


def parse_dump(text):
    out = []
    for line in text.splitlines():
        m = DUMP.match(line)
        if m:
            out.append(m.groups())
    return out


def parse_report(lines):
    out = []
    for line in lines:
        m = REPORT.match(line)
        if m:
            comm, pid, cpu, time, event, text = m.groups()
            out.append((comm, pid, cpu, time, text if event in PRINTS else f"{event}: {text}"))
    return out


def since_first(lines):
    """The lines with microseconds since the first one in place of their times."""
    us = [round(float(time) * 1e6) for *_, time, _ in lines]
    return [(comm, pid, cpu, text, u - us[0]) for (comm, pid, cpu, _, text), u in zip(lines, us)]


def same_as_dump(kind, d):
    path = os.path.join(d, kind + ".dat")
    r = run(kind, f"events=*,dump=1,out={path}")
    if r.returncode or r.stdout != "done\n":
        return check(f"{kind}_runs", False, f"exit {r.returncode}: {r.stderr[-500:]}")
    lines, warnings = report(path)
    check(f"{kind}_no_warning", warnings == "", warnings[:300])
    ours, theirs = parse_dump(r.stderr), parse_report(lines)
    jobs = sum("job_end" in o[4] for o in ours)
    check(f"{kind}_every_job_is_there", jobs == 200, f"{jobs} of 200")
    # One at a time: a signal that comes after the thread gave its ring back takes one again (threads.c, T4), maybe another.
    rings = {}
    for _, pid, cpu, _, _ in ours:
        if rings.setdefault(pid, [cpu])[-1] != cpu:
            rings[pid].append(cpu)
    check(f"{kind}_a_thread_has_one_ring", all(len(c) == len(set(c)) <= 2 for c in rings.values()), str(rings))
    # The dump counts from the counter's zero, the file on the kernel's mono_raw: from line to line both say the same.
    ours, theirs = since_first(ours), since_first(theirs)
    diff = [f"{a} / {b}" for a, b in zip(ours, theirs) if a[:4] != b[:4] or abs(a[4] - b[4]) > 1]
    check(f"{kind}_report_equals_dump", not diff and len(ours) == len(theirs) > 600, f"{len(ours)} and {len(theirs)} lines; {diff[:2]}")


def crash(kind, arg, sig, d):
    path = os.path.join(d, kind + arg + ".dat")
    r = run(kind, f"out={path}", [arg], {"ASAN_OPTIONS": "handle_segv=0:handle_abort=0"}.items())
    check(f"{kind}{arg}_still_dies", r.returncode == -sig, f"exit {r.returncode}")
    lines, warnings = report(path)
    check(f"{kind}{arg}_trace_is_whole", warnings == "" and sum("job_end" in x for x in lines) == 200 and
          any("sched_process_exit" in x for x in lines), f"{len(lines)} lines {warnings[:200]}")


def refusals(d):
    for text, want in (("nosuch=1", "nosuch"), ("buffer_kb=0", "buffer_kb"), ("events=nosuch:x", "nosuch:x"),
                       ("cpus=65", "cpus"), ("mode=x", "mode"), ("events=", "events"), ("option=", "option"), ("x" * 3000, "longer")):
        r = run("patch", text, env={"HOME": d}.items())
        check(f"bad_option_{want.replace(':', '_')}_is_told",
              r.returncode == 0 and want in r.stderr and r.stdout == "done\n", r.stderr[:200])
    path = os.path.join(d, "none.dat")
    r = run("patch", "0")
    check("off_is_silent", r.stderr == "" and not os.path.exists("trace.dat"), r.stderr[:100])
    r = run("patch", f"out=/nonexistent/x.dat")
    check("unwritable_out_is_told", "could not be written" in r.stderr and r.returncode == 0, r.stderr)
    r = run("patch", f"out={path},cpus=1")
    check("more_threads_than_rings_is_told", "refused" in r.stderr, r.stderr)
    lines, _ = report(path)
    check("the_first_thread_is_traced", lines and lines[0] == "cpus=1" and 2 < len(lines) < 100, f"{len(lines)} lines")
    path = os.path.join(d, "small-%p.dat")
    r = run("patch", f"events=work,events=irq:*,out={path},buffer_kb=12")
    made = [f for f in os.listdir(d) if f.startswith("small-") and f[6].isdigit()]
    lines, warnings = report(os.path.join(d, made[0])) if made else ([], "no file")
    check("two_patterns_and_a_small_ring", made and any("EVENTS DROPPED" in x or "job_end" in x for x in lines) and
          not any("frame_alloc" in x for x in lines), warnings)


def main():
    if not shutil.which("trace-cmd"):
        print("skip user_port: package trace-cmd missing")
        return 0
    with tempfile.TemporaryDirectory() as d:
        for kind in ("patch", "load", "gc", "lld", "san"):
            same_as_dump(kind, d)
        crash("patch", "--segv", signal.SIGSEGV, d)
        crash("load", "--abort", signal.SIGABRT, d)
        refusals(d)
    return check.failed


sys.exit(main())
