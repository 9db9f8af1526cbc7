#!/usr/bin/env python3
# slow
"""hostile.py -- small files that claim to be large, and text that would run past a record: every command stays within limits."""
import os
import resource
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from checks import FATHOM, check, done

MEMORY, SECONDS = 1 << 30, 20  # address space of a run, and its time on a CPU: 1 is usual, 80 and more what a file asks for
HEADER_INFO, FTRACE_EVENTS, EVENT_FORMATS, BUFFER, BUFFER_TEXT, DONE = 16, 17, 18, 3, 22, 0
LINE = "            bash-57      [001] d..2.    12.345678: my_event: "


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))


def run(*args):
    """(exit code, stdout, stderr) of a run within the limits."""
    r = subprocess.run([FATHOM, *args], capture_output=True, preexec_fn=limits, check=False)
    return r.returncode, r.stdout.decode(errors="replace"), r.stderr.decode(errors="replace")


def section(ident, body, packed=False):
    return struct.pack("<HHIQ", ident, packed, 0, len(body)) + body


def deflated(data):
    z = zlib.compress(data, 9)
    return struct.pack("<II", len(z), len(data)) + z


def option(ident, data):
    return struct.pack("<HI", ident, len(data)) + data


def page(time, number):
    """A page with one record of type 1."""
    record = struct.pack("<IHHiI", 3, 1, 0, 7, number)
    return (struct.pack("<QQ", time, len(record)) + record).ljust(4096, b"\0")


def buffer_option(section_at, cpus, name=b""):
    return option(BUFFER, struct.pack("<Q", section_at) + name + b"\0local\0" + struct.pack("<II", 4096, len(cpus)) +
                  b"".join(struct.pack("<IQQ", *c) for c in cpus))


class File7:
    """A trace.dat of version 7: sections, then the options that lead to them."""

    def __init__(self, compression=b"zlib"):
        self.data = b"\x17\x08\x44tracing7\0\0\x08" + struct.pack("<I", 4096) + compression + b"\0" + b"1\0"
        self.first = len(self.data)
        self.data += bytes(8)

    def add(self, *what, **kw):
        at = len(self.data)
        self.data += section(*what, **kw)
        return at

    def one_page(self):
        """An option that leads to a buffer with one event."""
        at = self.add(BUFFER, page(5000, 5))
        return buffer_option(at, [(0, at + 16, 4096)], b"one")

    def options(self, options, after=0):
        """The last section that was added is the first that is read; one page makes it a trace."""
        options = [*options, self.one_page()] if not after else options
        at = self.add(DONE, b"".join(options) + option(DONE, struct.pack("<Q", after)))
        self.data = self.data[: self.first] + struct.pack("<Q", at) + self.data[self.first + 8 :]
        return at


def leads_to(ident, at):
    return option(ident, struct.pack("<Q", at))


class Case:
    def __init__(self, d):
        self.dir = d

    def file(self, name, data):
        path = os.path.join(self.dir, name)
        with open(path, "wb") as f:
            f.write(data)
        return path

    def all_commands(self, name, path, damage):
        """No command is killed or runs out of its limits, and verify says what is wrong."""
        for command in ("report", "stat", "query"):
            rc, _, err = run(command, path)
            check(f"hostile_{name}_{command}", rc in (0, 1) and "memory" not in err, f"exit {rc}: {err[-300:]}")
        rc, out, err = run("verify", path)
        check(f"hostile_{name}_verify", rc == 1 and damage in out + err, f"exit {rc}: {out[-300:]}{err[-300:]}")


def long_lines(c):
    for pairs in (70_000, 240_000):
        text = f"# tracer: nop\n#\n{LINE}a=x\n{LINE}{'a=x ' * pairs}\n{LINE}a=last\n"
        path = c.file("long.txt", text.encode())
        c.all_commands(f"{pairs}_pairs", path, "is too long: its text was cut at 32768 bytes")
        rc, out, err = run("report", path)
        lines = out.splitlines()
        check(f"hostile_{pairs}_pairs_rest", rc == 0 and lines[-1].endswith("a=last") and len(lines) >= 3, out[-200:] + err)


def bomb(c):
    f = File7()
    zeros = deflated(bytes(200 << 20))
    at = f.add(EVENT_FORMATS, zeros, packed=True)
    f.options([leads_to(EVENT_FORMATS, at)] * 100)
    c.all_commands("one_section_100_times", c.file("bomb.dat", f.data), "more than one option leads to it")
    f = File7()
    each = deflated(bytes(60 << 20))
    f.options([leads_to(EVENT_FORMATS, f.add(EVENT_FORMATS, each, packed=True)) for _ in range(50)])
    c.all_commands("50_sections", c.file("bomb.dat", f.data), "unpacks to more than 256 MiB in total")


def bomb_of_text(c):
    f = File7()
    z = zlib.compress(bytes(64 << 20), 9)
    chunk = struct.pack("<II", len(z), 64 << 20) + z
    at = f.add(BUFFER_TEXT, struct.pack("<I", 9) + chunk * 9, packed=True)
    f.options([option(BUFFER_TEXT, struct.pack("<Q", at) + b"\0local\0")])
    c.all_commands("text_of_buffer", c.file("text.dat", f.data), "the text of a buffer does not decompress")


def circle(c):
    f = File7()
    f.options([f.one_page()], len(f.data))
    c.all_commands("circle_of_one", c.file("circle.dat", f.data), "form a loop")
    f = File7()
    two = f.options([], f.options([]))
    f.data = f.data.replace(option(DONE, struct.pack("<Q", 0)), option(DONE, struct.pack("<Q", two)))
    c.all_commands("circle_of_two", c.file("circle.dat", f.data), "form a loop")


def shared_chunks(c):
    f = File7()
    z = zlib.compress(bytes(4096), 9)
    chunks = struct.pack("<I", 20_000) + (struct.pack("<II", len(z), 4096) + z) * 20_000
    at = f.add(BUFFER, chunks, packed=True)
    f.options([buffer_option(at, [(cpu, at + 16, len(chunks)) for cpu in range(1000)])])
    c.all_commands("chunks_of_1000_cpus", c.file("chunks.dat", f.data), "claim the same pages")
    f = File7()
    at = f.add(BUFFER, chunks, packed=True)
    f.options([buffer_option(at, [(0, at + 16, len(chunks))], b"b%d" % n) for n in range(500)])
    c.all_commands("chunks_of_500_buffers", c.file("chunks.dat", f.data), "belong to another buffer")


def shared_pages(c):
    """Each CPU's range covers those after it: each gets its own part, and every event is there once, with the one of the other buffer."""
    f = File7(b"none")
    pages = b"".join(page(1000 * n, n) for n in range(100))
    at = f.add(BUFFER, pages)
    f.options([buffer_option(at, [(cpu, at + 16 + 4096 * cpu, len(pages) - 4096 * cpu) for cpu in range(100)])])
    path = c.file("pages.dat", f.data)
    c.all_commands("pages_overlap", path, "claim the same pages")
    rc, out, err = run("stat", "--json", path)
    check("hostile_pages_once", rc == 0 and '"events": 101,' in out, out[:300] + err)


def many_cpus(c):
    f = File7(b"none")
    pages = page(1000, 1) * 300
    at = f.add(BUFFER, pages)
    f.options([buffer_option(at, [(cpu, at + 16 + cpu * 20, 20) for cpu in range(40_000)])])
    path = c.file("cpus.dat", f.data)
    for command in ("report", "stat", "query", "verify"):
        rc, _, err = run(command, path)
        check(f"hostile_40000_cpus_{command}", rc in (0, 1) and "memory" not in err, f"exit {rc}: {err[-300:]}")


def main():
    with tempfile.TemporaryDirectory(prefix="fathom-test-") as d:
        c = Case(d)
        long_lines(c)
        bomb(c)
        bomb_of_text(c)
        circle(c)
        shared_chunks(c)
        shared_pages(c)
        many_cpus(c)
    done()


main()
