#!/usr/bin/env python3
"""live_linux.py -- fathom view and fathom top of the Linux they run on: what runs is seen, and everything is as it was afterwards. Needs root and tracefs."""
# slow
# live
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from browser import CHROMIUM, Browser  # noqa: E402
from checks import FATHOM, alone_on_this_machine, check, done, this_tracefs  # noqa: E402

T = this_tracefs()
FILES = ("set_event", "tracing_on", "current_tracer", "trace_clock", "buffer_size_kb")
if not T:
    print("skip live_linux: no tracefs that may be used")
    sys.exit(0)
alone_on_this_machine()


def state():
    return {f: open(f"{T}/{f}").read() for f in FILES} | {"instances": sorted(os.listdir(f"{T}/instances"))}


before = state()
# Something to see: it sleeps and runs by turns, and has fifty threads that wait.
BUSY = """import signal, threading, time
def rename(*_):
    open('/proc/self/comm', 'w').write('renamed')
    print(flush=True)
signal.signal(signal.SIGUSR1, rename)
def wait():
    while True:
        time.sleep(0.1)
for _ in range(50):
    threading.Thread(target=wait, daemon=True).start()
print(flush=True)
while True:
    sum(range(100000))
    time.sleep(0.005)"""
busy = subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE)
busy.stdout.readline()  # it has begun
r = subprocess.run([FATHOM, "top", "-n", "2", "-s", "switches"], capture_output=True, text=True, timeout=300)
check("top_without_a_target_is_this_linux", r.returncode == 0 and r.stdout.startswith(f"{T}: live") and len(re.findall("events so far", r.stdout)) == 2, r)
mine = re.findall(rf"^ +{busy.pid} +(\S+) +\S+ +\S+ +(\d+)  python3", r.stdout, re.M)
check("it_has_the_task_that_runs", any(float(cpu) > 1 and int(switches) > 5 for cpu, switches in mine), (busy.pid, busy.poll(), mine, r.stdout))
# The table of names in the target has the old one until the task is switched to again.
busy.send_signal(signal.SIGUSR1)
busy.stdout.readline()
r = subprocess.run([FATHOM, "top", "-n", "2"], capture_output=True, text=True, timeout=300)
names = re.findall(rf"^ +{busy.pid} .*\d  (\S+)$", r.stdout, re.M)
check("it_has_its_name_of_now", names and set(names) == {"renamed"}, (names, r.stdout))
rows = [len(re.findall(r"^ +\d+ .*  python3$", picture, re.M)) for picture in r.stdout.split("events so far")]
check("without_a_terminal_it_has_all_tasks", max(rows) > 40, rows)
check("top_leaves_everything_as_it_was", state() == before, (before, state()))
busy.kill()
if CHROMIUM:
    # Alone in its process: threads that wait for each other have less to show.
    busy = subprocess.Popen([sys.executable, "-c", "import time\nprint(flush=True)\nwhile True:\n    sum(range(100000))\n    time.sleep(0.005)"], stdout=subprocess.PIPE)
    busy.stdout.readline()
    p = subprocess.Popen([FATHOM, "view", "--no-browser", T, "-e", "sched", "-e", "irq"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with Browser(1300, 800) as b:
        check("the_page_runs", b.open(p.stdout.readline().strip()), b.log)
        span = b.eval("page.meta.span")
        check("it_grows", b.until(f"page.meta.span > {span} + 1e9 && page.view.to === page.meta.span"), b.eval("page.meta.span"))
        check("the_task_has_a_row", b.until(f"page.shown.some((r) => r.label === 'python3-{busy.pid}')"), b.eval("page.shown.map((r) => r.label)"))
        b.key(" ")
        span = b.eval("page.meta.span")
        b.eval(f"page.choose({{ from: {span} - 1e9, to: {span} }})")
        check("its_time_is_summed_up", b.until(f"page.rangeTasks && page.rangeTasks.some((t) => t.pid === {busy.pid} && t.cpu > 1e7 && t.blocked > 1e8)"), b.eval("page.rangeTasks"))
        b.eval("page.open('list')")
        check("its_events_are_listed", b.until("page.listed && page.listed.some((e) => e.event === 'sched_switch')"), "")
        check("no_error_in_the_page", not b.log, b.log)
    p.send_signal(signal.SIGINT)
    check("it_ends", p.wait(timeout=100) == 0, p.stderr.read())
    check("view_leaves_everything_as_it_was", state() == before, (before, state()))
    busy.kill()
done()
