#!/usr/bin/env python3
"""instances.py -- instances that trace functions, through the mount of a live process: each its own functions, tasks, probes and options."""
import errno
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from targets import Checks, Mount, Process, error_of, no_fuse, read, until, write  # noqa: E402

check = Checks("instances")

# What Linux has in an instance, and in its options/.
FILES = """available_tracers buffer_percent buffer_size_kb buffer_subbuf_size_kb buffer_total_size_kb current_tracer error_log events free_buffer options
per_cpu set_event set_event_notrace_pid set_event_pid set_ftrace_filter set_ftrace_notrace set_ftrace_notrace_pid set_ftrace_pid
show_event_filters show_event_triggers snapshot timestamp_mode trace trace_clock trace_marker trace_marker_raw trace_options trace_pipe tracing_cpumask
tracing_max_latency tracing_on"""
OPTIONS = """annotate bin block context-info disable_on_free display-graph event-fork func-args func-no-repeats func_stack_trace
function-fork function-trace hash-ptr hex irq-info latency-format markers overwrite pause-on-trace print-parent raw record-tgid
stacktrace sym-addr sym-offset sym-userobj test_nop_accept test_nop_refuse userstacktrace verbose"""


def calls(d):
    """(pid, function) of the calls in a trace."""
    return [(int(p), f) for p, f in re.findall(r"-(\d+) +\[.*: (\w+) <-\w+$", read(d + "/trace"), re.M)]


def names(d):
    return {f for _, f in calls(d)}


def files(i):
    check("files", sorted(os.listdir(i)) == sorted(FILES.split()), os.listdir(i))
    check("options", sorted(os.listdir(i + "/options")) == sorted(OPTIONS.split()), os.listdir(i + "/options"))
    check("tracers", read(i + "/available_tracers") == "wakeup_dl wakeup_rt wakeup preemptirqsoff preemptoff irqsoff function nop\n")
    check("no_graph", error_of(lambda: write(i + "/current_tracer", "function_graph\n")) == errno.EINVAL)
    check("no_such_function", error_of(lambda: write(i + "/set_ftrace_filter", "no_such\n")) == errno.EINVAL)
    check("no_pid", read(i + "/set_ftrace_pid") == "no pid\n")
    check("all_enabled", read(i + "/set_ftrace_filter") == "#### all functions enabled ####\n")


def two_at_once(d, a, b):
    """The top and two instances, each with a function of its own."""
    for where, name in ((d, "schedule_tail"), (a, "schedule"), (b, "scheduler_tick")):
        write(where + "/set_ftrace_filter", name + "\n")
        write(where + "/current_tracer", "function\n")
    for where, name in ((d, "schedule_tail"), (a, "schedule"), (b, "scheduler_tick")):
        check(f"only_{name}", until(lambda: names(where) == {name}), names(where))
        check(f"listed_{name}", read(where + "/set_ftrace_filter") == name + "\n")
    on = read(d + "/enabled_functions")
    check("sites", all(f"\n{n} (1)      " in "\n" + on for n in ("schedule_tail", "schedule", "scheduler_tick")) and on.count("\n") == 3, on)
    write(d + "/current_tracer", "nop\n")
    check("header", read(a + "/trace").startswith("# tracer: function\n"))
    write(a + "/set_ftrace_notrace", "schedule\n")
    write(a + "/trace", "\n")
    count = len(calls(b))
    check("notrace", until(lambda: len(calls(b)) > count) and calls(a) == [], calls(a)[:3])
    write(a + "/set_ftrace_notrace", "\n")


def tasks(a):
    pid = calls(a)[-1][0] if until(lambda: calls(a)) else 0
    write(a + "/set_ftrace_pid", f"{pid}\n")
    check("pid_listed", read(a + "/set_ftrace_pid") == f"{pid}\n")
    write(a + "/trace", "\n")
    check("pid", until(lambda: len(calls(a)) > 20) and {p for p, _ in calls(a)} == {pid}, calls(a)[:3])
    write(a + "/set_ftrace_pid", "\n")
    write(a + "/set_ftrace_notrace_pid", f"{pid}\n")
    write(a + "/trace", "\n")
    check("notrace_pid", until(lambda: len(calls(a)) > 20) and pid not in {p for p, _ in calls(a)}, pid)
    write(a + "/set_ftrace_notrace_pid", "\n")


def probes(d, a):
    """An instance's probes are its own: they stop, show and steer it, and nobody else."""
    write(a + "/set_ftrace_filter", "schedule:traceoff\n", os.O_WRONLY | os.O_APPEND)
    check("probe_listed", read(a + "/set_ftrace_filter").endswith("schedule:traceoff:unlimited\n") and "traceoff" not in read(d + "/set_ftrace_filter"))
    check("probe_stops_it", until(lambda: read(a + "/tracing_on") == "0\n") and read(d + "/tracing_on") == "1\n")
    write(a + "/set_ftrace_filter", "!schedule:traceoff\n", os.O_WRONLY | os.O_APPEND)
    write(a + "/tracing_on", "1\n")
    check("no_probe_to_remove", error_of(lambda: write(a + "/set_ftrace_filter", "!schedule:traceon\n", os.O_WRONLY | os.O_APPEND)) == errno.ENODEV)
    write(a + "/set_ftrace_filter", "schedule:enable_event:sched:sched_switch\n", os.O_WRONLY | os.O_APPEND)
    at = "/events/sched/sched_switch/enable"
    check("probe_event", until(lambda: read(a + at) == "1*\n") and read(d + at) == "0\n", read(a + at) + read(d + at))
    write(a + "/set_ftrace_filter", "!schedule:enable_event:sched:sched_switch\n", os.O_WRONLY | os.O_APPEND)
    write(a + at, "0\n")
    write(a + "/options/func_stack_trace", "1\n")
    check("stack", until(lambda: " => machine_work" in read(a + "/trace")) and read(d + "/options/func_stack_trace") == "0\n")


def repeats(d, a):
    """func-no-repeats: a call that comes again is counted, and the count told when another comes."""
    write(a + "/options/func_stack_trace", "0\n")
    write(a + "/options/func-no-repeats", "1\n")
    write(a + "/set_ftrace_filter", "schedule_tail\n")
    write(a + "/trace", "\n")
    write(d + "/set_ftrace_filter", "schedule_tail\n")
    write(d + "/current_tracer", "function\n")
    check("repeats_counted", until(lambda: len(calls(d)) > 200) and len(calls(a)) < 20, len(calls(a)))
    write(a + "/set_ftrace_filter", "scheduler_tick\n", os.O_WRONLY | os.O_APPEND)
    check("repeats_told", until(lambda: re.search(r": schedule_tail <-\w+ \(repeats: \d\d+, last_ts: [ \d]{4}\d+\.\d{6}\)$", read(a + "/trace"), re.M)),
          read(a + "/trace")[:1500])
    write(d + "/current_tracer", "nop\n")
    write(a + "/options/func-no-repeats", "0\n")


def latency(d, a, b):
    """A latency tracer in one instance keeps the worst case there. One of the wakeup tracers can run beside it, in another."""
    write(a + "/set_ftrace_filter", "\n")
    write(a + "/current_tracer", "irqsoff\n")
    check("latency_is_on", read(a + "/current_tracer") == "irqsoff\n" and read(a + "/options/latency-format") == "1\n")
    check("latency_not_here", read(d + "/current_tracer") == "nop\n" and read(d + "/options/latency-format") == "0\n")
    write(d + "/current_tracer", "function\n")
    for where in (b, d):
        check(f"latency_busy_{'b' if where == b else 'top'}", error_of(lambda: write(where + "/current_tracer", "preemptoff\n")) == errno.EBUSY
              and read(where + "/current_tracer") == "nop\n")
    check("latency_snapshot_busy", error_of(lambda: write(a + "/snapshot", "1\n")) == errno.EBUSY)
    check("latency_found", until(lambda: "latency trace v1.1.5" in read(a + "/trace")), read(a + "/trace"))
    text = read(a + "/trace")
    check("latency_text", "#  => started at: worker\n#  => ended at:   worker\n" in text and " : machine_work <-worker\n" in text, text)
    check("latency_max", read(d + "/tracing_max_latency") == "0\n")
    check("latency_top_is_clean", "latency trace" not in read(d + "/trace") and calls(d) == [])
    write(b + "/current_tracer", "wakeup\n")
    check("latency_beside", read(b + "/current_tracer") == "wakeup\n" and read(a + "/current_tracer") == "irqsoff\n")
    check("latency_beside_busy", error_of(lambda: write(d + "/current_tracer", "wakeup_rt\n")) == errno.EBUSY)
    write(b + "/current_tracer", "nop\n")
    write(a + "/tracing_max_latency", "0\n")
    check("latency_one_goes_on", until(lambda: read(a + "/tracing_max_latency") != "0\n"))
    write(a + "/current_tracer", "nop\n")
    check("latency_put_back", read(a + "/options/latency-format") == "0\n")
    write(b + "/current_tracer", "preemptirqsoff\n")  # it is removed while that runs
    check("latency_other", until(lambda: read(b + "/tracing_max_latency") != "0\n"))


def come_and_go(d):
    """Made, traced and removed while every CPU calls: memory is used again only when nobody looks at it."""
    for n in range(60):
        i = f"{d}/instances/go{n % 3}"
        os.mkdir(i)
        write(i + "/set_ftrace_filter", "*sched*\n")
        write(i + "/set_ftrace_filter", "schedule:stacktrace\n", os.O_WRONLY | os.O_APPEND)
        write(i + "/current_tracer", "irqsoff\n" if n % 3 == 1 else "function\n")
        if n % 10 == 0 and n % 3 != 1:
            check(f"go_{n}", until(lambda: calls(i)), read(i + "/trace")[-300:])
        os.rmdir(i)
    check("gone", read(d + "/enabled_functions") == "", read(d + "/enabled_functions"))


def main():
    why = no_fuse()
    if why:
        print(f"skip instances: {why}")
        return
    machine = Process(120)
    try:
        with Mount(machine.target) as d:
            a, b = d + "/instances/a", d + "/instances/b"
            os.mkdir(a)
            os.mkdir(b)
            files(a)
            two_at_once(d, a, b)
            tasks(a)
            probes(d, a)
            repeats(d, a)
            latency(d, a, b)
            os.rmdir(a)
            os.rmdir(b)
            come_and_go(d)
    finally:
        machine.kill()


main()
sys.exit(check.failed)
