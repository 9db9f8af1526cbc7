#!/usr/bin/env python3
"""verify.py -- fathom verify names the offset of damage and what is left; whole traces are whole."""
import json
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tracedata import Traces, check, done, fathom, options_v7


def pages_at(path):
    """Offset and size of CPU 0's pages of a version 6 file."""
    data = open(path, "rb").read()
    at = data.index(b"flyrecord\0") + 10
    return struct.unpack_from("<QQ", data, at)


def hurt(path, offset, new):
    with open(path, "r+b") as f:
        f.seek(offset)
        f.write(new)


with Traces() as t:
    for path in t.files:
        rc, out, err = fathom("verify", path)
        check(f"verify_{os.path.basename(path)}_whole", rc == 0 and ("whole" in out or "not damaged" in out), out + err)
    path = t.path("events_v6.dat")
    whole = json.loads(fathom("verify", "-j", path)[1])
    offset, size = pages_at(path)
    hurt(path, offset + 3 * 4096 + 8, b"\xf0\xff\x0f\0")  # commit word
    rc, out, err = fathom("verify", path)
    check("verify_names_the_page", rc == 1 and f"0x{offset + 3 * 4096:010x}" in out and "DAMAGED" in out, out)
    got = json.loads(fathom("verify", "-j", path)[1])
    check("verify_json", not got["whole"] and got["places"] == 1 and got["damage"][0]["offset"] == offset + 3 * 4096, got)
    check("verify_counts_what_is_left", 0 < whole["events"] - got["events"] < 200, got["events"])
    hurt(path, offset + 16 + 4, b"\xfe\xff")  # the type of the first event
    rc, out, err = fathom("verify", path)
    check("verify_unknown_type", "event type 65534 is not known" in out, out)
    path = t.path("lost_v6.dat")
    offset, size = pages_at(path)
    os.truncate(path, offset + size + 10 * 4096 + 100)
    rc, out, err = fathom("verify", path)
    check("verify_cut_file", rc == 1 and "the file ends inside its pages" in out and "cpu 1" in out, out)
    rc, out, err = fathom("stat", path)
    check("stat_of_a_cut_file", rc == 0 and "damage" in out, out + err)
    path = t.path("graph_v7_zstd.dat")
    data = open(path, "rb").read()
    hurt(path, data.index(b"\x28\xb5\x2f\xfd", len(data) - 40000), b"zzzz")
    rc, out, err = fathom("verify", path)
    check("verify_compressed_chunk", rc == 1 and "does not decompress" in out, out)
    rc, out, err = fathom("query", path, "--limit", "3")
    check("query_of_a_damaged_file", rc == 0 and len(out.splitlines()) == 3, err)
    for args in (["report", path], ["query", path], ["report", "--json", path], ["convert", path, "-", "--form", "csv"], ["report", "--trace", path]):
        rc, out, err = fathom(*args)
        check(f"damage_is_told_by_{'_'.join(a.strip('-') for a in args if a != path and a != '-')}",
              rc == 0 and "some parts are damaged and were skipped; run `fathom verify` for details" in err and len(out.splitlines()) > 100, err)

    # A CPU that cannot be: the others come out, and nothing is as large as the number.
    data = bytearray(open(t.path("events_v7_zstd.dat"), "rb").read())
    option, size = next((at, n) for kind, at, n in options_v7(data) if kind == 3)
    cpus = data.index(b"\0", data.index(b"\0", option + 14) + 1) + 1 + 4  # behind the section, two names and the page's size
    struct.pack_into("<I", data, cpus + 4 + 20, 0xFFFFFFF0)  # of the second CPU
    path = t.path("cpu.dat")
    open(path, "wb").write(data)
    rc, out, err = fathom("verify", path)
    check("verify_cpu_that_cannot_be", rc == 1 and "there is no CPU 4294967280" in out and f"0x{option:010x}" in out, (option, out))
    rc, out, err = fathom("report", path)
    check("report_cpu_that_cannot_be", rc == 0 and out.count("[000]") > 1000 and "[001]" not in out, (len(out), err))

    # One byte of the head: it is told, and nothing is lost.
    for name, at, told in (("events_v6.dat", 12, "byte order 1, but numbers have the other"),
                           ("events_v7_zstd.dat", 12, "byte order 1, but numbers have the other"),
                           ("events_v6.dat", 10, "version '7', but the layout is that of 6"), ("events_v6.dat", 0, "17 08 44 'tracing' was expected"),
                           ("events_v7_zstd.dat", 5, "17 08 44 'tracing' was expected")):
        data = bytearray(open(t.path(name), "rb").read())
        data[at] ^= 1
        open(path, "wb").write(data)
        rc, out, err = fathom("verify", path)
        check(f"verify_head_{name[7:9]}_{at}", rc == 1 and f"0x{at if at >= 10 else 0:010x}  {told}" in out, out[:300] + err)
        check(f"report_head_{name[7:9]}_{at}", fathom("report", path)[1] == fathom("report", t.path(name))[1] != "")
done()
