#!/usr/bin/env python3
# slow
# live
"""tutorial.py -- what any ftrace tutorial types, once in the demo kernel's own shell and once on the host through a mount
of the same kernel: the same lines, and answers of the same shape."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from targets import Checks, Kernel, Mount, no_fuse  # noqa: E402

# Lines to type; `wait` lets the kernel run for a while.
SCRIPT = """
echo 8 > buffer_size_kb
cat available_tracers
cat current_tracer
echo function > current_tracer
wait
echo 0 > tracing_on
cat tracing_on
cat current_tracer
cat trace
echo schedule > set_ftrace_filter
cat set_ftrace_filter
echo 1 > tracing_on
wait
echo 0 > tracing_on
cat trace
echo > set_ftrace_filter
echo function_graph > current_tracer
echo 1 > tracing_on
wait
echo 0 > tracing_on
cat trace
echo nop > current_tracer
echo 1 > tracing_on
echo hello from the tutorial > trace_marker
cat trace
ls per_cpu
cat per_cpu/cpu0/stats
echo 1 > options/record-tgid
echo 1 > events/sched/sched_switch/enable
wait
echo 0 > tracing_on
cat options/record-tgid
cat trace
cat saved_tgids
echo 0 > options/record-tgid
echo > trace
echo 'next_pid > 0' > events/sched/sched_switch/filter
cat events/sched/sched_switch/filter
echo 1 > tracing_on
wait
echo 0 > tracing_on
cat trace
echo 0 > events/sched/sched_switch/filter
cat events/sched/sched_switch/filter
echo 'nosuch == 1' > events/sched/sched_switch/filter
cat events/sched/sched_switch/filter
echo 0 > events/sched/sched_switch/filter
echo 0 > events/enable
echo 'hist:keys=next_comm:vals=hitcount' > events/sched/sched_switch/trigger
cat events/sched/sched_switch/trigger
echo 1 > tracing_on
wait
cat events/sched/sched_switch/hist
echo '!hist:keys=next_comm:vals=hitcount' > events/sched/sched_switch/trigger
cat events/sched/sched_switch/trigger
echo 1 > stack_tracer_enabled
wait
echo 0 > stack_tracer_enabled
cat stack_max_size
cat stack_trace
mkdir instances/foo
ls instances
cat instances/foo/available_tracers
echo schedule > instances/foo/set_ftrace_filter
echo function > instances/foo/current_tracer
wait
echo 0 > instances/foo/tracing_on
cat instances/foo/trace
rmdir instances/foo
rmdir instances/foo
echo nosuch > current_tracer
cat nosuch
cat error_log
echo > error_log
"""

# Answers that are the same, letter by letter; `cat trace` is looked at below, the rest is compared with its numbers blanked.
HEADER = re.compile(r"^#(?!####)")
FUNCTION = re.compile(r"^\s+\S.*-\d+\s+\[\d{3}\] \S{5}\s+\d+\.\d{6}: [\w.]+ <-[\w.]+$")
EVENT = re.compile(r"^\s+\S.*-\d+\s+(\(\s*[-\d]+\) )?\[\d{3}\] \S{5}\s+\d+\.\d{6}: \w+: .*$")
GRAPH = re.compile(r"^ +\d+\) .*(\|.*|[=-]+> .*)$|^ -+$|^$|^ +\d+\) +.* => .*$")
LOST = re.compile(r"^CPU:\d+ \[LOST \d+ EVENTS\]$|^##### CPU \d+ buffer started ####$")
LAYOUT = {"function": FUNCTION, "function_graph": GRAPH, "nop": EVENT}


def typed(demo, line, mark):
    """The answer to a line. Traces have lines that look like a prompt, so another command tells where the answer ends."""
    start = len(demo.out)
    demo.type(f"{line}\necho {mark}")
    if demo.until(rf"\n{mark}\r?\n# ", start) < 0:
        raise RuntimeError(f"{line}: no prompt after it: " + demo.text()[-500:])
    text = demo.out[start:].decode("latin1").replace("\r\n", "\n")
    return text.split("\n", 1)[1].split(f"# echo {mark}\n")[0]


def in_the_kernel(kernel):
    """Each line at the demo's prompt: [(line, answer)]."""
    out = []
    for line in SCRIPT.strip().splitlines():
        if line == "wait":
            typed(kernel.demo, "sleep 300", "slept")
            continue
        out.append((line, typed(kernel.demo, line, f"done-{len(out)}")))
    return out


def on_the_host(d, kernel):
    out = []
    for line in SCRIPT.strip().splitlines():
        if line == "wait":
            typed(kernel.demo, "sleep 300", "slept")  # by the clock of the machine that is traced
            continue
        r = subprocess.run(["sh", "-c", line], cwd=d, capture_output=True, text=True, timeout=300)
        out.append((line, r.stdout + r.stderr))
    return out


def blank(text):
    """Numbers and the length of lines drawn with dashes say nothing of the shape; nor does how a shell words an error."""
    text = re.sub(r".*(: error \d+|Invalid argument|No such file.*|I/O error)$", "ERROR", text, flags=re.M)
    return re.sub(r" +", " ", re.sub(r"0x[0-9a-f]+|\d+(\.\d+)?", "N", text))


def directories(demo):
    """Where a tutorial begins, and its long paths, at the demo's prompt."""
    lines = ["cd /sys/kernel/tracing", "cat tracing_on", "cat /sys/kernel/debug/tracing/current_tracer", "cd events/sched", "cat sched_switch/enable",
             "cd ..", "cat sched/sched_switch/id", "cd nosuch", "cd sched/enable", "cat header_event", "cd /", "cat /tracing_on"]
    return [typed(demo, line, f"dir-{i}") for i, line in enumerate(lines)]


def main():
    check = Checks("tutorial")
    why = no_fuse()
    if not why and subprocess.run(["which", "qemu-system-x86_64"], capture_output=True, check=False).returncode:
        why = "package qemu-system-x86 missing"
    if why:
        print(f"skip tutorial: {why}")
        return 0
    kernel = Kernel(smp=2)
    try:
        check("boots", kernel.up, kernel.demo.text()[-300:])
        said = directories(kernel.demo)
        check("directories", said[:6] == ["", "1\n", "nop\n", "", "0\n", ""] and said[6].strip().isdigit() and "error 2\n" in said[7] and
              "error 20\n" in said[8] and "type_len" in said[9] and said[10:] == ["", "1\n"], said)
        there = in_the_kernel(kernel)
        with Mount(kernel.target) as d:
            here = on_the_host(d, kernel)
    finally:
        kernel.kill()
    tracer = "nop"
    for i, ((line, a), (_, b)) in enumerate(zip(there, here)):
        name = f"{i:02}_" + re.sub(r"\W+", "_", line)[:40]
        if line.endswith("> current_tracer") and "nosuch" not in line:
            tracer = line.split()[1]
        if line in ("cat trace", "cat instances/foo/trace"):
            layout = LAYOUT["function" if "instances" in line else tracer]
            head = [[x for x in t.splitlines() if HEADER.match(x)] for t in (a, b)]
            body = [[x for x in t.splitlines() if not HEADER.match(x)] for t in (a, b)]
            odd = [x for t in body for x in t if not layout.match(x) and not LOST.match(x)]
            shapes = [list(map(blank, h)) for h in head]
            check(name + "_head", shapes[0] == shapes[1], [set(shapes[0]) ^ set(shapes[1]), head])
            check(name + "_lines", min(map(len, body)) >= 1 and not odd, odd[:3] or body)
        elif line == "cat stack_trace":
            rows = [re.findall(r"^ +\d+\) +\d+ +\d+ +[\w.]+\+0x[0-9a-f]+/0x[0-9a-f]+$", t, re.M) for t in (a, b)]
            check(name, min(map(len, rows)) >= 3, a + b)
        elif line.endswith("/hist"):
            rows = [re.findall(r"^\{ next_comm: \S+ +\} hitcount: +\d+$", t, re.M) for t in (a, b)]
            check(name, min(map(len, rows)) >= 2 and "Totals:" in a and "Totals:" in b, a + b)
        elif line == "cat saved_tgids":
            check(name, all(re.fullmatch(r"(\d+ \d+\n)+", t) for t in (a, b)), a + b)
        elif line == "cat error_log":
            check(name, all("Field not found" in t and "^" in t for t in (a, b)), a + b)
        else:
            check(name, blank(a) == blank(b), (a, b))
    return check.failed


sys.exit(main())
