#!/usr/bin/env python3
"""latency.py -- the latency tracers on the demo kernel keep the worst case, and `trace` shows it as Linux does."""
# slow
# live
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from demo import EXIT_OK, Checks, Demo, need_qemu

need_qemu("latency")
c = Checks()
d = Demo(smp=2)
sh = d.ask

ART = """#                    _------=> CPU#            
#                   / _-----=> irqs-off/BH-disabled
#                  | / _----=> need-resched    
#                  || / _---=> hardirq/softirq 
#                  ||| / _--=> preempt-depth   
#                  |||| / _-=> migrate-disable 
#                  ||||| /     delay           
#  cmd     pid     |||||| time  |   caller     
#     \\   /        ||||||  \\    |    /       
"""
GRAPH_ART = """#   REL TIME      CPU  TASK/PID       ||||     DURATION                  FUNCTION CALLS
#      |          |     |    |        ||||      |   |                     |   |   |   |
"""
CLASS = {"wakeup_rt": r"policy:(1 rt_prio:80|6 rt_prio:0)", "wakeup_dl": r"policy:6 rt_prio:0"}  # a deadline is real time too


def traced(run="run periodic 20"):
    """Run with a fresh maximum; the maximum and the trace."""
    sh("echo 0 > tracing_max_latency")
    sh("echo 1 > tracing_on")
    sh(run)
    sh("echo 0 > tracing_on")
    return int(sh("cat tracing_max_latency")), sh("cat trace")


def lines_of(text):
    return re.findall(r"^ *\S+-\d+ +(\d)(\S{5}) +(\d+)us.: (.*)$", text, re.M)


def banner_of(tracer, text):
    return re.search(rf"# tracer: {tracer}\n#\n# {tracer} latency trace v1\.1\.5 on demo\n# -{{68}}\n"
                     r"# latency: (\d+) us, #(\d+)/(\d+), CPU#(\d) \| \(M:desktop VP:0, KP:0, SP:0 HP:0 #P:2\)\n"
                     r"#    -----------------\n#    \| task: (\S+)-(\d+) \(uid:0 nice:0 (policy:\d rt_prio:\d+)\)\n", text)


def check_wakeup(tracer, text, lines, banner):
    start = re.match(r" *(\d+):(?: |\d)*(\d+):R   \+ \[00(\d)\] +(\d+): *(\d+):R (\S+)$", lines[0][3])
    end = [x for x in (re.match(r" *\d+: *\d+:\S ==> \[00(\d)\] +(\d+): *(\d+):R (\S+)$", line[3]) for line in lines) if x]
    c.check(f"latency_{tracer}_begins", start and start[4] == banner[6], f"{lines[0]} {banner[0]}")
    c.check(f"latency_{tracer}_ends", len(end) == 1 and end[0][2] == banner[6], text[-800:])
    c.check(f"latency_{tracer}_stack", text.count("<stack trace>\n => ") == 2, text[-800:])
    c.check(f"latency_{tracer}_class", re.fullmatch(CLASS.get(tracer, r"policy:\d rt_prio:\d+"), banner[7]), banner[7])


def check_critical(tracer, text, lines, banner):
    where = re.search(r"#  => started at: (\w+)\n#  => ended at:   (\w+)\n#\n#\n", text)
    c.check(f"latency_{tracer}_where", where and {x[0] for x in lines} == {banner[4]}, text[:1500])
    c.check(f"latency_{tracer}_stack", text.count("<stack trace>\n => ") == 1, text[-800:])
    if where and banner[2] == banner[3]:  # a host that stops one CPU lets the other fill the buffer while it spins for a lock
        c.check(f"latency_{tracer}_first", where[1] in lines[0][3], f"{where[1]}: {lines[0]}")


def check_tracer(tracer):
    sh(f"echo {tracer} > current_tracer")
    c.check(f"latency_{tracer}_format", sh("cat options/latency-format") == "1\n" and sh("cat current_tracer") == tracer + "\n")
    most, text = traced()
    banner = banner_of(tracer, text)
    if not c.check(f"latency_{tracer}_banner", most and banner and int(banner[1]) == most and ART in text, f"{most}: {text[:1200]}"):
        return
    lines = lines_of(text)
    c.check(f"latency_{tracer}_entries", len(lines) == int(banner[2]) and len(lines) >= 3, f"{len(lines)} lines: {text[-800:]}")
    last = int(lines[-1][2])
    c.check(f"latency_{tracer}_length", last * 2 >= most, f"the last entry is at {last} us of {most}")
    (check_wakeup if tracer.startswith("wakeup") else check_critical)(tracer, text, lines, banner)
    functions = [x for x in lines if re.fullmatch(r"\w+ <-\w+", x[3])]
    c.check(f"latency_{tracer}_functions", len(functions) >= 2, f"{len(functions)} functions: {text[-800:]}")
    c.check(f"latency_{tracer}_not_its_own", not any(x[3].startswith("ksym_name ") for x in functions), text[-800:])

    sh("echo 0 > options/function-trace")
    _, text = traced()
    few = [x for x in lines_of(text) if re.fullmatch(r"\w+ <-\w+", x[3])]
    c.check(f"latency_{tracer}_no_functions", len(few) <= 2 and banner_of(tracer, text), f"{len(few)} functions: {text[-800:]}")
    sh("echo 1 > options/function-trace")

    sh("echo 1 > options/display-graph")
    _, text = traced()
    calls = re.findall(r"^ +\d+ us \|   \d\) +\S+-\d+ +\|  \S{5} \| (?: +[\d.]+ us +| {15})\|  .*[;{}]$", text, re.M)
    c.check(f"latency_{tracer}_graph", banner_of(tracer, text) and GRAPH_ART in text and len(calls) >= 2, text[:2500])
    sh("echo 0 > options/display-graph")

    sh("echo 100000000 > tracing_thresh")
    most, text = traced()
    c.check(f"latency_{tracer}_thresh_none", most == 0 and text == f"# tracer: {tracer}\n#\n", f"{most}: {text[:300]}")
    sh("echo 1 > tracing_thresh")
    most, text = traced()
    banner = banner_of(tracer, text)
    c.check(f"latency_{tracer}_thresh_last", banner and int(banner[1]) == most >= 1, f"{most}: {text[:400]}")
    sh("echo 0 > tracing_thresh")


for name in ("irqsoff", "preemptoff", "preemptirqsoff", "wakeup", "wakeup_rt", "wakeup_dl"):
    check_tracer(name)

sh("echo 0 > options/latency-format")
text = sh("cat trace")
c.check("latency_normal_format", "entries-in-buffer" in text and "latency trace" not in text, text[:400])
c.check("latency_overwrite_kept", "Invalid" in sh("echo 0 > options/overwrite") or sh("cat options/overwrite") == "1\n")
sh("echo nop > current_tracer")
c.check("latency_format_put_back", sh("cat options/latency-format") == "0\n")
# in an instance: the same, and nothing at the top, which may not have another of its kind meanwhile
sh("mkdir instances/l")
sh("echo irqsoff > instances/l/current_tracer")
c.check("latency_instance_alone", "error 16" in sh("echo preemptoff > current_tracer") and sh("cat current_tracer") == "nop\n")
sh("run periodic 20")
sh("echo 0 > instances/l/tracing_on")
most, text = int(sh("cat instances/l/tracing_max_latency")), sh("cat instances/l/trace")
banner, lines = banner_of("irqsoff", text), lines_of(text)
if c.check("latency_instance_banner", most and banner and int(banner[1]) == most and ART in text, f"{most}: {text[:1200]}"):
    check_critical("instance", text, lines, banner)
    c.check("latency_instance_functions", len([x for x in lines if re.fullmatch(r"\w+ <-\w+", x[3])]) >= 2, text[-800:])
c.check("latency_instance_only", "entries-written: 0/0 " in sh("cat trace"), sh("cat trace")[:600])
sh("echo 1 > instances/l/tracing_on")
sh("run periodic 5")
sh("rmdir instances/l")
sh("echo wakeup > current_tracer")
most, text = traced()
c.check("latency_instance_gone", most and banner_of("wakeup", text) and sh("ls instances").split()[-1:] == ["boot_map"], f"{most}: {text[:400]}")
c.check("latency_exit", d.leave() == EXIT_OK, d.text()[-400:])
c.done()
