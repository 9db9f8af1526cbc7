#!/usr/bin/env python3
"""query.py -- fathom query finds what is where trace-cmd lists it."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tracedata import Traces, check, done, fathom, need

LINE = re.compile(r"^\s*(?:\S+:\s)?\s*(.*)-(\d+)\s+\[(\d+)\]\s*([\d.]+):\s+(\S+?):")


def listed(path):
    """(pid, cpu, ns, event) of every line of trace-cmd report, in its order."""
    text = subprocess.run(["trace-cmd", "report", "-R", "-t", path], capture_output=True).stdout.decode(errors="replace")
    rows = [LINE.match(line) for line in text.splitlines()]
    return [(int(m[2]), int(m[3]), int(m[4].replace(".", "")), m[5]) for m in rows if m]


def query(*args):
    rc, out, err = fathom("query", "-j", *args)
    return rc, [json.loads(line) for line in out.splitlines()], err


def row(e):
    return e["pid"], e["cpu"], e["time"], e["event"]


with Traces() as t:
    for path in t.files if need("trace-cmd", "trace-cmd", "query_equals_trace_cmd") else []:
        name = os.path.basename(path)
        want = listed(path)
        rc, got, err = query(path)
        check(f"query_{name}_all", [row(e) for e in got] == want, f"{len(got)} of {len(want)} rows, or other ones")
        check(f"query_{name}_numbers", [e["n"] for e in got] == list(range(len(want))))
        bad = []
        for n in (0, 1, len(want) // 3, len(want) - 2, len(want) - 1):
            rc, got, err = query(path, "--event", str(n), "--context", "2")
            lo, hi = max(0, n - 2), n + 3
            if [row(e) for e in got] != want[lo:hi]:
                bad.append(n)
        check(f"query_{name}_by_number", not bad, bad)
        types = sorted({w[3] for w in want})
        for kind in types[:3]:
            of = [w for w in want if w[3] == kind]
            rc, got, err = query(path, "--type", kind, "--offset", str(len(of) // 2), "--limit", "5")
            if [row(e) for e in got] != of[len(of) // 2 :][:5]:
                bad.append(kind)
        check(f"query_{name}_by_type", not bad, bad)

    path = t.path("events_v6.dat")
    rc, all_events, err = query(path)
    rc, got, err = query(path, "--filter", 'next_comm ~ "p*ng" && prev_pid != 0')
    want = [e for e in all_events if e["event"] == "sched_switch" and e["fields"]["next_comm"] in ("ping", "pong") and e["fields"]["prev_pid"] != 0]
    check("query_filter_is_true_for_all_it_shows", [e["n"] for e in got] == [e["n"] for e in want] and want, f"{len(got)} of {len(want)}")
    middle = all_events[len(all_events) // 2]["time"]
    rc, got, err = query(path, "--from", f"{middle}ns", "--limit", "4")
    check("query_from", [e["n"] for e in got] == [e["n"] for e in all_events if e["time"] >= middle][:4], got)
    rc, got, err = query(path, "--to", f"{middle}ns", "--cpu", "1")
    check("query_to_and_cpu", [e["time"] for e in got] == [e["time"] for e in all_events if e["time"] <= middle and e["cpu"] == 1])
    # From the start of the trace and from its end, in every command.
    first, last = all_events[0]["time"], all_events[-1]["time"]
    lo, hi = (last - first) // 5, (last - first) // 3
    window = ["--from", f"+{lo}ns", "--to", f"-{hi}ns"]
    want = [e["n"] for e in all_events if first + lo <= e["time"] <= last - hi]
    rc, got, err = query(path, *window)
    check("query_relative_window", [e["n"] for e in got] == want and 0 < len(want) < len(all_events), (len(got), len(want), err))
    rc, out, err = fathom("report", path, *window)
    check("report_relative_window", len([x for x in out.splitlines() if "]" in x]) == len(want), (len(out.splitlines()), len(want)))
    rc, out, err = fathom("stat", "--json", path, *window)
    check("stat_relative_window", json.loads(out)["events"] == len(want), (out[:200], len(want)))
    rc, out, err = fathom("convert", path, "-", "--form", "jsonl", *window)
    check("convert_relative_window", len(out.splitlines()) == len(want), (len(out.splitlines()), len(want), err))
    rc, out, err = fathom("query", path, "--from", "+-5ms")
    check("query_wrong_relative_time", rc == 2 and "from the start of the trace" in err, err)
    # Times copied from lines, which are rounded: these lines are part of the window.
    lines = fathom("report", path)[1].splitlines()[1:]
    stamps = [re.search(r" (\d+\.\d+): ", line)[1] for line in lines]
    bad = []
    for n in (0, 1, len(stamps) // 2, len(stamps) - 1):
        shown = fathom("report", path, "--from", stamps[n], "--to", stamps[n])[1].splitlines()[1:]
        if shown != [line for line, s in zip(lines, stamps) if s == stamps[n]]:
            bad.append((stamps[n], shown))
    check("query_window_of_shown_times", not bad, bad)
    # A stack goes with the event that it was taken at, as trace-cmd shows it.
    stacked = t.path("function_stack_v6.dat")
    events = [e["event"] for e in query(stacked)[1]]
    shown = re.findall(r"\d: (\w+):", fathom("report", "-F", "function", stacked)[1])
    check("report_filter_keeps_stacks", shown == [e for e in events if e in ("function", "kernel_stack")] and "kernel_stack" in shown, shown[:6])
    # query prints what report prints, after the numbers, but for calls, which it does not join with their ends; a list has no `cpus=`.
    for trace in (os.path.basename(f) for f in t.files):
        report = fathom("report", t.path(trace))[1].splitlines()[1:]
        lines = [re.sub(r"^ {0,8}\d+  ", "", x) for x in fathom("query", t.path(trace))[1].splitlines()]
        joined = [x for x in report if x.endswith(";")]
        rest = iter(lines)
        same = [x for x in report if not x.endswith(";") and x not in rest]
        check(f"query_lines_are_those_of_report_{trace}", not same and len(report) + len(joined) == len(lines) and lines, (len(report), len(lines), same[:2]))
        # The text of an event in JSON is the end of its line in `report -N`. Of the names at one address trace-cmd shows another than the kernel.
        plain = [x for x in fathom("report", "-N", t.path(trace))[1].splitlines()[1:] if not x.endswith("EVENTS DROPPED]")]
        texts = [x for e in query(t.path(trace))[1] for x in e["text"].split("\n")]
        bad = [x for x in zip(plain, texts) if not x[0].endswith(x[1]) and not re.search("_sys_|__ia32", x[0])]
        check(f"json_text_is_that_of_report_{trace}", not bad and len(plain) == len(texts), (len(plain), len(texts), bad[:2]))
    rc, got, err = query(path, "--event", str(len(all_events) - 2), "--context", str(2**64 - 1))
    check("query_all_around_an_event", len(got) == len(all_events), len(got))
    rc, got, err = query(path, "-F", "sched_switch: prev_pid == 138", "-F", "softirq_.* : vec == 7")
    want = [e["n"] for e in all_events if e["fields"].get("prev_pid") == 138 or
            (e["event"].startswith("softirq_") and e["fields"]["vec"] == 7)]
    check("query_two_filters", [e["n"] for e in got] == want and want and not err, (len(got), len(want), err))
    rc, out, err = fathom("query", path, "-F", "sched_switch: pevr_pid == 138")
    check("query_misspelt_field", rc == 0 and not out and "has such a field" in err and err.endswith("\n" + " " * 22 + "^\n        did you mean 'prev_pid'?\n"), err)
    rc, out, err = fathom("query", path, "--event", "123456789")
    check("query_no_such_event", rc == 1 and "there is no event 123456789" in err and str(len(all_events)) in err, err)
    rc, out, err = fathom("query", path, "--type", "sched_swich")
    check("query_no_such_type", rc == 1 and "no event type 'sched_swich'" in err and "did you mean 'sched_switch'?" in err, err)
    rc, out, err = fathom("query", path, "--type", "softirq_*")
    check("query_type_is_no_pattern", rc == 1 and "--filter 'softirq_*' takes patterns" in err, err)
    rc, out, err = fathom("query", path, "--count", "--filter", "softirq_*")
    check("query_pattern", rc == 0 and int(out) == sum(e["event"].startswith("softirq_") for e in all_events), (out, err))
    rc, out, err = fathom("query", path, "--event", "x")
    check("query_not_a_number", rc == 2 and "wants a number" in err, err)
    rc, out, err = fathom("query", path, "--count", "--type", "sched_switch")
    check("query_count", int(out) == sum(e["event"] == "sched_switch" for e in all_events), out)
done()
