#!/usr/bin/env python3
"""flags.py -- report -l: every value of the flags, as trace-cmd shows them; of PREEMPT_RT's records too, which have more."""
import os
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from rawtrace import convert, format_head, pages, texts  # noqa: E402
from tracedata import check, done, need  # noqa: E402

FIELDS = '\tfield:int n;\toffset:%d;\tsize:4;\tsigned:1;\n\nprint fmt: "n=%%d", REC->n\n'
BYTE = "\tfield:unsigned char common_%s;\toffset:%d;\tsize:1;\tsigned:0;\n"
COMMON = {
    "": ("", lambda n: b""),
    "_rt": (BYTE % ("migrate_disable", 8) + BYTE % ("preempt_lazy_count", 9), lambda n: struct.pack("<BBH", n & 15, n >> 4, 0)),
    "_lock_depth": ("\tfield:int common_lock_depth;\toffset:8;\tsize:4;\tsigned:1;\n", lambda n: struct.pack("<i", n % 5 - 1)),
}


def compare(name, fields, more):
    made = [struct.pack("<HBBi", 300, n, n * 7 & 255, 100) + more(n) + struct.pack("<i", n) for n in range(256)]
    with tempfile.TemporaryDirectory() as d:
        os.mkdir(d + "/formats")
        with open(d + "/formats/sched-thing.format", "w", encoding="ascii") as f:
            f.write(format_head("thing", 300, fields) + FIELDS % (8 + len(more(0))))
        dat = convert(d, "made", [pages(made)], d + "/formats")
        for option in ("-l", "-R"):
            ours, theirs = texts(dat, option)
            bad = [f"want {b!r} got {a!r}" for a, b in zip(ours, theirs) if a != b]
            check(f"flags{name} {option}", not bad and len(ours) == len(theirs) == len(made) + 2, "; ".join(bad[:2]))


if need("trace-cmd", "trace-cmd", "flags"):
    for name, (fields, more) in COMMON.items():
        compare(name, fields, more)
done()
