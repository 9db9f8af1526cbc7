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


def slices(events):
    """How many of each kind there are, and what is wrong with the slices: they nest and go forward on every track."""
    count, opened, last, bad = {}, {}, {}, None
    for e in events:
        track = (e["pid"], e["tid"])
        count[e["ph"]] = count.get(e["ph"], 0) + 1
        opened[track] = opened.get(track, 0) + {"B": 1, "E": -1}.get(e["ph"], 0)
        if opened[track] < 0 or e["ph"] in "BE" and e["ts"] < last.get(track, 0):
            bad = bad or f"{e} on its track"
        if e["ph"] in "BE":
            last[track] = e["ts"]
    return count, bad or [f"{k} has {n} open" for k, n in opened.items() if n]


def overlaps(events):
    """Slices of CPU tracks that begin before the one before them ended."""
    end, n = {}, 0
    for e in events:
        if e["ph"] == "X":
            n += e["ts"] + 0.0005 < end.get(e["tid"], 0)
            end[e["tid"]] = e["ts"] + e["dur"]
    return n


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
    lines = fathom("report", "--json", path)[1]
    check("report_json", [json.loads(line) for line in lines.splitlines()] == rows, lines[:200])
    some = fathom("report", "--json", "--cpu", "1", "-F", 'EVENT == "sched_switch"', path)[1].splitlines()
    check("report_json_filtered", [json.loads(line) for line in some] == [r for r in rows if r["cpu"] == 1 and r["event"] == "sched_switch"], len(some))
    table = list(csv.DictReader(io.StringIO(fathom("convert", path, "-", "--form", "csv")[1])))
    check("convert_csv", [r["event"] for r in table] == [r["event"] for r in rows] and [r["text"] for r in table] == [r["text"] for r in rows])
    chrome = json.loads(fathom("convert", t.path("graph_v7_zstd.dat"), "-", "--form", "json")[1])["traceEvents"]
    count, bad = slices(chrome)
    check("convert_chrome_calls", count["B"] == 4704 and count["E"] == 4704 and not bad, bad or count)
    graph = [json.loads(line) for line in fathom("query", "-j", t.path("graph_v7_zstd.dat"))[1].splitlines()]
    exits = sorted(e["time"] for e in graph if e["event"] == "funcgraph_exit")
    ends = sorted(round(e["ts"] * 1000) for e in chrome if e["ph"] == "E")
    check("convert_chrome_ends", len(exits) == 4676 and ends[:4676] == exits, "slices do not end when their functions returned")
    chrome = json.loads(fathom("convert", path, "-", "--to", "json")[1])["traceEvents"]
    count, bad = slices(chrome)
    switches = sum(r["event"] == "sched_switch" for r in rows)
    check("convert_chrome_events", count["B"] == count["E"] > 50 and not bad, bad or count)
    check("convert_chrome_cpus", switches / 4 < count["X"] <= switches + 2 and overlaps(chrome) == 0, (count, switches, overlaps(chrome)))
    rc, text, err = fathom("convert", path, "-", "--to", "csv", "--from", f"{rows[10]['time']}ns")
    check("convert_to_is_a_form_or_a_time", rc == 0 and len(text.splitlines()) == 1 + len(rows) - 10, err)
    rc, text, err = fathom("convert", path, "-", "--form", "csv", "--to", f"{rows[10]['time']}ns")
    check("convert_form_and_time", rc == 0 and len(text.splitlines()) == 12, err)
    rc, text, err = fathom("convert", path, "-", "-t", "txt")
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
