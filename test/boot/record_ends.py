#!/usr/bin/env python3
"""record_ends.py -- a kernel recorded over its trace line, and the recording ends badly: the file opens, is not damaged and says why. ENDS=N SEED=S."""
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from demo import FATHOM, Checks, need_qemu, until  # noqa: E402

need_qemu("record_ends")
check = Checks("record_ends")
SEED = int(os.environ.get("SEED", "1"))
random.seed(SEED)


def machine_of(p):
    """The QEMU that the recorder started."""
    text = subprocess.run(["ps", "-o", "pid=", "--ppid", str(p.pid)], capture_output=True, text=True).stdout
    return int(text.split()[0]) if text.strip() else 0


def is_gone(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return f.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def told(p):
    p.send_signal(random.choice((signal.SIGTERM, signal.SIGINT)))


def recorder_killed(p):
    p.kill()


def machine_killed(p):
    os.kill(machine_of(p), signal.SIGKILL)


def no_room(p):
    pass


KINDS = {told: "interrupted by SIG(TERM|INT)", recorder_killed: "the recorder was killed", no_room: "could not be written: File too large",
         machine_killed: "(the trace line failed|the kernel's shell|the kernel ended).*"}


def moment(number, kind, d):
    out = d + "/t.dat"
    limit = random.randrange(250, 500) * 1024 if kind is no_room else resource.RLIM_INFINITY

    def before():
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    p = subprocess.Popen([FATHOM, "record", "--qemu", "demo", "-s", "2", "-r", "run pulse 10 &"] + ["-r", "run ipc"] * 20 + ["-o", out, "-t", "400"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=before)
    until(lambda: (os.path.exists(out) and os.path.getsize(out) >= 200000) or p.poll() is not None, 300)
    time.sleep(random.uniform(0, 1))
    machine = machine_of(p)
    kind(p)
    text, err = p.communicate(timeout=450)
    v = subprocess.run([FATHOM, "verify", "--json", out], capture_output=True, text=True)
    said = json.loads(v.stdout) if v.stdout else {"ended": v.stderr, "events": 0}
    good = v.returncode == 0 and said["events"] > 100 and os.listdir(d) == ["t.dat"] and re.search(KINDS[kind], said["ended"])
    check(f"{number}_{kind.__name__}", bool(good), f"SEED={SEED}: {os.listdir(d)} {said['ended']} {said['events']} {err}")
    check(f"{number}_machine_is_gone", not machine or until(lambda: is_gone(machine)), machine)


with tempfile.TemporaryDirectory() as d:
    kinds = list(KINDS)
    for i in range(int(os.environ.get("ENDS", "4"))):
        moment(i, kinds[i % len(kinds)], d)
        for f in os.listdir(d):
            os.unlink(os.path.join(d, f))
check.done()
