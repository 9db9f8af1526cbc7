#!/usr/bin/env python3
"""pages.py -- random ring pages: all kinds of records, stamps and losses decode as trace-cmd decodes them."""
import os
import random
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from rawtrace import convert, format_head, texts  # noqa: E402
from tracedata import check, done, fathom, need  # noqa: E402

FORMAT = format_head("thing", 300) + '\tfield:int n;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: "n=%d", REC->n\n'
HEADER_PAGE = """\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:%d;\tsigned:1;
"""
DELTA = (1 << 27) - 1
MISSED, STORED = 1 << 31, 1 << 30


def data(rng):
    """A record and how far it moves the time; its size in the header, or in a word of its own."""
    size, delta = rng.choice((12, 16, 20, 40, 108, 112, 116, 400)), rng.choice((0, 1, 999, 1000, 123456, DELTA))
    r = struct.pack("<HBBii", 300, rng.choice((0, 1, 4)), 0, rng.choice((0, 100, 101)), rng.getrandbits(30)).ljust(size, b"x")
    short = size <= 112 and rng.random() < 0.7
    return (struct.pack("<I", delta << 5 | size // 4) if short else struct.pack("<II", delta << 5, size + 4)) + r, delta


def other(rng, time):
    kind = rng.randrange(3)
    if kind == 0:
        delta = rng.getrandbits(rng.choice((5, 28, 35)))
        return struct.pack("<II", (delta & DELTA) << 5 | 30, delta >> 27), delta
    if kind == 1:
        later = rng.choice((0, 1000, 10**9))
        stamp = time + later
        return struct.pack("<II", (stamp & DELTA) << 5 | 31, stamp >> 27), later
    size = rng.choice((8, 12, 40))
    return struct.pack("<II", 1 << 5 | 29, size - 4).ljust(size, b"\0"), 1


def page(rng, time, may_miss):
    """trace-cmd tells a loss only if the page begins with an event."""
    out, base, tail, flags = b"", time, b"", 0
    if may_miss and rng.random() < 0.3:
        flags = rng.choice((MISSED, MISSED | STORED))
        tail = struct.pack("<Q", rng.choice((1, 5, 10**6))) if flags & STORED else b""
    while len(out) < 3600 and (not out or rng.random() > 0.02):
        record, delta = data(rng) if (flags and not out) or rng.random() < 0.7 else other(rng, time)
        out += record
        time += delta
    if rng.random() < 0.2:
        out += struct.pack("<I", 29)  # the rest is empty
    return struct.pack("<QQ", base, len(out) | flags) + (out + tail).ljust(4080, b"\0"), time


def cpu(rng):
    out, time = b"", 10**9 + rng.randint(0, 10**6)
    for n in range(rng.randint(1, 5)):
        p, time = page(rng, time + rng.choice((0, 1000)), n > 0)
        out += p
    return out


def both(cpus, *args, page_bytes=4096):
    """The lines of both programs of the pages as a trace.dat; what else fathom finds in it."""
    with tempfile.TemporaryDirectory() as d:
        os.mkdir(d + "/formats")
        with open(d + "/formats/sched-thing.format", "w", encoding="ascii") as f:
            f.write(FORMAT)
        with open(d + "/formats/header_page", "w", encoding="ascii") as f:
            f.write(HEADER_PAGE % (page_bytes - 16))
        dat = convert(d, "made", cpus, d + "/formats", *args)
        rc, out, _ = fathom("verify", dat)
        return *texts(dat, "-t"), None if rc == 0 else out.split("\n")[0]


def random_pages(seed):
    rng = random.Random(seed)
    ours, theirs, harm = both([cpu(rng) for _ in range(rng.randint(1, 3))], "--file-version", rng.choice("67"))
    bad = [f"want {b!r} got {a!r}" for a, b in zip(ours, theirs) if a != b]
    if not bad and len(ours) != len(theirs):
        bad = [f"{len(ours)} lines, want {len(theirs)}"]
    if not bad and harm:
        bad = [harm]
    return f"seed {seed}: {bad[0]}" if bad else None


def sub_buffers(size, version):
    """Pages of another size than 4096, as of arm64 or by buffer_subbuf_size_kb; a CPU in the middle has none."""
    rng, cpus = random.Random(size), [b"", b"", b""]
    for n in range(3):
        for c in (0, 2):
            out = b""
            while len(out) < size - 500:
                out += data(rng)[0]
            cpus[c] += struct.pack("<QQ", 10**12 * (n + 1), len(out)) + out.ljust(size - 16, b"\0")
    ours, theirs, harm = both(cpus, "--file-version", version, page_bytes=size)
    return None if ours == theirs and len(ours) > 6 and not harm else (size, version, len(ours), len(theirs), harm)


def hidden_loss():
    """Where a stamp stands before the first event of the page fathom tells the loss, and trace-cmd does not."""
    event = struct.pack("<IHBBii", 3, 300, 0, 0, 100, 1)
    pages = [struct.pack("<QQ", 10**9, len(event)) + event.ljust(4080, b"\0")]
    late = struct.pack("<II", 5 << 5 | 30, 0) + event
    pages.append(struct.pack("<QQ", 2 * 10**9, len(late) | MISSED | STORED) + (late + struct.pack("<Q", 7)).ljust(4080, b"\0"))
    ours, theirs, _ = both([b"".join(pages)])
    return "CPU:0 [7 EVENTS DROPPED]" in ours and [x for x in ours if "DROPPED" not in x] == theirs


if need("trace-cmd", "trace-cmd", "pages"):
    bad = [why for seed in range(16) for why in [random_pages(seed)] if why]
    check("pages_random", not bad, "; ".join(bad[:2]))
    check("pages_hidden_loss", hidden_loss())
    bad = [b for size in (1024, 4096, 8192, 65536) for version in "67" for b in [sub_buffers(size, version)] if b]
    check("pages_of_other_sizes", not bad, bad)
done()
