#!/usr/bin/env python3
"""stat.py -- fathom stat counts what trace-cmd lists: by event, CPU, task, and where events were lost."""
import collections
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tracedata import Traces, check, done, fathom, need

LINE = re.compile(r"^\s*(?:\S+:\s)?\s*(.*)-(\d+)\s+\[(\d+)\]\s*[\d.]+:\s+(\S+?):")


def oracle(path):
    """Counts by event, CPU and pid of `trace-cmd report -R`, and the number of drops it tells."""
    text = subprocess.run(["trace-cmd", "report", "-R", path], capture_output=True).stdout.decode(errors="replace")
    events, cpus, pids, drops = collections.Counter(), collections.Counter(), collections.Counter(), 0
    for line in text.splitlines():
        if "EVENTS DROPPED" in line:
            drops += 1
        m = LINE.match(line)
        if m:
            events[m[4]] += 1
            cpus[int(m[3])] += 1
            pids[int(m[2])] += 1
    return events, cpus, pids, drops


with Traces() as t:
    have = need("trace-cmd", "trace-cmd", "stat_equals_trace_cmd")
    for path in t.files if have else []:
        name = os.path.basename(path)
        rc, out, err = fathom("stat", "--json", path)
        got = json.loads(out) if rc == 0 else {}
        if not check(f"stat_{name}_runs", rc == 0, err):
            continue
        events, cpus, pids, drops = oracle(path)
        mine = {e["name"]: e["count"] for e in got["types"]}
        check(f"stat_{name}_events", mine == dict(events), f"{mine} != {dict(events)}")
        mine = collections.Counter()
        for c in got["cpus"]:
            mine[c["cpu"]] += c["count"]
        check(f"stat_{name}_cpus", +mine == cpus, f"{mine} != {cpus}")
        mine = {p["pid"]: p["count"] for p in got["tasks"]}
        check(f"stat_{name}_tasks", mine == dict(pids), f"{mine} != {dict(pids)}")
        check(f"stat_{name}_losses", len(got["losses"]) == drops, f"{len(got['losses'])} != {drops}")

    # Filters of every kind: the parts add up to the whole, and equal what one sees in the whole.
    path = t.path("events_v6.dat")
    whole = json.loads(fathom("stat", "-j", path)[1])
    cpu = [json.loads(fathom("stat", "-j", "--cpu", str(c), path)[1])["events"] for c in (0, 1)]
    check("stat_cpus_add_up", sum(cpu) == whole["events"] and min(cpu) > 0, cpu)
    middle = (whole["first"] + whole["last"]) // 2
    low = json.loads(fathom("stat", "-j", "--to", f"{middle}ns", path)[1])["events"]
    high = json.loads(fathom("stat", "-j", "--from", f"{middle + 1}ns", path)[1])["events"]
    check("stat_times_add_up", low + high == whole["events"] and low and high, (low, high))
    by_name = {e["name"]: e["count"] for e in whole["types"]}
    got = json.loads(fathom("stat", "-j", "--filter", 'EVENT == "sched_switch"', path)[1])
    check("stat_filter", got["events"] == by_name["sched_switch"], got["events"])
    quiet = [fathom("stat", "--filter", "CPU == 0", *more, path)[1] for more in ([], ["--top", "0"])]
    check("stat_cpus_without_events", "without events" in quiet[0] and "without events" not in quiet[1] and
          re.search(r"^ +0 +1 +- +- +0 +-$", quiet[1], re.M), quiet)
    rc, out, err = fathom("stat", "--filter", "(((", path)
    check("stat_bad_filter", rc == 2 and "--filter" in err and "^" in err, err)

    ends = re.search(r"span +([\d.]+) \.\. ([\d.]+) ", fathom("stat", path)[1])
    stamps = re.findall(r"\] +([\d.]+): ", fathom("report", "--like", "3.1", path)[1])
    check("stat_span_as_report_shows_it", ends and (ends[1], ends[2]) == (stamps[0], stamps[-1]), (ends, stamps[0], stamps[-1]))
    got = json.loads(fathom("stat", "-j", "--from", ends[1], "--to", ends[2], path)[1])["events"]
    check("stat_span_holds_all", got == whole["events"], got)

    # The index beside the trace, and none where there must be none.
    rc, out, err = fathom("index", path)
    check("index_written", rc == 0 and os.path.exists(path + ".fidx"), err)
    check("index_same_counts", json.loads(fathom("stat", "-j", path)[1]) == whole)
    rc, out, err = fathom("index", path)
    check("index_up_to_date", "up to date" in out, out)
    os.utime(path, ns=(0, 0))
    check("index_stale_is_rebuilt", "written" in fathom("index", path)[1])
    os.unlink(path + ".fidx")
    fathom("stat", "--no-index", path)
    check("no_index_leaves_none", not os.path.exists(path + ".fidx"))
done()
