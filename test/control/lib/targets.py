"""targets.py -- things to trace for the tests of mounts: a process, and the demo kernel under QEMU."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../boot/lib"))
from demo import FATHOM, MACHINE, TOP, Checks, Demo, trace_line, until  # noqa: E402,F401
from checks import OPEN, POLL, READ, asleep_in  # noqa: E402,F401


class Process:
    """A process with a control tree; its target is its pid."""

    name = "process"

    def __init__(self, seconds=1000):
        self.p = subprocess.Popen([os.path.join(TOP, "build/control/machine"), str(seconds)], stdout=subprocess.PIPE, text=True)
        self.target = self.p.stdout.readline().strip()

    def socket(self):
        run = os.environ.get("XDG_RUNTIME_DIR", "")
        own = f"{run}/fathom/{self.target}"
        return own if run and os.path.exists(own) else f"/tmp/fathom-{os.getuid()}/{self.target}"

    def kill(self):
        self.p.kill()
        self.p.wait()


class Kernel:
    """The demo kernel with its trace line on a socket, and something running in it; its target is that socket."""

    name = "demo"

    def __init__(self, smp=4, seconds=1000):
        self.dir = tempfile.mkdtemp(prefix="fathom-demo-")
        path = self.dir + "/line"
        extra = trace_line(path)
        self.demo = Demo(smp=smp, sh="run pulse 10 &", extra=extra, timeout=seconds)
        self.target = "unix:" + path
        self.up = self.demo.until(rb"\n\[\d+\] pulse\r?\n# $") >= 0

    def kill(self):
        self.demo.kill()
        subprocess.run(["rm", "-rf", self.dir], check=True)


def no_fuse():
    """Why FUSE cannot be used here, or None."""
    if not os.path.exists("/dev/fuse"):
        return "this machine has no /dev/fuse"
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "/dev/fuse is not ours to use"
    return None


class Mount:
    """with Mount(target) as dir; `why` if it could not be mounted."""

    def __init__(self, target, *options):
        self.dir = tempfile.mkdtemp(prefix="fathom-mount-")
        self.r = subprocess.run([FATHOM, "mount", *options, str(target), self.dir], capture_output=True, text=True, timeout=100)
        self.ok = self.r.returncode == 0
        self.why = self.r.stderr

    def __enter__(self):
        return self.dir

    def end(self):
        r = subprocess.run([FATHOM, "mount", "-u", self.dir], capture_output=True, text=True, timeout=100)
        self.ended, self.why = r.returncode == 0, r.stderr

    def __exit__(self, *unused):
        self.end()
        until(lambda: not is_mounted(self.dir) and not servers(self.dir))  # which may have a serial line still
        os.rmdir(self.dir)


def is_mounted(d):
    with open("/proc/self/mounts") as f:
        return any(line.split()[1] == d for line in f)


def servers(d):
    """The processes that serve a mount."""
    r = subprocess.run(["pgrep", "-f", f"mount .*{d}"], capture_output=True, text=True, check=False)
    return r.stdout.split()


def error_of(fn):
    """The errno a call fails with, 0 if it does not."""
    try:
        fn()
        return 0
    except OSError as e:
        return e.errno


def read(path):
    with open(path) as f:
        return f.read()


def write(path, text, flags=os.O_WRONLY | os.O_TRUNC):
    fd = os.open(path, flags)
    try:
        return os.write(fd, text.encode())
    finally:
        os.close(fd)


def entries(d):
    """How many events the rings of the tree hold."""
    return sum(int(re.search(r"^entries: (\d+)", read(f"{d}/per_cpu/{cpu}/stats"), re.M).group(1)) for cpu in os.listdir(d + "/per_cpu"))


def reader_of(path):
    """A cat that sleeps in a read of this file."""
    cat = subprocess.Popen(["cat", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "LC_ALL": "C"})
    until(lambda: asleep_in(cat.pid, READ, path))
    return cat
