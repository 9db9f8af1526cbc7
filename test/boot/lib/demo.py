"""demo.py -- boot the demo kernel under QEMU and talk to its shell. For the boot tests."""
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
PROMPT = b"\r\n# "


def need_qemu(name):
    if not shutil.which("qemu-system-x86_64"):
        print(f"skip {name}: package qemu-system-x86 missing")
        sys.exit(0)


class Demo:
    """One run of the kernel. The console is a pipe; `extra` goes to QEMU."""

    def __init__(self, smp=1, level=6, sh=None, extra=(), options="", timeout=60):
        kernel = os.path.join(TOP, f"build/demo/L{level}/kernel.elf")
        cmd = ["qemu-system-x86_64", "-machine", "pc,accel=tcg", "-cpu", "qemu64", "-m", "256M", "-smp", str(smp),
               "-display", "none", "-no-reboot", "-net", "none", "-device", "isa-debug-exit,iobase=0xf4,iosize=4",
               "-kernel", kernel, "-serial", "stdio"]
        if not any("chardev:trace" in e for e in extra):
            cmd += ["-serial", "null"]
        append = options + (" " if options and sh else "") + (f"sh={sh}" if sh else "")
        if append:
            cmd += ["-append", append]
        self.cmd = cmd + list(extra)
        self.end = time.monotonic() + timeout
        self.out = b""
        self.p = subprocess.Popen(self.cmd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        os.set_blocking(self.p.stdout.fileno(), False)

    def pump(self, wait=0.2):
        """Read what there is. False at the end of the output."""
        if not select.select([self.p.stdout], [], [], wait)[0]:
            return True
        data = self.p.stdout.read()
        if data:
            self.out += data
        return data != b""

    def until(self, what, start=0):
        """Wait until `what` (bytes or regex) is in the output after `start`; where it ends, or -1."""
        pattern = re.compile(what if isinstance(what, bytes) else what.encode(), re.S)
        while True:
            m = pattern.search(self.out, start)
            if m:
                return m.end()
            if time.monotonic() > self.end:
                return -1
            if not self.pump():
                m = pattern.search(self.out, start)
                return m.end() if m else -1

    def command(self, line):
        """Type a line at the prompt; what it printed."""
        if self.until(rb"(^|\n)# $") < 0:
            raise RuntimeError("no prompt: " + self.text()[-500:])
        start = len(self.out)
        self.p.stdin.write(line.encode() + b"\n")
        self.p.stdin.flush()
        if self.until(rb"\n# $", start) < 0 and self.p.poll() is None:
            raise RuntimeError(f"{line}: no prompt after it: " + self.text()[-500:])
        return self.out[start:].decode("latin1").replace("\r\n", "\n")

    def wait(self):
        """Until QEMU ends. Its exit code, or None if it had to be stopped."""
        while self.pump() and time.monotonic() < self.end:
            pass
        try:
            return self.p.wait(max(0.1, self.end - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def kill(self):
        if self.p.poll() is None:
            self.p.send_signal(signal.SIGKILL)
            self.p.wait()

    def text(self):
        return self.out.decode("latin1").replace("\r\n", "\n")


EXIT_OK = 33      # isa-debug-exit with 0x10
EXIT_PANIC = 67   # with 0x21


class Checks:
    """Counts and prints `ok NAME` / `not ok NAME: why`."""

    def __init__(self):
        self.failed = 0

    def check(self, name, good, why=""):
        if good:
            print(f"ok {name}")
        else:
            self.failed += 1
            print(f"not ok {name}: {why}")
        sys.stdout.flush()
        return good

    def done(self):
        sys.exit(1 if self.failed else 0)
