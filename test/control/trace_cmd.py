#!/usr/bin/env python3
# slow
"""trace_cmd.py -- unmodified trace-cmd on the mount of a live process: list, stat, start, stop, show, extract, record;
its report of what it extracted is compared with the text of `trace`, line by line."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

FATHOM = os.path.abspath("build/fathom")


def check(name, good, why=""):
    print(f"ok trace_cmd_{name}" if good else f"not ok trace_cmd_{name}: {str(why)[:600]}")
    return good


def run(*args, timeout=60):
    r = subprocess.run(args, capture_output=True, text=True, timeout=timeout)
    return r.returncode, r.stdout, r.stderr


def prepare(pid):
    """A tracefs that trace-cmd finds first, in a mount namespace of our own."""
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    for line in reversed(open("/proc/mounts").read().splitlines()):
        if line.split()[2] == "tracefs":
            subprocess.run(["umount", "-l", line.split()[1]], check=True)
    d = tempfile.mkdtemp(prefix="fathom-tc-")
    one = tempfile.NamedTemporaryFile("w", delete=False)
    one.write("1\n")
    one.close()
    # trace-cmd switches the host's ftrace on, which a sandbox may forbid; the target is another.
    if os.path.exists("/proc/sys/kernel/ftrace_enabled"):
        subprocess.run(["mount", "--bind", one.name, "/proc/sys/kernel/ftrace_enabled"], check=True)
    rc, _, err = run(FATHOM, "mount", "-t", str(pid), d)
    return d, rc, err


# "comm-pid [cpu] flags time: event: rest" of both texts: what they must agree on.
LINE = re.compile(r"-(\d+)\s+\[(\d+)\].*?\s(\d+\.\d+):\s+(\w+):")


def lines(text, cpus):
    return [m.groups() for m in map(LINE.search, text.splitlines()) if m and int(m.group(2)) < cpus]


def main():
    if os.geteuid():
        print("skip trace_cmd: mounting tracefs needs root")
        return 0
    if not os.path.exists("/dev/fuse"):
        print("skip trace_cmd: this machine has no /dev/fuse")
        return 0
    if not shutil.which("trace-cmd"):
        print("skip trace_cmd: package trace-cmd missing")
        return 0
    if len(sys.argv) < 2:
        machine = subprocess.Popen(["build/control/machine", "300"], stdout=subprocess.PIPE, text=True)
        pid = machine.stdout.readline().strip()
        try:
            return subprocess.run(["unshare", "-m", sys.executable, __file__, pid], timeout=280).returncode
        finally:
            machine.kill()
            machine.wait()
    d, rc, err = prepare(sys.argv[1])
    if rc:
        print(f"skip trace_cmd: cannot mount here: {err.strip()}")
        return 0
    ok = True
    try:
        cpus = os.cpu_count()
        rc, out, err = run("trace-cmd", "list", "-e")
        ok &= check("list", rc == 0 and "sched:sched_switch" in out, err)
        rc, out, err = run("trace-cmd", "stat")
        ok &= check("stat", rc == 0 and "Buffer size" in out, err)
        rc, out, err = run("trace-cmd", "start", "-e", "sched", "-e", "raw_syscalls")
        ok &= check("start", rc == 0 and open(d + "/events/sched/enable").read() == "1\n", err)
        subprocess.run(["sleep", "0.3"], check=True)
        rc, out, err = run("trace-cmd", "stop")
        ok &= check("stop", rc == 0 and open(d + "/tracing_on").read() == "0\n", err)
        text = open(d + "/trace").read()
        rc, out, err = run("trace-cmd", "show")
        ok &= check("show", rc == 0 and out == text, err)
        dat = d + ".dat"
        rc, out, err = run("trace-cmd", "extract", "-o", dat)
        ok &= check("extract", rc == 0, err)
        rc, out, err = run("trace-cmd", "report", "-i", dat)
        a, b = lines(text, cpus), lines(out, cpus)
        ok &= check("same", len(a) > 100 and a == b, f"{len(a)} lines in trace, {len(b)} in the report, first differs: "
                    f"{next((p for p in zip(a, b) if p[0] != p[1]), None)}")
        rc, out, err = run("trace-cmd", "record", "-e", "sched", "-e", "raw_syscalls", "-p", "function_graph", "-o", dat,
                           "sleep", "0.5")
        ok &= check("record", rc == 0, err)
        rc, out, err = run("trace-cmd", "report", "-i", dat)
        ok &= check("graph", out.count("funcgraph_entry") > 100 and out.count("sched_switch") > 20, out[:400] + err)
        names = set(re.findall(r"worker-\d", out))
        ok &= check("names", len(names) >= 2, names)
        ok &= check("off_again", open(d + "/current_tracer").read() == "nop\n")
        os.unlink(dat)
    finally:
        run(FATHOM, "mount", "-u", d)
    return 0 if ok else 1


sys.exit(main())
