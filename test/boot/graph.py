#!/usr/bin/env python3
# live
"""graph.py -- function_graph and function on the demo kernel: calls and returns form a forest, edges are in the code."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from demo import Checks, kernel_file, need_qemu
from calls import Code, Forest, record

need_qemu("graph")
c = Checks()
with tempfile.TemporaryDirectory(prefix="fathom-graph-") as tmp:
    dat = os.path.join(tmp, "trace.dat")
    forest = Forest(record(dat, "function_graph", ["run ipc 20", "run touch 8"]))
    c.check("graph_forest", not forest.faults, "; ".join(forest.faults[:5]))
    c.check("graph_has_calls", forest.pairs > 2000 and forest.nested > 1000, f"{forest.pairs} calls, {forest.nested} nested")
    report = subprocess.run(["trace-cmd", "report", dat], capture_output=True, text=True).stdout
    c.check("graph_trace_cmd", "funcgraph_entry" in report and re.search(r"\|\s+schedule\(\) \{", report) and
            re.search(r"us\s+\|\s+\}", report), report[:500])
    code = Code(kernel_file())
    edges = code.edges(record(dat, "function", ["run ipc 20", "run touch 8"]))
    c.check("function_edges", not code.wrong(edges), ", ".join(code.wrong(edges)[:10]))
    c.check("function_has_edges", len(edges) > 40, f"{len(edges)} edges")
c.done()
