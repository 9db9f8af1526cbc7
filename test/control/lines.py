#!/usr/bin/env python3
# slow
# live
"""lines.py -- targets on a serial line: a pseudo-terminal with a process's tree behind it, which may be noisy, left in the
middle of a message, in use, silent, or cut; and the demo kernel's second port as a pseudo-terminal of QEMU's."""
import os
import re
import select
import shutil
import socket
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from targets import (FATHOM, MACHINE, OPEN, READ, Checks, Demo, Mount, Process, asleep_in, entries, is_mounted, no_fuse,  # noqa: E402
                     read, reader_of, until, write)

check = Checks("line")


class Line:
    """A pty; what is written to the slave goes to the process, and back. The connection outlives its clients, as a kernel
    on a serial line does."""

    def __init__(self, path):
        self.master, slave = os.openpty()
        self.name = os.ttyname(slave)
        self.slave = slave  # kept open: the line does not hang up between two clients
        self.s = socket.socket(socket.AF_UNIX)
        self.s.connect(path)
        self.mute = False
        self.open = True
        self.thread = threading.Thread(target=self.carry, daemon=True)
        self.thread.start()

    def carry(self):
        while self.open:
            for fd in select.select([self.master, self.s], [], [], 0.1)[0]:
                try:
                    data = os.read(self.master, 4096) if fd == self.master else self.s.recv(4096)
                except OSError:
                    return
                if self.mute or not data:
                    continue
                if fd == self.master:
                    self.s.sendall(data)
                else:
                    os.write(self.master, data)

    def cut(self):
        self.open = False
        self.thread.join()
        os.close(self.slave)
        os.close(self.master)
        self.s.close()


def used(line):
    with Mount(line.name) as d:
        check("files", read(d + "/tracing_on") == "1\n" and "sched" in os.listdir(d + "/events"))
        write(d + "/trace", "")
        write(d + "/trace_marker", "over the line\n")
        check("marker", "over the line" in read(d + "/trace"), read(d + "/trace"))
        write(d + "/events/enable", "1\n")
        until(lambda: entries(d) > 600)
        write(d + "/events/enable", "0\n")
        check("much_text", read(d + "/trace").count("\n") > 500)
        r = subprocess.run([FATHOM, "fs", line.name, "ls"], capture_output=True, text=True, timeout=100)
        check("one_client", r.returncode == 1 and "in use" in r.stderr, r.stderr)
    for name, words in ((line.name + ":115200", ""), (line.name + ":12345", "not a speed")):
        r = subprocess.run([FATHOM, "fs", name, "cat", "tracing_on"], capture_output=True, text=True, timeout=100)
        check(f"speed_{name.split(':')[1]}", (r.stdout == "1\n") if not words else words in r.stderr, r.stderr)


def unclean(line):
    """What an earlier client left on the line does not matter."""
    os.write(line.master, b"noise that the target sent before anybody listened")
    r = subprocess.run([FATHOM, "fs", line.name, "cat", "tracing_on"], capture_output=True, text=True, timeout=100)
    check("noise", r.stdout == "1\n", r.stderr)
    line.s.sendall(bytes.fromhex("00100000 76 0100"))  # the head of a Twrite of 4096 bytes whose sender died
    r = subprocess.run([FATHOM, "fs", line.name, "cat", "tracing_on"], capture_output=True, text=True, timeout=100)
    check("half_message", r.stdout == "1\n", r.stderr)


def silent(line):
    """The target hangs: calls can be interrupted, and after a while the mount gives up."""
    m = Mount(line.name)
    line.mute = True
    cat = subprocess.Popen(["cat", m.dir + "/tracing_on"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until(lambda: asleep_in(cat.pid, OPEN | READ))
    cat.terminate()  # not SIGINT: a background job of a shell ignores that, and so do its children
    cat.wait(timeout=100)
    check("silent_interrupt", is_mounted(m.dir), "only the mount's end ended the call")
    cat = subprocess.Popen(["cat", m.dir + "/current_tracer"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           env={**os.environ, "LC_ALL": "C"})
    try:
        err = cat.communicate(timeout=100)[1]
    except subprocess.TimeoutExpired:
        cat.kill()
        err = "it hangs"
    check("silent_eio", "Input/output error" in err, err)
    until(lambda: not is_mounted(m.dir))
    check("silent_unmounted", not is_mounted(m.dir))
    os.rmdir(m.dir)
    line.mute = False


def hung_up(line):
    m = Mount(line.name)
    cat = reader_of(m.dir + "/trace_pipe")
    line.cut()
    err = cat.communicate(timeout=100)[1]
    check("cut_eio", "Input/output error" in err, err)
    until(lambda: not is_mounted(m.dir))
    check("cut_unmounted", not is_mounted(m.dir))
    os.rmdir(m.dir)


def kernel():
    """The demo kernel on a pty that QEMU made."""
    if not shutil.which("qemu-system-x86_64"):
        print("skip line_demo: package qemu-system-x86 missing")
        return
    demo = Demo(smp=2, sh="run pulse 10 &", extra=["-chardev", "pty,id=trace", *MACHINE.line], timeout=300)
    try:
        up = demo.until(rb"pulse\r?\n# $") >= 0
        pty = re.search(r"/dev/pts/\d+", demo.text())
        if not check("demo_boots", up and pty, demo.text()[-300:]):
            return
        with Mount(pty.group(0)) as d:
            check("demo_files", read(d + "/current_tracer") == "nop\n")
            write(d + "/events/sched/sched_switch/enable", "1\n")
            fd = os.open(d + "/trace_pipe", os.O_RDONLY)
            check("demo_pipe", b"sched_switch:" in os.read(fd, 4096))
            os.close(fd)
    finally:
        demo.kill()


def main():
    if no_fuse():
        print(f"skip line: {no_fuse()}")
        return
    machine = Process()
    try:
        line = Line(machine.socket())
        used(line)
        unclean(line)
        silent(line)
        hung_up(line)
        kernel()
    finally:
        machine.kill()


main()
sys.exit(check.failed)
