#!/usr/bin/env python3
"""salvage.py -- a trace.dat of version 7 that was cut, or has lost its options, still gives all events that are in the file."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tracedata import Traces, check, done, fathom

BUFFER, OPTIONS = 3, 0


class Sections:
    """Where the header tells the first options, and the sections: (offset, id, bytes)."""

    def __init__(self, data):
        at = data.index(b"\0", 10) + 1 + 6
        for _ in range(2):  # the compression and its version
            at = data.index(b"\0", at) + 1
        self.first, self.all, at = at, [], at + 8
        while at + 16 <= len(data):
            number, _, _, size = struct.unpack_from("<HHIQ", data, at)
            self.all.append((at, number, size))
            at += 16 + size

    def of(self, number):
        return [s for s in self.all if s[1] == number]


def without_buffers(data, sections):
    """Options that describe buffers are made ones that nobody knows."""
    out = bytearray(data)
    for at, _, size in sections.of(OPTIONS):
        place = at + 16
        while place < at + 16 + size:
            number, n = struct.unpack_from("<HI", out, place)
            if number == BUFFER:
                struct.pack_into("<H", out, place, 0x7777)
            place += 6 + n
    return out


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


def events(path):
    """Lines without the column of the buffer's name."""
    rc, out, err = fathom("report", path)
    return rc, [line[line.find("[") - 24 :].lstrip() for line in out.splitlines()[1:] if "EVENTS DROPPED" not in line], err


def salvage(name, path, d):
    data = open(path, "rb").read()
    sections, hurt = Sections(data), os.path.join(d, "hurt.dat")
    want = events(path)[1]
    write(hurt, without_buffers(data, sections))
    rc, got, err = events(hurt)
    check(f"salvage_{name}_no_option", rc == 0 and sorted(got) == sorted(want), f"{len(got)} of {len(want)} events {err}")
    out = fathom("verify", hurt)[1]
    check(f"salvage_{name}_verify", f"0x{sections.of(BUFFER)[0][0]:010x}  a buffer that no option describes" in out, out)
    head = bytearray(data)
    struct.pack_into("<Q", head, sections.first, 0x123456789)
    write(hurt, head)
    rc, got, err = events(hurt)
    check(f"salvage_{name}_no_options", rc == 0 and got == want, f"{len(got)} of {len(want)} events {err}")
    at, _, size = sections.of(BUFFER)[-1]
    write(hurt, data[: at + 16 + size * 2 // 3])
    rc, got, err = events(hurt)
    check(f"salvage_{name}_cut", rc == 0 and len(want) > len(got) > len(want) // 4 and set(got) <= set(want),
          f"{len(got)} of {len(want)} events {err}")
    write(hurt, data[: sections.all[-3][0] - 5] + bytes(300000))
    rc, _, err = events(hurt)
    check(f"salvage_{name}_zeros", rc in (0, 1), err)


def chunk(data, number):
    """Where the header of a chunk of the first CPU is, and its count's place."""
    count = (Sections(data).of(BUFFER)[0][0] + 16 + 4095) // 4096 * 4096
    at = count + 4
    for _ in range(number):
        at += 8 + struct.unpack_from("<I", data, at)[0]
    return count, at


def headers(path, d):
    """One word of the chain of compressed chunks is damaged: the others are found all the same."""
    data, hurt = open(path, "rb").read(), os.path.join(d, "hurt.dat")
    count, at = chunk(data, 2)
    want, whole = events(path)[1], struct.unpack_from("<I", data, at)[0]
    cases = {"size_longer": (at, whole + 1000), "size_huge": (at, 0x7FFFFFFF), "size_none": (at, 0), "unpacked_huge": (at + 4, 0x70000000),
             "count_huge": (count, 0x40000000), "count_none": (count, 0),
             "count_less": (count, 2)}
    for name, (place, value) in cases.items():
        out = bytearray(data)
        struct.pack_into("<I", out, place, value)
        write(hurt, out)
        got, text = events(hurt)[1], fathom("verify", hurt)[1]
        check(f"salvage_chunk_{name}", got == want and f"0x{count if place == count else at:010x}" in text, f"{len(got)} of {len(want)} events {text}")
    out = bytearray(data)
    out[at : at + 16] = b"x" * 16
    write(hurt, out)
    got, text = events(hurt)[1], fathom("verify", hurt)[1]
    check("salvage_chunk_overwritten", len(want) > len(got) > len(want) - 1500 and "no chunk begins here" in text, f"{len(got)} of {len(want)} events {text}")


with Traces() as t:
    folder = os.path.dirname(t.path("events_v7_zstd.dat"))
    plain = os.path.join(folder, "plain_v7.dat")
    fathom("convert", "--file-version", "7", "--compression", "none", t.path("events_v7_zstd.dat"), plain)
    for case, trace in (("zstd", t.path("events_v7_zstd.dat")), ("plain", plain), ("buffers", t.path("buffers_v7_zstd.dat"))):
        salvage(case, trace, folder)
    headers(t.path("graph_v7_zstd.dat"), folder)
done()
