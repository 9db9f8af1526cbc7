#!/usr/bin/env python3
"""forks.py NAME -- a shell's forks, told to the demo kernel's shell: a line "run short" for each child of a shell called NAME
that ends without having become another program, and "run many 8", which has real-time tasks, for each `chrt`. So a test
that forks, and then looks for forks in the trace, finds them in a kernel that its own shell does not run on."""
import os
import socket
import struct
import sys
import time

NETLINK_CONNECTOR, CN_IDX_PROC, CN_VAL_PROC = 11, 1, 1
LISTEN = 1
FORK, EXEC, EXIT = 0x1, 0x2, 0x80000000
EVERY = 0.01  # seconds; the demo's shell runs one program at a time


def comm(pid):
    try:
        with open(f"/proc/{pid}/comm") as f:
            return f.read().strip()
    except OSError:
        return ""


def listen():
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, NETLINK_CONNECTOR)
    s.bind((os.getpid(), CN_IDX_PROC))
    body = struct.pack("=IIIIHHI", CN_IDX_PROC, CN_VAL_PROC, 0, 0, 4, 0, LISTEN)
    s.send(struct.pack("=IHHII", 16 + len(body), 3, 0, 0, os.getpid()) + body)
    return s


def events(s):
    """(what, parent, child) of every fork; (what, pid, pid) of every exec and exit."""
    while True:
        data = s.recv(4096)[16 + 20:]
        if len(data) < 32:
            continue
        what, = struct.unpack_from("=I", data, 0)
        a, b, c, d = struct.unpack_from("=IIII", data, 16)
        if what == FORK:
            yield what, b, d
        elif what in (EXEC, EXIT) and a == b:
            yield what, a, a


def main(name):
    children, last = set(), 0.0
    for what, parent, child in events(listen()):
        line = None
        if what == FORK and comm(parent) == name:
            children.add(child)
        elif what == EXEC:
            children.discard(child)
            if comm(child) == "chrt":
                line = "run many 8"
        elif what == EXIT and child in children:
            children.discard(child)
            line = "run short"
        if line and time.monotonic() - last >= EVERY:
            last = time.monotonic()
            print(line, flush=True)


try:
    main(sys.argv[1])
except (BrokenPipeError, KeyboardInterrupt):
    pass
