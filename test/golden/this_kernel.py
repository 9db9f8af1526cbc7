#!/usr/bin/env python3
# slow 40
# live
"""this_kernel.py -- `fathom report --trace` of what this machine's own Linux recorded is the text that it printed of the same buffer.

Needs root, tracefs and trace-cmd. Each scene is an instance that is filled, stopped and printed under several options, and
then extracted. Lines are compared one by one: 99.9 % of them at least must be equal, and every one that is not is shown by
what it is. KEEP=DIR keeps scenes. Not compared: hashed pointers, and ages in jiffies of the moment when the kernel printed them.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../lib"))
from checks import FATHOM, Checks, alone_on_this_machine, need, this_tracefs  # noqa: E402

check = Checks("this_kernel")
NAME = "fathom_text"
EVENTS = {
    "tasks": ["sched", "signal", "task", "irq", "ipi", "workqueue", "timer"],
    "files": ["block", "ext4", "jbd2", "writeback", "filemap", "filelock", "loop"],
    "memory": ["kmem", "vmscan", "pagemap", "exceptions", "tlb", "mmap", "maple_tree", "migrate", "huge_memory", "percpu"],
    "calls": ["syscalls"],
    "raw_calls": ["raw_syscalls"],
    "rest": ["rcu", "net", "skb", "sock", "tcp", "udp", "napi", "cgroup", "io_uring", "printk", "msr", "fib", "qdisc", "irq_vectors", "power"],
    "all": ["*"],
}
OPTIONS = ("", "latency-format", "verbose+latency-format", "sym-offset", "sym-addr", "noirq-info", "nocontext-info", "raw", "hex", "fields")
SCENES = {n: ("nop", e, ("", "raw", "sym-offset") if n != "tasks" else OPTIONS, ()) for n, e in EVENTS.items()}
SCENES["function"] = ("function", ["sched"], ("", "sym-offset", "noprint-parent", "raw"), ())
SCENES["repeats"] = ("function", [], ("",), ("func-no-repeats",))
SCENES["stacks"] = ("nop", ["sched:sched_switch", "timer:timer_start"], ("", "sym-offset"), ("stacktrace", "userstacktrace"))
WORK = """
exec >/dev/null 2>&1
for i in 1 2 3; do ls -lR /usr/lib/python3 | tail -1; date; sleep 0.01; done
head -c 300000 /dev/urandom > $1/file; sync $1/file; cp $1/file $1/other; mv $1/other $1/third; rm $1/third
(kill -USR1 $BASHPID) & wait
python3 -c 'import socket as s; a=s.socket(); a.bind(("127.0.0.1",0)); a.listen(); c=s.create_connection(a.getsockname()); b=a.accept()[0]; c.send(b"x"); b.recv(1); c.close(); b.recv(1)'
echo "a marker of $$" > $2/trace_marker; printf 'two\\nlines' > $2/trace_marker; printf '\\5\\0\\0\\0raw bytes' > $2/trace_marker_raw
"""


def put(path, text, mode="w"):
    with open(path, mode) as f:
        f.write(text)


def get(path):
    with open(path, "rb") as f:
        return f.read()


def traces(t, tracer):
    try:
        put(f"{t}/current_tracer", tracer)
        return True
    except OSError:
        return False


def fill(t, tracer, events, options, folder):
    put(f"{t}/tracing_on", "0")
    put(f"{t}/buffer_size_kb", "3000")
    put(f"{t}/trace", "")
    put(f"{t}/current_tracer", tracer)
    for o in options:
        put(f"{t}/trace_options", o)
    for e in events:
        enable = f"{t}/events/{e.replace(':', '/')}/enable" if e != "*" else f"{t}/events/enable"
        if os.path.exists(enable):
            put(enable, "1")
    put(f"{t}/tracing_on", "1")
    subprocess.run(["timeout", "1.5", "bash", "-c", WORK, "work", folder, t], check=False)
    put(f"{t}/tracing_on", "0")
    put(f"{t}/events/enable", "0")


def shown(t, options):
    """The kernel's text under options that are switched for it alone."""
    def switch(o, back):
        put(f"{t}/trace_options", o if not back else o[2:] if o.startswith("no") else "no" + o)
    for o in filter(None, options.split("+")):
        switch(o, False)
    text = get(f"{t}/trace")
    for o in filter(None, options.split("+")):
        switch(o, True)
    return text


POINTER = re.compile(rb" age=(?:\d+|\?)|\b[0-9a-f]{16}\b|0x[0-9a-f]{8,16}\b|\(____ptrval____\)")


def compare(name, options, got, want, causes):
    """(lines, lines that differ); texts have as many lines, or the rest counts as different."""
    a, b = got.split(b"\n"), want.split(b"\n")
    differing = abs(len(a) - len(b))
    for x, y in zip(a, b):
        if x != y and POINTER.sub(b"", x) != POINTER.sub(b"", y):
            differing += 1
            what = re.search(rb": (\w+)[:(]", y)
            causes.setdefault((name, options, what[1].decode() if what else "?"), []).append((x, y))
    return len(b), differing


def started(path, text):
    """When the buffer was cleared, in no page: one that gives every time column of the text."""
    raw = subprocess.run([FATHOM, "report", "--trace", "-B", NAME, "--tracer", "nop", "-O", "raw", path], capture_output=True, check=False)
    times = [int(m[1]) for m in re.finditer(rb"^-?\d+ \d+ (\d+) (?:type: |[:#] )", raw.stdout, re.M)]
    shown = [int(us) for us in re.findall(rb"^.{8}-\d+ +\d+\S{5} +(\d+)us.: ", text, re.M)]
    shown = shown or [int(a + b) for a, b in re.findall(rb"\] (\d+)\.(\d{3})ms \(\+", text)]
    return max(t + 500 - 1000 * us - 999 for t, us in zip(times, shown)) if len(times) == len(shown) else None


def disk():
    """The disk under the folder of temporary files, whose block I/O can be traced; None: there is none."""
    device = os.stat(tempfile.gettempdir()).st_dev
    path = os.path.realpath(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
    path = path if os.path.exists(f"{path}/trace/enable") else os.path.dirname(path)
    return path if os.path.exists(f"{path}/trace/enable") else None


def blk(t, tmp, causes):
    """The blk tracer, which runs at the top only: what others do there is put back as it was."""
    where = disk()
    before = get(f"{t}/current_tracer").decode().strip()
    if not where or "blk" not in get(f"{t}/available_tracers").decode().split() or before != "nop" or get(f"{t}/set_event").strip():
        print("skip this_kernel_blk: there is no blk tracer or disk to trace, or somebody traces")
        return 0, 0
    path, lines, bad = f"{tmp}/blk.dat", 0, 0
    size = re.search(rb"\d+", get(f"{t}/buffer_size_kb"))[0].decode()
    try:
        put(f"{t}/buffer_size_kb", "150")  # it overruns: the kernel says where each CPU begins
        put(f"{t}/trace", "")
        put(f"{t}/current_tracer", "blk")
        put(f"{where}/trace/enable", "1")
        subprocess.run(["timeout", "5", "bash", "-c", WORK + "for i in $(seq 40); do head -c 90000 /dev/urandom > $1/$i; sync $1/$i; done; echo 3 > /proc/sys/vm/drop_caches; cat $1/*; rm -f $1/[0-9]*",
                        "work", tmp, t], check=False)
        put(f"{where}/trace/enable", "0")
        texts = {o: shown(t, o) for o in ("", "blk_classic", "verbose", "blk_classic+verbose", "noirq-info", "nocontext-info")}
        said = subprocess.run(["trace-cmd", "extract", "-o", path], capture_output=True, text=True, check=False)
    finally:
        put(f"{where}/trace/enable", "0")
        put(f"{t}/current_tracer", "nop")
        put(f"{t}/buffer_size_kb", size)
    if not os.path.exists(path):
        return check("blk", False, said)
    for o, want in texts.items():
        args = ["--tracer", "blk"] + (["-O", ",".join(o.split("+"))] if o else [])
        p = subprocess.run([FATHOM, "report", "--trace", *args, path], capture_output=True, check=False)
        n, d = compare("blk", o, p.stdout, want, causes)
        lines, bad = lines + n, bad + d
    print(f"blk: {lines} lines, {bad} differ", flush=True)
    sums = json.loads(subprocess.run([FATHOM, "latency", "--disks", "--json", path], capture_output=True, check=False).stdout or "{}")
    queued = re.findall(rb" Q +(\w+) (?:\d+ \+ (\d+) )?\[", texts[""])
    for key, letter in (("reads", b"R"), ("writes", b"W")):
        mine = [int(n or 0) * 512 for f, n in queued if letter in f]
        have = [sum(d["queued"][k] for d in sums.get("devices", [])) for k in (key, key + "_bytes")]
        check(f"blk_{key}", have == [len(mine), sum(mine)], (have, len(mine), sum(mine)))
    return lines, bad


def scene(top, name, tmp, causes):
    tracer, events, show, options = SCENES[name]
    t = f"{top}/instances/{NAME}"
    os.mkdir(t)
    try:
        if not traces(t, tracer):
            print(f"skip this_kernel_{name}: this Linux does not run the tracer {tracer}")
            return 0, 0
        fill(t, tracer, events, options, tmp)
        texts = {o: shown(t, o) for o in show}
        path = f"{tmp}/{name}.dat"
        said = subprocess.run(["trace-cmd", "extract", "-B", NAME, "-o", path], capture_output=True, text=True, check=False)
        if not os.path.exists(path):
            return check(name, False, said)
    finally:
        if os.path.exists(t):  # trace-cmd takes it away once it is read
            put(f"{t}/current_tracer", "nop")
            os.rmdir(t)
    lines = bad = 0
    for o, want in texts.items():
        args = ["-B", NAME, "--tracer", tracer]
        args += ["-O", ",".join([*o.split("+"), *options]).strip(",")] if o or options else []
        if keep := os.environ.get("KEEP"):
            os.makedirs(keep, exist_ok=True)
            subprocess.run(["cp", path, f"{keep}/{name}.dat"], check=True)
            put(f"{keep}/{name}.{o}.txt", want, "wb")
        banner = re.search(rb"^# \S+ latency trace v1.1.5 on (\S+)\n.*\n.*CPU#(\d+) \| \(M:(\S+) ", want, re.M)
        if banner:
            args += ["--banner", "release=%s,cpu=%s,model=%s" % tuple(b.decode() for b in banner.groups())]
        if "latency-format" in o and (start := started(path, want)):
            args += ["--start", str(start)]
        p = subprocess.run([FATHOM, "report", "--trace", *args, path], capture_output=True, check=False)
        if keep:
            put(f"{keep}/{name}.{o}.got", p.stdout, "wb")
        n, d = compare(name, o, p.stdout, want, causes)
        lines, bad = lines + n, bad + d
    print(f"{name}: {lines} lines, {bad} differ", flush=True)
    return lines, bad


def main():
    top = this_tracefs()
    if not top:
        return print("skip this_kernel: this takes root and a Linux with tracefs")
    if not need("trace-cmd", "trace-cmd", "this_kernel"):
        return None
    alone_on_this_machine()
    causes, lines, bad = {}, 0, 0
    with tempfile.TemporaryDirectory() as tmp:
        for name in [*SCENES, "blk"] if len(sys.argv) == 1 else sys.argv[1:]:
            got = scene(top, name, tmp, causes) if name != "blk" else blk(top, tmp, causes)
            if isinstance(got, tuple):
                lines, bad = lines + got[0], bad + got[1]
    for cause, pairs in sorted(causes.items(), key=lambda c: -len(c[1])):
        print(f"{len(pairs)} of {cause}:\n  fathom {pairs[0][0][:200]!r}\n  kernel {pairs[0][1][:200]!r}")
    check("lines", bad * 1000 <= lines, f"{bad} of {lines} lines differ")
    return check.done()


main()
