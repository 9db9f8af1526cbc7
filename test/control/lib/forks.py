#!/usr/bin/env python3
"""forks.py CONSOLE SOCKET LOG -- lines for the demo kernel's shell, from whoever connects to SOCKET (forks.c).

CONSOLE is the socket of the kernel's console, which waits for us. Prints the pid of the kernel's shell; then each connection sends a line and
gets a byte when the shell has run it. What the console said is in LOG."""
import os
import re
import socket
import sys
import time

PATIENCE = 30  # seconds for a line; the machine may be busy


class Console:
    def __init__(self, path, log):
        self.s = socket.socket(socket.AF_UNIX)
        self.log = open(log, "wb", buffering=0)
        self.s.settimeout(1)
        self.s.connect(path)

    def run(self, line):
        """What the shell printed until its prompt came back."""
        self.s.sendall(line)
        said, end = b"", time.monotonic() + PATIENCE
        while not said.endswith(b"\n# "):
            if time.monotonic() > end:
                raise TimeoutError(line)
            try:
                data = self.s.recv(4096)
            except TimeoutError:
                continue
            if not data:
                raise EOFError("the console is closed")
            self.log.write(data)
            said += data
        return said


def serve(console, path):
    with socket.socket(socket.AF_UNIX) as server:
        if os.path.exists(path):
            os.unlink(path)
        server.bind(path)
        server.listen(16)
        console.run(b"")  # it boots now that we are here
        pid = re.search(rb"\n\s*(\d+)\s[^\n]*\bshell\b", console.run(b"ps\n"))
        print(pid.group(1).decode(), flush=True)
        while True:
            client, _ = server.accept()
            with client:
                client.settimeout(5)
                try:
                    console.run(client.recv(64))
                    client.sendall(b"!")
                except OSError as e:
                    console.log.write(f"\n[forks.py: {e!r}]\n".encode())


try:
    serve(Console(sys.argv[1], sys.argv[3]), sys.argv[2])
except KeyboardInterrupt:
    pass
