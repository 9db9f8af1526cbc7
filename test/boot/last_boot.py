#!/usr/bin/env python3
"""last_boot.py -- a warm reset: the next boot has the trace of the last one, all of it; a damaged page is skipped and counted."""
# live
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from demo import ARCH, FATHOM, Checks, Demo, need_qemu, trace_line

need_qemu("last_boot")
c = Checks()
MAP = "instances/boot_map/"
PAGES = 16  # of all rings together, and a few for their books: small enough to be overwritten
LINE = re.compile(r"^ *(\S.*?)-(\d+) +\[(\d+)\] (\S+) +(\d+\.\d+): (.*)$", re.M)


def demo(smp, *extra):
    return Demo(smp=smp, options=f"keep_kib={PAGES * 4}", extra=["-action", "reboot=reset", *extra])


def fathom(*args):
    return subprocess.run([FATHOM, *args], capture_output=True, text=True, timeout=300)


def trace(d):
    """The events: pid, CPU, flags and text; their times; the whole text."""
    text = d.ask(f"cat {MAP}trace")
    found = LINE.findall(text)
    return [(pid, cpu, flags, what) for _, pid, cpu, flags, _, what in found], [float(x[4]) for x in found], text


def info(d):
    return dict(re.findall(r"^([a-z ]+): (\S+)$", d.ask(f"cat {MAP}last_boot_info"), re.M))


def reset(d):
    """The next boot, once it has its prompt."""
    start = d.asked = len(d.out)
    d.type("reset")
    if d.until(rb"demo kernel: level.*\n# $", start) < 0:
        raise RuntimeError("no second boot: " + d.text()[-500:])
    d.asked = d.out.rfind(b"demo kernel: level")


def record(d, *commands):
    for command in ("echo 1 > tracing_on", "echo 1 > events/sched/enable", "echo 1 > events/raw_syscalls/enable"):
        d.ask(command.replace("> ", "> " + MAP))
    for command in commands:
        d.ask(command)
    d.ask(f"echo 0 > {MAP}events/enable")


# All of it, on two CPUs, and the same again as long as nobody uses it.
d = demo(2)
first = d.ask(f"cat {MAP}last_boot_info")
c.check("cold_has_none", "no trace of the last boot: the memory held none" in first, first)
record(d, f"echo old > {MAP}trace_marker", "run ipc 3")
before, times, _ = trace(d)
c.check("something_to_keep", len(before) > 50 and any("sched_switch" in x[3] for x in before), str(before)[-300:])
for boot in ("second", "third"):
    reset(d)
    after, times_after, text = trace(d)
    counts = info(d)
    c.check(f"{boot}_has_all", after == before, f"{len(after)} of {len(before)}: {[x for x in zip(before, after) if x[0] != x[1]][:2]}")
    # x86_64 measures the rate of its clock in each boot; the ticks are the same.
    rate = times_after[-1] / times[-1] if ARCH == "x86_64" else 1
    c.check(f"{boot}_times", all(abs(a * rate - b) < 5e-6 for a, b in zip(times, times_after)), f"{rate}: {times[:3]} {times_after[:3]}")
    c.check(f"{boot}_counts", counts.get("events") == str(len(before)) and counts.get("damaged pages") == "0" and counts.get("damaged events") == "0", counts)
    c.check(f"{boot}_names_are_not_ours", {n for n, *_ in LINE.findall(text)} <= {"<...>", "<idle>"}, text[:500])
record(d, "echo new > " + MAP + "trace_marker")
after, _, text = trace(d)
c.check("used_again", "mark_write: new" in text and "mark_write: old" not in text and "given up" in d.ask(f"cat {MAP}last_boot_info"), text[-500:])
d.kill()

# A page is damaged before the reset: all but that, and as many are missing as are counted.
tmp = tempfile.TemporaryDirectory()
LINE_FILE, OUT = (os.path.join(tmp.name, n) for n in ("line", "out.dat"))
d = demo(1, *trace_line(LINE_FILE))
d.ask("echo ready")
p = fathom("record", "--target", "unix:" + LINE_FILE, "--last-boot", "-o", OUT)
c.check("nothing_to_record", p.returncode == 1 and "no trace of the last boot: the memory held none" in p.stderr, p.stderr)
record(d, "run ipc 100")
before, _, _ = trace(d)
stats = d.ask(f"cat {MAP}per_cpu/cpu0/stats")
overrun = int(re.search(r"^overrun: (\d+)", stats, re.M).group(1))
c.check("overwritten", overrun > 100, stats)
d.ask(f"spoil {PAGES - 6}")
reset(d)
after, _, text = trace(d)
counts = info(d)
lost = int(counts.get("damaged events", "0"))
at = next((i for i, x in enumerate(after) if x != before[i]), len(after))
c.check("damaged_page_counted", counts.get("damaged pages") == "1" and 10 < lost < 500, counts)
c.check("rest_is_there", len(after) + lost == len(before) and after == before[:at] + before[at + lost:], f"{len(before)} {len(after)} {lost} {at}")
c.check("told_where", 0 < at < len(after) and f"[LOST {lost} EVENTS]" in text, f"{at} {re.findall('.*LOST.*', text)}")
stats = d.ask(f"cat {MAP}per_cpu/cpu0/stats")
c.check("by_cause", f"overrun: {overrun}\n" in stats and f"damaged pages: 1\ndamaged events: {lost}\n" in stats, stats)

# The host takes it: the same events, and the account names the cause.
p = fathom("record", "--target", "unix:" + LINE_FILE, "--last-boot", "-o", OUT)
c.check("recorded", p.returncode == 0 and "damaged pages were skipped: 1" in p.stderr, p.stdout + p.stderr)
account = json.loads(fathom("stat", "--json", OUT).stdout)
causes = {x["cause"]: x["count"] for x in account["lost_by_cause"] if x["exact"]}
c.check("account", account["events"] == len(after) and causes == {"overwritten": overrun, "damaged in memory": lost}, account["lost_by_cause"])
lines = LINE.findall(fathom("report", "--trace", OUT).stdout)
c.check("same_on_the_host", [what for *_, what in lines] == [x[3] for x in after], f"{len(lines)} {lines[:2]}")
c.check("names_of_the_last_boot", any(name == "ipc" for name, *_ in lines), sorted({name for name, *_ in lines}))
c.check("gone_from_the_target", not trace(d)[0])
d.leave()
c.done()
