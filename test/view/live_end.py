#!/usr/bin/env python3
"""live_end.py -- fathom view ends when it is asked to: whatever its target and its clients do."""
# slow
# live
import glob
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../control/lib"), os.path.join(HERE, "../lib")]
from checks import FATHOM, POLL, TOP, asleep_in, check, done, until  # noqa: E402

os.chdir(TOP)
SOON = 10  # seconds: a busy machine needs some, and what is not ended took longer, or for ever


class Flood:
    def __init__(self, events):
        self.p = subprocess.Popen([os.path.join(TOP, "build/control/flood"), str(events), "0"], stdout=subprocess.PIPE, text=True)
        self.target = self.p.stdout.readline().strip()

    def events_on(self):
        return subprocess.run([FATHOM, "fs", self.target, "cat", "set_event"], capture_output=True, text=True).stdout.split()

    def signal(self, s):
        self.p.send_signal(s)
        if s == signal.SIGSTOP:  # on a busy machine a thread may answer for a while before it stops
            until(lambda: set(self.states()) == {"T"}, 120)

    def states(self):
        for task in glob.glob(f"/proc/{self.p.pid}/task/*/stat"):
            with open(task, encoding="ascii", errors="replace") as f:
                yield f.read().rsplit(")", 1)[1].split()[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.p.kill()
        self.p.wait()


class View:
    def __init__(self, *args, wait=True):
        self.p = subprocess.Popen([FATHOM, "view", "--no-browser", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.url = self.p.stdout.readline().strip() if wait else ""

    def events(self):
        return json.load(urllib.request.urlopen(f"{self.url}news?turn=0&names=0&since=0", timeout=300))["events"]

    def ask_without_reading(self, question, times):
        """Connections that send a question and never read its answer."""
        host, port, path = re.match(r"http://(.*):(\d+)(/.*)", self.url).groups()
        all_of_them = []
        for _ in range(times):
            s = socket.create_connection((host, int(port)))
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            s.sendall(f"GET {path}{question} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
            all_of_them.append(s)
        return all_of_them

    def ends(self, seconds=SOON):
        """How it ended, and what it said; None if it is still there."""
        self.p.send_signal(signal.SIGINT)
        try:
            _, err = self.p.communicate(timeout=seconds)
            return self.p.returncode, err
        except subprocess.TimeoutExpired:
            return None

    def kill(self):
        self.p.kill()
        self.p.communicate()


def ends(name, view, good=lambda rc, err: rc == 0):
    got = view.ends()
    view.kill()
    check(name, got and good(*got), got or f"still there after {SOON} s")


with Flood(50000000) as flood:
    v = View(flood.target)
    until(lambda: v.events() > 1000000, 120)
    ends("of_a_target_that_sends_more_than_can_be_shown", v)
    check("what_was_switched_on_is_off", flood.events_on() == [], flood.events_on())
    v = View(flood.target)
    until(lambda: v.events() > 100000, 120)
    silent = v.ask_without_reading("events?from=0&to=9e18&max=10000", 30) + v.ask_without_reading("summary?from=0&to=9e18", 30)
    ends("with_clients_that_do_not_read", v)
    check("and_leaves_nothing_on", flood.events_on() == [], flood.events_on())

with Flood(10000) as flood:
    v = View(flood.target)
    until(lambda: v.events() > 1000, 120)
    flood.signal(signal.SIGSTOP)
    ends("of_a_target_that_is_stopped", v, lambda rc, err: rc == 0 and "no longer answers" in err)
    flood.signal(signal.SIGCONT)
    v = View(flood.target)
    until(lambda: v.events() > 1000, 120)
    flood.signal(signal.SIGSTOP)
    v.p.send_signal(signal.SIGINT)
    said = v.p.stderr.readline() + v.p.stderr.readline()
    check("it_says_what_it_waits_for", "ending the recording" in said, said)
    ends("a_second_time_at_once", v, lambda rc, err: rc == 128 + signal.SIGINT or rc == 0)
    v = View(flood.target, wait=False)
    until(lambda: asleep_in(f"{v.p.pid}", POLL))
    ends("of_a_target_that_never_answered", v, lambda rc, err: rc == 1)
    flood.signal(signal.SIGCONT)

done()
