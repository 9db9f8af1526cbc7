"""scene.py -- a frozen buffer of a real kernel: its pages, and the text the kernel printed of it under each option.

A scene is a folder with cpuN.raw[.gz], trace_options, tracer_clock, saved_cmdlines, cpuN.stats and texts:
trace.txt[.gz] and trace.OPTION+OPTION.txt[.gz]. What `trace` shows but the pages do not hold is taken from the text:

  start      when the buffer was cleared: latency columns count from there. Every line bounds it to a microsecond.
  banner     the CPU of the latency banner, and the kernel's release.
  pointers   %p prints hashed by a secret key. A hash and an address must map one to one over the whole text.
"""
import glob
import gzip
import os
import re
import subprocess


def read(path):
    data = open(path, "rb").read()
    return gzip.decompress(data) if path.endswith(".gz") else data


def texts(folder):
    """(option list, expected text) of each capture in the scene."""
    for path in sorted(glob.glob(folder + "/trace*.txt*")):
        m = re.fullmatch(r"trace\.?(.*?)\.?txt(\.gz)?", os.path.basename(path))
        if m:
            yield m[1], read(path)


class Scene:
    def __init__(self, fathom, folder, formats, symbols):
        self.fathom, self.folder = fathom, folder
        self.side = ["--formats", formats, "--symbols", symbols]
        self.tracer = open(folder + "/tracer_clock").read().split("\n")[0]

    def run(self, *args):
        cmd = [self.fathom, "report", "--trace", *self.side, *args, self.folder]
        p = subprocess.run(cmd, capture_output=True, check=False)
        if p.returncode:
            raise RuntimeError(" ".join(cmd) + ": " + p.stderr.decode())
        return p.stdout

    def times(self):
        """Times of all events, in the order they are printed."""
        raw = self.run("-O", "raw,nolatency-format", "--tracer", "nop")
        return [int(m[1]) for m in re.finditer(rb"^-?\d+ \d+ (\d+) (?:type: |[0-9a-f]+ [0-9a-f]+$|[:#] )", raw, re.M)]

    def start(self, text):
        """Of all buffer starts, one that gives every time column of a latency text."""
        shown = re.findall(rb"^.{8}-\d+ +\d+\S{5} +(\d+)(us.)?: ", text, re.M)
        if not shown:  # verbose
            shown = [(a + b, b"us") for a, b in re.findall(rb"\] (\d+)\.(\d{3})ms \(\+", text)]
        times = self.times()
        low, high = 0, 1 << 64
        if len(shown) != len(times):  # a graph: only its stack lines have the column
            return None
        for t, (us, unit) in zip(times, shown):
            if unit:
                low = max(low, t + 500 - 1000 * int(us) - 999)
                high = min(high, t + 500 - 1000 * int(us))
            else:
                low = high = t - int(us)
        assert low <= high, "no start fits the text"
        return low

    def render(self, options, expected):
        args = ["-O", options] if options else []
        banner = re.search(rb"^# \S+ latency trace v1.1.5 on (\S+)\n.*\n.*CPU#(\d+) \| \(M:(\w+) ", expected, re.M)
        if banner:
            args += ["--banner", "release=%s,cpu=%s,model=%s" % tuple(b.decode() for b in banner.groups())]
        if "latency-format" in options and "nolatency" not in options:
            start = self.start(expected)
            if start is not None:
                args += ["--start", str(start)]
        return self.run(*args)


POINTER = re.compile(rb"\b[0-9a-f]{16}\b")


def difference(got, want):
    """None if equal but for hashed pointers, which must map one to one; else the first difference."""
    if got == want:
        return None
    a, b = got.split(b"\n"), want.split(b"\n")
    forth, back = {}, {}
    for n, (x, y) in enumerate(zip(a, b), 1):
        if x == y:
            continue
        if POINTER.sub(b"", x) == POINTER.sub(b"", y):
            pairs = list(zip(POINTER.findall(x), POINTER.findall(y)))
            if all(forth.setdefault(p, h) == h and back.setdefault(h, p) == p for p, h in pairs):
                continue
        return "line %d:\n  want %r\n  got  %r" % (n, y[:200], x[:200])
    if len(a) != len(b):
        return "%d lines, want %d" % (len(a), len(b))
    return None
