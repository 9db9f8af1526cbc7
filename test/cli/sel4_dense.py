#!/usr/bin/env python3
"""sel4_dense.py -- seL4 streams with so many events of a type that the index keeps no list of them, and what is said of them all the same."""
import os
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from checks import FATHOM, check, done  # noqa: E402

MANY = 70000  # a list has at most 65,536 events, or one word in 256
ENTER = 301 << 1 | 1


def u48(v):
    return [v & 0xffff, v >> 16 & 0xffff, v >> 32]


def fathom(*args):
    r = subprocess.run([FATHOM, *args], capture_output=True, text=True)
    return r.stdout + r.stderr


def events(path, *args):
    return sum("[000]" in x for x in fathom("report", *args, path).splitlines())


with tempfile.TemporaryDirectory() as d:
    def stream(name, words):
        path = os.path.join(d, name)
        with open(path, "wb") as f:
            f.write(struct.pack(f"<{len(words)}H", *words))
        return path

    # Threads that switch often are threads nevertheless.
    tcbs = [0xffffff8000001000, 0xffffff8000002000, 0xffffff8000003000]
    words = []
    for i in range(MANY):
        words += [0xfff8, *u48(tcbs[i % 3] & 0xffffffffffff), ENTER]
    tasks = fathom("stat", "--as", "sel4", stream("switches.bin", words)).partition("  task\n")[2]
    check("all_threads", len(tasks.split("\n")) >= 3 and "<idle>-0" not in tasks, tasks)

    # What comes before the first timestamp has its time, however many follow.
    words = [ENTER, ENTER]
    for i in range(MANY):
        words += [0xffe4, 0xffff, *u48(5000000 + i), ENTER]
    span = [x for x in fathom("stat", "--as", "sel4", stream("stamps.bin", words)).splitlines() if x.startswith("span")]
    check("first_time", span and " 5000000 .." in span[0], span)

    # Unknown markers are damage, and counting them over blocks ends at the same event as reading does.
    words = [0x0201, 0xffe2, 0x0129, 0xffec, 0x01ee] * MANY
    path = stream("unknown.bin", words)
    read = events(path, "--as", "sel4")
    said = fathom("stat", "--as", "sel4", path)
    counted = int(said.partition("events")[2].split()[0].replace(",", ""))
    check("counted_as_read", counted == read, (counted, read))
    said = fathom("verify", "--as", "sel4", path)
    unknown = fathom("report", "--as", "sel4", path).count(" unknown: ")
    check("unknown_is_damage", unknown > 65536 and f" {unknown} unknown markers" in said and "DAMAGED" in said, said)
done()
