#!/usr/bin/env python3
"""order.py -- events of several CPUs and buffers come in trace-cmd's order, with the leaves it sees, whatever their times."""
import os
import random
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from rawtrace import convert, format_head, texts  # noqa: E402
from tracedata import FATHOM, check, done, need  # noqa: E402

CALL = "\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n"
TIMES = "".join("\tfield:unsigned long long %s;\toffset:%d;\tsize:8;\tsigned:0;\n" % t for t in (("calltime", 24), ("rettime", 32)))
FORMATS = {
    "ftrace-funcgraph_entry": format_head("funcgraph_entry", 11) + CALL + '\nprint fmt: "%ps", REC->func\n',
    "ftrace-funcgraph_exit": format_head("funcgraph_exit", 10) + CALL + TIMES + '\nprint fmt: "%ps", REC->func\n',
    "sched-thing": format_head("thing", 300) + '\tfield:int n;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: "n=%d", REC->n\n',
}


def record(rng, pids, time, last):
    """Often the return of the call before it."""
    pid, func, depth = rng.choice(pids), rng.choice((0x1000, 0x2000)), rng.randint(0, 3)
    kind = rng.random()
    if last[:2] == b"\x0b\0" and rng.random() < 0.5:
        kind, (pid, func, depth) = 0.5, struct.unpack_from("<iQi", last, 4)
    if kind < 0.4:
        return struct.pack("<HBBiQi", 11, 0, 0, pid, func, depth)
    if kind < 0.8:
        return struct.pack("<HBBiQiIQQ", 10, 0, 0, pid, func, depth, 0, time - rng.randint(0, 5000), time)
    return struct.pack("<HBBii", 300, 0, 0, pid, rng.randint(0, 1 << 30))


def cpu(rng, pids, backward):
    """Pages of up to 40 events; many at the same time, and pages that begin before the last one ended."""
    out, time = b"", 10**9
    for _ in range(rng.randint(1, 4)):
        time -= rng.randint(0, 3000) if backward and rng.random() < 0.5 else 0
        data, base, r = b"", time, b""
        for _ in range(rng.randint(1, 40)):
            delta = rng.choice((0, 0, 500, 1000, 1000, 2000))
            time += delta
            r = record(rng, pids, time, r)
            data += struct.pack("<II", delta << 5, len(r) + 4) + r
        out += struct.pack("<QQ", base, len(data)) + data.ljust(4080, b"\0")
    return out


def trace(rng, d, name, nr, backward, first):
    """Each CPU has tasks of its own: of a call and another CPU's return of the same task trace-cmd frees a record it still uses."""
    return convert(d, name, [cpu(rng, (first + k, first + 50 + k), backward) for k in range(nr)], d + "/formats")


def difference(ours, theirs):
    for n, (a, b) in enumerate(zip(ours, theirs), 1):
        if a != b:
            return f"line {n}: want {b!r} got {a!r}"
    return None if len(ours) == len(theirs) else f"{len(ours)} lines, want {len(theirs)}"


def made(seed, backward, buffers):
    """The lines of both programs, for one trace."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as d:
        os.mkdir(d + "/formats")
        for name, text in FORMATS.items():
            with open(f"{d}/formats/{name}.format", "w", encoding="ascii") as f:
                f.write(text)
        dat = trace(rng, d, "a", rng.randint(1, 5), backward, 1000)
        if buffers == 2:
            other, first = trace(rng, d, "b", rng.randint(1, 3), backward, 2000), dat
            dat = d + "/both.dat"
            subprocess.run([FATHOM, "merge", "-o", dat, "--offset", "0", "--into-buffer", "inst", "--file-version",
                            rng.choice("67"), first, other], check=True, stdout=subprocess.DEVNULL)
        return texts(dat)


def compare(name, backward, buffers):
    bad, leaves = [], 0
    for seed in range(8):
        ours, theirs = made(seed, backward, buffers)
        why = difference(ours, theirs)
        bad += [f"seed {seed}: {why}"] if why else []
        leaves += sum(line.endswith("();") for line in theirs)
    check(name, not bad and leaves > 50, "; ".join(bad[:2]) or f"{leaves} leaves")


if need("trace-cmd", "trace-cmd", "order"):
    for buffers in (1, 2):
        for backward in (False, True):
            compare(f"order_{buffers}_buffers{'_backward' if backward else ''}", backward, buffers)
done()
