"""clockfile.py -- a trace.dat with one more option."""
import struct


def with_option(src, dst, number, data):
    """Copy a version 6 file and put an option into it; the pages move by whole pages."""
    d = open(src, "rb").read()
    at, fly = d.index(b"options  \0") + 10, d.index(b"flyrecord\0")
    cpus = struct.unpack_from("<I", d, at - 14)[0]
    table, pages = fly + 10, struct.unpack_from("<Q", d, fly + 10)[0]
    option = struct.pack("<HI", number, len(data)) + data
    out = d[:at] + option + d[at : table + 16 * cpus] + d[table + 16 * cpus : pages].rstrip(b"\0")
    out = bytearray(out + b"\0" * (-len(out) % 4096))
    moved = len(out) - pages
    for i in range(cpus):
        where = table + len(option) + 16 * i
        struct.pack_into("<Q", out, where, struct.unpack_from("<Q", out, where)[0] + moved)
    open(dst, "wb").write(out + d[pages:])
