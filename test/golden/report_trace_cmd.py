#!/usr/bin/env python3
"""report_trace_cmd.py -- `fathom report` prints what `trace-cmd report` prints, byte for byte.

Traces are in test/data/tracedat; with FATHOM_FIXTURES=DIR also DIR/linux/trace-dat/small_*.dat are checked.
"""
import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from tracedata import FATHOM, Traces, check, done, need  # noqa: E402

# Where trace-cmd 3.1.6 is wrong, and fathom is not: (options, what both print, why).
WRONG = [
    ("", re.compile(rb"( timer_start: .* flags=)\S*$"), "REC->flags & (A | B | C): libtraceevent loses the parentheses"),
    ("-R", re.compile(rb"( hrtimer_expire_entry: .* function=)\S*$"), "%ps of a field behind a cast one is forgotten"),
    ("-R", re.compile(rb"( kernel_stack: .* caller=ARRAY\[).*$"), "caller[8] is read past the end of the record"),
]
OPTIONS = ["", "-N", "-t", "-l", "-R", "--cpu 0", "--cpu 1"]


def known(option, line):
    for o, pattern, _ in WRONG:
        if o in ("", option):
            line = pattern.sub(rb"\1", line)
    return line


def difference(got, want, option):
    a, b = got.split(b"\n"), want.split(b"\n")
    for n, (x, y) in enumerate(zip(a, b), 1):
        if x != y and known(option, x) != known(option, y):
            return "line %d: want %r got %r" % (n, y[:160], x[:160])
    return None if len(a) == len(b) else "%d lines, want %d" % (len(a), len(b))


def output(*cmd):
    return subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, timeout=300).stdout


def main():
    if not need("trace-cmd", "trace-cmd", "report_trace_cmd"):
        return
    with Traces() as traces:
        files = list(traces.files)
        fixtures = os.environ.get("FATHOM_FIXTURES")
        if fixtures:
            files += sorted(glob.glob(os.path.join(fixtures, "linux/trace-dat/small_*.dat")))
        for path in files:
            for option in OPTIONS:
                if "--cpu" in option and "buffers" in path:
                    continue  # of more than one buffer trace-cmd then shows the first only
                args = ["report", *option.split(), path]
                bad = difference(output(FATHOM, "report", "--like", "3.1", *args[1:]), output("trace-cmd", *args), option)
                check("report_trace_cmd %s %s" % (os.path.basename(path), option or "default"), not bad, bad)
            alone = output(FATHOM, "report", "--threads", "1", path)
            check("report_threads %s" % os.path.basename(path), alone == output(FATHOM, "report", "--threads", "8", path),
                  "one thread and eight print different text")


main()
done()
