#!/usr/bin/env python3
"""console.py -- fathom console: lines are edited and remembered, frames are taken out, and a terminal is left as it was."""
import fcntl
import os
import pty
import select
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from checks import FATHOM, check, done  # noqa: E402

tmp = tempfile.TemporaryDirectory()
ENV = {**os.environ, "XDG_STATE_HOME": tmp.name + "/state"}


def frame(payload):
    head = struct.pack("<HII", len(payload), 1, 0)
    body = bytes([17, ~(17 + sum(head)) & 255]) + head + payload
    return b"\xf5FTM" + body + struct.pack("<I", zlib.crc32(body))


def read_until(read, what):
    """What came, once `what` is in it, or after far too long."""
    data, end = b"", time.monotonic() + 60
    while what not in data and time.monotonic() < end:
        more = read()
        if not more:
            break
        data += more
    return data


class Target:
    """A socket that a client connects to."""

    def __init__(self):
        self.path = tmp.name + "/line"
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.listen = socket.socket(socket.AF_UNIX)
        self.listen.bind(self.path)
        self.listen.listen(1)
        self.s = None

    def accept(self):
        self.s, _ = self.listen.accept()
        self.s.settimeout(60)
        return self

    def until(self, what):
        return read_until(lambda: self.s.recv(4096), what)

    def close(self):
        self.s.close()
        self.listen.close()


class Terminal:
    """The program on a terminal, connected to a target."""

    def __init__(self, *args, columns=80):
        self.target = Target()
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        self.p = subprocess.Popen([FATHOM, "console", *args, "unix:" + self.target.path], stdin=self.slave, stdout=self.slave, stderr=self.slave, env=ENV)
        self.target.accept()
        self.target.s.sendall(b"# ")
        self.until(b"# ")

    def read(self):
        return os.read(self.master, 4096) if select.select([self.master], [], [], 60)[0] else b""

    def until(self, what):
        return read_until(self.read, what)

    def type(self, keys):
        os.write(self.master, keys)

    def line(self, keys):
        """What the target gets for these keys and Enter."""
        self.type(keys + b"\r")
        return self.target.until(b"\r")[:-1]

    def leave(self):
        self.type(b"\x1d")
        code = self.p.wait(60)
        same = termios.tcgetattr(self.slave) == self.before
        self.target.close()
        os.close(self.master)
        os.close(self.slave)
        return code == 0 and same


UP, DOWN, RIGHT, LEFT, HOME, END, DELETE = (b"\x1b[" + k for k in (b"A", b"B", b"C", b"D", b"H", b"F", b"3~"))
t = Terminal()
for name, keys, want in (
        ("typed", b"echo x", b"echo x"),
        ("left_right", b"echoy" + LEFT + b" " + RIGHT + b"z", b"echo yz"),
        ("home_end", b"b" + HOME + b"a" + END + b"c", b"abc"),
        ("emacs_keys", b"b\x01a\x05c\x02\x02X\x06Y", b"aXbYc"),
        ("numbered_keys", b"b\x1b[1~a\x1b[4~c\x1b[7~" + DELETE + b"\x1b[8~d", b"bcd"),
        ("backspace_delete", b"abcd\x7f\x08" + LEFT + DELETE, b"a"),
        ("kill_to_end", b"abcdef" + LEFT * 3 + b"\x0b", b"abc"),
        ("kill_to_start", b"abcdef" + LEFT * 3 + b"\x15", b"def"),
        ("kill_word", b"run ipc  5 \x17\x17", b"run "),
        ("utf8", "aäö".encode() + b"\x7f" + LEFT + b"x", "axä".encode()),
        ("history", UP * 3, b"def"),
        ("history_edited", UP + UP + b"!", "axä!".encode()),
        ("history_and_back", b"half" + UP + DOWN + b"way", b"halfway"),
        ("interrupt_drops_the_line", b"half\x03x", b"\x03x"),
        ("longest", b"y" * 1100, b"y" * 1024),
):
    got = t.line(keys)
    check(name, got == want, f"{got} not {want}")
t.type(b"\x04")
check("end_of_file", t.target.until(b"\x04") == b"\x04")
t.type(b"ab" + LEFT)
t.until(b"ab\x1b[1D")
t.target.s.sendall(b"tick\r\n# ")
shown = t.until(b"ab\x1b[1D")
check("text_while_typing", shown == b"\x1b[1D\x1b[Ktick\r\r\n# ab\x1b[1D", shown)
t.target.s.sendall(b"\x1b[2Jevil\x1b]0;t\x07\x1b[31mred\x1b[0m<")
shown = t.until(b"<")
check("terminal_is_safe", b"\\x1b[2Jevil" in shown and b"\x1b[2J" not in shown and b"\x1b]0" not in shown, shown)
check("leaves", t.leave())

t = Terminal(columns=30)
got = t.line(UP + UP)
check("remembers", got == b"halfway", got)
long = b"0123456789" * 6
got = t.line(long + LEFT * 50 + b"<" + END + b">")
check("longer_than_the_window", got == long[:10] + b"<" + long[10:] + b">", got)
check("leaves_again", t.leave())

t = Terminal("--echo")
t.line(b"shown")
check("echo", b"shown\r\n" in t.until(b"shown\r\n"), "")
t.target.close()
check("line_closed", t.p.wait(60) == 1 and b"was closed" in t.until(b"was closed") and termios.tcgetattr(t.slave) == t.before)

# Without a terminal: bytes as they are, and no frames.
target = Target()
p = subprocess.Popen([FATHOM, "console", "unix:" + target.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV)
target.accept()
p.stdin.write(b"\x1b[A\x03one\n")
p.stdin.flush()
check("pipe_in", target.until(b"\n") == b"\x1b[A\x03one\n")
target.s.sendall(b"hel" + frame(b"not text") + b"lo\r\n" + frame(b"")[:9])
target.s.sendall(frame(b"x" * 300)[9:40] + b"\x1b[0mrest\n")
got = read_until(lambda: os.read(p.stdout.fileno(), 4096), b"hello\r\n")
check("frames_taken_out", got.startswith(b"hello\r\n"), got)
target.close()
out, err = p.communicate(timeout=60)
check("pipe_closed", p.returncode == 1 and b"was closed" in err, err)

target = Target()
p = subprocess.Popen([FATHOM, "console", "--time", "1", "unix:" + target.path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=ENV)
target.accept().s.sendall(b"said\n")
check("silence_ends", p.communicate(timeout=60)[0] == b"said\n" and p.returncode == 0)
for name, args in (("no_target", []), ("no_pid", ["1"]), ("no_gdb", ["gdb:localhost:1"])):
    p = subprocess.run([FATHOM, "console", *args], capture_output=True, text=True, timeout=60)
    check(name, p.returncode == 2 and p.stderr, p.stderr)
done()
