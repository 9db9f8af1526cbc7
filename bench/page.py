#!/usr/bin/env python3
"""page.py -- make bench-page: the page of a large trace in headless Chromium, against its bars.

    BENCH_MB=3000     size of the trace (made with gen_trace: 3000 MB are some 100 million events), removed afterwards
    BENCH_TRACE=FILE  take this trace instead

Wall times are those of this machine as loaded as it is; processor time of browser and server is given beside them. A step is a zoom or a
move: from the call until the picture is complete. Memory of the browser is that of the page's own process, shared pages in proportion.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "test/lib"))
from browser import CHROMIUM, Browser  # noqa: E402

FATHOM = os.path.join(TOP, "build/fathom")
STEPS = 150
HZ = os.sysconf("SC_CLK_TCK")
short = 0

SETTLED = """new Promise((done) => { const look = () => page.meta && !page.pending() && !page.coarse && document.body.dataset.ready ? done(performance.now())
	: setTimeout(look, 1); look(); })"""
# How busy each CPU was in each of a thousand pixels.
BUSY = "page.lanes.filter((l) => l.kind === page.KIND.CPU).map((l) => page.columns(l.index, 0, page.meta.span, 1000))"
# Zooms into the middle and out again, with moves, as a person looks around: each level of detail is met for the first time at least once.
WALK = """(async () => {
	const settled = () => %s, times = [], draws = [];
	let seed = 7;
	const random = () => (seed = (seed * 1103515245 + 12345) %% 2147483648) / 2147483648;
	for (let i = 0; i < %d; i++) {
		const { from, to } = page.view, w = to - from, span = page.meta.span, at = from + w * random();
		const factor = i %% 3 === 2 ? 1 : w > span / 2 ? 0.4 : w < span / 1e6 ? 1000 : random() < 0.65 ? 0.4 : 2.5;
		const t = performance.now();
		if (factor === 1) { const by = w * (random() - 0.5); page.show(from + by, to + by); }
		else page.show(at - (at - from) * factor, at + (to - at) * factor);
		await settled();
		times.push(performance.now() - t);
		draws.push(page.drawTime);
	}
	return { times, draws };
})()""" % (SETTLED, STEPS)


def bar(name, measured, goal, unit):
    global short
    ok = measured <= goal
    short += not ok
    print(f"bar {name} {measured:.4g} {unit} <= {goal} {unit} {'ok' if ok else 'SHORT'}", flush=True)


def cpu(pid):
    """Processor seconds of a process and its children that live."""
    total = 0.0
    for p in [pid, *children(pid)]:
        try:
            fields = open(f"/proc/{p}/stat").read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        total += (int(fields[11]) + int(fields[12])) / HZ
    return total


def children(pid):
    out = []
    for t in os.listdir(f"/proc/{pid}/task"):
        for c in open(f"/proc/{pid}/task/{t}/children").read().split():
            out += [int(c), *children(int(c))]
    return out


def memory(pid, what="VmRSS"):
    return int(re.search(rf"{what}:\s+(\d+)", open(f"/proc/{pid}/status").read())[1]) / 1024


def renderer(b):
    """The page's own process, what it shares with other processes in proportion: the renderer with the most memory."""
    pids = [p for p in children(b.child.pid) if b"--type=renderer" in open(f"/proc/{p}/cmdline", "rb").read()]
    return max(int(re.search(r"^Pss:\s+(\d+)", open(f"/proc/{p}/smaps_rollup").read(), re.M)[1]) / 1024 for p in pids)


def serve(trace):
    t = time.monotonic()
    s = subprocess.Popen([FATHOM, "view", "--no-browser", trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return s, s.stdout.readline().strip(), time.monotonic() - t


def walk(trace):
    s, _, took = serve(trace)
    print(f"index built, or read: {took:.1f} s, {cpu(s.pid):.1f} s of processor time")
    s.terminate()
    s.wait()
    s, url, took = serve(trace)
    print(f"server up with the index: {took:.2f} s")
    with Browser(1600, 900) as b:
        before = cpu(b.child.pid)
        b.open(url)
        b.until("page.completeAt")
        first = b.eval("page.completeAt") / 1000
        print(f"first picture: {cpu(b.child.pid) - before:.2f} s of processor time in the browser, {cpu(s.pid):.2f} s in the server")
        bar("first_picture", took + first, 1, "s")
        b0, s0 = cpu(b.child.pid), cpu(s.pid)
        got = b.eval(WALK)
        times = sorted(got["times"])
        print(f"{STEPS} steps: {(cpu(b.child.pid) - b0) / STEPS * 1000:.1f} ms of processor time each in the browser, {(cpu(s.pid) - s0) / STEPS * 1000:.1f} ms in the server; "
              f"the last drawing of each {sorted(got['draws'])[STEPS // 2]:.1f} ms")
        bar("step_median", times[STEPS // 2], 50, "ms")
        bar("step_p99", times[int(STEPS * 0.99)], 150, "ms")
        bar("browser_memory", renderer(b), 200, "MB")
        bar("server_memory", memory(s.pid), 200, "MB")
        bar("server_memory_own", memory(s.pid, "RssAnon"), 200, "MB")
        b.until(f"{BUSY}.every((c) => c.fine)")
        busy = b.eval(f"{BUSY}.map((c) => [...c.share].filter((_, i) => i % 4 === 0))")
    s.terminate()
    s.wait()
    return busy


def alone(trace, busy):
    html = os.path.join(tempfile.mkdtemp(), "page.html")
    r = subprocess.run([FATHOM, "timeline", trace, "-o", html], capture_output=True, text=True)
    if "left out" in r.stderr or r.returncode:
        print(r.stderr)
    bar("page_bytes", os.path.getsize(html) / 1e6, 5, "MB")
    with Browser(1600, 900) as b:
        before = cpu(b.child.pid)
        b.open("file://" + html)
        bar("page_loads", b.eval("page.completeAt") / 1000, 1, "s")
        print(f"all that is in it is there after {b.eval('page.readAt') / 1000:.2f} s; {cpu(b.child.pid) - before:.2f} s of processor time")
        got = b.eval(f"{BUSY}.map((c) => [...c.share].filter((_, i) => i % 4 === 0))")
    bar("busy_per_pixel", 100 * max(abs(x - y) for a, c in zip(got, busy) for x, y in zip(a, c)), 1, "%")
    os.unlink(html)


if not CHROMIUM:
    sys.exit("bench-page: package chromium missing")
path = os.environ.get("BENCH_TRACE")
made = not path
if made:
    path = os.path.join(tempfile.mkdtemp(dir="/var/tmp"), "big.dat")
    subprocess.run([os.path.join(TOP, "build/bench/gen_trace"), path, os.environ.get("BENCH_MB", "3000"), "2"], check=True)
try:
    print(json.dumps({"trace_mb": os.path.getsize(path) >> 20, "load": os.getloadavg()[0]}))
    alone(path, walk(path))
finally:
    if made:
        for suffix in ("", ".fpage", ".fidx"):
            if os.path.exists(path + suffix):
                os.unlink(path + suffix)
        os.rmdir(os.path.dirname(path))
sys.exit(1 if short else 0)
