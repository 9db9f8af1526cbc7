#!/usr/bin/env python3
"""sel4_dump.py -- console logs with seL4 dumps, made here: every version, prefixes, other output between, damage."""
import base64
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from checks import FATHOM, TOP, check, done  # noqa: E402

os.chdir(TOP)
TMP = tempfile.mkdtemp()
LENGTHS = {0xfffe: 4, 0xfffc: 2, 0xfffa: 4, 0xfff8: 4, 0xfff6: 5, 0xfff4: 5, 0xfff2: 5, 0xfff0: 8, 0xffee: 4, 0xffec: 2,
           0xffea: 3, 0xffe8: 5, 0xffe6: 4, 0xffe4: 5}
B91 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&()*+,./:;<=>?@[]^_`{|}~\""


def stream(r, words):
    """Events with their ids in the dictionary 256..299."""
    out = []
    while len(out) < words:
        k = r.random()
        if k < 0.9:
            out.append(r.randrange(256, 300) << 1 | r.randrange(2))
        elif k < 0.92:
            out.append(r.randrange(256) << 1)
        else:
            m = r.choice(list(LENGTHS))
            out += [m] + [r.randrange(65536) for _ in range(LENGTHS[m] - 1)]
    return struct.pack(f"<{len(out)}H", *out)


def lz4(raw):
    """One match per block at most: enough for a decoder to show that it can."""
    def count(n):
        return b"" if n < 15 else b"\xff" * ((n - 15) // 255) + bytes([(n - 15) % 255])
    half = len(raw) // 2
    if half > 40 and raw[:half - 16] == raw[half:2 * half - 16]:
        m = half - 16 - 4
        head = bytes([15 << 4 | min(m, 15)]) + count(half) + raw[:half] + struct.pack("<H", half) + count(m)
        rest = raw[2 * half - 16:]
        return head + bytes([min(len(rest), 15) << 4]) + count(len(rest)) + rest
    return bytes([min(len(raw), 15) << 4]) + count(len(raw)) + raw


def b91(data):
    out, bits, have = "", 0, 0
    for b in data:
        bits |= b << have
        have += 8
        if have > 13:
            v, n = bits & 8191, 13
            if v <= 88:
                v, n = bits & 16383, 14
            bits, have = bits >> n, have - n
            out += B91[v % 91] + B91[v // 91]
    if have:
        out += B91[bits % 91]
        if have > 7 or bits > 90:
            out += B91[bits // 91]
    return out


def lines(text, width):
    return [text[i:i + width] for i in range(0, len(text), width)]


def dump(raw, block=8192, width=76, version=3, base91=False, checksum=None, cpu=None):
    enc = b91 if base91 else lambda d: base64.b64encode(d).decode()
    nr, words = len(raw) // block, len(raw) // 2
    head = [("TYPE", "FTRACE_STREAM")] if version == 3 else []
    head += [("VERSION", version), ("TOTAL_ENTRIES", words)]
    if version == 3:
        head += [("TOTAL_LOGGED", words), ("BLOCKS", nr), ("DICT_SIZE", 44)]
    if version == 2:
        head += [("RAW_SIZE", len(raw))]
    head += [("OVERFLOW", "NO"), ("STORAGE_FULL", "YES"), ("DUMP_REASON", "FINALIZE"), ("DUMP_REASON_CODE", 1)]
    if cpu is not None:
        head += [("CPU", cpu)]
    out = ["=== FTRACE BINARY DUMP START ===" if base91 else "=== BINARY TRANSFER START ==="]
    out += [f"{k}: {v}" for k, v in head] + ["==="]
    out += [f"{i}:{0x8080012000 + 64 * i:x}" for i in range(256, 300)] + ["==="]
    if version == 3:
        for i in range(nr):
            p = lz4(raw[i * block:(i + 1) * block])
            out += [f"BLOCK:{i}:{len(p)}:{block}"] + lines(enc(p), width)
        tail = raw[nr * block:]
        if tail:
            out += [f"TAIL_RAW_ENTRIES:{len(tail) // 2}"] + lines(enc(tail), width)
    else:
        out += lines(enc(lz4(raw) if version == 2 else raw), width)
    out += ["===", f"CHECKSUM: {zlib.crc32(raw) if checksum is None else checksum:08x}"]
    return out + ["=== FTRACE BINARY DUMP END ===" if base91 else "=== BINARY TRANSFER END ==="]


def convert(text, name="ftrace"):
    log, out = f"{TMP}/log", f"{TMP}/{name}.bin"
    for f in os.listdir(TMP):
        os.unlink(f"{TMP}/{f}")
    with open(log, "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    p = subprocess.run([FATHOM, "convert", "--as", "sel4-log", log, out], capture_output=True, text=True, timeout=300)
    data = open(out, "rb").read() if os.path.exists(out) else None
    meta = json.load(open(f"{TMP}/{name}.meta")) if data is not None else None
    return p, data, meta


def good(name, text, raw):
    p, data, meta = convert(text)
    ok = p.returncode == 0 and data == raw and meta["raw_size"] == len(raw) and len(meta["dictionary"]) == 44
    check(name, ok, (p.returncode, p.stderr, len(raw), data and len(data)))
    return meta


noise = ["<<seL4(CPU 0) [handleInterrupt/1234 T0x80afeb3800 \"idle\" @0]: Undelivered IRQ: 42>>", "hello", "", "   ",
         "vm0: [  1.234] pci 0000:00: ok", "key=value", "Booting", "#!/bin/sh"]
for seed in range(4):
    r = random.Random(seed)
    raw = stream(r, 20000 + 3000 * seed)
    d = dump(raw, block=r.choice([4096, 8192, 16384]), width=r.choice([60, 64, 76, 120]))
    good(f"seed {seed}", "\n".join(d) + "\n", raw)
    good(f"seed {seed}, CR LF", "boot\r\n" + "\r\n".join(d) + "\r\n", raw)
    for what, prefix in (("time", lambda i: f"[{i // 10:5d}.{i * 7919 % 1000000:06d}] "), ("board", lambda i: "uart0> "),
                         ("date", lambda i: f"2026-11-15T07:{i // 60 % 60:02d}:{i % 60:02d}Z qemu[77]: ")):
        good(f"seed {seed}, prefix {what}", "\n".join(prefix(i) + l for i, l in enumerate(d)), raw)
    mixed = []
    for l in d:
        mixed.append(l)
        if r.random() < 0.05:
            mixed += r.sample(noise, 2)
    good(f"seed {seed}, other output between", "\n".join(mixed), raw)
    good(f"seed {seed}, base91", "\n".join(dump(raw, base91=True)), raw)

r = random.Random(99)
raw = stream(r, 30000)
meta = good("version 2", "\n".join(dump(raw, version=2)), raw)
check("header is typed", meta["header"]["STORAGE_FULL"] is True and meta["header"]["OVERFLOW"] is False and
      meta["header"]["RAW_SIZE"] == len(raw) and meta["header"]["DUMP_REASON"] == "FINALIZE" and
      meta["header"]["expected_checksum"] == zlib.crc32(raw), meta["header"])
good("version 1", "\n".join(dump(raw, version=1)), raw)
half = stream(r, 2000)
good("matches are copied", "\n".join(dump((half * 6)[:2 * 4096 * 2], block=8192)), (half * 6)[:2 * 4096 * 2])
body = "\n".join(["=== FTRACE BINARY DUMP START ==="] + lines(b91(raw), 76) + ["=== FTRACE BINARY DUMP END ==="])
p, data, meta = convert(body)
check("bare base91", p.returncode == 0 and data == raw, p.stderr)

# Several dumps: each in its own file.
raw2 = stream(r, 9000)
p, data, meta = convert("\n".join(dump(raw, cpu=0) + ["# ls"] + dump(raw2, cpu=1)))
check("two dumps", p.returncode == 0 and data == raw and open(f"{TMP}/ftrace-2.bin", "rb").read() == raw2, p.stderr)
s = subprocess.run([FATHOM, "stat", f"{TMP}/log", "--json"], capture_output=True, text=True)
check("two dumps are two CPUs", [c["cpu"] for c in json.loads(s.stdout)["cpus"]] == [0, 1], s.stdout[:200])

# Damage: the block is told, with its place, and left out; the rest is there.
d = dump(raw, block=8192)
starts = [i for i, l in enumerate(d) if l.startswith("BLOCK:")]
without = raw[:8192 * 2] + raw[8192 * 3:]


def damaged(name, change, want, *texts):
    lines_ = list(d)
    change(lines_)
    p, data, meta = convert("\n".join(lines_))
    ok = p.returncode == 1 and data == want and all(t in p.stderr for t in texts) and "offset 0x" in p.stderr
    check(name, ok, (p.returncode, p.stderr, data and len(data), len(want)))
    if ok and data != raw:
        check(f"{name}: gap is noted", meta["gaps"][0][0] == 8192, meta.get("gaps"))
        s = subprocess.run([FATHOM, "stat", "--summary", f"{TMP}/ftrace.bin"], capture_output=True, text=True)
        check(f"{name}: the rest is read", s.returncode == 0 and "Records: 2" in s.stdout, s.stdout[:100] + s.stderr)


def put(i, text):
    return lambda l: l.__setitem__(i, text)


damaged("line lost", lambda l: l.pop(starts[2] + 3), without, "block 2")
damaged("line cut", lambda l: l.__setitem__(starts[2] + 3, l[starts[2] + 3][:40]), without, "block 2")
damaged("line garbled", lambda l: l.__setitem__(starts[2] + 3, "?" * 76), without, "block 2")
damaged("text in the middle of a line", lambda l: l.__setitem__(starts[2] + 3, l[starts[2] + 3][:30] + "panic!" + l[starts[2] + 3][30:]),
        without, "block 2")
damaged("block line lost", lambda l: l.__setitem__(starts[2], "BLO?K"), without, "block 2")
damaged("impossible size", put(starts[2], "BLOCK:2:8226:99999999999"), without, "block 2")
damaged("checksum wrong", put(-2, "CHECKSUM: 12345678"), raw, "CHECKSUM is 12345678")
damaged("end lost", lambda l: l.pop(), raw, "END")
damaged("count wrong", put(3, "TOTAL_ENTRIES: 7"), raw, "TOTAL_ENTRIES")
p, data, meta = convert("\n".join(d[:starts[2] + 5]))
check("log cut off in a block", p.returncode == 1 and data == raw[:8192 * 2], p.stderr)
p, data, meta = convert("\n".join(["=== BINARY TRANSFER START ===", "TYPE: VIO_TRACE_STREAM", "RAW_SIZE: 3", "AAAA",
                                   "=== BINARY TRANSFER END ==="]))
check("another stream type is refused", p.returncode == 1 and data is None, p.stderr)
p, data, meta = convert("nothing here\n")
check("no dump", p.returncode == 1 and "no seL4 trace dump" in p.stderr, p.stderr)
good("a dump behind much output", "x" * 70 + "\n" + "a line of the boot\n" * 10000 + "\n".join(d), raw)

# Streams that are not whole: named with their offset, nothing crashes.
for name, words, text in (("unknown marker", [513, 0xffe2, 5, 513, 512], "unknown marker 0xffe2"),
                          ("cut event", [513, 0xffee, 0x8e], "cut off")):
    with open(f"{TMP}/x.bin", "wb") as f:
        f.write(struct.pack(f"<{len(words)}H", *words))
    p = subprocess.run([FATHOM, "verify", "--as", "sel4", f"{TMP}/x.bin"], capture_output=True, text=True)
    check(name, p.returncode == 1 and text in p.stdout + p.stderr and "00002  " in p.stdout + p.stderr, p.stdout + p.stderr)
with open(f"{TMP}/x.bin", "wb") as f:
    f.write(struct.pack("<3H", 513, 512, 513) + b"z")
p = subprocess.run([FATHOM, "verify", "--as", "sel4", f"{TMP}/x.bin"], capture_output=True, text=True)
check("odd length", p.returncode == 1 and "00006  " in p.stdout + p.stderr, p.stdout + p.stderr)
shutil.rmtree(TMP)
done()
