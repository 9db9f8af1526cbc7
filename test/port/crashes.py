#!/usr/bin/env python3
"""crashes.py -- a traced process ends badly: trace.dat is whole, trace-cmd reads it without a warning."""
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


def steps_of(path):
    """The numbers of the `step` events, by thread, and what trace-cmd had to say."""
    r = subprocess.run(["trace-cmd", "report", path], capture_output=True, text=True)
    threads = {}
    for line in r.stdout.splitlines():
        m = re.match(r"\s*\S+-(\d+)\s.* step: +n=(\d+)$", line)
        if m:
            threads.setdefault(m[1], []).append(int(m[2]))
    return threads, r.stderr


def ends(prog, how, want, d, threads):
    path = os.path.join(d, how + ".dat")
    r = subprocess.run([prog, how], env={**os.environ, "FATHOM_TRACE": f"events=*,out={path}"},
                       capture_output=True, text=True)
    check(f"crash_{how}_ends", r.returncode == want, f"exit {r.returncode}, not {want}: {r.stderr[:100]}")
    if not threads:
        check(f"crash_{how}_leaves_no_file", not os.path.exists(path))
        return r
    if not os.path.exists(path):
        check(f"crash_{how}_file", False, "no file")
        return r
    got, warnings = steps_of(path)
    once, twice = list(range(1, 1001)), 2 * list(range(1, 1001))
    check(f"crash_{how}_trace_is_whole",
          warnings == "" and len(got) == threads and all(v in (once, twice) for v in got.values()),
          f"{ {k: len(v) for k, v in got.items()} } {warnings[:100]}")
    return r


def main():
    if not shutil.which("trace-cmd"):
        print("skip crashes: package trace-cmd missing")
        return 0
    prog = "build/port/crashes"
    with tempfile.TemporaryDirectory() as d:
        for how, sig, threads in (("in-trace", signal.SIGSEGV, 1), ("overflow", signal.SIGSEGV, 1),
                                  ("handler", signal.SIGSEGV, 1), ("thread", signal.SIGSEGV, 2),
                                  ("thread-overflow", signal.SIGSEGV, 2), ("fork", 0, 1), ("quit", 0, 0)):
            ends(prog, how, -sig, d, threads)
        r = ends(prog, "dump-in-handler", -signal.SIGABRT, d, 1)
        tail = [int(n) for n in re.findall(r"step: n=(\d+)", r.stderr)]
        check("crash_dump_prints_the_newest", tail == [998, 999, 1000], str(tail))
    return check.failed


sys.exit(main())
