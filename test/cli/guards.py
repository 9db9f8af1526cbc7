#!/usr/bin/env python3
"""guards.py -- numbers in a file that cannot be: each is named, and nothing is made of it."""
import base64
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from clockfile import with_option  # noqa: E402
from rawtrace import convert, format_head  # noqa: E402
from tracedata import FATHOM, Traces, check, done  # noqa: E402

TMP = tempfile.TemporaryDirectory()


def run(*args):
    return subprocess.run([FATHOM, *args], capture_output=True, text=True, errors="replace", timeout=300)


def damaged(name, data, says, *command):
    path = f"{TMP.name}/{name}.dat"
    with open(path, "wb") as f:
        f.write(data)
    r = run(*(command or ("verify",)), path)
    check(name, re.search(says, r.stdout + r.stderr) is not None and r.returncode in (0, 1), (r.returncode, r.stdout[-300:], r.stderr[-300:]))


def with_bytes(data, at, form, *values):
    data = bytearray(data)
    struct.pack_into(form, data, at, *values)
    return data


with Traces() as t:
    with open(t.path("events_v6.dat"), "rb") as f:
        v6 = f.read()
    with open(t.path("events_v7_zstd.dat"), "rb") as f:
        v7 = f.read()
    # The number of CPUs stands before the options; the size of a format before its text.
    damaged("cpus_of_v6", with_bytes(v6, v6.index(b"options  \0") - 4, "<I", 70000), r"the number of CPUs is damaged")
    damaged("format_of_any_size", with_bytes(v6, v6.index(b"name: sched_switch") - 8, "<Q", (1 << 20) + 1), r"a format file of 1048577 bytes")
    with_option(t.path("clock_tsc_v6.dat"), t.path("shift.dat"), 14, struct.pack("<IIQ", 3000000, 64, 5000))
    r = run("verify", t.path("shift.dat"))
    check("shift_of_64_bits", "shifts by 64" in r.stdout + r.stderr, r.stdout + r.stderr)
    # A section of format files, by the option that says where it is, that is one of something else.
    at = next(m.start() for m in re.finditer(struct.pack("<HI", 18, 8), v7))
    where = struct.unpack_from("<Q", v7, at + 6)[0]
    check("section_is_found", struct.unpack_from("<H", v7, where)[0] == 18, where)
    damaged("section_of_another_kind", with_bytes(v7, where, "<H", 17), r"section 18 was expected here, not 17")

HEAD = format_head("tick", 300)


def formats(name, fields):
    os.makedirs(f"{TMP.name}/{name}/demo/tick")
    with open(f"{TMP.name}/{name}/demo/tick/format", "w") as f:
        f.write(HEAD + fields + '\nprint fmt: "n=%u", REC->n\n')
    return f"{TMP.name}/{name}"


A = formats("formats_a", "\tfield:unsigned int n;\toffset:8;\tsize:4;\tsigned:0;\n")
B = formats("formats_b", "\tfield:unsigned int m;\toffset:8;\tsize:4;\tsigned:0;\n\tfield:unsigned int n;\toffset:12;\tsize:4;\tsigned:0;\n")


def record(pid, *words):
    """Small enough for the length to stand in the header: a quarter of it."""
    data = struct.pack(f"<HBBi{len(words)}I", 300, 0, 0, pid, *words)
    return struct.pack("<I", len(data) // 4 | 1000 << 5) + data


def page(data, commit=None):
    return struct.pack("<QQ", 10**9, len(data) if commit is None else commit) + data.ljust(4080, b"\0")


a = convert(TMP.name, "a", [page(record(100, 7) + record(100, 8))], A)
b = convert(TMP.name, "b", [page(record(100, 1, 2))], B)
c = convert(TMP.name, "c", [page(record(100, 7) + record(100, 8), 28)], A)  # the second record ends 4 bytes after what is committed
r = run("report", c)
check("record_longer_than_its_page", "n=7" in r.stdout and "n=8" not in r.stdout, r.stdout)
m = f"{TMP.name}/m.dat"
r = run("merge", a, b, "-o", m, "--align")
events = [json.loads(line) for line in run("query", "--json", "--no-index", m).stdout.splitlines()]
check("tasks_of_two_machines_are_two", sorted(e["pid"] for e in events).count(100) == 2 and len(events) == 3, events)
got = sorted(e.get("fields", e)["n"] for e in events)
check("fields_of_each_machine", got == [2, 7, 8], events)

text = f"{TMP.name}/cpus.txt"
with open(text, "w") as f:
    f.write("# tracer: nop\n#\n" + "".join(f"            bash-57      [{c}] d..2.    12.345678: my_event: n=1\n" for c in ("001", "4095", "4096", "70000")))
r = run("stat", "--json", "--no-index", text)
check("cpus_of_a_text", json.loads(r.stdout)["events"] == 2, r.stdout[:300])

with open(text, "w") as f:
    f.write("# tracer: function_graph\n#\n# CPU  DURATION                  FUNCTION CALLS\n# |     |   |                     |   |   |   |\n")
    for depth in (127, 128):
        f.write(f" 0)               |{'  ' * (depth + 1)}f{depth}() {{\n 0)   1.000 us    |{'  ' * (depth + 1)}}}\n")
r = run("report", text)
check("calls_of_any_depth", "f127();" in r.stdout and "f128() {" in r.stdout, r.stdout)

# A block of ten bytes cannot unpack to a megabyte.
dump = ["=== BINARY TRANSFER START ===", "TYPE: FTRACE_STREAM", "VERSION: 3", "TOTAL_ENTRIES: 524288", "TOTAL_LOGGED: 524288", "BLOCKS: 1",
        "DICT_SIZE: 1", "===", "256:8080012000", "===", "BLOCK:0:10:1048576", base64.b64encode(b"\x10aaaaaaaaa").decode(), "===", "CHECKSUM: 00000000",
        "=== BINARY TRANSFER END ==="]
log = f"{TMP.name}/sel4.log"
with open(log, "w") as f:
    f.write("\n".join(dump) + "\n")
r = run("convert", "--as", "sel4-log", log, f"{TMP.name}/out.bin")
check("a_block_of_any_size", "its size is not possible" in r.stderr, r.stderr)
done()
