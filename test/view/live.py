#!/usr/bin/env python3
"""live.py -- fathom view and fathom top of a target: nothing is lost or shown twice, also when the line is cut and restored."""
# slow 20
# live
import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../control/lib"), os.path.join(HERE, "../lib")]
from browser import CHROMIUM, Browser  # noqa: E402
from checks import FATHOM, TOP, check, done  # noqa: E402
from targets import Process, until  # noqa: E402

os.chdir(TOP)
work = tempfile.mkdtemp()


class Line:
    """A socket that leads to another one, until it is cut."""

    def __init__(self, to):
        self.to, self.path, self.ends = to, f"{work}/line", []
        self.restore()

    def restore(self):
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.listens = socket.socket(socket.AF_UNIX)
        self.listens.bind(self.path)
        self.listens.listen()
        threading.Thread(target=self.serve, args=(self.listens,), daemon=True).start()

    def serve(self, listens):
        while True:
            try:
                near = listens.accept()[0]
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            far.connect(self.to)
            self.ends += [near, far]
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=self.carry, args=(a, b), daemon=True).start()

    @staticmethod
    def carry(a, b):
        try:
            while data := a.recv(65536):
                b.sendall(data)
        except OSError:
            pass
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        self.listens.shutdown(socket.SHUT_RDWR)
        self.listens.close()
        os.unlink(self.path)
        for s in self.ends:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.ends = []


class View:
    def __init__(self, target, *args):
        self.p = subprocess.Popen([FATHOM, "view", "--no-browser", target, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.url = self.p.stdout.readline().strip()

    def news(self, turn=0, names=0, since=0):
        return json.load(urllib.request.urlopen(f"{self.url}news?turn={turn}&names={names}&since={since}", timeout=300))

    def end(self):
        self.p.send_signal(signal.SIGINT)
        out, err = self.p.communicate(timeout=300)
        return self.p.returncode, err


def count(path, last):
    r = subprocess.run([FATHOM, "query", "--count", "--no-index", "--to", f"{last}ns", path], capture_output=True, text=True)
    m = re.search(r"\d+", r.stdout.replace(",", ""))
    return int(m[0]) if m else r.stderr


def terminal(target, *args):
    """fathom top on a terminal of 100 columns and 24 lines: the process, and the descriptor of what it is steered by."""
    near, far = pty.openpty()
    fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    p = subprocess.Popen([FATHOM, "top", target, *args], stdin=far, stdout=far, stderr=subprocess.PIPE, text=True, env={**os.environ, "TERM": "xterm"})
    os.close(far)
    return p, near


def seen(near, pattern, seconds=100):
    """All that the terminal got, until the pattern is in it."""
    got, end = "", time.monotonic() + seconds
    while not re.search(pattern, got) and time.monotonic() < end:
        if select.select([near], [], [], 0.2)[0]:
            try:
                got += os.read(near, 65536).decode(errors="replace")
            except OSError:
                break
    return got


target = Process()
line = Line(target.socket())
path = f"{work}/live.dat"
v = View("unix:" + line.path, "-o", path)
check("the_address_is_printed", v.url.startswith("http://127.0.0.1:"), v.url)
first = v.news()
check("it_grows", until(lambda: v.news()["events"] > first["events"] + 100) and v.news()["state"] == "on", first["events"])
if CHROMIUM:
    with Browser(1200, 700) as b:
        check("the_page_runs", b.open(v.url), b.log)
        view = "page.view.to === page.meta.span && page.meta.span"
        span = b.eval("page.meta.span")
        check("it_grows_at_the_right_edge", b.until(f"{view} > {span}"), b.eval("[page.view, page.meta.span]"))
        check("rows_are_there", b.until("page.shown.some((r) => r.label === 'CPU 0') && page.shown.filter((r) => r.group === 'task' && !r.heading).length > 2"), "")
        check("it_says_live", "live;" in b.eval("document.getElementById('about').textContent"), "")
        b.key("w")
        check("a_zoom_stays_at_the_edge", b.until(f"page.view.to - page.view.from < page.meta.span * 0.9 && {view} > {span}"), b.eval("page.view"))
        b.key(" ")
        at, span = b.eval("page.view"), b.eval("page.meta.span")
        check("space_pauses", b.until(f"page.meta.span > {span}") and b.eval("page.view") == at and b.eval("document.getElementById('pause').textContent") == "go on", at)
        b.key("a")
        b.key(" ")
        check("space_goes_on", b.until(f"{view} > {span}"), "")
        b.key("a")
        check("a_move_pauses", b.eval("page.live.paused"), "")
        line.cut()
        check("a_cut_is_seen", b.until("document.getElementById('about').textContent.includes('the target is away')"), b.eval("document.getElementById('about').textContent"))
        line.restore()
        check("a_restored_line_is_seen", b.until("page.live.state === 'on' && page.live.cuts === 1"), b.eval("page.live"))
        b.eval("document.getElementById('pause').click()")
        span = b.eval("page.meta.span")
        check("it_grows_again", b.until(f"{view} > {span}"), "")
        check("the_list_has_what_is_live", b.eval("page.open('list'), page.ask('events', { from: 0, to: page.meta.span, max: 5 }).then((a) => a.events.length)") == 5, "")
        check("no_error_in_the_page", not [x for x in b.log if "favicon" not in x], b.log)
else:
    line.cut()
    check("a_cut_is_seen", until(lambda: v.news()["state"] == "away"), "")
    line.restore()
n = v.news()
check("a_cut_line_comes_back", until(lambda: v.news()["state"] == "on" and v.news()["events"] > n["events"] + 100), v.news()["state"])
n = v.news()
start = int(json.load(urllib.request.urlopen(v.url + "meta"))["start"])
rc, err = v.end()
check("it_ends", rc == 0 and "went away" in err and "is back" in err, (rc, err))
check("what_is_shown_is_what_is_recorded", n["events"] == count(path, start + n["span"]), (n["events"], count(path, start + n["span"])))
lost = re.search(r"(\d+) events are missing: they were on the line", err)
check("what_was_on_the_line_is_counted", not lost or int(lost[1]) < 2000, err)
v = View("unix:" + line.path, "-o", path)
until(lambda: v.news()["events"] > 100)
line.cut()
until(lambda: v.news()["state"] == "away")
rc, err = v.end()
r = subprocess.run([FATHOM, "stat", path], capture_output=True, text=True)
check("it_ends_while_the_target_is_away", rc == 0 and "the target went away" in r.stdout, (rc, err, r.stdout[:200]))
target.kill()
target = Process()
v = View(target.target)
until(lambda: v.news()["events"] > 100)
v.end()
check("what_was_switched_on_is_off", subprocess.run([FATHOM, "fs", target.target, "cat", "set_event"], capture_output=True, text=True).stdout == "", "")



# A target with 100,000 events a second, and one where tasks come and go. Whether a busy machine keeps up is not tested: nothing may be missing that is not counted.
class Flood:
    def __init__(self, events, tasks):
        self.p = subprocess.Popen([os.path.join(TOP, "build/control/flood"), str(events), str(tasks)], stdout=subprocess.PIPE, text=True)
        self.target = self.p.stdout.readline().strip()

    def stats(self):
        text = subprocess.run([FATHOM, "fs", self.target, "cat", "per_cpu/cpu0/stats"], capture_output=True, text=True).stdout
        return {k: int(n) for k, n in re.findall(r"^([a-z ]+): (\d+)$", text, re.M)}


def drained(flood, v):
    """No more events, and all that were written are read and shown: how many were written, shown and lost."""
    flood.p.send_signal(signal.SIGUSR1)
    until(lambda: flood.stats()["entries"] == 0, 120)
    s = flood.stats()
    until(lambda: v.news()["events"] >= s["read events"], 120)
    return s["read events"], v.news()["events"], s["overrun"] + s["dropped events"]


flood = Flood(100000, 0)
v = View(flood.target)
until(lambda: v.news()["events"] > 50000, 120)
until(lambda: any(name == "irq_handler_entry" for name, _ in v.news()["types"].values()), 120)
if CHROMIUM:
    with Browser(1200, 700) as b:
        b.open(v.url)
        span = b.eval("page.meta.span")
        check("a_flood_grows", b.until(f"page.meta.span > {span} + 1e9 && page.view.to === page.meta.span", 120), b.eval("[page.view, page.meta.span]"))
        b.key(" ")
        at = b.eval("page.view.to")
        check("a_flood_is_paused", b.until(f"page.meta.span > {at} + 1e8", 120) and b.eval("page.view.to") == at, at)
    with Browser(1200, 700) as b:
        # Answers come late, and not in the order in which they were asked for.
        b.call("Page.addScriptToEvaluateOnNewDocument", source="const real = window.fetch; let wait = 0; window.fetch = (what, ...more) => real(what, ...more).then((r) => "
               "String(what).startsWith('tiles') ? new Promise((go) => setTimeout(() => go(r), (wait = 2000 - wait))) : r);")
        b.open(v.url)
        span = b.eval("page.meta.span")
        b.until(f"page.meta.span > {span} + 6e9 && page.view.to === page.meta.span", 120)
        b.key(" ")
        b.settled()
        holes = b.eval("(() => { const n = Math.round(page.plotWidth()), c = page.columns(page.lanes.find((l) => l.kind === page.KIND.CPU).index, page.view.from, page.view.to, n); "
                       "return Array.from({ length: n }, (_, i) => c.share[4 * i] + c.share[4 * i + 1]).filter((x) => x < 0.9).length; })()")
        check("late_answers_leave_no_holes", holes == 0, f"{holes} columns")
written, shown, lost = drained(flood, v)
check("nothing_of_a_flood_is_missing", written == shown and written > 50000, (written, shown, lost))
n = v.news()
spans = sum(l[5] for l in n["lanes"] if l[1] == 1)
entries = next((c for name, c in n["types"].values() if name == "irq_handler_entry"), None)
check("an_interrupt_that_is_open_is_shown", spans == entries, (spans, entries))
v.end()
flood.p.kill()
flood = Flood(20000, 2000)
v = View(flood.target)
check("many_tasks_come", until(lambda: v.news()["forgotten"] > 4000, 120), v.news()["forgotten"])
n = v.news()
check("rows_of_tasks_that_are_over_are_given_up", len(n["tasks"]) > 5000 and len(n["lanes"]) < 6000, (len(n["tasks"]), len(n["lanes"])))
if CHROMIUM:
    with Browser(1200, 700) as b:
        b.open(v.url)
        gone = b.eval("page.meta.forgotten")
        check("the_page_gives_them_up", b.until(f"page.meta.forgotten > {gone} + 4000", 120) and b.eval("page.rows.length") < 6000 and "have left the picture" in b.eval("document.getElementById('about').textContent"),
              b.eval("[page.meta.forgotten, page.rows.length]"))
        right = b.eval("page.rows.every((r) => Object.values(r.lanes).flat().every((l) => !l || page.lanes[l.index] === l && l.row === r)) && "
                       "page.rows.filter((r) => r.key[0] === 't').every((r) => r.label === 't' + r.key.slice(1) + '-' + r.key.slice(1) || r.key === 't" + flood.target + "')")
        check("rows_have_their_own_names", right, b.eval("page.rows.slice(0, 20).map((r) => [r.key, r.label])"))
        check("no_error_in_the_page_of_a_flood", not [x for x in b.log if "favicon" not in x], b.log)
written, shown, lost = drained(flood, v)
check("nothing_of_many_tasks_is_missing", written == shown, (written, shown, lost))
v.end()
flood.p.kill()

# top
r = subprocess.run([FATHOM, "top", target.target, "-n", "2", "-s", "switches"], capture_output=True, text=True, timeout=300)
pictures = r.stdout.strip().split("\n\n")
switches = [[int(l.split()[4]) for l in p.splitlines()[4:]] for p in pictures]
check("top_prints", r.returncode == 0 and len(pictures) == 2 and all(s and s == sorted(s, reverse=True) for s in switches), r)
check("top_has_the_rates", all(re.search(r"events [1-9]\d*/s   switches [1-9]\d*/s   interrupts \d+/s, .* idle .* of 8 CPUs\nevents so far [1-9].* lost 0", p) for p in pictures), r.stdout[:300])
p, near = terminal(target.target)
got = seen(near, r"worker-2")
check("top_fills_a_terminal", "switches" in got and "blocked %" in got and "\x1b[" in got, got[-500:])
os.write(near, b"pq")
p.wait(timeout=100)
check("q_ends_top", p.returncode == 0, p.stderr.read())
r = subprocess.run([FATHOM, "top", path], capture_output=True, text=True)
check("top_of_a_file_is_refused", r.returncode == 2 and "not a live target" in r.stderr, r)
r = subprocess.run([FATHOM, "view", "--no-browser", target.target, "--cpu", "0"], capture_output=True, text=True)
check("a_choice_of_a_target_is_refused", r.returncode == 2 and "apply to a trace" in r.stderr, r)
target.kill()
r = subprocess.run([FATHOM, "view", "--no-browser", "unix:/nowhere/line"], capture_output=True, text=True, timeout=300)
check("no_target_is_said", r.returncode == 1 and "cannot connect" in r.stderr, r)
subprocess.run(["rm", "-rf", work], check=True)
done()
