#!/usr/bin/env python3
# slow 15
# live
"""trace_cmd.py -- unmodified trace-cmd on a live process and on the demo kernel, whose machine it takes for its own
(fathom mount TARGET DIR COMMAND). Its report of what it wrote is compared with the text of `trace`, line by line.
`trace_cmd.py [process|demo]` for one of them."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from targets import FATHOM, TOP, Checks, Kernel, Process, entries, no_fuse, read, until, write  # noqa: E402

EVENTS = ["-e", "sched", "-e", "raw_syscalls"]


def run(*args, timeout=300):
    r = subprocess.run(args, capture_output=True, text=True, timeout=timeout)
    return r.returncode, r.stdout, r.stderr


def cmd(*args):
    return run("trace-cmd", *args)


# "comm-pid [cpu] flags time: event: rest" of both texts: what they must agree on.
EVENT = re.compile(r"-(\d+)\s+\[(\d+)\].*?\s(\d+\.\d+):\s+(\w+):")
# ` 1)   0.160 us    |          spin_lock();` of the graph's own layout, and the same records in `report -R`. The ordinary
# report pairs an idle task's calls with the returns of another CPU's, as both have pid 0.
DRAWN = re.compile(r"^\s*(\d+)\)\s+(?:[$@*#!+ ]\s*)?(?:([\d.]+) us)?\s*\|  (\s*)(.*?)\s*$")
ENTRY = re.compile(r"\[(\d+)\].*: funcgraph_entry:\s+func=([\w.]+) depth=(\d+)")
EXIT = re.compile(r"\[(\d+)\].*: funcgraph_exit:\s+func=[\w.]+ depth=(\d+) overrun=\w+ calltime=(\w+) rettime=(\w+)")


def events(text):
    return [m.groups() for m in map(EVENT.search, text.splitlines()) if m]


def seven_digits(ns):
    """A duration as the kernel shows it: us, and as many decimals as fit."""
    us = f"{ns // 1000}.{ns % 1000:03}"
    return us[:8].rstrip(".") if ns < 10**10 else us.split(".", maxsplit=1)[0]


def drawn(text):
    """`trace` in the graph's layout: (cpu, depth, what, duration). A call drawn as one line is two records; an event is its
    name, and has no depth."""
    out = []
    for m in filter(None, map(DRAWN.match, text.splitlines())):
        cpu, us, depth, what = int(m.group(1)), m.group(2), len(m.group(3)) // 2, m.group(4)
        event = re.match(r"/\* (\w+):", what)
        if event:
            out.append((cpu, None, event.group(1), None))
        elif what.endswith("();"):
            out += [(cpu, depth, what[:-3], None), (cpu, depth, "}", us)]
        elif what.startswith("}"):
            out.append((cpu, depth, "}", us))
        else:
            out.append((cpu, depth, what[:-len("() {")], None))
    return out


def told(text):
    """The same of the text of `report -R`."""
    out = []
    for line in text.splitlines():
        entry, leave, event = ENTRY.search(line), EXIT.search(line), EVENT.search(line)
        if entry:
            out.append((int(entry.group(1)), int(entry.group(3)), entry.group(2), None))
        elif leave:
            ns = int(leave.group(4), 16) - int(leave.group(3), 16)
            out.append((int(leave.group(1)), int(leave.group(2)), "}", seven_digits(ns)))
        elif event:
            out.append((int(event.group(2)), None, event.group(4), None))
    return out


def same_graph(check, a, b):
    """The same records on every CPU; and across CPUs the same order of calls and events. (Where a call that is drawn as
    one line ends in between the lines of other CPUs, neither text tells.)"""
    for cpu in sorted({x[0] for x in a}):
        mine, theirs = [[x for x in t if x[0] == cpu] for t in (a, b)]
        check(f"same_graph_cpu{cpu}", mine == theirs, difference(mine, theirs))
    mine, theirs = [[x for x in t if x[2] != "}"] for t in (a, b)]
    check("same_graph", len(mine) > 100 and mine == theirs, difference(mine, theirs))


def difference(a, b):
    first = next((i for i, p in enumerate(zip(a, b)) if p[0] != p[1]), min(len(a), len(b)))
    return f"{len(a)} lines in trace, {len(b)} in the report, from line {first}: {a[first:first + 3]} and {b[first:first + 3]}"


def queries(check, d):
    rc, out, err = cmd("list", "-e")
    check("list_events", rc == 0 and "sched:sched_switch" in out and "raw_syscalls:sys_enter" in out, err)
    rc, out, err = cmd("list", "-t")
    check("list_tracers", rc == 0 and out == read(d + "/available_tracers"), out + err)
    rc, out, err = cmd("list", "-f", "sched*")
    check("list_functions", rc == 0 and "schedule\n" in out, out + err)
    rc, out, err = cmd("stat")
    check("stat", rc == 0 and "Buffer size" in out, err)


def steering(check, d):
    rc, _, err = cmd("start", *EVENTS)
    check("start", rc == 0 and read(d + "/events/sched/enable") == "1\n", err)
    until(lambda: entries(d) > 200)
    rc, _, err = cmd("stop")
    check("stop", rc == 0 and read(d + "/tracing_on") == "0\n", err)
    text = read(d + "/trace")
    rc, out, err = cmd("show")
    check("show", rc == 0 and out == text, err)
    return text


def extracted(check, dat, *how):
    rc, _, err = cmd("extract", "-o", dat)
    check("extract", rc == 0 and os.path.exists(dat), err)
    rc, out, err = cmd("report", *how, "-i", dat)
    check("report", rc == 0 and not err, err)
    return out


def end_of_it(check, d):
    rc, _, err = cmd("clear")
    check("clear", rc == 0 and not [x for x in read(d + "/trace").splitlines() if x[:1] != "#"], err)
    rc, _, err = cmd("reset")
    state = [read(f"{d}/{f}").strip() for f in ("current_tracer", "events/enable", "tracing_on")]
    check("reset", rc == 0 and state == ["nop", "0", "1"], (state, err))


def setting(check, d):
    at = d + "/events/sched/sched_switch"
    rc, _, err = cmd("set", "-e", "sched:sched_switch", "-R", "hist:keys=next_pid")
    check("set_trigger", rc == 0 and "hist:keys=next_pid" in read(at + "/trigger"), err)
    rc, _, err = cmd("set", "-e", "sched:sched_switch", "-f", "prev_pid > 0")
    check("set_filter", rc == 0 and read(at + "/filter") == "(prev_pid > 0)\n", err)
    write(at + "/trigger", "!hist:keys=next_pid\n")
    rc, _, err = cmd("reset")
    check("reset_filter", rc == 0 and read(at + "/filter") == "none\n", read(at + "/filter") + err)


def functions(dat):
    """Names of the functions in a file, and its first line."""
    out = cmd("report", "-R", "-i", dat)[1]
    return {x[2] for x in told(out) if x[1] is not None and x[2] != "}"}, out.split("\n", 1)[0]


def by_cpu(text):
    """The events but for calls, CPU by CPU: where trace-cmd pairs a call of one CPU's idle task with another's return, it
    also shows what follows out of the order of time."""
    return sorted((e for e in events(text) if "funcgraph" not in e[3]), key=lambda e: e[1])


def until_recorded(files, more):
    """A command that ends when the files, a pattern, have grown by so many bytes; after a minute it leaves FILES.late."""
    size = f"$(cat {files} 2>/dev/null | wc -c)"
    return ["sh", "-c", f"s={size}; i=0; until [ {size} -gt $((s + {more})) ]; do sleep 0.1; i=$((i + 1)); if [ $i = 600 ]; then >'{files}.late'; break; fi; done"]


def in_time(files):
    """Did until_recorded() end because they had grown?"""
    late = f"{files}.late"
    return not os.path.exists(late) or os.unlink(late)


def recording(check, d, dat, cpus):
    known = {line.split()[2] for line in read(d + "/kallsyms").splitlines()}
    # Where it is no command of `fathom mount`, trace-cmd has to be told not to splice: FUSE gives nothing for that since Linux 6.5.
    rc, out, err = cmd("record", "--nosplice", *EVENTS, "-p", "function_graph", "-o", dat, *until_recorded(dat + ".cpu*", 100000))
    check("record", rc == 0 and in_time(dat + ".cpu*"), out + err)
    rc, out, err = cmd("report", "-i", dat)
    check("recorded", rc == 0 and out.count("sched_switch:") > 20 and out.count("funcgraph_entry:") > 100, out[:300] + err)
    names, head = functions(dat)
    check("record_cpus", head == f"cpus={cpus}", head)
    check("record_symbols", len(names) > 5 and names <= known, sorted(names - known)[:5])
    check("record_left_clean", read(d + "/current_tracer") == "nop\n" and read(d + "/events/enable") == "0\n")
    mine, theirs = run(FATHOM, "report", "--like", "3.1", "-R", dat)[1], cmd("report", "-R", "-i", dat)[1]
    check("fathom_report_fields", mine == theirs, difference(mine.splitlines(), theirs.splitlines()))
    mine, theirs = (by_cpu(t) for t in (run(FATHOM, "report", "--like", "3.1", dat)[1], out))
    if not check("fathom_report", mine == theirs, difference(mine, theirs)):
        kept = os.path.join(TOP, "build/test/trace_cmd.dat")
        shutil.copy(dat, kept)
        print(f"# {kept}; only in fathom's: {sorted(set(mine) - set(theirs))[:9]}; only in trace-cmd's: {sorted(set(theirs) - set(mine))[:9]}")
    rc, out, err = cmd("hist", "-i", dat)
    check("hist", rc == 0 and "sched_" in out, err)
    rc, _, err = run(FATHOM, "record", "--target", d, "-p", "function_graph", "-e", "sched", "-o", dat, *until_recorded(dat, 50000))
    names, head = functions(dat)
    check("fathom_record", rc == 0 and in_time(dat) and head == f"cpus={cpus}" and len(names) > 5 and names <= known, (head, names - known, err))


def live(target, d):
    """Recorded while it runs, not only what rings of four pages still hold at the end."""
    check = Checks("trace_cmd_live")
    dat = d + ".live"
    rc, out, err = run(FATHOM, "mount", target, d, "trace-cmd", "record", "-b", "16", "-p", "function", "-o", dat,
                       *until_recorded(dat + ".cpu*", 14 * 4096 * 8))
    calls = re.findall(r"\[(\d+)\].* \d+\.\d+: function:", cmd("report", "-i", dat)[1])
    most = max((calls.count(c) for c in set(calls)), default=0)
    check("record", rc == 0 and in_time(dat + ".cpu*") and most > 8 * 4096 // 16, (rc, len(calls), most, out + err))  # a call takes 16 bytes and more
    os.unlink(dat)
    rc, out, err = run(FATHOM, "mount", target, d, "trace-cmd", "stream", "-b", "16", "-e", "sched:sched_switch", "sleep", "1.5")
    check("stream", rc == 0 and out.count("sched_switch:") > 10, (rc, out[-300:], err))
    return check.failed


def inside(name, d):
    """In the namespace where the target is the machine."""
    check = Checks("trace_cmd_" + name)
    dat = d + ".dat"
    cpus = len(os.listdir(d + "/per_cpu"))
    check("cpus", os.sysconf("SC_NPROCESSORS_CONF") == cpus, os.sysconf("SC_NPROCESSORS_CONF"))
    write(d + "/buffer_size_kb", "64\n")  # all of it is printed, by an emulated CPU
    queries(check, d)
    text = steering(check, d)
    a, b = events(text), events(extracted(check, dat))
    check("same_events", len(a) > 50 and a == b, difference(a, b))
    end_of_it(check, d)
    cmd("start", *EVENTS, "-p", "function_graph")
    until(lambda: entries(d) > 200)
    cmd("stop")
    text = read(d + "/trace")
    same_graph(check, drawn(text), told(extracted(check, dat, "-R")))
    end_of_it(check, d)
    setting(check, d)
    recording(check, d, dat, cpus)
    os.unlink(dat)
    return check.failed


def main():
    if len(sys.argv) > 2:
        return inside(sys.argv[1], sys.argv[2])
    why = "mounting tracefs needs root" if os.geteuid() else no_fuse()
    if not why and not shutil.which("trace-cmd"):
        why = "package trace-cmd missing"
    if why:
        print(f"skip trace_cmd: {why}")
        return 0
    failed = 0
    for kind in (Process, Kernel):
        if sys.argv[1:] not in ([], [kind.name]):
            continue
        if kind is Kernel and not shutil.which("qemu-system-x86_64"):
            print("skip trace_cmd_demo: package qemu-system-x86 missing")
            continue
        target = kind()
        d = tempfile.mkdtemp(prefix="fathom-tc-")
        try:
            failed |= subprocess.run([FATHOM, "mount", target.target, d, sys.executable, os.path.abspath(__file__), kind.name, d],
                                     timeout=1500, check=False).returncode
            if kind is Process:
                failed |= live(target.target, d)
        finally:
            target.kill()
            os.rmdir(d)
    return failed


sys.exit(main())
