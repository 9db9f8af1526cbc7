#!/usr/bin/env python3
"""report.py -- make bench-report: `fathom report` against `trace-cmd report`, same file, same machine, one run.

    FATHOM_FIXTURES   folder with linux/trace-dat/large_*.dat; without it the pages of small recorded traces are repeated

Texts go to /dev/null, the page cache is warm. The bar is on wall time, with as many threads as there are CPUs, so the
machine should have nothing else to do; processor times are printed beside.
"""
import gzip
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FATHOM = os.path.join(TOP, "build/fathom")


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


def repeat(source, d, name):
    """A trace of about 1.5 million events: the pages of a small one again and again, later each time."""
    small, plain, big = (os.path.join(d, name + suffix) for suffix in (".dat", ".v6.dat", "_repeated.dat"))
    with gzip.open(source) as src, open(small, "wb") as dst:
        shutil.copyfileobj(src, dst)
    subprocess.run([FATHOM, "convert", "--file-version", "6", small, plain], check=True, stdout=subprocess.DEVNULL)
    data = open(plain, "rb").read()
    table = data.index(b"flyrecord\0") + 10
    cpus = []
    while not cpus or table + 16 * len(cpus) + 16 <= cpus[0][0] and len(cpus) < 2:
        cpus.append(struct.unpack_from("<QQ", data, table + 16 * len(cpus)))
    span = 1 + max(struct.unpack_from("<Q", data, o + s - 4096)[0] for o, s in cpus) - min(
        struct.unpack_from("<Q", data, o)[0] for o, s in cpus) + 10**9
    times = 1500000 // lines(plain)
    with open(big, "wb") as f:
        f.write(data[:table])
        at = (table + 16 * len(cpus) + 4095) & ~4095
        for _, s in cpus:
            f.write(struct.pack("<QQ", at, s * times))
            at += s * times
        f.write(b"\0" * (-f.tell() % 4096))
        for o, s in cpus:
            for k in range(times):
                for p in range(o, o + s, 4096):
                    f.write(struct.pack("<Q", struct.unpack_from("<Q", data, p)[0] + k * span) + data[p + 8 : p + 4096])
    return big


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
    recorded = ("function_v7_zstd", "graph_v7_zstd") if not found else ()
    for name in recorded + ("lost_v6",):
        found.append(repeat(os.path.join(TOP, "test/data/tracedat", name + ".dat.gz"), d, name))
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
            one = run(FATHOM, "report", "--threads", "1", path, runs=7)
            for what, t in (("trace-cmd", theirs), ("fathom", ours), ("fathom, one thread", one)):
                print(f"{what + ' ' + name:<45.45} {n:9} {t[0]:8.3f} {t[1]:8.3f} {t[2]:7.1f} {n / t[0] / 1e6:10.2f}")
            ratio = theirs[0] / ours[0]
            many = "function" not in name and "graph" not in name
            goal = 40 if many else 50
            print(f"bar host-report-{name} {ratio:.1f}x {goal}x {'ok' if ratio >= goal else 'SHORT'}", flush=True)
            if many:
                rate = n / ours[0] / 1e6
                print(f"bar host-report-rate-{name} {rate:.1f}M/s 18M/s {'ok' if rate >= 18 else 'SHORT'}", flush=True)
    finally:
        shutil.rmtree(d, ignore_errors=True)
    return 0


sys.exit(main())
