#!/usr/bin/env python3
"""print_fmt_grammar.py -- the grammar of print fmts, one made-up event per part of it: what C and Linux mean by it is printed.

trace-cmd gets the same trace: it prints the same, but for the formats marked WRONG, where libtraceevent 1.7 does not.
"""
import os
import re
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from rawtrace import convert, format_head, pages, texts  # noqa: E402
from tracedata import check, done, fathom, need  # noqa: E402

TEXT = 0xFFFFFFFF81000000
# type, name, size, signed, bytes
FIELDS = [
    ("u8", "a", 1, 0, b"\x85"), ("s8", "sa", 1, 1, b"\xfe"), ("u16", "b", 2, 0, b"\x34\x92"), ("int", "c", 4, 1, struct.pack("<i", -5)),
    ("u32", "uc", 4, 0, b"\xef\xbe\xad\xde"), ("s64", "d", 8, 1, struct.pack("<q", -123456789012)),
    ("u64", "ud", 8, 0, struct.pack("<Q", 9876543210123)), ("unsigned long", "ip", 8, 0, struct.pack("<Q", TEXT + 0x10)),
    ("void *", "ptr", 8, 0, struct.pack("<Q", 0xFFFF888012345678)), ("char", "name[16]", 16, 0, b"swapper/0".ljust(16, b"\0")),
    ("unsigned char", "mac[6]", 6, 0, bytes([0, 0x1B, 0x2C, 0xD3, 0xE4, 0xF5])), ("__u8", "ip4[4]", 4, 0, bytes([192, 168, 1, 20])),
    ("__u8", "ip6[16]", 16, 0, bytes([0x20, 1, 0xD, 0xB8] + [0] * 11 + [1])), ("__u8", "uuid[16]", 16, 0, bytes(range(16))),
    ("u32", "arr[4]", 16, 0, struct.pack("<4I", 1, 2, 0xFFFFFFFF, 400)), ("bool", "yes", 1, 0, b"\1"),
    ("dev_t", "dev", 4, 0, struct.pack("<I", 8 << 20 | 3)), ("umode_t", "mode", 2, 0, struct.pack("<H", 0o100644)),
]
DYNAMIC = [
    ("__data_loc char[]", "str", b'hello "w\\orld\0'), ("__data_loc u32[]", "darr", struct.pack("<3I", 7, 8, 9)),
    ("__data_loc unsigned long[]", "mask", struct.pack("<2Q", 0xF0F, 1)),
    ("__data_loc u8[]", "sock", struct.pack("<HH", 2, 0x5000) + bytes([10, 0, 0, 1]) + bytes(8)),
    ("__data_loc u8[]", "sock6", struct.pack("<HHI", 10, 0x5000, 0) + bytes([0xFE, 0x80] + [0] * 13 + [1]) + bytes(4)),
    ("__rel_loc char[]", "rstr", b"relative\0"), ("__rel_loc u8[]", "rarr", b"\1\2\3"), ("__data_loc char[]", "empty", b""),
]
# Both print this.
SAME = [
    ('"%d %x %X %o %i", REC->a, REC->b, REC->uc, REC->mode, REC->c', "133 9234 DEADBEEF 100644 -5"),
    ('"%hhd %hhu %hu", REC->sa, REC->a, REC->b', "-2 133 37428"),
    ('"%lu %ld %llu %lx %zu", REC->ud, REC->d, REC->ud, REC->ud, REC->ud', "9876543210123 -123456789012 9876543210123 8fb8fd9828b 9876543210123"),
    ('"|%*d|%-*d|", 6, REC->c, 6, REC->c', "|    -5|-5    |"),
    ('"%s|%s", __get_str(str), __get_rel_str(rstr)', 'hello "w\\orld|relative'),
    ('"%s|%-10s|", __get_str(empty), REC->name', "|swapper/0 |"),
    ('"%016lx %#lx", (unsigned long)REC->ptr, (unsigned long)REC->ptr', "ffff888012345678 0xffff888012345678"),
    ('"%pS|%ps|%pF|%pf", (void *)REC->ip, (void *)REC->ip, (void *)REC->ip, (void *)REC->ip', "func+0x10|func|func+0x10|func"),
    ('"%pI4 %pi4 %pI4h %pI4l %pI4n", REC->ip4, REC->ip4, REC->ip4, REC->ip4, REC->ip4',
     "192.168.1.20 192.168.001.020 20.1.168.192 20.1.168.192 192.168.1.20"),
    ('"%pI6 %pi6 %pI6c", REC->ip6, REC->ip6, REC->ip6',
     "2001:0db8:0000:0000:0000:0000:0000:0001 20010db8000000000000000000000001 2001:db8::1"),
    ('"%pIS %pISp %pISpc", __get_sockaddr(sock), __get_sockaddr(sock), __get_sockaddr(sock)', "10.0.0.1 10.0.0.1:80 10.0.0.1:80"),
    ('"%pISc %pISpc", __get_sockaddr(sock6), __get_sockaddr(sock6)', "fe80::1 [fe80::1]:80"),
    ('"%pM %pm %pMF", REC->mac, REC->mac, REC->mac', "00:1b:2c:d3:e4:f5 001b2cd3e4f5 00-1b-2c-d3-e4-f5"),
    ('"%pUb %pUB %pUl %pUL", REC->uuid, REC->uuid, REC->uuid, REC->uuid',
     "00010203-0405-0607-0809-0a0b0c0d0e0f 00010203-0405-0607-0809-0A0B0C0D0E0F "
     "03020100-0504-0706-0809-0a0b0c0d0e0f 03020100-0504-0706-0809-0A0B0C0D0E0F"),
    ('"%s %s", __get_bitmask(mask), __get_cpumask(mask)', "00000000,00000001,00000000,00000f0f 0-3,8-11,64"),
    ('"%*ph", (int)__get_dynamic_array_len(sock), __get_dynamic_array(sock)', "02 00 00 50 0a 00 00 01 00 00 00 00 00 00 00 00"),
    ('"%s", __print_flags(REC->uc, "|", { 1, "ONE" }, { 2, "TWO" }, { 0xde000000, "DE" })', "ONE|TWO|DE|0xadbeec"),
    ('"%s", __print_flags(0, "|", { 0, "ZERO" }, { 2, "b" })', ""),
    ('"%s", __print_symbolic(REC->a, { 0x85, "it" }, { 2, "two" })', "it"),
    ('"%s", __print_symbolic(REC->b, { 0x85, "it" }, { 2, "two" })', "0x9234"),
    ('"%s", __print_symbolic(REC->a & 0xf, { (1 << 2) | 1, "five" }, { 2, "two" })', "five"),
    ('"%s %s", __print_hex(REC->mac, 6), __print_hex_str(REC->mac, 6)', "00 1b 2c d3 e4 f5 001b2cd3e4f5"),
    ('"%s", __print_hex(__get_rel_dynamic_array(rarr), 3)', "01 02 03"),
    ('"%s", __print_array(__get_dynamic_array(darr), __get_dynamic_array_len(darr)/4, 4)', "7 8 9"),
    ('"%s %s", __print_array(REC->arr, 4, 4), __print_array(REC->mac, 6, 1)', "1 2 4294967295 400 0 27 44 211 228 245"),
    ('"%s", REC->a ? REC->b ? "ab" : "a" : "none"', "ab"),
    ('"%s", (REC->b & 0x200) ? "yes" : ((REC->b & 0x4) ? "maybe" : "no")', "yes"),
    ('"%u:%u", ((unsigned int) ((REC->dev) >> 20)), ((unsigned int) ((REC->dev) & ((1U << 20) - 1)))', "8:3"),
    ('"%d", REC->arr[1] + REC->arr[3]', "402"),
    ('"%s", (REC->a == 0x85) ? __get_str(str) : "none"', 'hello "w\\orld'),
    ('"a" "b %d" " c%%", REC->a', "ab 133 c%"),
    ('"%llx %llx", (u64)REC->a << 40, ~0UL', "850000000000 ffffffffffffffff"),
]
# What libtraceevent does with these is not what C or the kernel does, or it gives up.
WRONG = [
    ('"%d %u", REC->sa, REC->sa', "-2 4294967294"),
    ('"%+d|% d|%#x|%.3d|%c%c", REC->c, REC->a, REC->b, REC->a, REC->name[0], 65', "-5| 133|0x9234|133|sA"),
    ('"%.3s|%.*s|%*.*s", REC->name, 3, REC->name, 6, 3, REC->name', "swa|swa|   swa"),
    ('"%td %jd %px %pB", REC->d, REC->d, REC->ptr, (void *)REC->ip', "-123456789012 -123456789012 0xffff888012345678 func+0x10"),
    ('"%*pb %*pbl", 64, __get_dynamic_array(mask), 64, __get_dynamic_array(mask)', "00000000,00000f0f 0-3,8-11"),
    ('"%*ph|%6phC|%4phN", 6, REC->mac, REC->mac, REC->mac', "00 1b 2c d3 e4 f5|00:1b:2c:d3:e4:f5|001b2cd3"),
    ('"%pa", &REC->ud', "0x000008fb8fd9828b"),
    ('"%s", __print_flags_u64(REC->ud, "|", { 1ULL, "a" }, { 1UL << 33, "b" })', "a|b|0x8f98fd9828a"),
    ('"%s", __print_symbolic_u64(REC->ud, { 9876543210123ULL, "big" }, { 2, "two" })', "big"),
    ('"%s %s", __print_symbolic(REC->c, { -5, "minus" }, { 2, "x" }), __print_symbolic(REC->sa, { -2, "small" }, { 254, "x" })', "minus small"),
    ('"%s", __print_flags(REC->a, "|", { 1, "x" }, { 0, "always" }, { 4, "y" })', "x|always|y|0x80"),
    ('"%s", __print_dynamic_array(darr, 4)', "{0x7,0x8,0x9}"),
    ('"%s", __print_hex_dump("p: ", 0, 16, 1, REC->uuid, 16, 1)', "p: 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f  ................"),
    ('"%llu.%09u", __print_ns_to_secs(REC->ud), __print_ns_without_secs(REC->ud)', "9876.543210123"),
    ('"%u %u", ((u32 *)__get_dynamic_array(darr))[1], *(u32 *)__get_dynamic_array(darr)', "8 7"),
    ('"%s|%s|%s", &REC->name[3], REC->name + 3, (char *)REC->name', "pper/0|pper/0|swapper/0"),
    ('"%d %d", (int)sizeof(REC->arr), (int)sizeof(u64)', "16 8"),
    ('"%d %d", sizeof(struct gone), REC->a', "[FAILED TO PARSE] a=133"),
    ('"%s", REC->c < 0 ? "neg" : "pos"', "neg"),
    ('"%s", REC->a > 200 || REC->a < 100 ? "out" : "in"', "in"),
    ('"%d %d", REC->a == 133 ? 1 : REC->a == 2 ? 2 : 3, REC->a ^ 0xff', "1 122"),
    ('"%d %lld %lld", REC->c / 2, REC->d / 1000, REC->d >> 3', "-2 -123456789 -15432098627"),
    ('"%lld %d %lld", (s64)(s32)REC->uc, (s8)REC->a, (long long)REC->c', "-559038737 -123 -5"),
    ('"%d", REC->a % 7 * 3 - 4 / 2', "-2"),
    ('"%u %u", __builtin_bswap16(REC->b), ntohl(REC->uc)', "13458 4022250974"),
]
# These end trace-cmd.
FATAL = [
    ('"%u %d", REC->uc / 0, REC->c % 0', "0 0"),
    ('"%s", __print_hex(__get_dynamic_array(rarr), __get_rel_dynamic_array_len(rarr))', "01 02 03"),
    ('"%d", REC->mac[9]', "0"),
]


def layout():
    """The fields of every event: the text of its format, a record behind the common fields."""
    at, text, data = 8, "", b""
    for kind, name, size, signed, value in FIELDS:
        at += -at % (size if "[" not in name else 4 if kind == "u32" else 1)
        data = data.ljust(at - 8, b"\0") + value
        text += f"\tfield:{kind} {name};\toffset:{at};\tsize:{size};\tsigned:{signed};\n"
        at += size
    at += -at % 4
    data, tail, end = data.ljust(at - 8, b"\0"), b"", at + 4 * len(DYNAMIC)
    for kind, name, value in DYNAMIC:
        where = end + len(tail) - (at + 4 if kind.startswith("__rel") else 0)
        data += struct.pack("<I", where | len(value) << 16)
        text += f"\tfield:{kind} {name};\toffset:{at};\tsize:4;\tsigned:0;\n"
        at, tail = at + 4, tail + value
    return text, data + tail


def printed(d, name, cases):
    """What both print for each case: two lists."""
    text, data = layout()
    formats, records = os.path.join(d, name + ".formats"), []
    os.mkdir(formats)
    for i, (fmt, _) in enumerate(cases):
        with open(os.path.join(formats, f"made-ev{i}.format"), "w") as f:
            f.write(format_head(f"ev{i}", 1000 + i) + text + "\nprint fmt: " + fmt + "\n")
        records.append(struct.pack("<HBBi", 1000 + i, 0, 0, 100) + data)
    with open(os.path.join(d, "kallsyms"), "w") as f:
        f.write(f"{TEXT:x} T func\n{TEXT + 256:x} T next\n")
    dat = convert(d, name, [pages(records)], formats, "--symbols", os.path.join(d, "kallsyms"))
    for lines in texts(dat):
        by_event = {int(m[1]): m[2] for m in (re.search(r": ev(\d+): *(.*)", line) for line in lines) if m}
        yield [by_event.get(i) for i in range(len(cases))]


def right(got, want):
    return got is not None and (got.startswith(want) if want.startswith("[") else got.strip() == want)


def main():
    if not need("trace-cmd", "trace-cmd", "print_fmt_grammar"):
        return
    with tempfile.TemporaryDirectory() as d:
        for name, cases in (("same", SAME), ("wrong", WRONG), ("fatal", FATAL)):
            ours, theirs = printed(d, name, cases)
            bad = [(fmt, want, got) for (fmt, want), got in zip(cases, ours) if not right(got, want)]
            check(f"print_fmt_grammar_{name} {len(cases)} formats", not bad, bad[:2])
            if name == "same":
                bad = [(fmt, want, got) for (fmt, want), got in zip(cases, theirs) if not right(got, want)]
                check("print_fmt_grammar_as_trace_cmd", not bad, bad[:2])
            if name == "wrong":
                same = [fmt for (fmt, want), got in zip(cases, theirs) if want[0] != "[" and right(got, want)]
                check("print_fmt_grammar_still_wrong", not same, same[:2])
                raw = fathom("report", "--like", "3.1", "-R", os.path.join(d, name + ".dat"))[1]
                check("print_fmt_grammar_raw", raw.count(" uuid=ARRAY[00, 01,") == len(cases) and "FAILED" not in raw, raw[:300])


main()
done()
