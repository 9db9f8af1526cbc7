#!/usr/bin/env python3
"""report.py -- make bench-report: `fathom report` against `trace-cmd report`, same file, same machine, one run.

    FATHOM_FIXTURES   folder with linux/trace-dat/large_*.dat; without it a trace of 1.5 million events is made

Texts go to /dev/null, the page cache is warm. The bar is on wall time, with as many threads as there are CPUs, so the
machine should have nothing else to do; processor times are printed beside.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FATHOM = os.path.join(TOP, "build/fathom")
GEN = os.path.join(TOP, "build/bench/gen_trace")


def run(*args, runs=1):
    """Best wall and processor seconds, worst RSS in MB."""
    wall, cpu, rss = 1e9, 1e9, 0
    for _ in range(runs):
        with open(os.devnull, "wb") as null:
            t0 = time.monotonic()
            p = subprocess.Popen(args, stdout=null, stderr=null)
            _, _, ru = os.wait4(p.pid, 0)
            wall = min(wall, time.monotonic() - t0)
        cpu = min(cpu, ru.ru_utime + ru.ru_stime)
        rss = max(rss, ru.ru_maxrss / 1024)
    return wall, cpu, rss


def files(d):
    folder = os.path.join(os.environ.get("FATHOM_FIXTURES", "/nonexistent"), "linux/trace-dat")
    found = []
    for name in ("large_function_v7_zstd.dat", "large_graph_v7_zstd.dat"):
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            continue
        found.append(path)
        plain = os.path.join(d, name.replace("v7_zstd", "v6"))
        subprocess.run(["trace-cmd", "convert", "--file-version", "6", "-i", path, "-o", plain],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        if os.path.exists(plain):
            found.append(plain)
    if not found and os.path.exists(GEN):
        found.append(os.path.join(d, "made.dat"))
        subprocess.run([GEN, found[0], "44", "2"], check=True)
    return found


def lines(path):
    p = subprocess.Popen([FATHOM, "report", path], stdout=subprocess.PIPE)
    n = sum(chunk.count(b"\n") for chunk in iter(lambda: p.stdout.read(1 << 20), b""))
    p.wait()
    return n


def main():
    if not shutil.which("trace-cmd"):
        print("trace-cmd is not installed: nothing to compare with")
        return 0
    d = tempfile.mkdtemp(prefix="fathom-bench-")
    try:
        print(f"{'report > /dev/null':<45} {'lines':>9} {'wall s':>8} {'cpu s':>8} {'RSS MB':>7} {'M lines/s':>10}")
        for path in files(d):
            name = os.path.basename(path).split(".")[0]
            n = lines(path)
            theirs = run("trace-cmd", "report", path)
            ours = run(FATHOM, "report", path, runs=7)
            one = run(FATHOM, "report", "-j1", path, runs=7)
            for what, t in (("trace-cmd", theirs), ("fathom", ours), ("fathom, one thread", one)):
                print(f"{what + ' ' + name:<45.45} {n:9} {t[0]:8.3f} {t[1]:8.3f} {t[2]:7.1f} {n / t[0] / 1e6:10.2f}")
            ratio = theirs[0] / ours[0]
            print(f"bar host-report-{name} {ratio:.1f}x 30x {'ok' if ratio >= 30 else 'SHORT'}", flush=True)
    finally:
        shutil.rmtree(d, ignore_errors=True)
    return 0


sys.exit(main())
