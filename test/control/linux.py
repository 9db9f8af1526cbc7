#!/usr/bin/env python3
"""linux.py -- fathom record of the Linux it runs on: quiet, trace-cmd's letters, everything as it was afterwards. Needs root and tracefs."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from checks import FATHOM, Checks, alone_on_this_machine, fathom, need, until  # noqa: E402

check = Checks("linux")
T = "/sys/kernel/tracing"
FILES = ("set_event", "tracing_on", "current_tracer", "trace_clock", "buffer_size_kb", "events/sched/sched_switch/filter",
         "events/sched/filter", "events/sched/sched_switch/trigger", "set_event_pid", "options/stacktrace", "options/sym-offset",
         "set_ftrace_filter", "set_ftrace_notrace")


def get(path):
    try:
        with open(f"{T}/{path}") as f:
            return f.read()
    except OSError as e:
        return str(e)


def put(path, text):
    fd = os.open(f"{T}/{path}", os.O_WRONLY)
    os.write(fd, text.encode() + b"\n")
    os.close(fd)


def permitted(path, text):
    try:
        put(path, text)
        put(path, "!" + text)
        return True
    except PermissionError:
        return False


def state():
    return {f: get(f) for f in FILES} | {"instances": sorted(os.listdir(T + "/instances"))}


def differs(before):
    """What is not as it was, and how."""
    now = state()
    return {f: (before[f], now[f]) for f in before if now[f] != before[f]}


def ours(text, name):
    """Share of the events that are the recorder's own, in percent."""
    lines = [x for x in text.splitlines() if re.match(r" +\S.*-\d+ +\[\d+\]", x)]
    return 100 * sum(x.lstrip().startswith(name) for x in lines) / max(len(lines), 1), len(lines)


def quiet(d):
    """A recorder that records itself shows nothing else: its own share of the scheduler's events beside trace-cmd's."""
    work = ["sh", "-c", "for i in $(seq 100); do /bin/true; done; sleep 1"]
    with subprocess.Popen([FATHOM, "record", "-e", "sched", "-o", d + "/q.dat", *work], stderr=subprocess.PIPE, text=True) as p:
        err = p.communicate()[1]
    rc = p.returncode
    share, n = ours(fathom("report", d + "/q.dat")[1], f"fathom-{p.pid} ")  # others of that name may run
    other = 0.0
    if need("trace-cmd", "trace-cmd", "linux_quiet") and subprocess.run(["trace-cmd", "record", "-e", "sched", "-o", d + "/tc.dat", *work], capture_output=True).returncode == 0:
        text = subprocess.run(["trace-cmd", "report", d + "/tc.dat"], capture_output=True, text=True, errors="replace").stdout
        other, _ = ours(text, "trace-cmd-")
    check("quiet", rc == 0 and n > 500 and share <= other + 1, f"{share:.2f} % of {n} events are fathom's, {other:.2f} % trace-cmd's; {err}")
    rc, text, _ = fathom("stat", "--json", d + "/q.dat")
    said = json.loads(text)
    check("names_and_kernel", os.uname().release in said["uname"], said["uname"])


def letters(d):
    out = d + "/l.dat"
    put("set_event", "sched:sched_wakeup")
    before = state()
    rc, _, err = fathom("record", "-e", "sched:sched_switch", "-f", "prev_pid != 0", "-R", "stacktrace", "-e", "sched:sched_process_*", "-v",
                        "-e", "sched:sched_process_wait", "-C", "mono", "-b", "512", "-O", "nosym-offset", "-T", "-o", out, "sh", "-c", "/bin/true; exit 3")
    text = fathom("report", out)[1]
    kinds = set(re.findall(r"\d: (\w+): ", text))
    check("letters", rc == 3 and {"sched_switch", "sched_process_exec", "kernel_stack"} <= kinds, f"{rc} {err} {kinds}")
    check("only_these", not {"sched_wakeup", "sched_process_wait"} & kinds, kinds)
    check("filter", not re.search(r"swapper/\d+:0 \[\d+\] \S+ ==>", text), text[:500])
    check("clock", "clock mono" in fathom("stat", out)[1], fathom("stat", out)[1])
    left = differs(before)
    check("as_before", not left, left)
    rc, _, err = fathom("record", "-F", "-e", "raw_syscalls:sys_enter", "-o", out, "/bin/true")
    text = fathom("report", out)[1]
    check("follow", rc == 0 and set(re.findall(r"^ +(.+?)-\d+ +\[", text, re.M)) <= {"true", "fathom", "<...>"}, text[:500])
    rc, _, err = fathom("record", "-B", "fathom-test", "-e", "sched", "-o", out, "/bin/true")
    left = differs(before)
    check("instance", rc == 0 and not left, f"{err} {left}")
    if "function" not in get("available_tracers").split() or not permitted("set_ftrace_filter", "vfs_read"):
        print("skip linux_functions: this kernel does not let us trace functions")
    else:
        rc, _, err = fathom("record", "-p", "function", "-l", "vfs_read", "-l", "vfs_write", "-n", "vfs_write", "-o", out, "cat", "/proc/version")
        names = set(re.findall(r"function: +(\w+)", fathom("report", out)[1]))
        check("functions", rc == 0 and names == {"vfs_read"}, f"{err} {names}")
        left = differs(before)
        check("as_before_functions", not left, left)
    rc, _, err = fathom("record", "-e", "sched:sched_switch", "-f", "no_such == 1", "-o", out, "/bin/true")
    left = differs(before)
    check("wrong_filter", rc == 1 and "filter" in err and not left, f"{rc} {err} {left}")
    rc, _, err = fathom("record", "-f", "x == 1", "-e", "sched", "/bin/true")
    check("filter_wants_an_event", rc == 2 and "after the -e" in err, err)
    rc, _, err = fathom("record", "--evnt", "sched")
    check("did_you_mean", rc == 2 and "did you mean --event" in err, err)
    put("set_event", "!sched:sched_wakeup")


def subbuffers(d):
    """Pages of another size than 4 KiB: the target says which it has."""
    if not os.path.exists(T + "/buffer_subbuf_size_kb"):
        return print("skip linux_subbuffers: this kernel has one size")
    old = get("buffer_subbuf_size_kb").strip()
    try:
        put("buffer_subbuf_size_kb", "16")
        rc, _, err = fathom("record", "-e", "sched", "--no-program", "-o", d + "/s.dat", "sh", "-c", "for i in $(seq 50); do /bin/true; done")
        _, text, _ = fathom("verify", d + "/s.dat")
        if not need("trace-cmd", "trace-cmd", "linux_subbuffers"):
            return
        r = subprocess.run(["trace-cmd", "report", d + "/s.dat"], capture_output=True, text=True, errors="replace")
        lines = len(fathom("report", d + "/s.dat")[1].splitlines())
        check("subbuffers", rc == 0 and "DAMAGED" not in text and lines > 200 and abs(len(r.stdout.splitlines()) - lines) < 3, f"{err} {text} {lines}")
    finally:
        put("buffer_subbuf_size_kb", old)


def recorders():
    """How many trees record programs that begin: the top one and its instances."""
    trees = ["", *(f"instances/{i}/" for i in os.listdir(T + "/instances"))]
    return sum("sched_process_exec" in get(t + "set_event") and get(t + "tracing_on") == "1\n" for t in trees)


def two_at_once(d):
    runs, others = [], recorders()
    for i in (0, 1):
        runs.append(subprocess.Popen([FATHOM, "record", "-e", "sched:sched_process_exec", "-o", f"{d}/{i}.dat"], stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True))
        until(lambda: os.path.exists(f"{d}/{i}.dat") and recorders() == others + i + 1)
    marks = [f"{d}/mark{i}" for i in range(5)]
    for m in marks:
        os.symlink("/bin/true", m)
        subprocess.run([m], check=False)
    for p in runs:
        p.send_signal(signal.SIGTERM)
    said = [p.communicate(timeout=100) for p in runs]
    seen = [[m in fathom("report", f"{d}/{i}.dat")[1] for m in marks] for i in (0, 1)]
    check("two_recorders", seen == [[True] * 5] * 2 and "in a separate instance" in said[1][1], f"{seen} {said}")


alone_on_this_machine()
mounted = os.path.exists(T + "/per_cpu")
if os.getuid() or (not mounted and subprocess.run(["mount", "-t", "tracefs", "tracefs", T], capture_output=True).returncode):
    print("skip linux: tracefs of this machine is not ours to use")
    sys.exit(0)
try:
    with tempfile.TemporaryDirectory() as d:
        quiet(d)
        letters(d)
        subbuffers(d)
        two_at_once(d)
finally:
    if not mounted: # other tests look for the first tracefs there is
        subprocess.run(["umount", T], check=False)
check.done()
