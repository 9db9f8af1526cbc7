#!/usr/bin/env python3
"""machines.py -- traces of big-endian and 32-bit machines: recorded ones rewritten, trace-cmd as the oracle.

A rewritten trace of a 64-bit machine says the same as the one it was made from; one of a 32-bit machine says what trace-cmd
says of it.
"""
import json
import os
import re
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from othermachine import rewrite  # noqa: E402
from rawtrace import convert, format_head  # noqa: E402
from tracedata import Traces, check, done, fathom, need  # noqa: E402

MACHINES = {"be64": (True, 8), "le32": (False, 4), "be32": (True, 4)}
TRACES = ["clock_tsc_v6", "events_v6", "function_stack_v6", "function_v7_zstd", "graph_v7_zstd", "marker_v6"]
# libtraceevent forgets the parentheses of REC->flags & (A | B): see fathom-report(1)
WRONG = re.compile(r"( timer_start: .* flags=)\S*$", re.M)


def oracle(path):
    r = subprocess.run(["trace-cmd", "report", path], capture_output=True)
    return WRONG.sub(r"\1", r.stdout.decode(errors="replace"))


def report(path, *args):
    return WRONG.sub(r"\1", fathom("report", "--like", "3.1", *args, path)[1])


def stat(path):
    counts = json.loads(fathom("stat", "-j", "-n", "0", path)[1])
    for key in ("file", "compression"):
        counts.pop(key, None)
    return counts


def events(path, words):
    """What query tells of every event; `words`: numbers may be cut to 32 bits, so fields and text are left out."""
    rows = [json.loads(line) for line in fathom("query", "-j", path)[1].splitlines()]
    for row in rows if words else ():
        row.pop("fields"), row.pop("text")
    return rows


def one(t, plain, name, machine):
    path, back = t.path(f"{name}.{machine}.dat"), t.path("back.dat")
    big, longs = MACHINES[machine]
    rewrite(plain, path, big, longs)
    text, case = report(path), f"{name}_{machine}"
    check(f"machine_report_{case}", text == oracle(path) and text.count("\n") > 50, "not what trace-cmd prints")
    if longs == 8:
        check(f"machine_same_report_{case}", text == report(plain), "not what the original says")
        kernel = report(plain, "--trace")
        check(f"machine_same_trace_{case}", kernel == report(path, "--trace") and kernel.count("\n") > 50, "--trace differs")
    check(f"machine_stat_{case}", stat(path) == stat(plain), "stat differs from the original's")
    check(f"machine_query_{case}", events(path, longs == 4) == events(plain, longs == 4), "query differs from the original's")
    for way in (["--file-version", "6"], []):
        rc, _, err = fathom("convert", "-f", path, back, *way)
        check(f"machine_convert_{case}_{'v6' if way else 'v7'}", rc == 0 and oracle(back) == text, err or "trace-cmd prints something else")
    rc, out, _ = fathom("verify", path)
    check(f"machine_verify_{case}", rc == 0, out[-200:])


def longs_of_32_bits(t):
    """A format file says `unsigned long[]` whatever a long is: the machine's pages tell."""
    os.mkdir(t.path("words"))
    with open(t.path("words/header_page"), "w") as f:
        f.write("\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n"
                "\tfield: char data;\toffset:12;\tsize:4084;\tsigned:1;\n")
    with open(t.path("words/made-words.format"), "w") as f:
        f.write(format_head("words", 300) + "\tfield:__data_loc unsigned long[] mask;\toffset:8;\tsize:4;\tsigned:0;\n"
                "\tfield:unsigned long ips[DEPTH];\toffset:12;\tsize:8;\tsigned:0;\n\nprint fmt: \"%lx\", REC->ips[1]\n")
    record = struct.pack("<HBBiI2I3I", 300, 0, 0, 100, 20 | 12 << 16, 5, 6, 1, 2, 3)
    page = struct.pack("<QI", 10**9, len(record) + 8) + struct.pack("<II", 1 << 5, len(record) + 4) + record
    dat = convert(t.dir, "made", [page.ljust(4096, b"\0")], t.path("words"))
    row = json.loads(fathom("query", "-j", dat)[1])
    check("machine_longs_of_32_bits", row["fields"] == {"mask": [1, 2, 3], "ips": [5, 6]} and row["text"] == "6", row)
    rc, out, err = fathom("query", dat, "--count", "-F", "mask[2] == 3 && ips[0] == 5")
    check("machine_filter_of_32_bits", out == "1\n", (out, err))


with Traces() as t:
    longs_of_32_bits(t)
    for name in TRACES if need("trace-cmd", "trace-cmd", "machines") else []:
        plain = t.path(name + ".v6.dat")
        fathom("convert", t.path(name + ".dat"), plain, "--file-version", "6")
        for machine in MACHINES:
            one(t, plain, name, machine)
done()
