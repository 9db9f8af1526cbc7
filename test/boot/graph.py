#!/usr/bin/env python3
"""graph.py -- function_graph and function on the demo kernel: calls and returns form a forest, edges are in the code."""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from demo import TOP, Checks, need_qemu

need_qemu("graph")
c = Checks()
fathom = os.path.join(TOP, "build/fathom")
kernel = os.path.join(TOP, "build/demo/L6/kernel.elf")
tmp = tempfile.mkdtemp(prefix="fathom-graph-")


def record(tracer, *lines):
    out = os.path.join(tmp, tracer + ".dat")
    cmd = [fathom, "record", "--qemu", kernel, "-e", "sched:sched_switch", "-t", "90", "-o", out, "-r", "echo 0 > tracing_on",
           "-r", f"echo {tracer} > current_tracer", "-r", "echo 1 > tracing_on"]
    for line in lines:
        cmd += ["-r", line]
    subprocess.run(cmd + ["-r", "echo 0 > tracing_on"], check=True, capture_output=True)
    text = subprocess.run([fathom, "query", "-j", out], check=True, capture_output=True, text=True).stdout
    return out, [json.loads(line) for line in text.splitlines()]


def forest(events):
    """Per task (pid 0 per CPU): entries and exits nest, but for calls open at the start or the end. Faults."""
    stacks = collections.defaultdict(list)
    faults, pairs, nested, switched = [], 0, 0, 0
    for e in events:
        task = (e["pid"], e["cpu"] if e["pid"] == 0 else None)
        stack = stacks[task]
        f = e["fields"]
        if e["event"] == "funcgraph_entry":
            stack.append([f["func"], f["depth"], 0, e["cpu"]])
        elif e["event"] == "funcgraph_exit":
            took = f["rettime"] - f["calltime"]
            if not stack:
                continue  # it began before the trace did
            func, depth, children, cpu = stack.pop()
            if (func, depth) != (f["func"], f["depth"]):
                faults.append(f"event {e['n']}: return of {f['func']:x} depth {f['depth']}, open is {func:x} depth {depth}")
                stack.clear()
                continue
            pairs += 1
            switched += cpu != e["cpu"]
            if children > took:
                faults.append(f"event {e['n']}: callees took {children} ns of {took}")
            if stack:
                stack[-1][2] += took
                nested += 1
    return faults, pairs, nested


def call_edges():
    """Direct call targets and indirect calls of each function, from the disassembly."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", kernel], check=True, capture_output=True, text=True).stdout
    name, starts, direct, indirect = None, [], collections.defaultdict(set), set()
    for line in text.splitlines():
        m = re.match(r"([0-9a-f]+) <([^>]+)>:$", line)
        if m:
            name = m.group(2)
            starts.append((int(m.group(1), 16), name))
            continue
        m = re.search(r"\t(call|jmp)\s+(\*)?(?:[0-9a-f]+ <([^>+]+)(\+[^>]*)?>)?", line)
        if m and m.group(2):
            indirect.add(name)
        elif m and m.group(3) and not m.group(4):
            direct[name].add(m.group(3))
    return sorted(starts), direct, indirect


dat, events = record("function_graph", "run ipc 20", "run touch 8")
faults, pairs, nested = forest(events)
c.check("graph_forest", not faults, "; ".join(faults[:5]))
c.check("graph_has_calls", pairs > 2000 and nested > 1000, f"{pairs} calls, {nested} nested")
report = subprocess.run(["trace-cmd", "report", dat], capture_output=True, text=True).stdout
c.check("graph_trace_cmd", "funcgraph_entry" in report and re.search(r"\|\s+schedule\(\) \{", report) and
        re.search(r"us\s+\|\s+\}", report), report[:500])

_, events = record("function", "run ipc 20", "run touch 8")
starts, direct, indirect = call_edges()
bases = [s for s, _ in starts]


def name_at(at):
    import bisect
    i = bisect.bisect_right(bases, at) - 1
    return starts[i][1] if i >= 0 else "?"


edges = collections.Counter((name_at(e["fields"]["parent_ip"] - 1), name_at(e["fields"]["ip"]))
                            for e in events if e["event"] == "function")
bad = [f"{a} -> {b}" for a, b in edges if b not in direct[a] and a not in indirect]
c.check("function_edges", not bad, ", ".join(bad[:10]))
c.check("function_has_edges", len(edges) > 40, f"{len(edges)} edges")
c.done()
