"""othermachine.py -- a trace.dat (version 6, little-endian, 64-bit) as another machine would have written it.

rewrite(path, out, big, longs) swaps the bytes of every number, in headers, options, pages and the fields of every record,
and for longs == 4 lays the records out anew with longs and pointers of four bytes, as a 32-bit kernel does.
"""
import re
import struct

FIELD = re.compile(rb"\tfield:(.*?);\toffset:(\d+);\tsize:(\d+);\tsigned:(\d);\n")
HEAD = b"\x17\x08\x44tracing6\0"
# Options that are numbers: the sizes of their parts.
NUMBERS = {8: "I", 11: "Q", 14: "IIQ"}
WORDS = re.compile(rb"\b(unsigned long|long|size_t|kernel_ulong_t|long unsigned int|long int)\b(?! long)(?!.*\blong long\b)")


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def bytes(self, n):
        self.at += n
        return self.data[self.at - n : self.at]

    def number(self, code):
        return struct.unpack("<" + code, self.bytes(struct.calcsize(code)))[0]

    def text(self):
        end = self.data.index(b"\0", self.at) + 1
        return self.bytes(end - self.at)


class Field:
    def __init__(self, match, longs):
        self.type, self.offset, self.size = match.group(1), int(match.group(2)), int(match.group(3))
        self.signed = match.group(4)
        self.dynamic = b"__data_loc" in self.type
        element = re.sub(rb"\[.*", b"", self.type).replace(b"__data_loc ", b"")
        count = re.search(rb"\[(\d*)\]", self.type)
        plain = re.sub(rb" \w+$", b"", element) if b"[" not in self.type or not self.dynamic else element
        self.word = bool(WORDS.search(plain)) or b"*" in plain
        self.element = 8 if self.word else 1 if b"char" in plain or b"u8" in plain else 4
        if b"short" in plain or b"u16" in plain:
            self.element = 2
        if re.search(rb"u64|s64|long long|loff_t|ktime_t|dma_addr_t|phys", plain):
            self.element = 8
        if count is None:
            self.element = self.size
        if self.dynamic:
            self.element = 4
        self.inner = 8 if self.word else 1 if b"char" in element or b"u8" in element else 4
        self.open = self.size == 0 and not self.dynamic
        self.new_element = 4 if self.word and not self.dynamic and longs == 4 and self.element == 8 else self.element
        self.new_size = self.size // self.element * self.new_element if self.element else self.size
        self.new_offset = self.offset


class Format:
    """An event's format: its fields here and there, and its text there."""

    def __init__(self, text, longs):
        self.fields = [Field(m, longs) for m in FIELD.finditer(text)]
        self.id = int(re.search(rb"ID: (\d+)", text).group(1))
        self.end = max((f.offset + f.size for f in self.fields), default=0)
        at = 0
        shrunk = any(f.new_element != f.element for f in self.fields)
        for f in sorted(self.fields, key=lambda f: f.offset):
            if shrunk:
                align = f.new_element if f.offset % max(f.element, 1) == 0 else 1
                f.new_offset = at + -at % max(align, 1)
            at = f.new_offset + f.new_size
        self.new_end = at if shrunk else self.end
        lines = iter(self.fields)

        def line(m):
            f = next(lines)
            return b"\tfield:%s;\toffset:%d;\tsize:%d;\tsigned:%s;\n" % (f.type, f.new_offset, f.new_size, f.signed)

        self.text = FIELD.sub(line, text)


class Machine:
    def __init__(self, big, longs):
        self.big, self.longs, self.order = big, longs, ">" if big else "<"
        self.formats, self.clock = {}, False

    def number(self, code, v):
        return struct.pack(self.order + code, v)

    def format(self, text):
        f = Format(text, self.longs)
        self.formats[f.id] = f
        return self.number("Q", len(f.text)) + f.text

    def numbers(self, data, size, new_size):
        """Numbers of `size` bytes as numbers of `new_size` in the machine's order; what is left over is kept."""
        if size == 1:
            return data
        whole = len(data) // size * size
        out = b"".join(data[i : i + size][:new_size][:: -1 if self.big else 1] for i in range(0, whole, size))
        return out + data[whole:]

    def record(self, data):
        f = self.formats.get(struct.unpack_from("<H", data)[0])
        if f is None:
            raise ValueError("a record of an unknown type")
        out = bytearray(max(f.new_end, 8))
        move = f.new_end - f.end
        tail = bytearray(data[f.end :])
        for k in f.fields:
            part = data[k.offset : k.offset + k.size]
            if k.open:
                # Words behind the last field: a stack.
                tail = bytearray(self.numbers(bytes(data[k.offset :]), k.element or k.inner, 4 if k.word and self.longs == 4 else k.inner))
                continue
            if k.dynamic:
                at, n = struct.unpack("<HH", part)
                if k.inner > 1 and not k.word and at >= f.end:
                    tail[at - f.end : at - f.end + n] = self.numbers(data[at : at + n], k.inner, k.inner)
                part = struct.pack("<I", n << 16 | (at + move) & 0xFFFF)
            out[k.new_offset : k.new_offset + k.new_size] = self.numbers(part, k.element, k.new_element)
        return bytes(out + tail)

    def header(self, type_len, delta):
        return self.number("I", type_len << 27 | delta if self.big else delta << 5 | type_len)

    def page(self, page):
        time, commit = struct.unpack_from("<QQ", page)
        used, flags = commit & 0xFFFFF, commit & ~0xFFFFF & 0xFFFFFFFF
        at, end, out = 16, 16 + used, b""
        while at + 4 <= end:
            word = struct.unpack_from("<I", page, at)[0]
            kind, delta = word & 31, word >> 5
            at += 4
            if 1 <= kind <= 28:
                out += self.event(delta, page[at : at + 4 * kind])
                at += 4 * kind
                continue
            if kind == 29 and delta == 0:
                break
            n = struct.unpack_from("<I", page, at)[0]
            if kind == 0:
                out += self.event(delta, page[at + 4 : at + n])
                at += n + 3 & ~3
            else:
                out += self.header(kind, delta) + self.number("I", n) + (bytes(n - 4) if kind == 29 else b"")
                at += n if kind == 29 else 4
        lost = b""
        if flags & 1 << 30:
            lost = self.number("Q" if self.longs == 8 else "I", struct.unpack_from("<Q", page, end)[0])
        head = self.number("Q", time) + self.number("Q" if self.longs == 8 else "I", flags | len(out))
        assert len(head + out + lost) <= 4096, "a page grew"
        return (head + out + lost).ljust(4096, b"\0")

    def event(self, delta, data):
        data = self.record(data)
        data += bytes(-len(data) % 4)
        if len(data) <= 112:
            return self.header(len(data) // 4, delta) + data
        return self.header(0, delta) + self.number("I", len(data) + 4) + data

    def header_page(self, text):
        if self.longs == 8:
            return text
        text = re.sub(rb"(commit;\toffset:8;\tsize:)8", rb"\g<1>4", text)
        return re.sub(rb"(data;\toffset:)16;\tsize:4080", rb"\g<1>12;\tsize:4084", text)


def metadata(m, r):
    out = HEAD + bytes([m.big, m.longs]) + m.number("I", 4096)
    assert r.bytes(len(HEAD)) == HEAD and r.bytes(6) == b"\0\x08\0\x10\0\0"
    page = r.bytes(12), r.number("Q")
    text = m.header_page(r.bytes(page[1]))
    out += page[0] + m.number("Q", len(text)) + text
    event = r.bytes(13), r.number("Q")
    out += event[0] + m.number("Q", event[1]) + r.bytes(event[1])
    n = r.number("I")
    out += m.number("I", n) + b"".join(m.format(r.bytes(r.number("Q"))) for _ in range(n))
    systems = r.number("I")
    out += m.number("I", systems)
    for _ in range(systems):
        name, n = r.text(), r.number("I")
        out += name + m.number("I", n) + b"".join(m.format(r.bytes(r.number("Q"))) for _ in range(n))
    for code in "IIQ":  # kallsyms, printk formats, task names
        text = r.bytes(r.number(code))
        if m.longs == 4 and code == "I":
            text = re.sub(rb"(?m)^(0x)?[0-9a-f]{8}([0-9a-f]{8})\b", rb"\1\2", text)
        out += m.number(code, len(text)) + text
    return out


def options(m, r):
    out = r.bytes(10)
    while (kind := r.number("H")) != 0:
        data = r.bytes(r.number("I"))
        if kind in NUMBERS:
            parts = struct.unpack_from("<" + NUMBERS[kind], data)
            data = struct.pack(m.order + NUMBERS[kind], *parts) + data[struct.calcsize("<" + NUMBERS[kind]) :]
        m.clock |= kind == 4  # it is named again behind the table of CPUs
        if kind != 3:  # instances are not rewritten
            out += m.number("H", kind) + m.number("I", len(data)) + data
    return out + m.number("H", 0)


def rewrite(path, out, big, longs):
    with open(path, "rb") as f:
        data = f.read()
    r, m = Reader(data), Machine(big, longs)
    head = metadata(m, r)
    cpus = r.number("I")
    head += m.number("I", cpus)
    mark = r.bytes(10)
    if mark == b"options  \0":
        r.at -= 10
        head += options(m, r)
        mark = r.bytes(10)
    assert mark == b"flyrecord\0"
    head += mark
    parts = [(r.number("Q"), r.number("Q")) for _ in range(cpus)]
    clock = b""
    if m.clock:
        n = r.number("Q")
        clock = m.number("Q", n) + r.bytes(n)
    at = len(head) + 16 * cpus + len(clock) + 4095 & ~4095
    table, pages = b"", b""
    for offset, size in parts:
        new = b"".join(m.page(data[p : p + 4096]) for p in range(offset, offset + size, 4096))
        table += m.number("Q", at + len(pages)) + m.number("Q", len(new))
        pages += new
    with open(out, "wb") as f:
        f.write((head + table + clock).ljust(at, b"\0") + pages)
