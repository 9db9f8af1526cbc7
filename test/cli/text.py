#!/usr/bin/env python3
"""text.py -- the text of a trace is a source: it holds the events that the trace holds, and its fields can be asked for."""
import gzip
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tracedata import TOP, Traces, check, done, fathom


def rows(path, *args):
    out = fathom("query", "-j", path, *args)[1]
    return [json.loads(line) for line in out.splitlines()]


def key(e):
    return (e["time"] + 500) // 1000, e["cpu"], e["pid"], e["event"]


def shown(e):
    """What the kernel's text tells of an event: it has no name for `sys_read -> 0x1`."""
    return "print" if e["event"].startswith(("sys_enter_", "sys_exit_")) else e["event"], e["pid"]


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

    # The other forms of the text: the same events, at the same times.
    dat = t.path("events_v6.dat")
    normal = rows(dat)
    for form, options in (("latency", "latency-format"), ("verbose", "latency-format,verbose")):
        with open(txt, "w") as f:
            f.write(fathom("report", "--trace", "--options", options, dat)[1])
        got = rows(txt)
        for cpu in (0, 1):
            a, b = ([e for e in r if e["cpu"] == cpu] for r in (normal, got))
            check(f"text_{form}_events_cpu{cpu}", [shown(e) for e in a] == [shown(e) for e in b], f"{len(b)} of {len(a)}")
            drift = {y["time"] // 1000 - x["time"] // 1000 for x, y in zip(a, b)}
            check(f"text_{form}_times_cpu{cpu}", drift and max(drift) - min(drift) <= 1, sorted(drift)[:5])

    # function_graph: read back, it prints the text it was read from, and its calls are the trace's.
    dat, txt = t.path("graph_v7_zstd.dat"), t.path("graph.txt")
    want = rows(dat)
    for options in ("", "funcgraph-proc", "funcgraph-tail", "funcgraph-abstime", "latency-format", "funcgraph-proc,funcgraph-abstime"):
        more = ["--options", options] if options else []  # the events tell that it is function_graph's
        with open(txt, "w") as f:
            f.write(fathom("report", "--trace", *more, dat)[1])
        got, name = rows(txt), options.replace(",", "_") or "plain"
        calls = [sorted((e["cpu"], e["event"], e["fields"]["depth"], e["text"].split(" (")[0]) for e in r) for r in (want, got)]
        check(f"graph_text_{name}_calls", calls[0] == calls[1] and calls[0], f"{len(got)} events of {len(want)}")
        if "latency" not in options:
            again = fathom("report", "--trace", *more, txt)[1]
            check(f"graph_text_{name}_prints_itself", again == open(txt).read(), "another text")
    check("graph_text_times", [e["time"] // 1000 for e in got if e["event"] == "funcgraph_entry"] == [e["time"] // 1000 for e in want if e["event"] == "funcgraph_entry"])
    with open(txt, "w") as f:
        f.write(" 1)               |  do_idle() {\n 1)   0.500 us    |    tick_nohz();\n 1)    <idle>-0    =>     bash-57   \n"
                "CPU:1 [LOST 3 EVENTS]\n 1)               |  /* sched_switch: prev_comm=a next_pid=57 flags=A|B */\n"
                " 1) + 12.000 us   |  }\n 0)   1.000 us    |  vfs_read [ext4]();\n")
    got = rows(txt)
    check("graph_text_pasted", [(e["cpu"], e["pid"], e["event"]) for e in got] == [
        (1, 0, "funcgraph_entry"), (1, 0, "funcgraph_entry"), (1, 0, "funcgraph_exit"), (1, 57, "sched_switch"), (1, 57, "funcgraph_exit"),
        (0, -1, "funcgraph_entry"), (0, -1, "funcgraph_exit")], got)
    check("graph_text_event", got[3]["fields"]["next_pid"] == 57 and got[3]["lost"] == 3 and got[3]["text"].endswith("flags=A|B"), got[3])
    check("graph_text_filter", [e["time"] for e in rows(txt, "-F", 'func == "tick_nohz"')] == [got[1]["time"], got[2]["time"]])
    with open(txt, "w", newline="") as f:
        f.write("bash-5 [001] 12.5: hello: a=1 b=2\r\nbash-5 [001] 12.6: hello: a=2 b=x\r\n")
    check("text_of_windows", [e["text"] for e in rows(txt)] == ["a=1 b=2", "a=2 b=x"], rows(txt))

    # irqsoff with display-graph: its calls, though its head names another tracer.
    with gzip.open(os.path.join(TOP, "test/data/linux/latency/11_irqsoff/trace.graph1.ft1.txt.gz"), "rt") as f:
        text = f.read()
    open(txt, "w").write(text)
    calls = [e for e in rows(txt) if e["event"] == "funcgraph_entry"]
    check("graph_text_of_irqsoff", len(calls) == text.count("();\n") + text.count("() {\n") > 10 and calls[1]["time"] == 11763000, calls[:2])
    open(txt, "w").write("# tracer: function_graph\n#\n# CPU\n")
    rc, out, err = fathom("stat", txt)
    check("graph_text_empty", rc == 1 and "no line that is a call" in err, err)
done()
