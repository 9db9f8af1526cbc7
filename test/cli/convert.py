#!/usr/bin/env python3
"""convert.py -- every trace.dat that fathom writes is read by trace-cmd as the one it was made from; the other forms parse."""
import csv
import io
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tracedata import Traces, check, done, fathom, need


def report(path):
    return subprocess.run(["trace-cmd", "report", path], capture_output=True).stdout


WAYS = {
    "v6": ["--file-version", "6"],
    "v7_zstd": [],
    "v7_none": ["--compression", "none"],
    "made_pages_v6": ["--file-version", "6", "--from", "0"],
    "made_pages_v7": ["--from", "0"],
}

with Traces() as t:
    out = t.path("out.dat")
    for path in t.files if need("trace-cmd", "trace-cmd", "convert_to_trace_dat") else []:
        name, want = os.path.basename(path), report(path)
        for way, args in WAYS.items():
            rc, _, err = fathom("convert", "-f", path, out, *args)
            check(f"convert_{name}_{way}", rc == 0 and report(out) == want, err or "trace-cmd prints another report")

    path = t.path("events_v6.dat")
    # zlib is not in Debian's trace-cmd: we read back what we wrote.
    rc, _, err = fathom("convert", "-f", path, out, "--compression", "zlib")
    same = fathom("query", "-j", path)[1] == fathom("query", "-j", out)[1]
    check("convert_zlib", rc == 0 and same, err)
    rc, _, err = fathom("convert", "-f", path, out, "--filter", 'EVENT == "sched_switch"', "--cpu", "1")
    got = [json.loads(line) for line in fathom("query", "-j", out)[1].splitlines()]
    want = [json.loads(line) for line in fathom("query", "-j", "--cpu", "1", "-F", 'EVENT == "sched_switch"', path)[1].splitlines()]
    for e in got + want:
        e.pop("n", None)
    check("convert_filtered", got == want and want, f"{len(got)} of {len(want)}")

    rows = [json.loads(line) for line in fathom("convert", path, "-", "--to", "jsonl")[1].splitlines()]
    check("convert_jsonl", len(rows) == 5706 and rows[1]["event"] == "sys_exit" and rows[1]["fields"]["ret"] == 1, len(rows))
    table = list(csv.DictReader(io.StringIO(fathom("convert", path, "-", "--to", "csv")[1])))
    check("convert_csv", [r["event"] for r in table] == [r["event"] for r in rows] and [r["text"] for r in table] == [r["text"] for r in rows])
    chrome = json.loads(fathom("convert", t.path("graph_v7_zstd.dat"), "-", "--to", "json")[1])["traceEvents"]
    count = {ph: sum(e["ph"] == ph for e in chrome) for ph in "BEM"}
    check("convert_chrome", count["B"] == 4704 and count["E"] == 4676 and count["M"] > 3, count)
    rc, text, err = fathom("convert", path, "-", "--to", "txt")
    check("convert_text", text == fathom("report", path)[1] and text, err)

    rc, _, err = fathom("convert", path, t.path("e.foo"))
    check("convert_unknown_form", rc == 2 and "'foo' is not a form" in err, err)
    rc, _, err = fathom("convert", path, out)
    check("convert_does_not_overwrite", rc == 1 and "--force" in err, err)
    rc, _, err = fathom("convert", "-f", path, path)
    check("convert_not_onto_itself", rc == 1 and os.path.getsize(path) > 0, err)
    rc, _, err = fathom("convert", path, "/nonexistent/x.dat")
    check("convert_no_such_folder", rc == 1 and "No such file" in err, err)
done()
