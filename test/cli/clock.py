#!/usr/bin/env python3
"""clock.py -- corrections of time (options of trace.dat) are made as trace-cmd makes them."""
import json
import os
import re
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from clockfile import with_option
from tracedata import Traces, check, done, fathom, need


def shift(flags, times, offsets):
    n = len(times)
    one = struct.pack("<I", n) + struct.pack(f"<{n}Q", *times) + struct.pack(f"<{n}q", *offsets) + struct.pack(f"<{n}Q", *[1] * n)
    return struct.pack("<QII", 77, flags, 2) + one * 2


def scaled(scalings, fractions):
    """As trace-cmd 3.1 writes it: behind all CPUs the bits by which the scaled times are shifted."""
    times, n = [135470000000, 135600000000, 135605000000], 3
    one = struct.pack("<I", n) + struct.pack(f"<{n}Q", *times) + struct.pack(f"<{n}q", 5, -6, 7) + struct.pack(f"<{n}Q", *scalings)
    return struct.pack("<QII", 77, 0, 2) + one * 2 + struct.pack(f"<{2 * n}Q", *fractions)


CASES = {
    "tsc2nsec": ("clock_tsc_v6", 14, struct.pack("<IIQ", 3000000, 23, 5000)),
    "date": ("events_v6", 1, b"0x1234\0"),
    "offset": ("events_v6", 7, b"123456789\0"),
    "shift_one": ("events_v6", 12, shift(0, [135470000000], [7000000])),
    "shift_steps": ("events_v6", 12, shift(0, [135470000000, 135500000000, 135600000000], [1000000, 5000000, -3000000])),
    "shift_interpolated": ("events_v6", 12, shift(1, [135470000000, 135500000000, 135600000000], [1000000, 5000000, -3000000])),
    "shift_scaled": ("events_v6", 12, scaled([255, 256, 257], [8, 9, 10, 11, 12, 13])),
}

with Traces() as t:
    out = t.path("out.dat")
    for name, (src, number, data) in CASES.items() if need("trace-cmd", "trace-cmd", "clock_corrections") else []:
        with_option(t.path(src + ".dat"), out, number, data)
        text = subprocess.run(["trace-cmd", "report", "-t", out], capture_output=True).stdout.decode(errors="replace")
        want = [int(m[1] + m[2]) for m in re.finditer(r"\] +(\d+)\.(\d{9}):", text)]
        got = [json.loads(line)["time"] for line in fathom("query", "-j", "--no-index", out)[1].splitlines()]
        check(f"clock_{name}", got == want and want, f"{got[:2]} != {want[:2]}, {len(got)} and {len(want)} events")
done()
