#!/usr/bin/env python3
"""filters.py -- which functions and tasks are traced on the demo kernel, function commands, and the function tracer's options."""
# slow
# live
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from demo import EXIT_OK, Checks, Demo, icount, need_qemu

need_qemu("filters")
c = Checks()
d = Demo(smp=2)
sh = d.ask


def traced(*before, run="run ipc 5", tracer="function", after=()):
    """What `trace` shows of a run with the set-up given."""
    for line in ["echo 0 > tracing_on", f"echo {tracer} > current_tracer", *before, "echo > trace", "echo 1 > tracing_on", run, "echo 0 > tracing_on"]:
        sh(line)
    text = sh("cat trace")
    for line in after:
        sh(line)
    return text


def lines(text):
    """(pid, cpu, what) of each line."""
    return re.findall(r"^ *\S+-(\d+) +\[(\d+)\] \S{5} +[\d.]+: (.*)$", text, re.M)


def functions(text):
    return {m[2].split(" ")[0] for m in lines(text)}


# names, globs, removal, what is patched
text = traced("echo schedule switch_tasks > set_ftrace_filter")
c.check("filter_names", functions(text) == {"schedule", "switch_tasks"}, str(functions(text)))
enabled = sh("cat enabled_functions")
c.check("filter_enabled", sorted(line.split()[0] for line in enabled.splitlines()) == ["schedule", "switch_tasks"] and enabled.count(" (1)  ") == 2, enabled)
text = sh("cat touched_functions")
c.check("filter_touched", sorted(re.findall(r"^(\S+) \(1\)  ", text, re.M)) == ["schedule", "switch_tasks"] and "\ninterrupt (0)  " in "\n" + text, text[-500:])
text = traced("echo sched_* > set_ftrace_filter", "echo !sched_resched >> set_ftrace_filter")
c.check("filter_glob", functions(text) and all(f.startswith("sched_") for f in functions(text)) and "sched_resched" not in functions(text), str(functions(text)))
text = traced("echo > set_ftrace_filter", "echo sched_* > set_ftrace_notrace", after=["echo > set_ftrace_notrace"])
c.check("filter_notrace", len(functions(text)) > 20 and not any(f.startswith("sched_") for f in functions(text)), str(functions(text)))
before = sh("cat set_ftrace_filter")
c.check("filter_unknown", "error" in sh("echo nosuchfunction >> set_ftrace_filter") and sh("cat set_ftrace_filter") == before, before)

# parts of the kernel that have a name, and one that is not there
text = traced("echo *:mod:ipc > set_ftrace_filter")
listed = sh("cat set_ftrace_filter").splitlines()
c.check("filter_module", "ipc" in functions(text) and functions(text) <= {x.split()[0] for x in listed}, str(functions(text)))
c.check("filter_module_listed", "ipc [ipc]" in listed and all(x.endswith(" [ipc]") for x in listed), str(listed))
text = traced("echo write*:mod:ext4 > set_ftrace_filter")
c.check("filter_module_waits", sh("cat set_ftrace_filter") == "write*:mod:ext4\n" and not functions(text), sh("cat set_ftrace_filter"))
c.check("filter_module_none", "error 22" in sh("echo !read:mod:ext4 >> set_ftrace_filter"))
sh("echo !*:mod:ext4 >> set_ftrace_filter")
c.check("filter_module_gone", sh("cat set_ftrace_filter") == "#### all functions enabled ####\n", sh("cat set_ftrace_filter"))

# tasks
pid = re.search(r"^ *shell-(\d+) ", traced(run="run short 3"), re.M)[1]
text = traced(f"echo {pid} > set_ftrace_pid", run="run short 3")
c.check("filter_pid", {x[0] for x in lines(text)} == {pid}, str({x[0] for x in lines(text)}))
text = traced("echo 1 > options/function-fork", run="run many 3")
pids = {x[0] for x in lines(text)}
c.check("filter_fork", pid in pids and len(pids) >= 4 and "0" not in pids, str(pids))
c.check("filter_fork_exit", sh("cat set_ftrace_pid") == pid + "\n", sh("cat set_ftrace_pid"))
sh("echo 0 > options/function-fork")
text = traced(f"echo {pid} > set_ftrace_pid", run="run many 3", after=["echo > set_ftrace_pid"])
c.check("filter_no_fork", {x[0] for x in lines(text)} == {pid}, str({x[0] for x in lines(text)}))
text = traced("echo 0 > set_ftrace_notrace_pid", after=["echo > set_ftrace_notrace_pid"])
c.check("filter_notrace_pid", lines(text) and "0" not in {x[0] for x in lines(text)})

# what a line shows
sh("echo schedule > set_ftrace_filter")
c.check("filter_parent", re.search(r": schedule <-\w+\n", traced()))
c.check("filter_noparent", re.search(r": schedule\n", traced("echo 0 > options/print-parent", after=["echo 1 > options/print-parent"])))
c.check("filter_sym_offset", re.search(r": schedule\+0x[04]/0x[0-9a-f]+ <-\w+\+0x[0-9a-f]+/0x[0-9a-f]+\n",
        traced("echo 1 > options/sym-offset", after=["echo 0 > options/sym-offset"])))
c.check("filter_sym_addr", re.search(r": schedule <ffffffff80[0-9a-f]{6}> <-\w+ <ffffffff80[0-9a-f]{6}>\n",
        traced("echo 1 > options/sym-addr", after=["echo 0 > options/sym-addr"])))
text = traced("echo 1 > options/func_stack_trace", after=["echo 0 > options/func_stack_trace"])
c.check("filter_stack", re.search(r": schedule <-(\w+)\n.*: <stack trace>\n => schedule\n => \1\n => ", text), text[-600:])
text = traced("echo irq_end > set_ftrace_filter", "echo 1 > options/func-no-repeats", run="run storm 50", after=["echo 0 > options/func-no-repeats"])
repeats = [int(x) for x in re.findall(r"irq_end <-interrupt \(repeats: (\d+), last_ts: [ \d]{4}\d\.\d{6}\)", text)]
plain = len(re.findall(r": irq_end <-interrupt\n", text))
c.check("filter_no_repeats", plain <= 4, f"{plain} lines, repeats {repeats}")
text = traced("echo irq_end sched_resched serial_interrupt scheduler_tick > set_ftrace_filter", "echo 1 > options/func-no-repeats", run="run storm 50",
              after=["echo 0 > options/func-no-repeats"])
repeats = [int(x) for x in re.findall(r"irq_end <-interrupt \(repeats: (\d+), last_ts: [ \d]{4}\d\.\d{6}\)", text)]
c.check("filter_repeats_told", repeats and max(repeats) >= 5, f"repeats {repeats}: {text[-500:]}")

# commands
sh("echo > set_ftrace_filter")
text = traced("echo switch_tasks:traceoff:1 > set_ftrace_filter", "echo schedule switch_tasks >> set_ftrace_filter")
c.check("command_traceoff", lines(text)[-1][2].startswith("schedule") or lines(text)[-1][2].startswith("switch_tasks"), text[-300:])
c.check("command_counts_down", "switch_tasks:traceoff:count=0\n" in sh("cat set_ftrace_filter"), sh("cat set_ftrace_filter"))
c.check("command_remove_uncounted", "error 19" in sh("echo !switch_tasks:traceoff >> set_ftrace_filter"))
sh("echo !switch_tasks:traceoff:0 >> set_ftrace_filter")
c.check("command_removed", ":traceoff" not in sh("cat set_ftrace_filter"), sh("cat set_ftrace_filter"))
for line in ["echo 0 > tracing_on", "echo > trace", "echo vm_exec:traceon >> set_ftrace_filter", "run short 1"]:
    sh(line)
c.check("command_traceon", sh("cat tracing_on") == "1\n")
sh("echo !vm_exec:traceon >> set_ftrace_filter")
text = traced("echo schedule > set_ftrace_filter", "echo vm_exec:stacktrace:2 >> set_ftrace_filter", run="run many 4")
c.check("command_stacktrace", text.count(": <stack trace>\n => vm_exec\n") == 2, text[-800:])
sh("echo !vm_exec:stacktrace:0 >> set_ftrace_filter")
text = traced("echo schedule > set_ftrace_filter", "echo sys_spawn:stacktrace:1 >> set_ftrace_filter", run="run many 4")
c.check("command_stacktrace_ends", re.search(r": <stack trace>\n => sys_spawn\n => syscall\n(?: => \w+_arrived\n)? => \w+_entry\n(?! =>)", text) and " => 0x" not in text, text[-800:])
sh("echo !sys_spawn:stacktrace:0 >> set_ftrace_filter")
traced("echo vm_exec:snapshot:1 >> set_ftrace_filter", run="run short 1")
snap = sh("cat snapshot")
c.check("command_snapshot", "schedule" in functions(snap) and "Snapshot is" not in snap, snap[:400])
sh("echo !vm_exec:snapshot:0 >> set_ftrace_filter")
for command, cpus in (("dump", 2), ("cpudump", 1)):
    for line in ["echo nop > current_tracer", "echo > trace", "echo 1 > events/sched/enable", "echo 1 > tracing_on", "run load 1"]:
        sh(line)
    sh(f"echo vm_exec:{command} >> set_ftrace_filter")
    out = sh("run short 1")
    seen = {x[1] for x in lines(out)}
    c.check(f"command_{command}", len(seen) == cpus and "sched_switch: " in out, f"CPUs {seen}: {out[-400:]}")
    sh(f"echo !vm_exec:{command} >> set_ftrace_filter")
    sh("echo 0 > events/sched/enable")
c.check("command_all_gone", ":" not in sh("cat set_ftrace_filter"), sh("cat set_ftrace_filter"))
# the stack tracer: what is printed adds up, also while it runs and may find a deeper one
def deepest(name):
    text = sh("cat stack_trace")
    frames = [(int(a), int(b)) for a, b in re.findall(r"^ *\d+\) +(\d+) +(\d+)   \S+$", text, re.M)]
    c.check(f"stack_{name}_frames", len(frames) >= 5 and all(a[0] - a[1] == b[0] for a, b in zip(frames, frames[1:])) and frames[-1][0] == frames[-1][1], text)
    c.check(f"stack_{name}_header", text.startswith(f"        Depth    Size   Location    ({len(frames)} entries)\n        -----    ----   --------\n"), text)
    return frames[0][0] if frames else 0


for line in ["echo > set_ftrace_filter", "echo 1 > stack_tracer_enabled", "run ipc 5"]:
    sh(line)
early = deepest("running")
for line in ["run load 1", "echo 0 > stack_tracer_enabled"]:
    sh(line)
late = deepest("stopped")
c.check("stack_max_size", sh("cat stack_max_size") == f"{late}\n" and early <= late, f"{early} {late}")


c.check("filters_exit", d.leave() == EXIT_OK, d.text()[-300:])


# the function profile, with and without what was slept and what callees took; times are judged
d = Demo(smp=1, extra=icount())
sh = d.ask


def profiled(run, *options):
    """{function: (hits, us)} of the CPU."""
    for line in [*(f"echo 0 > options/{x}" for x in options), "echo 1 > function_profile_enabled", run, "echo 0 > function_profile_enabled"]:
        sh(line)
    found = re.findall(r"^  (\S+) +(\d+) +([\d.]+) us", sh("cat trace_stat/function0"), re.M)
    total = {name: (int(hits), float(us)) for name, hits, us in found}
    for x in options:
        sh(f"echo 1 > options/{x}")
    return total


p = profiled("sleep 30")
c.check("profile_sleep", p["cmd_sleep"][0] == 1 and p["cmd_sleep"][1] > 20000 and p["sleep_until"][1] <= p["cmd_sleep"][1], str(p.get("cmd_sleep")))
p = profiled("sleep 30", "sleep-time")
c.check("profile_no_sleep_time", 0 < p["cmd_sleep"][1] < 20000, str(p.get("cmd_sleep")))
p = profiled("sleep 30", "graph-time")
c.check("profile_no_graph_time", 0 < p["cmd_sleep"][1] < 20000 < p["switch_tasks"][1], str((p.get("cmd_sleep"), p.get("switch_tasks"))))
c.check("profile_exit", d.leave() == EXIT_OK, d.text()[-300:])
c.done()
