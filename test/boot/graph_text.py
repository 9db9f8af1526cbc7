#!/usr/bin/env python3
"""graph_text.py -- function_graph as the demo kernel's own `trace` shows it: interrupts in place, and every option."""
# slow
# live
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from demo import EXIT_OK, FATHOM, NAME, Checks, Demo, icount, need_qemu

need_qemu("graph_text")
c = Checks()
ARROW_IN, ARROW_OUT = "==========>", "<=========="


def calls(text):
    """(cpu, depth, what) of each line that is drawn for a call, with the arrows."""
    return [(int(m[1]), (len(m[2]) - 2) // 2, m[3]) for m in
            re.finditer(r"^ (\d+)\) .{13,15}\|(  +)(\S.*)$", text, re.M)]


def arrows_stand_around(text, entry):
    """Each arrow in is followed by the interrupt's entry on its CPU, each arrow out stands behind the entry's end."""
    last = {}
    for line in text.splitlines():
        m = re.match(r" (\d+)\) (.*)", line)
        if not m:
            continue
        cpu, rest = m[1], m[2]
        if last.get(cpu, "").find(ARROW_IN) >= 0 and entry + "()" not in rest:
            return f"{line!r} behind {last[cpu]!r}"
        if ARROW_OUT in rest and not re.search(r"\}|\(\);", last.get(cpu, "}")):
            return f"{line!r} behind {last[cpu]!r}"
        last[cpu] = rest
    return ""


d = Demo(smp=2)
sh = d.ask


RUN = f"run ipc {os.environ.get('CALLS', '10')}"


def traced(*before, run=RUN, after=()):
    """A run of function_graph with the set-up given; what `trace` shows."""
    for line in before:
        sh(line)
    sh("echo 0 > tracing_on")
    sh("echo function_graph > current_tracer")
    sh("echo > trace")
    sh("echo 1 > tracing_on")
    sh(run)
    sh("echo 0 > tracing_on")
    text = sh("cat trace")
    for line in after:
        sh(line)
    return text


def option(name, value):
    """`trace` of the frozen buffer with one option turned."""
    sh(f"echo {value} > options/{name}")
    text = sh("cat trace")
    sh(f"echo {1 - value} > options/{name}")
    return text


def drawn(text):
    return [line for line in text.splitlines() if re.match(r" \d+\)", line)]


text = traced()
c.check("graph_text_header", "# CPU  DURATION                  FUNCTION CALLS\n# |     |   |                     |   |   |   |\n" in text,
        text[:400])
c.check("graph_text_arrows", text.count(ARROW_IN) >= 3 and text.count(ARROW_OUT) >= 3,
        f"{text.count(ARROW_IN)} in, {text.count(ARROW_OUT)} out of {len(drawn(text))} lines")
c.check("graph_text_arrows_in_place", not arrows_stand_around(text, "interrupt"), arrows_stand_around(text, "interrupt"))
inside = [x for x in calls(text) if x[2].startswith("interrupt()") and x[1] > 0]
c.check("graph_text_interrupt_inside_call", inside, "no interrupt inside a call")
c.check("graph_text_nested", max(x[1] for x in calls(text)) >= 4, "never 4 deep")

plain = drawn(text)
c.check("graph_text_nocpu", all(not re.match(r" \d+\)", l) for l in option("funcgraph-cpu", 0).splitlines()[6:] if "---" not in l and "=>" not in l))
c.check("graph_text_nooverhead", not re.search(r"^ \d+\) [+!#*@$]", option("funcgraph-overhead", 0), re.M) and
        re.search(r"^ \d+\) [+!#*@$]", text, re.M))
c.check("graph_text_proc", re.search(r"^ \d+\) +\S+-\d+ +\| ", option("funcgraph-proc", 1), re.M))
c.check("graph_text_noduration", " us " not in option("funcgraph-duration", 0))
tails = re.findall(r"\}(?: /\* (\w+) \*/)?$", option("funcgraph-tail", 1), re.M)
c.check("graph_text_tail", tails and all(tails), f"{tails.count('')} of {len(tails)} without a name")
c.check("graph_text_abstime", re.search(r"^ +\d+\.\d{6} \|   \d+\) ", option("funcgraph-abstime", 1), re.M))
c.check("graph_text_overrun", " (Overruns: 0)\n" in option("funcgraph-overrun", 1))
hidden = option("funcgraph-irqs", 0)
c.check("graph_text_noirqs_hides", ARROW_IN not in hidden and "scheduler_tick()" not in hidden and "scheduler_tick()" in text and
        len(drawn(hidden)) < len(plain))
c.check("graph_text_as_before", drawn(sh("cat trace")) == plain, "options did not go back")

quiet = traced("echo 0 > options/funcgraph-irqs", after=["echo 1 > options/funcgraph-irqs"])
c.check("graph_text_noirqs_not_recorded", "scheduler_tick()" not in sh("cat trace") and "interrupt()" not in sh("cat trace"))

text = traced("echo 2 > max_graph_depth", after=["echo 0 > max_graph_depth"])
depths = {x[1] for x in calls(text)}
c.check("graph_text_max_depth", depths and max(depths) == 1, str(depths))

text = traced("echo schedule > set_graph_function")
tops = {x[2] for x in calls(text) if x[1] == 0 and x[2][0] != "}"}
c.check("graph_text_graph_function", tops and tops <= {"schedule() {", "schedule();"} and any(x[1] for x in calls(text)), str(tops))
text = traced("echo switch_tasks > set_graph_notrace", after=["echo > set_graph_notrace", "echo > set_graph_function"])
c.check("graph_text_graph_notrace", "schedule()" in text and "switch_tasks" not in text and "vm_load" not in text, text[-400:])

text = traced("echo 200 > tracing_thresh", after=["echo 0 > tracing_thresh"])
took = [float(x) for x in re.findall(r"^ \d+\) . ([\d.]+) us", text, re.M)]
c.check("graph_text_thresh", took and min(took) >= 200 and "{" not in "".join(drawn(text)), str(took[:10]))

c.check("graph_text_exit", d.leave() == EXIT_OK, d.text()[-300:])

d = Demo(smp=1, extra=icount())  # times are judged
sh = d.ask
text = traced("echo schedule > set_ftrace_filter", run="sleep 30")
with_sleep = max(float(x) for x in re.findall(r"([\d.]+) us", text))
text = traced("echo 0 > options/sleep-time", run="sleep 30", after=["echo 1 > options/sleep-time", "echo > set_ftrace_filter"])
without = max((float(x) for x in re.findall(r"([\d.]+) us", text)), default=-1)
c.check("graph_text_sleep_time", with_sleep > 20000 and 0 <= without < 20000, f"{with_sleep} us with, {without} us without")
c.check("graph_text_exit_again", d.leave() == EXIT_OK, d.text()[-300:])

with tempfile.TemporaryDirectory() as tmp:
    dat = os.path.join(tmp, "trace.dat")
    p = subprocess.run([FATHOM, "record", "--qemu", NAME, "-t", "400", "-o", dat,
                        "-r", "echo 0 > tracing_on",
                        "-r", "echo function_graph > current_tracer", "-r", "echo 1 > tracing_on", "-r", "run ipc 20", "-r", "sleep 60", "-r", "echo 0 > tracing_on"], capture_output=True, text=True)
    text = subprocess.run([FATHOM, "report", "--trace", dat], capture_output=True, text=True).stdout
    c.check("graph_text_host_arrows", text.count(ARROW_IN) >= 3 and text.count(ARROW_OUT) >= 3 and not arrows_stand_around(text, "interrupt"),
            f"{text.count(ARROW_IN)} in, {text.count(ARROW_OUT)} out, {arrows_stand_around(text, 'interrupt')} {p.stderr} {text[:300]}")
c.done()
