#!/usr/bin/env python3
"""arguments.py -- func-args, funcgraph-args, -retval and -retaddr in the demo kernel: known calls, by name and type."""
# live
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import known  # noqa: E402
from demo import ARCH, EXIT_OK, FATHOM, NAME, Checks, Demo, kernel_file, need_qemu  # noqa: E402

need_qemu("arguments")
c = Checks("arguments")
TMP = tempfile.TemporaryDirectory()
GRAPH = ("funcgraph-args", "funcgraph-retval", "funcgraph-retaddr")


def fathom(*args):
    r = subprocess.run([FATHOM, *args], capture_output=True, text=True, timeout=60)
    return r.stdout + r.stderr


def recorded(tracer, *options):
    path = f"{TMP.name}/{tracer}.dat"
    lines = ["echo known_* > set_ftrace_filter", f"echo {tracer} > current_tracer", *(f"echo 1 > options/{o}" for o in options), "echo > trace", "known"]
    cmd = [FATHOM, "record", "--qemu", NAME, "-s", "1", "-t", "300", "-o", path, "-e", "sched_process_exit"]
    r = subprocess.run(cmd + [a for line in lines for a in ("-r", line)], capture_output=True, text=True, timeout=320)
    if r.returncode:
        print(r.stdout, r.stderr)
    return path


types = ["--types", kernel_file()]
path = recorded("function", "func-args")
for form in ([], ["--trace"]):
    wrong = known.wrong_functions(fathom("report", *form, *types, path), ARCH)
    c.check("function" + "_trace" * bool(form), not wrong, wrong)
path = recorded("function_graph", *GRAPH)
for form in ([], ["--trace", "-O", ",".join(GRAPH)]):
    wrong = known.wrong_graph(fathom("report", *form, *types, path), ARCH, sender=True)
    c.check("graph" + "_trace" * bool(form), not wrong, wrong)
wrong = known.wrong_json([json.loads(line) for line in fathom("query", "--json", *types, path).splitlines()
                          if "funcgraph" in line])
c.check("json", not wrong, wrong)

# What the kernel itself shows: it knows no types. In an instance too.
d = Demo(smp=1)
for line in ("mkdir instances/a", "echo known_* > instances/a/set_ftrace_filter", "echo 1 > instances/a/options/func-args",
             "echo function > instances/a/current_tracer", "echo known_* > set_ftrace_filter", *(f"echo 1 > options/{o}" for o in GRAPH),
             "echo function_graph > current_tracer", "echo > trace", "known"):
    d.ask(line)
graph, instance = d.ask("cat trace"), d.ask("cat instances/a/trace")
c.check("own_graph", re.search(r"\| +known_error\(0x16, .*\); /\* <-known_calls\+0x\w+/0x\w+ ret=-22 \*/", graph)
        and re.search(r"\} /\* known_outer ret=", graph), graph[-900:])
c.check("own_instance", re.search(r": known_error\(0x16, .*\) <-known_calls\n", instance), instance[-800:])
for o in GRAPH:
    d.ask(f"echo 0 > options/{o}")
d.ask("echo > trace")
d.ask("known")
graph = d.ask("cat trace")
c.check("off_again", re.search(r"\| +known_error\(\);\n", graph) and "ret=" not in graph, graph[-800:])
c.check("exit", d.leave() == EXIT_OK, d.text()[-300:])
c.done()
