#!/usr/bin/env python3
# live
"""console.py -- the demo kernel's console through fathom console: its UART is a socket, and a person or a script types."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from demo import FATHOM, MACHINE, Checks, kernel_file, need_qemu, until

need_qemu("console")
c = Checks()
with tempfile.TemporaryDirectory() as tmp:
    uart = tmp + "/uart"
    qemu = subprocess.Popen([MACHINE.qemu, *MACHINE.args, "-m", "256M", "-display", "none", "-no-reboot", "-net", "none", "-kernel", kernel_file(),
                             "-serial", f"unix:{uart},server=on,wait=on", "-chardev", "null,id=trace", *MACHINE.line],
                            stderr=subprocess.DEVNULL)
    until(lambda: os.path.exists(uart))
    p = subprocess.Popen([FATHOM, "console", "unix:" + uart], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    text = b""

    def wait_for(what):
        global text
        while what not in text and (more := os.read(p.stdout.fileno(), 4096)):
            text += more
        return what in text

    try:
        c.check("boots", wait_for(b"\n# "), text)
        p.stdin.write(b"echo one two > trace_marker\ncat trace\n")
        p.stdin.flush()
        c.check("answers", wait_for(b": one two\r\n") and wait_for(b"# cat trace"), text[-500:])
        p.stdin.write(b"exit\n")
        p.stdin.flush()
        p.stdin.close()
        qemu.wait(60)
        p.stdout.read()
        c.check("ends_with_it", p.wait(60) == 1 and b"the line was closed" in p.stderr.read())
    finally:
        p.kill()
        qemu.kill()
        qemu.wait()
c.done()
