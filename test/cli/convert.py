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


CPUS, IRQS = 0x7ffffff0, 0x7ffffff1


def ns(us):
    return round(us * 1000)


def slices(events):
    """(from, to, name, seen to end) by track, and what is wrong with them: slices of a track lie apart or inside each other."""
    tracks, bad = {}, []
    for e in events:
        if e["ph"] == "X":
            tracks.setdefault((e["pid"], e["tid"]), []).append(
                (ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]), e["name"], "end" not in e.get("args", {})))
    for track, v in tracks.items():
        open_ends = []
        for start, end, name, _ in sorted(v, key=lambda x: (x[0], -x[1])):
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            if open_ends and end > open_ends[-1]:
                bad.append((track, name, start, end, open_ends[-1]))
            open_ends.append(end)
    return tracks, bad


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
    tracks, bad = slices(chrome)
    calls = [c for (group, _), v in tracks.items() if group not in (CPUS, IRQS) for c in v]
    graph = [json.loads(line) for line in fathom("query", "-j", t.path("graph_v7_zstd.dat"))[1].splitlines()]
    exits = sorted((e["fields"]["calltime"], e["fields"]["rettime"]) for e in graph if e["event"] == "funcgraph_exit")
    check("convert_chrome_calls", len(exits) == 4676 and sorted(c[:2] for c in calls if c[3]) == exits and not bad,
          bad[:3] or "slices are not as long as their functions took")
    check("convert_chrome_open_calls", 0 < sum(not c[3] for c in calls) < 60, sum(not c[3] for c in calls))
    whole = json.loads(fathom("convert", path, "-", "--to", "json")[1])
    check("convert_chrome_losses", whole["otherData"]["lost"] == 0 and whole["otherData"]["lost_is_exact"], whole["otherData"])
    chrome = whole["traceEvents"]
    tracks, bad = slices(chrome)
    switches = [r for r in rows if r["event"] == "sched_switch"]
    irqs = sum(len(v) for (group, _), v in tracks.items() if group == IRQS)
    check("convert_chrome_events", irqs > 50 and not bad, bad[:3] or irqs)
    ran = sorted(x for (group, _), v in tracks.items() if group == CPUS for x in v)
    began = sorted(r["time"] for r in switches if r["fields"]["next_pid"])
    check("convert_chrome_cpus", len(began) <= len(ran) <= len(began) + 2 and set(began) <= {x[0] for x in ran},
          (len(began), len(ran)))
    events = {e["n"]: e["event"] for e in map(json.loads, fathom("query", "-j", t.path("events_v6.dat"))[1].splitlines())}
    marks = [(e["args"]["number"], e["name"]) for e in chrome if e["ph"] == "i"]
    check("convert_chrome_numbers", marks and all(events.get(n) == name for n, name in marks), marks[:3])
    flows = [e["id"] for e in chrome if e["ph"] == "s"]
    check("convert_chrome_wakeups", len(flows) > 10 and sorted(flows) == sorted(e["id"] for e in chrome if e["ph"] == "f"), len(flows))
    rc, text, err = fathom("convert", path, "-", "--to", "csv", "--from", f"{rows[10]['time']}ns")
    check("convert_to_is_a_form_or_a_time", rc == 0 and len(text.splitlines()) == 1 + len(rows) - 10, err)
    rc, text, err = fathom("convert", path, "-", "--form", "csv", "--to", f"{rows[10]['time']}ns")
    check("convert_form_and_time", rc == 0 and len(text.splitlines()) == 12, err)
    rc, text, err = fathom("convert", path, "-", "--form", "txt")
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
