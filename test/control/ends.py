#!/usr/bin/env python3
"""ends.py -- a recording that ends badly: target or recorder killed, stopped, told to end, no room left, at random moments. The
file opens every time, holds every page received, says how it ended, and nothing else is left behind. ENDS=N SEED=S."""
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

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from checks import FATHOM, TOP, Checks, fathom, until  # noqa: E402

check = Checks("ends")
SEED = int(os.environ.get("SEED", "1"))
random.seed(SEED)


class Ticker:
    def __init__(self):
        self.p = subprocess.Popen([os.path.join(TOP, "build/control/ticker"), "3"], stdout=subprocess.PIPE, text=True)
        self.pid = self.p.stdout.readline().strip()

    def end(self):
        self.p.kill()
        self.p.wait()


def start(target, out, *options, limit=None):
    def before():
        for s in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM): # a shell in the background ignores some
            signal.signal(s, signal.SIG_DFL)
        if limit:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    return subprocess.Popen([FATHOM, "record", "--target", target, "-o", out, "--json", *options], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, preexec_fn=before)


def gaps(path):
    """Events that are missing in the middle: each thread counts its own. None: the trace cannot be read. And the events lost as the trace says."""
    rc, text, _ = fathom("report", path)
    if rc or (" tick: " not in text and os.path.getsize(path) > 500000):
        return None, 0
    last, missing = {}, 0
    for task, n in re.findall(r"-(\d+) +\[\d+\].* tick: +n=(\d+)", text):
        if task in last:
            missing += int(n) - last[task] - 1
        last[task] = int(n)
    lost = sum(int(n) for n in re.findall(r"\[(\d+) EVENTS DROPPED\]", text))
    return missing, lost


def wait_for_file(path, p):
    until(lambda: os.path.exists(path) or p.poll() is not None)


def target_killed(t, p):
    t.end()


def target_stopped(t, p):
    os.kill(int(t.pid), signal.SIGSTOP)
    time.sleep(random.uniform(0, 0.1))
    p.send_signal(signal.SIGTERM)


def recorder_killed(t, p):
    p.kill()


def recorder_told(t, p):
    p.send_signal(random.choice((signal.SIGTERM, signal.SIGINT, signal.SIGHUP)))


def no_room(t, p):
    pass


KINDS = {target_killed: r"the target went away", target_stopped: r"interrupted by SIGTERM(, the target no longer answered| before it began)",
         recorder_killed: r"the recorder was killed|^$", recorder_told: r"interrupted by SIG(TERM|INT|HUP)$",
         no_room: r"could not be written: File too large"}


def all_read_are_there(said):
    """What the target counted as read is in the file."""
    return all(c["events"] == c["read"] for c in said["cpus"])


def moment(number, kind, d):
    t, out = Ticker(), os.path.join(d, "t.dat")
    limit = random.randrange(200, 1500) * 1024 if kind is no_room else None
    p = start(t.pid, out, limit=limit)
    early = kind is recorder_killed and random.random() < 0.3
    if early:
        time.sleep(random.uniform(0, 0.05))
    else:
        wait_for_file(out, p)
        time.sleep(random.uniform(0, 0.4))
    kind(t, p)
    try:
        text, err = p.communicate(timeout=100)
    except subprocess.TimeoutExpired:
        p.kill()
        text, err = p.communicate()
    t.end()
    name = f"{number}_{kind.__name__}"
    here = os.listdir(d)
    if early and not here:
        return check(name + "_before_it_began", True)
    rc, said, stat_err = fathom("stat", "--json", out)
    ended = json.loads(said)["ended"] if rc == 0 else stat_err
    missing, lost = gaps(out)
    good = rc == 0 and here == ["t.dat"] and re.search(KINDS[kind], ended) and missing is not None and missing <= lost
    if kind is not recorder_killed: # which may be in the middle of a page
        good = good and fathom("verify", out)[0] == 0
    if kind in (recorder_told, no_room) and good:
        good = all_read_are_there(json.loads(text))
    if kind is no_room:
        good = good and p.returncode == 1 and "File too large" in err
    return check(name, bool(good), f"SEED={SEED}: {here}, ended '{ended}', {missing} missing, {lost} lost, {err} {text}")


def first_checked():
    """A wrong path is an error at once, not after the recording."""
    t = Ticker()
    p = start(t.pid, "/nonexistent/x.dat")  # without an end
    try:
        _, err = p.communicate(timeout=100)
    except subprocess.TimeoutExpired:
        p.kill()
        _, err = p.communicate()
    check("path_is_checked_first", p.returncode == 1 and "No such file or directory" in err, err)
    t.end()


def a_slow_target(d):
    """A target that answers late when the recording is asked to end: its last pages are there."""
    t, out = Ticker(), os.path.join(d, "s.dat")
    p = start(t.pid, out)
    wait_for_file(out, p)
    os.kill(int(t.pid), signal.SIGSTOP)
    time.sleep(0.5)  # it waits for a page
    p.send_signal(signal.SIGTERM)
    time.sleep(1)
    os.kill(int(t.pid), signal.SIGCONT)
    text, err = p.communicate(timeout=100)
    ended = json.loads(fathom("stat", "--json", out)[1])["ended"]
    check("a_slow_target_is_waited_for", ended == "interrupted by SIGTERM" and all_read_are_there(json.loads(text)), (ended, text, err))
    t.end()
    os.unlink(out)


def a_slow_answer():
    """A target that does not run for a while when somebody connects."""
    t = Ticker()
    os.kill(int(t.pid), signal.SIGSTOP)
    p = subprocess.Popen([FATHOM, "fs", t.pid, "cat", "current_tracer"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(8)
    os.kill(int(t.pid), signal.SIGCONT)
    text, err = p.communicate(timeout=100)
    check("a_slow_answer_is_waited_for", text == "nop\n", (text, err))
    t.end()


def memory_is_bounded(d):
    """A recording needs no more memory the longer it is: the pages are in the file."""
    t, out = Ticker(), os.path.join(d, "m.dat")
    p = start(t.pid, out)
    sizes, memory = [0], []
    wait_for_file(out, p)
    for _ in range(2):
        until(lambda: os.path.getsize(out) > sizes[-1] + 4000000)
        sizes.append(os.path.getsize(out))
        with open(f"/proc/{p.pid}/status") as f:
            memory.append(int(re.search(r"VmRSS:\s+(\d+)", f.read())[1]) * 1024)
    p.terminate()
    p.communicate(timeout=100)
    check("memory_is_bounded", memory[1] - memory[0] < (sizes[2] - sizes[1]) / 4,
          f"file {sizes}, memory {memory}")
    t.end()
    os.unlink(out)


with tempfile.TemporaryDirectory() as d:
    first_checked()
    memory_is_bounded(d)
    a_slow_target(d)
    a_slow_answer()
    kinds = list(KINDS)
    for i in range(int(os.environ.get("ENDS", "15"))):
        moment(i, kinds[i % len(kinds)], d)
        for f in os.listdir(d):
            os.unlink(os.path.join(d, f))
check.done()
