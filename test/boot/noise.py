#!/usr/bin/env python3
"""noise.py -- osnoise, timerlat and hwlat on the demo kernel: delays whose place and length are known are found, sums are right.

One CPU, and instructions are the clock: what else this machine does costs the guest no time.
"""
# slow
# live
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from demo import FATHOM, NAME, Checks, Demo, icount, need_qemu

need_qemu("noise")
c = Checks("noise")
d = Demo(smp=1, extra=icount(3))
sh = d.ask
LINE = r"^ +(\S+)-(\d+) +\[(\d+)\] \S{5} +([\d.]+): "


def lines(text, pattern):
    return [m.groups() for m in re.finditer(LINE + pattern, text, re.M)]


def traced(*commands):
    for line in ["echo 0 > tracing_on", "echo > trace", "echo 1 > tracing_on", *commands, "echo 0 > tracing_on"]:
        sh(line)
    return sh("cat trace")


# the tree, with Linux's values and limits
c.check("tracers", sh("cat available_tracers").startswith("timerlat osnoise hwlat blk "), sh("cat available_tracers"))
have = {f: sh(f"cat {f}").strip() for f in ("osnoise/cpus", "osnoise/period_us", "osnoise/runtime_us", "osnoise/stop_tracing_us",
        "osnoise/stop_tracing_total_us", "osnoise/print_stack", "osnoise/timerlat_period_us", "hwlat_detector/width", "hwlat_detector/window",
        "hwlat_detector/mode")}
want = dict(zip(have, ("0", "1000000", "1000000", "0", "0", "0", "1000", "500000", "1000000", "none [round-robin] per-cpu")))
c.check("files", have == want, have)
bad = ("1000001 > osnoise/runtime_us", "999999 > osnoise/period_us", "99 > osnoise/timerlat_period_us", "1000001 > osnoise/timerlat_period_us",
       "0 > hwlat_detector/width", "499999 > hwlat_detector/window", "all > hwlat_detector/mode", "1 > osnoise/cpus", "0- > osnoise/cpus")
c.check("limits", all("error" in sh("echo " + b) for b in bad), [b for b in bad if "error" not in sh("echo " + b)])
c.check("ids", [sh(f"cat events/ftrace/{n}/id").strip() for n in ("hwlat", "osnoise", "timerlat")] == ["15", "16", "17"])

# osnoise: the record is the sum of its samples; another task's work, and interrupts, are found by name
sh("echo 40000 > osnoise/runtime_us")
sh("echo 40000 > osnoise/period_us")  # one sample after another: the delay is in one of them
sh("echo osnoise > current_tracer")
sh("echo 1 > events/osnoise/enable")
text = traced("sleep 120", "delay preempt 7000", "sleep 100")
c.check("osnoise_head", text.startswith("# tracer: osnoise\n#\n#                                _-----=> irqs-off\n") and "Interference counters:" in text, text[:300])
records = lines(text, r"(\d+) +(\d+) +([\d.]+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+)$")
threads = lines(text, r"thread_noise: +(\S+):(\d+) start ([\d.]+) duration (\d+) ns")
irqs = lines(text, r"irq_noise: (\S+):(\d+) start ([\d.]+) duration (\d+) ns")
samples = lines(text, r"sample_threshold: start ([\d.]+) duration (\d+) ns interference (\d+)$")
c.check("osnoise_records", len(records) >= 3 and all(r[0] == "osnoise/0" for r in records), text[-500:])
found = max((int(t[7]) for t in threads if t[4] == "shell"), default=0)
c.check("osnoise_thread", 6500000 < found < 12000000, f"{found} ns of the shell")
c.check("osnoise_single", max((int(r[7]) for r in records), default=0) >= 7000, records)
c.check("osnoise_irqs", any(t[4] == "timer" for t in irqs) and all(int(t[7]) < 1000000 for t in irqs if t[4] == "timer"), irqs[:3])
for a, b in zip(records, records[1:]):
    inside = [int(s[5]) for s in samples if float(a[3]) < float(s[3]) <= float(b[3])]
    counted = [s for s in samples if float(a[3]) < float(s[3]) <= float(b[3]) and s[6] == "0"]
    noise, longest, hardware = int(b[5]), int(b[7]), int(b[8])
    share = (int(b[4]) - noise) * 100 / int(b[4])
    good = sum(inside) // 1000 == noise and max(inside) // 1000 == longest and len(counted) == hardware and abs(share - float(b[6])) < 1e-4
    c.check(f"osnoise_sum_{a[3]}", good, (b, sum(inside), max(inside), len(counted)))
sh("echo 0 > events/osnoise/enable")
text = traced("echo 3000 > osnoise/stop_tracing_us", "delay preempt 5000", "sleep 60")
c.check("osnoise_stops", sh("cat tracing_on").strip() == "0" and "stop tracing hit on a single sample" in text, text[-300:])
sh("echo 0 > osnoise/stop_tracing_us")

# timerlat: the interrupt is late while interrupts are off, the thread never before it
sh("echo 20000 > osnoise/timerlat_period_us")
sh("echo timerlat > current_tracer")
text = traced("sleep 100")
quiet = lines(text, r"#(\d+) +context +(irq|thread) timer_latency +(\d+) ns$")
c.check("timerlat_head", text.startswith("# tracer: timerlat\n#\n") and " ACTIVATION\n" in text, text[:300])
pairs = [(a, b) for a, b in zip(quiet, quiet[1:]) if a[5] == "irq" and a[4] == b[4]]
c.check("timerlat_pairs", len(pairs) >= 3 and all(b[5] == "thread" and int(b[6]) >= int(a[6]) for a, b in pairs), quiet)
c.check("timerlat_tick", all(int(a[6]) < 8000000 for a, _ in pairs), "the timer ticks every 4 ms")
text = traced("delay irqs 50000", "sleep 60")
late = max(int(q[6]) for q in lines(text, r"#(\d+) +context +(irq|thread) timer_latency +(\d+) ns$"))
c.check("timerlat_late", 25000000 < late < 60000000, f"{late} ns, of 50 ms without interrupts")
text = traced("echo 10000 > osnoise/print_stack", "delay irqs 50000", "sleep 60")
stack = text[text.find("<stack trace>"):]
c.check("timerlat_stack", re.search(r"irq timer_latency +\d{8,} ns\n.*<stack trace>\n => ", text), text[-800:])
sh("echo 0 > osnoise/print_stack")
text = traced("echo 15000 > osnoise/stop_tracing_total_us", "delay irqs 50000", "sleep 60")
c.check("timerlat_stops", sh("cat tracing_on").strip() == "0" and "stop tracing hit on the thread" in text, text[-300:])
sh("echo 0 > osnoise/stop_tracing_total_us")

# hwlat: one CPU whose clock is its instructions misses nothing. Of two, QEMU lets one wait for the other; a limit above that leaves nothing
two = Demo(smp=2, extra=icount(3))
sh("echo 10000 > hwlat_detector/width")
sh("echo 1 > tracing_thresh")
sh("echo hwlat > current_tracer")
c.check("hwlat_alone", not lines(traced("sleep 100"), r"#\d+ +inner/outer"))
sh("echo 0 > tracing_thresh")
sh("echo nop > current_tracer")
sh("sleep 1100")
c.check("threads_end", not re.search(r"osnoise/|timerlat/|hwlat/", sh("ps")), sh("ps"))
d.kill()
d, sh = two, two.ask
sh("echo 10000 > hwlat_detector/width")
sh("echo 30000 > hwlat_detector/window")
sh("echo 1 > tracing_thresh")
sh("echo hwlat > current_tracer")
text = traced("sleep 200")
seen = lines(text, r"#(\d+) +inner/outer\(us\): +(\d+)/(\d+) +ts:(\d+\.\d{9}) count:(\d+)$")
c.check("hwlat", len(seen) >= 3 and [int(s[4]) for s in seen] == list(range(int(seen[0][4]), int(seen[0][4]) + len(seen)))
        and all(max(int(s[5]), int(s[6])) >= 1 and int(s[8]) >= 1 for s in seen), text[-500:])
sh("echo 100000 > tracing_thresh")
sh("sleep 40")
c.check("hwlat_thresh", not lines(traced("sleep 100"), r"#\d+ +inner/outer"))
d.kill()

# the host reads the records
with tempfile.TemporaryDirectory() as tmp:
    out = f"{tmp}/noise.dat"
    p = subprocess.run([FATHOM, "record", "--qemu", NAME, "-s", "2", "-e", "osnoise:thread_noise", "-r", "echo 20000 > osnoise/runtime_us",
                        "-r", "echo 30000 > osnoise/period_us", "-r", "echo osnoise > current_tracer", "-r", "sleep 200",
                        "-r", "echo 0 > tracing_on", "-o", out], capture_output=True, text=True, timeout=300, check=False)
    text = subprocess.run([FATHOM, "report", "--trace", "--tracer", "osnoise", out], capture_output=True, text=True, check=False).stdout
    both = {r[0] for r in lines(text, r"\d+ +\d+ +[\d.]+ +\d+ +\d+ +\d+ +\d+ +\d+ +\d+$")}
    c.check("host", both == {"osnoise/0", "osnoise/1"} and "Interference counters:" in text, p.stderr[-300:] + text[-300:])
    plain = subprocess.run([FATHOM, "report", out], capture_output=True, text=True, check=False).stdout
    c.check("host_report", re.search(r"osnoise: +noise:\d+\tmax_sample:\d+\thw:\d+", plain), plain[-300:])
c.done()
