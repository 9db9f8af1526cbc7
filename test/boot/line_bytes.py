#!/usr/bin/env python3
"""line_bytes.py -- what a scheduler trace costs on the line: bytes per event both ways, with frames, 9P and all, as a proxy between the
two counts them."""
# live
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from demo import FATHOM, Checks, Demo, need_qemu, trace_line

need_qemu("line_bytes")
BAR = 12  # bytes of the line per event
EVENTS = ["sched:sched_switch", "sched:sched_waking", "sched:sched_wakeup", "irq:*"]
c = Checks()
tmp = tempfile.TemporaryDirectory()


class Proxy:
    """Between a client and the line: counts the bytes, by direction."""

    def __init__(self, line):
        self.path = os.path.join(tmp.name, "proxy")
        self.line, self.up, self.down = line, 0, 0
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(self.path)
        self.server.listen(1)
        self.threads = [threading.Thread(target=self.serve)]
        self.threads[0].start()

    def carry(self, a, b, way):
        try:
            while data := a.recv(65536):
                setattr(self, way, getattr(self, way) + len(data))
                b.sendall(data)
        except OSError:  # the client is done, and does not read what still comes
            pass
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def serve(self):
        client, _ = self.server.accept()
        target = socket.socket(socket.AF_UNIX)
        target.connect(self.line)
        back = threading.Thread(target=self.carry, args=(target, client, "up"))
        back.start()
        self.carry(client, target, "down")
        back.join()

    def end(self):
        self.threads[0].join()
        self.server.close()


def record(line, seconds):
    """One recording through the proxy: events, bytes up, bytes down, what report prints."""
    p, out = Proxy(line), os.path.join(tmp.name, "out.dat")
    r = subprocess.run([FATHOM, "record", "--target", "unix:" + p.path, *(a for e in EVENTS for a in ("-e", e)), "-o", out, "--json",
                        "--", "sleep", str(seconds)], capture_output=True, text=True, timeout=120)
    p.end()
    cpus = json.loads(r.stdout)["cpus"] if r.returncode == 0 else []
    events = sum(x["events"] for x in cpus)
    c.check("recorded", events > 100 and not any(x["missed"] for x in cpus), r.stdout + r.stderr)
    return events, p.up, p.down


for name in ("virtio", "serial"):
    path = os.path.join(tmp.name, name)
    d = Demo(smp=2, extra=[*trace_line(path, name == "serial")], sh="run pulse 1 &;" + "run periodic 1000000 &;" * 4)
    d.until(rb"\n\[\d+\] periodic\r?\n# $")
    few, up0, down0 = record(path, 0.5)
    many, up, down = record(path, 3)
    d.kill()
    events = many - few
    each = (up + down - up0 - down0) / events if events > 0 else 0
    print(f"# {name}: {events} events: {(up - up0) / events:.2f} bytes each from the target, {(down - down0) / events:.2f} to it; "
          f"before the first event: {up0 + down0 - few * each:.0f}")
    c.check(f"{name}_bytes_per_event", 0 < each <= BAR, f"{each:.2f} > {BAR}")
c.done()
