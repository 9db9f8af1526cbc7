#!/usr/bin/env python3
"""host.py -- make bench-host: the host program against trace-cmd, and its own bars.

    BENCH_MB=4096     size of the large trace (made with gen_trace, removed afterwards)
    FATHOM_FIXTURES   folder with linux/trace-dat/large_*.dat; without it a trace of 1.5 million events is made

Times are processor time of the whole process (user + system) unless it says wall, the best of some runs, page cache warm; ratios are taken
within one run of this script.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FATHOM = os.path.join(TOP, "build/fathom")
GEN = os.path.join(TOP, "build/bench/gen_trace")
MB = int(os.environ.get("BENCH_MB", "4096"))
COUNT = "{ event[$4]++; cpu[$2]++; task[$1]++ } END { for (k in event) print event[k], k }"
short = 0


def run(*args, runs=3, wall=False):
    """(seconds, peak RSS in MB, stdout of the last run)."""
    best, rss, out = 1e9, 0, b""
    for _ in range(runs):
        with tempfile.TemporaryFile() as f:
            t0 = time.monotonic()
            p = subprocess.Popen(args, stdout=f, stderr=subprocess.DEVNULL)
            _, status, ru = os.wait4(p.pid, 0)
            t1 = time.monotonic()
            p.returncode = status
            best = min(best, t1 - t0 if wall else ru.ru_utime + ru.ru_stime)
            rss = max(rss, ru.ru_maxrss / 1024)
            f.seek(0)
            out = f.read(4096)
    return best, rss, out


def to_null(*args):
    """Like run(), once, with the output thrown away."""
    with open(os.devnull, "wb") as null:
        t0 = time.monotonic()
        p = subprocess.Popen(args, stdout=null, stderr=subprocess.DEVNULL)
        _, _, ru = os.wait4(p.pid, 0)
    return ru.ru_utime + ru.ru_stime, ru.ru_maxrss / 1024, time.monotonic() - t0


def bar(name, measured, goal, ok):
    global short
    short += not ok
    print(f"bar {name} {measured} {goal} {'ok' if ok else 'SHORT'}", flush=True)



def million(d):
    """The million-event files: recorded ones if they are there, else a made one."""
    found = []
    folder = os.path.join(os.environ.get("FATHOM_FIXTURES", "/nonexistent"), "linux/trace-dat")
    for name in ("large_function_v7_zstd.dat", "large_graph_v7_zstd.dat"):
        if os.path.exists(os.path.join(folder, name)):
            found.append(shutil.copy(os.path.join(folder, name), os.path.join(d, name)))
            os.chmod(found[-1], 0o644)
    if not found:
        found.append(os.path.join(d, "made.dat"))
        subprocess.run([GEN, found[0], "44", "2"], check=True)
    return found


def bench_million(path):
    name = os.path.basename(path).split(".")[0]
    print(f"\n{name}: {os.path.getsize(path) / 1e6:.1f} MB")
    print(f"{'what':<44} {'cpu s':>9} {'RSS MB':>8}")
    if shutil.which("trace-cmd"):
        theirs, rss, _ = to_null("trace-cmd", "report", path)
        print(f"{'trace-cmd report (its text has the counts)':<44} {theirs:9.3f} {rss:8.1f}")
        t0 = time.monotonic()
        subprocess.run(f"trace-cmd report '{path}' 2>/dev/null | awk '{COUNT}'", shell=True, stdout=subprocess.DEVNULL)
        counted = time.monotonic() - t0
        print(f"{'... counted by awk, wall':<44} {counted:9.3f}")
    else:
        theirs = counted = 0
        print("trace-cmd is not installed: no ratios")
    cold, rss, _ = run(FATHOM, "stat", "--no-index", path, runs=9, wall=True)
    print(f"{'fathom stat, without an index, wall':<44} {cold:9.4f} {rss:8.1f}")
    first, rss, _ = run(FATHOM, "stat", path, runs=1, wall=True)
    print(f"{'fathom stat, the first: keeps an index, wall':<44} {first:9.4f} {rss:8.1f}")
    subprocess.run([FATHOM, "index", "-f", path], stdout=subprocess.DEVNULL)
    warm, rss, _ = run(FATHOM, "stat", path, runs=9, wall=True)
    print(f"{'fathom stat, indexed, wall':<44} {warm:9.4f} {rss:8.1f}")
    event, rss, out = run(FATHOM, "query", path, "--event", "500000", runs=9)
    print(f"{'fathom query --event 500000, indexed':<44} {event:9.4f} {rss:8.1f}")
    if theirs:
        bar(f"host-stat-cold-{name}", f"{counted / cold:.0f}x", "100x", counted / cold >= 100)
        bar(f"host-stat-indexed-{name}", f"{counted / warm:.0f}x", "1000x", counted / warm >= 1000)
    bar(f"host-event-{name}", f"{event * 1e3:.1f}ms", "10ms", event <= 0.010 and b"500000" in out)


def bench_count(d):
    """Events of 10 million counted by type, without an index."""
    path = os.path.join(d, "count.dat")
    subprocess.run([GEN, path, "330", "2"], check=True)
    out = subprocess.run([FATHOM, "stat", "--no-index", "-j", path], capture_output=True, check=True).stdout
    events = json.loads(out)["events"]
    wall, rss, _ = run(FATHOM, "stat", "--no-index", path, runs=7, wall=True)
    rate = events / wall / 1e6
    cpu, _, _ = run(FATHOM, "stat", "--no-index", path, runs=7)
    print(f"\ncount: {events} events by type in {wall:.4f} s wall, {cpu:.4f} s of processor time ({events / cpu / 1e6:.0f} M/s of one), {rss:.1f} MB")
    bar("host-count-rate", f"{rate:.0f}M/s", "150M/s", rate >= 150)
    os.unlink(path)


def bench_large(d):
    path = os.path.join(d, "large.dat")
    free = shutil.disk_usage(d).free >> 20
    mb = min(MB, max(256, free - 2048))
    if mb < MB:
        print(f"only {free} MB are free in {d}: a trace of {mb} MB instead of {MB}")
    t0 = time.monotonic()
    subprocess.run([GEN, path, str(mb), "4"], check=True)
    print(f"\nlarge: {mb} MB of pages on 4 CPUs, made in {time.monotonic() - t0:.1f} s")
    print(f"{'what':<44} {'cpu s':>9} {'RSS MB':>8}")
    subprocess.run([FATHOM, "stat", "--no-index", path], stdout=subprocess.DEVNULL)  # warm the page cache
    scan, rss, _ = run(FATHOM, "index", "-f", path, runs=2)
    print(f"{'fathom index':<44} {scan:9.3f} {rss:8.1f}   {mb * 1.048576 / 1000 / scan:.2f} GB/s per core")
    peak = rss
    rate = mb * 1.048576 / 1000 / scan
    for args in (["stat", "--no-index"], ["stat"], ["stat", "--cpu", "1"], ["query", "--event", "50000000", "-C", "3"], ["query", "--count", "--filter", "prev_pid == 101"]):
        cpu, rss, _ = run(FATHOM, *args, path, runs=1)
        peak = max(peak, rss)
        print(f"{'fathom ' + ' '.join(args):<44} {cpu:9.3f} {rss:8.1f}")
    packed = path.replace(".dat", "_v7.dat")
    for args in (["report", path], ["convert", path, packed], ["stat", "--no-index", packed], ["report", packed]):
        cpu, rss, wall = to_null(FATHOM, *args)
        peak = max(peak, rss)
        what = " ".join(os.path.basename(a) for a in args)
        print(f"{'fathom ' + what:<44} {cpu:9.3f} {rss:8.1f}   {wall:.1f} s")
    os.unlink(packed)
    bar("host-index-rate", f"{rate:.2f}GB/s", "1GB/s", rate >= 1)
    bar("host-rss", f"{peak:.0f}MB", "100MB", peak <= 100)
    os.unlink(path)


def main():
    d = tempfile.mkdtemp(prefix="fathom-bench-")
    try:
        for path in million(d):
            bench_million(path)
        bench_count(d)
        bench_large(d)
    finally:
        shutil.rmtree(d, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
