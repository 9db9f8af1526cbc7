#!/usr/bin/env python3
# live
"""noise.py -- a recording, a mount, operations on it and another recording over one line that drops, doubles and flips 1 byte in 500 each
way and carries a console's text: all come out right. SEEDS=first..last, OPS=10000: 9P operations of each; `make line-noise`."""
import json
import os
import re
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from targets import FATHOM, TOP, Checks, Mount, no_fuse  # noqa: E402

FIRST, LAST = (int(x) for x in os.environ.get("SEEDS", "1..2").split(".."))
MARKS = int(os.environ.get("OPS", "400")) // 4  # a marker is walked to and opened, written and closed
c = Checks()


def record(name, target, seconds):
    """No event is missing or there twice: they count."""
    out = os.path.join(tmp.name, name + ".dat")
    r = subprocess.run([FATHOM, "record", "--target", target, "-e", "noise:tick", "-o", out, "--json", "-t", str(seconds)],
                       capture_output=True, text=True, timeout=600)
    if not c.check(name, r.returncode == 0, r.stdout + r.stderr):
        return
    lines = subprocess.run([FATHOM, "report", out], capture_output=True, text=True, timeout=60).stdout
    ticks = [int(x) for x in re.findall(r"tick: +n=(\d+)", lines)]
    lost = sum(x["missed"] for x in json.loads(r.stdout)["cpus"])
    c.check(name + "_ticks", len(ticks) > 100 and not lost and ticks == list(range(ticks[0], ticks[0] + len(ticks))),
            f"{len(ticks)} lost {lost} {ticks[:3]}")


def operate(name, target):
    """Markers through the mount: each once, in order; a file of many frames as it is."""
    mount = Mount(target)
    if not c.check(name, mount.ok, mount.why):
        return
    with mount as d:
        with open(d + "/trace", "w"):
            pass
        for i in range(MARKS):
            with open(d + "/trace_marker", "w") as f:
                f.write(f"mark {i}." + "x" * (600 if i % 8 == 0 else 0))
        with open(d + "/trace") as f:
            text = f.read()
        marks = [int(x) for x in re.findall(r": mark (\d+)\.x*$", text, re.M)]
        c.check(name + "_markers", marks == list(range(MARKS)), f"{len(marks)} of {MARKS}: {marks[:5]}")
        with open(d + "/available_filter_functions" if os.path.exists(d + "/available_filter_functions") else d + "/README") as f:
            first = f.read()
            f.seek(0)
            c.check(name + "_reads", first == f.read() and len(first) > 1000)
    c.check(name + "_ends", mount.ended, mount.why)


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


why = no_fuse()
for seed in range(FIRST, LAST + 1):
    # "small": messages too short for packed pages, which come as they are then. "udp": one datagram of 25 is lost, another doubled, another late.
    for kind in ("", "small", "udp") if seed == FIRST else ("",):
        name = f"seed_{seed}" + (kind and "_" + kind)
        tmp = tempfile.TemporaryDirectory()
        line = f"udp:{free_port()}" if kind == "udp" else os.path.join(tmp.name, "line")
        target = line.replace("udp:", "udp:localhost:") if kind == "udp" else "unix:" + line
        p = subprocess.Popen([os.path.join(TOP, "build/control/noisy" + ("-small" if kind == "small" else "")), line, str(seed)],
                             stdout=subprocess.PIPE, text=True)
        try:
            if not c.check(name, p.stdout.readline() == "ready\n"):
                continue
            record(name + "_record", target, 1)
            if kind == "small":
                continue
            if why:
                print(f"skip {name}_mount: {why}")
            else:
                operate(name + "_mount", target)
            record(name + "_again", target, 1)
        finally:
            p.kill()
            p.wait()
# Nobody is there: that is said at once.
r = subprocess.run([FATHOM, "fs", f"udp:localhost:{free_port()}", "ls"], capture_output=True, text=True, timeout=60)
c.check("udp_nobody", r.returncode == 1 and "no 9P answer" in r.stderr, r.stderr)
c.done()
