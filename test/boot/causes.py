#!/usr/bin/env python3
"""causes.py -- delays whose cause is known (demo/kernel/cause.c): `fathom why` names it. SEEDS=100 for more than a few."""
# slow
# live
import json
import os
import re
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from demo import FATHOM, TOP, Checks, need_qemu
import subprocess

need_qemu("causes")
c = Checks()
SEEDS = int(os.environ.get("SEEDS", "8"))
BOOT = 25  # seeds of one boot


def ask(*args):
    return subprocess.run([FATHOM, *args], capture_output=True, text=True, timeout=300)


def right(told, got):
    """Is it the cause that the kernel tells of?"""
    cause, links = got["cause"], got["links"]
    by, of = cause.get("by", {}).get("comm"), cause["of"]["comm"]
    if sum(k["time_ns"] for k in links if k["leaf"]) != got["delay_ns"]:
        return False
    if told["cause"] == "lock":  # the culprit ran while the holder was ready
        return (cause["kind"], by, of) == ("instead", told["culprit"], told["holder"])
    if told["cause"] == "storm":
        return (cause["kind"], cause.get("name")) == ("irq", "storm")
    if told["cause"] == "irqsoff":
        return (cause["kind"], by) == ("irqsoff", told["culprit"])
    chain = [k["by"]["comm"] for k in links if k["kind"] == "blocked" and k.get("by")]
    return (cause["kind"], of) == ("ran", told["servers"][0]) and chain[:3] == told["servers"][::-1]


with tempfile.TemporaryDirectory() as d:
    # Time is counted in instructions: what else this machine does takes none of it.
    with open(os.path.join(d, "qemu-system-x86_64"), "w", encoding="ascii") as f:
        f.write(f'#!/bin/sh\nexec {shutil.which("qemu-system-x86_64")} -icount shift=2 "$@"\n')
    os.chmod(f.name, 0o755)
    env = {**os.environ, "PATH": d + ":" + os.environ["PATH"]}
    wrong, nr = [], 0
    for first in range(0, SEEDS, BOOT):
        seeds = range(first, min(first + BOOT, SEEDS))
        trace, console = os.path.join(d, "trace.dat"), os.path.join(d, "console")
        cmd = [FATHOM, "record", "--qemu", os.path.join(TOP, "build/demo/L6/kernel.elf"), "-o", trace, "-s", "1", "-t", "580", "-c", console]
        for e in ("sched", "irq", "ipc", "preemptirq", "demo"):
            cmd += ["-e", e]
        for s in seeds:
            cmd += ["-r", f"cause {s}"]
        p = subprocess.run(cmd, capture_output=True, text=True, timeout=600, env=env)
        with open(console, encoding="latin1") as f:
            lines = re.findall(r"cause (\d+): (\w+) culprit=(\w+) holder=(\w+) servers=([\w,]+) us=(\d+)", f.read())
        late = [json.loads(line) for line in ask("query", "-j", "--type", "late", trace).stdout.splitlines()]
        if not c.check(f"causes_{first}_recorded", p.returncode == 0 and len(lines) == len(late) == len(seeds), (p.stderr, len(lines), len(late))):
            continue
        for (seed, cause, culprit, holder, servers, _), e in zip(lines, late):
            told = {"cause": cause, "culprit": culprit, "holder": holder, "servers": servers.split(",")}
            got = ask("why", "--json", "--task", str(e["pid"]), "--at", f"{e['time'] / 1e9:.9f}", trace)
            nr += 1
            if got.returncode or not right(told, json.loads(got.stdout)):
                wrong.append((seed, told, json.loads(got.stdout)["cause"] if got.returncode == 0 else got.stderr))
    c.check("why_names_the_cause", nr == SEEDS and not wrong, f"{nr} seeds, wrong: {wrong[:2]}")
    print(f"# {nr - len(wrong)} of {SEEDS} seeds")
c.done()
