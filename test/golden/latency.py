#!/usr/bin/env python3
"""latency.py -- the latency tracers' text is the kernel's, in the normal, the latency and the verbose form.

The kernel's texts are in test/data/linux/latency (with FATHOM_FIXTURES=DIR also in DIR/linux/tracefs/11_*), its pages are
not: a latency tracer's pages cannot be read while it runs. So pages are made from the verbose text, which shows every field
of every record, and all three forms printed of them must equal the kernel's. The times of the records, which the texts show
rounded to microseconds in three ways, are solved for.
"""
import glob
import gzip
import os
import re
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
FATHOM = os.environ.get("FATHOM", os.path.join(ROOT, "build/fathom"))
FORMATS = os.path.join(ROOT, "test/data/linux/tracefs/00_static/all_formats.tar.gz")
LINE = re.compile(
    rb"^ *(\S.*?) +(-?\d+) +(\d+) (\d+) ([0-9a-f]{8}) [0-9a-f]{8} \[([0-9a-f]+)\] (\d+)\.(\d{3})ms \(\+(\d+)\.(\d{3})ms\): (.*)$"
)
SWITCH = re.compile(rb"^ +(\d+): *(\d+):(\S) +(==>|\+) \[(\d+)\] +(\d+): *(\d+):(\S) (.*)$")
BANNER = re.compile(
    rb"# latency: (\d+) us, .*CPU#(\d+) \| \(M:(\w+) .*\n.*\n#    \| task: (.*)-(\d+) \(uid:(\d+) nice:(-?\d+) policy:(\d+) "
    rb"rt_prio:(\d+)\)"
)
STATES = b"RSDTtXZPI"
GRAPH = re.compile(rb"^ *(\d+) us \|  +(\d+)\)  *(\S.*?)-(\d+) +\|  (\S{5}) \| .(?: +|. *([\d.]+) us *)\|  ( *)(.*)$")
STACK = re.compile(rb"^ *(\S.*?)-(\d+) +(\d+)(\S{5}) +(\d+)us(.): <stack trace>$")
MARKS = {b" ": (0, 10), b"+": (11, 100), b"!": (101, 1000), b"#": (1001, 10000), b"*": (10001, 100000)}


def read(path):
    data = open(path, "rb").read()
    return gzip.decompress(data) if path.endswith(".gz") else data


class Symbols:
    """Made-up addresses of the functions that the text names."""

    def __init__(self):
        self.at = {b"0": 0}

    def __call__(self, name):
        if name.startswith(b"0x"):
            return int(name, 16)
        return self.at.setdefault(name, 0xFFFFFFFF81000000 + 0x100 * len(self.at))

    def text(self):
        lines = [b"%x T %s" % (a, n) for n, a in sorted(self.at.items(), key=lambda x: x[1]) if a]
        return b"\n".join(lines + [b"ffffffff90000000 B _end", b""])


def solve(entries):
    """Times in ns (and the start) that round to what is shown: differences are bounded, so Bellman-Ford finds them."""
    edges, n = [], len(entries)
    start, zero = n, n + 1

    def between(a, b, low, high):
        edges.append((b, a, high))
        edges.append((a, b, -low))

    def bound(a, b, us, most=None):  # t[a] - t[b] rounds half up to us .. most
        between(a, b, us * 1000 - 500, (us if most is None else most) * 1000 + 499)

    for i, e in enumerate(entries):
        if "us" in e:
            bound(i, zero, e["us"])
        if "cut" in e:  # the graph's column is not rounded
            between(i, start, e["cut"] * 1000, e["cut"] * 1000 + 999)
        else:
            bound(i, start, e["since"])
        if i + 1 < n:
            if "mark" in e:
                bound(i + 1, i, *MARKS[e["mark"]])
            elif "delta" in e:
                bound(i + 1, i, e["delta"])
            else:
                between(i + 1, i, 0, 1 << 40)
    between(start, zero, 1 << 40, 1 << 41) if "us" not in entries[0] else None
    t = [0] * (n + 2)
    for _ in range(n + 3):
        changed = False
        for a, b, w in edges:
            if t[a] + w < t[b]:
                t[b] = t[a] + w
                changed = True
        if not changed:
            return [x - t[zero] for x in t[:n]], t[start] - t[zero]
    raise AssertionError("no times fit the text")


def body(text, stack, symbol, comms):
    m = SWITCH.match(text)
    if m:
        comms[int(m[6])] = m[9]
        return (2 if m[4] == b"==>" else 3), struct.pack(
            "<IIIBBBB", int(m[1]), int(m[6]), int(m[5]), int(m[2]), STATES.index(m[3]), int(m[7]), STATES.index(m[8]))
    if text == b"<stack trace>":
        return 4, struct.pack("<iI", len(stack), 0) + b"".join(struct.pack("<Q", symbol(s)) for s in stack)
    func, _, parent = text.partition(b" <-")
    return 1, struct.pack("<QQ", symbol(func), symbol(parent) if parent else 0)


def parse(text):
    entries = []
    for line in text.split(b"\n"):
        m = LINE.match(line)
        if m:
            entries.append({
                "comm": m[1], "pid": int(m[2]), "cpu": int(m[3]), "flags": int(m[4]), "preempt": int(m[5], 16),
                "us": int(m[6], 16), "since": int(m[7] + m[8]), "delta": int(m[9] + m[10]), "text": m[11], "stack": []})
        elif line.startswith(b" => "):
            entries[-1]["stack"].append(line[4:])
    return entries


def flag_bits(text):
    """The five characters of the flags column as common_flags and common_preempt_count."""
    flags = {b"d": 0x01, b"D": 0x81, b"b": 0x80, b"X": 0x02}.get(text[0:1], 0)
    flags |= {b"N": 0x24, b"n": 0x04, b"p": 0x20}.get(text[1:2], 0)
    flags |= {b"Z": 0x48, b"z": 0x40, b"H": 0x18, b"h": 0x08, b"s": 0x10}.get(text[2:3], 0)
    depth = [int(text[i : i + 1].replace(b".", b"0"), 16) for i in (3, 4)]
    return flags, depth[0] | depth[1] << 4


def parse_graph(text, symbol, comms):
    """The records behind a graph: an entry and an exit for a leaf, comments are wakeups and switches."""
    entries, opened = [], {}

    def add(m, comm, pid, cpu, flags, kind, data, **more):
        f, p = flag_bits(flags)
        entries.append({"comm": comm, "pid": int(pid), "cpu": int(cpu), "flags": f, "preempt": p, "kind": kind,
                        "data": data, "stack": [], **more})

    for line in text.split(b"\n"):
        m = GRAPH.match(line)
        s = STACK.match(line)
        if m:
            us, cpu, comm, pid, flags, took, indent, what = m.groups()
            depth = len(indent) // 2
            whole, _, part = (took or b"0").partition(b".")
            ns = int(whole) * 1000 + int(part.ljust(3, b"0") or 0)
            base = (m, comm, pid, cpu, flags)
            if what.startswith(b"/* "):
                add(*base, *body(what[3:-3], [], symbol, comms), cut=int(us))
            elif what.startswith(b"}"):
                func = symbol(what[5:-3]) if len(what) > 1 else opened.get((cpu, depth), 1)
                add(*base, 10, struct.pack("<QiIQQ", func, depth, 0, 0, ns), cut=int(us))
            else:
                func = int(what[:-3], 16) if what.startswith(b"0x") else symbol(what.split(b"(")[0])
                add(*base, 11, struct.pack("<Qi", func, depth), cut=int(us))
                if what.endswith(b"{"):
                    opened[cpu, depth] = func
                else:
                    add(*base, 10, struct.pack("<QiIQQ", func, depth, 0, 0, ns), cut=int(us))
        elif s:
            add(s, s[1], s[2], s[3], s[4], 4, None, since=int(s[5]), mark=s[6])
        elif line.startswith(b" => "):
            entries[-1]["stack"].append(line[4:])
    return entries


def pages(records):
    """Ring pages of (time, payload) records, each behind a time extend."""
    out, data, time, last = b"", b"", 0, 0
    for t, payload in records + [(None, b"")]:
        if data and (t is None or len(data) + len(payload) + 16 > 4080):
            out += struct.pack("<QQ", time, len(data)) + data.ljust(4080, b"\0")
            data = b""
        if t is None:
            break
        if not data:
            time = last = t
        delta, last = t - last, t
        data += struct.pack("<II", 30 | (delta & 0x7FFFFFF) << 5, delta >> 27)
        data += struct.pack("<II", 0, len(payload) + 4) + payload
    return out


def build(folder, tracer, entries, symbol, comms):
    cpus = {0: [], 1: []}
    times, start = solve(entries)
    for e, t in zip(entries, times):
        if e.get("data") is None:
            kind, data = body(e.get("text", b"<stack trace>"), e["stack"], symbol, comms)
        else:
            kind, data = e["kind"], e["data"]
        if e["pid"] and e["comm"] != b"<...>" and len(e["comm"]) >= len(comms.get(e["pid"], b"")):
            comms[e["pid"]] = e["comm"]
        cpus[e["cpu"]].append((t, struct.pack("<HBBi", kind, e["flags"], e["preempt"], e["pid"]) + data))
    files = {
        "current_tracer": tracer, "trace_clock": b"[local] global\n", "kallsyms": symbol.text(),
        "saved_cmdlines": b"".join(b"%d %s\n" % c for c in comms.items() if c[0]),
        **{"cpu%d.raw" % c: pages(r) for c, r in cpus.items()},
    }
    for name, data in files.items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)
    return start


def banner(text):
    m = BANNER.search(text)
    keys = ("latency", "cpu", "model", "comm", "pid", "uid", "nice", "policy", "rt_prio")
    out = ",".join("%s=%s" % (k, v.decode()) for k, v in zip(keys, m.groups()))
    out += ",release=" + re.search(rb"v1.1.5 on (\S+)", text)[1].decode()
    for key, pattern in (("started", rb"started at: (\S+)"), ("ended", rb"ended at: +(\S+)")):
        m = re.search(pattern, text)
        out += ",%s=%s" % (key, m[1].decode()) if m else ""
    return out


def render(folder, options, start, head):
    cmd = [FATHOM, "report", "--trace", "--formats", FORMATS, "-O", options, "--start", str(start), "--banner", head, folder]
    return subprocess.run(cmd, stdout=subprocess.PIPE, check=False).stdout


def first_difference(got, want):
    return "%r" % (next((p for p in zip(got.split(b"\n"), want.split(b"\n")) if p[0] != p[1]), "length"),)


def check_graph(scene, run):
    """The same tracers with display-graph: one text, so its records are those that the graph itself shows."""
    name = "latency graph %s %s" % (os.path.basename(scene), run)
    found = glob.glob("%s/trace.graph1.%s.txt*" % (scene, run))
    if not found:
        return 0
    want = read(found[0])
    symbol, comms = Symbols(), {}
    entries = parse_graph(want, symbol, comms)
    if not entries:
        return 0
    with tempfile.TemporaryDirectory() as folder:
        start = build(folder, re.match(rb"# tracer: (\S+)", want)[1], entries, symbol, comms)
        got = render(folder, "latency-format,display-graph", start, banner(want))
    # The head counts records; a leaf's are two here, and may have been fewer when they were written.
    count = re.compile(rb"( us, #)\d+/\d+")
    got, want = count.sub(rb"\1", got), count.sub(rb"\1", want)
    print("not ok %s: %s" % (name, first_difference(got, want)) if got != want else "ok " + name)
    return got != want


def check(scene, run):
    name = "latency %s %s" % (os.path.basename(scene), run)
    want = {}
    for form in ("nolatency", "", "verbose"):
        found = glob.glob("%s/trace.graph0.%s%s.txt*" % (scene, run, "." + form if form else ""))
        if not found:
            return 0
        want[form] = read(found[0])
    tracer = re.match(rb"# tracer: (\S+)", want[""])[1]
    bad = ""
    with tempfile.TemporaryDirectory() as folder:
        start = build(folder, tracer, parse(want["verbose"]), Symbols(), {})
        for form, options in (("nolatency", "nolatency-format"), ("", "latency-format"), ("verbose", "verbose,latency-format")):
            got = render(folder, options, start, banner(want[""]))
            if got != want[form]:
                bad += "%s: %s; " % (form or "latency", first_difference(got, want[form]))
    print("not ok %s: %s" % (name, bad) if bad else "ok " + name)
    return bool(bad)


def main():
    scenes = sorted(glob.glob(os.path.join(ROOT, "test/data/linux/latency/*")))
    if os.environ.get("FATHOM_FIXTURES"):
        scenes += sorted(glob.glob(os.path.join(os.environ["FATHOM_FIXTURES"], "linux/tracefs/11_*")))
    return max([f(s, r) for s in scenes for r in ("ft0", "ft1") for f in (check, check_graph)], default=1)


sys.exit(main())
