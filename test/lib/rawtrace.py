"""rawtrace.py -- made-up records as ring pages, converted to a trace.dat and reported by fathom and by trace-cmd."""
import os
import struct
import subprocess

from tracedata import FATHOM


def format_head(name, ident, more=""):
    """How the format file of an event begins, up to its own fields; `more`: common fields beyond Linux's four."""
    common = (("unsigned short", "type", 0, 2, 0), ("unsigned char", "flags", 2, 1, 0),
              ("unsigned char", "preempt_count", 3, 1, 0), ("int", "pid", 4, 4, 1))
    fields = "".join("\tfield:%s common_%s;\toffset:%d;\tsize:%d;\tsigned:%d;\n" % f for f in common)
    return f"name: {name}\nID: {ident}\nformat:\n{fields}{more}\n"


def pages(records):
    """One event a microsecond from 1 s on; a page is closed when the next record does not fit."""
    out, data, time = b"", b"", 10**9
    for r in records + [None]:
        if data and (r is None or len(data) + len(r) + 12 > 4080):
            out += struct.pack("<QQ", time, len(data)) + data.ljust(4080, b"\0")
            time, data = time + 10**6, b""
        if r is not None:
            r = r.ljust((len(r) + 3) & ~3, b"\0")
            data += struct.pack("<II", 1000 << 5, len(r) + 4) + r
    return out


def convert(d, name, cpus, formats, *args):
    """A trace.dat of the pages of each CPU; its path."""
    files = {"current_tracer": b"nop\n", "saved_cmdlines": b"100 bash\n101 work\n", "trace_clock": b"[local] global\n"}
    raw = os.path.join(d, name)
    os.mkdir(raw)
    for name, data in [*files.items(), *((f"cpu{n}.raw", data) for n, data in enumerate(cpus))]:
        with open(os.path.join(raw, name), "wb") as f:
            f.write(data)
    subprocess.run([FATHOM, "convert", "--formats", formats, *args, raw, raw + ".dat"], check=True, stdout=subprocess.DEVNULL)
    return raw + ".dat"


def texts(dat, *args):
    """The lines of both programs: (fathom's, trace-cmd's)."""
    like = {FATHOM: ["--like", "3.1"]}
    return [subprocess.run([p, "report", *like.get(p, []), *args, dat], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           check=False).stdout.decode("latin1").split("\n") for p in (FATHOM, "trace-cmd")]


def reports(d, records, formats, *args):
    """The lines of both programs of a trace of these records."""
    return texts(convert(d, "made", [pages(records)], formats, *args))
