#!/usr/bin/env python3
"""text.py -- the text of a trace is a source: it holds the events that the trace holds, and its fields can be asked for."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tracedata import Traces, check, done, fathom


def rows(path, *args):
    out = fathom("query", "-j", path, *args)[1]
    return [json.loads(line) for line in out.splitlines()]


def key(e):
    return (e["time"] + 500) // 1000, e["cpu"], e["pid"], e["event"]


with Traces() as t:
    for name in ("events_v6", "marker_v6", "lost_v6", "function_stack_v6", "function_v7_zstd"):
        dat, txt = t.path(name + ".dat"), t.path(name + ".txt")
        with open(txt, "w") as f:
            f.write(fathom("report", dat)[1])
        a, b = rows(dat), rows(txt)
        check(f"text_{name}_same_events", a and sorted(map(key, a)) == sorted(map(key, b)), f"{len(a)} events, as text {len(b)}")
        check(f"text_{name}_same_losses", [e.get("lost", 0) for e in a if "lost" in e] == [e.get("lost", 0) for e in b if "lost" in e])
    txt = t.path("pasted.log")
    with open(txt, "w") as f:
        f.write("# tracer: nop\n#\n")
        f.write("          <idle>-0       [000] d..2.    13.715963: sched_switch: prev_comm=swapper/0 prev_pid=0 ==> next_comm=rcu next_pid=14\n")
        f.write("CPU:1 [LOST 7 EVENTS]\n")
        f.write("     a b-c d-9     (    8) [001] d.s1.    13.716000: foo: x=0x10 y=-3 z=q\n")
        f.write("            bash-57        [000] .....    13.717000: vfs_read <-ksys_read\n")
    got = rows(txt)
    check("text_columns", [(e["time"], e["cpu"], e["pid"], e["event"]) for e in got] == [(13715963000, 0, 0, "sched_switch"), (13716000000, 1, 9, "foo"), (13717000000, 0, 57, "function")], got)
    check("text_comm_with_blanks_and_dash", got[1]["comm"] == "a b-c d" and got[1]["lost"] == 7, got[1])
    check("text_fields", got[1]["fields"]["x"] == 16 and got[1]["fields"]["y"] == -3 and got[1]["fields"]["z"] == "q", got[1])
    check("text_filter", [e["event"] for e in rows(txt, "-F", "next_pid == 14")] == ["sched_switch"])
    check("text_function", got[2]["fields"]["func"] == "vfs_read" and got[2]["fields"]["parent"] == "ksys_read", got[2])
    rc, out, err = fathom("convert", txt, t.path("p.dat"))
    check("text_to_trace_dat", rc == 0 and [key(e) for e in rows(t.path("p.dat"))] == [key(e) for e in got], err)
    graph = t.path("graph.txt")
    open(graph, "w").write("# tracer: function_graph\n#\n 0)               |  mutex_unlock() {\n")
    rc, out, err = fathom("stat", graph)
    check("text_of_function_graph", rc == 1 and "function_graph has no times" in err, err)
done()
