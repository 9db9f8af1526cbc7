#!/usr/bin/env python3
"""answers.py -- make bench-answers: latency, profile, sql and Parquet on EVENTS=10000000 events of a scheduler, and their bars.

The bars of latency, profile and Parquet are wall time on two quiet cores; ratios are of processor time (user + system). Each is the best
of some runs, page cache warm.
"""
import os
import subprocess
import tempfile

from host import FATHOM, TOP, bar, run

EVENTS = int(os.environ.get("EVENTS", "10000000"))
GEN = os.path.join(TOP, "build/bench/gen_sched")
COUNT = "select count(*) from sched_switch where next_pid=1"
GROUPS = ("name", "cpu", "pid", "comm", "name, cpu", "time / 1000000")

with tempfile.TemporaryDirectory() as d:
    trace, part = os.path.join(d, "t.dat"), os.path.join(d, "part.dat")
    subprocess.run([GEN, trace, str(EVENTS)], check=True)
    for command in ("latency", "profile"):
        s, rss, _ = run(FATHOM, command, "--no-index", trace, runs=3, wall=True)
        bar(f"{command}_10M", f"{s:.2f} s {rss:.0f} MB", "1.5 s 200 MB", s <= 1.5 * EVENTS / 1e7 and rss <= 200)
    s, rss, _ = run(FATHOM, "convert", "-f", "--no-index", trace, os.path.join(d, "t.parquet"), runs=2, wall=True)
    bar("parquet", f"{EVENTS / s / 1e6:.1f} M/s {rss:.0f} MB", "3 M/s 200 MB", EVENTS / s >= 3e6 and rss <= 200)
    count, _, _ = run(FATHOM, "query", "--no-index", "--count", "--type", "sched_switch", "--filter", "next_pid == 1", trace, runs=2)
    asked, _, _ = run(FATHOM, "sql", "--no-index", trace, COUNT, runs=2)
    bar("sql_count", f"{asked / count:.2f} x query --count", "3 x", asked <= 3 * count)
    subprocess.run([GEN, part, str(EVENTS // 10)], check=True)
    subprocess.run([FATHOM, "convert", "--form", "sqlite", part, os.path.join(d, "t.db")], check=True)
    for by in GROUPS:
        query = f"select {by}, count(*), min(time), max(pid), avg(cpu) from event group by {by}"
        ours, _, _ = run(FATHOM, "sql", "--no-index", part, query, runs=2)
        theirs, _, _ = run("sqlite3", os.path.join(d, "t.db"), query, runs=2)
        bar("group_by_" + by.replace(" ", "").replace("/", "_").replace(",", "_"), f"{theirs / ours:.1f} x faster than sqlite3", "5 x", theirs >= 5 * ours)
