#!/usr/bin/env python3
"""latency_text.py -- a trace.dat that holds the text of a latency tracer: version 6, and 7 plain and compressed."""
import os
import struct
import subprocess
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tracedata import Traces, check, done, fathom, options_v7

TEXT = b"# tracer: wakeup\n#\n" + b"".join(b"  <idle>-0       0dNh4 %4dus+: 0:120:R + [000] 57: 98:R kworker\n" % n for n in range(200))
OPTIONS, BUFFER, BUFFER_TEXT, COMPRESSED = 0, 3, 22, 1


def version_6(data):
    return data[: data.index(b"options  \0")] + b"latency  \0" + TEXT


def chunks():
    """As the pages of a buffer are packed: the number of chunks, then each with its sizes."""
    parts = [TEXT[:5000], TEXT[5000:]]
    packed = [zlib.compress(p) for p in parts]
    return struct.pack("<I", len(parts)) + b"".join(struct.pack("<II", len(z), len(p)) + z for z, p in zip(packed, parts))


def version_7(data, compressed):
    """The buffer's option is made an unknown one; another list of options at the end tells where the text is."""
    data = bytearray(data)
    for kind, option, _ in list(options_v7(data)):
        if kind == BUFFER:
            struct.pack_into("<H", data, option, 99)
    text, section = chunks() if compressed else TEXT, len(data)
    data += struct.pack("<HHIQ", BUFFER_TEXT, COMPRESSED if compressed else 0, 0, len(text)) + text
    struct.pack_into("<Q", data, option + 6, len(data))
    body = struct.pack("<HIQ", BUFFER_TEXT, 15, section) + b"\0local\0" + struct.pack("<HIQ", 0, 8, 0)
    return bytes(data + struct.pack("<HHIQ", OPTIONS, 0, 0, len(body)) + body)


def one(t, name, data):
    path = t.path(name + ".dat")
    with open(path, "wb") as f:
        f.write(data)
    text = TEXT.decode()
    rc, out, err = fathom("report", path)
    check(f"latency_text_{name}", rc == 0 and out == "cpus=2\n" + text + "\n" and not err, (out[:200], err))
    check(f"latency_text_{name}_txt", fathom("convert", path, "-", "--form", "txt")[1] == out)
    check(f"latency_text_{name}_trace", fathom("report", "--trace", path)[1] == text)
    rc, out, err = fathom("verify", path)
    check(f"latency_text_{name}_whole", rc == 0, out)
    for command in (["query", path], ["stat", path], ["convert", path, t.path("out.dat")]):
        rc, out, err = fathom(*command)
        check(f"latency_text_{name}_{command[0]}", "the text of a latency tracer" in err and rc == (command[0] == "convert"), (rc, err))
    return path


with Traces() as t:
    plain, packed, source = t.path("plain.dat"), t.path("packed.dat"), t.path("marker_v6.dat")
    fathom("convert", source, plain, "--compression", "none")
    fathom("convert", source, packed, "--compression", "zlib")
    with open(source, "rb") as a, open(plain, "rb") as b, open(packed, "rb") as c:
        six = one(t, "v6", version_6(a.read()))
        seven = one(t, "v7", version_7(b.read(), False))
        one(t, "v7_zlib", version_7(c.read(), True))
    try:
        for path in (six, seven):
            want = subprocess.run(["trace-cmd", "report", path], capture_output=True).stdout.decode()
            check(f"latency_text_as_trace_cmd_{os.path.basename(path)[:2]}", fathom("report", path)[1] == want, want[:200])
    except FileNotFoundError:
        print("skip latency_text_as_trace_cmd: package trace-cmd missing")
done()
