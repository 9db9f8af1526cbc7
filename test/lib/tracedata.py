"""tracedata.py -- what tests of the host program share: the recorded traces, running fathom, ok/not ok."""
import glob
import gzip
import os
import shutil
import struct
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FATHOM = os.path.join(TOP, "build", "fathom")
failed = 0


class Traces:
    """The recorded traces, unpacked into a folder of their own that is removed at the end."""

    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="fathom-test-")
        self.files = []
        for gz in sorted(glob.glob(os.path.join(TOP, "test/data/tracedat/*.dat.gz"))):
            path = os.path.join(self.dir, os.path.basename(gz)[:-3])
            with gzip.open(gz) as src, open(path, "wb") as dst:
                shutil.copyfileobj(src, dst)
            self.files.append(path)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.dir, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.dir, name)


def fathom(*args, **kw):
    """(exit code, stdout, stderr) as text."""
    r = subprocess.run([FATHOM, *args], capture_output=True, timeout=120, **kw)
    return r.returncode, r.stdout.decode(errors="replace"), r.stderr.decode(errors="replace")


def options_v7(data):
    """The options of a version 7 file: (id, offset of the option, bytes of its data), up to the one that ends them."""
    at = data.index(b"7\0") + 2 + 6
    at = data.index(b"\0", data.index(b"\0", at) + 1) + 1
    at = struct.unpack_from("<Q", data, at)[0] + 16
    while True:
        kind, size = struct.unpack_from("<HI", data, at)
        more = 0 if kind else struct.unpack_from("<Q", data, at + 6)[0]
        if not more:
            yield kind, at, size
        if not kind and not more:
            return
        at = more + 16 if more else at + 6 + size


def check(name, cond, why=""):
    global failed
    if cond:
        print(f"ok {name}")
    else:
        failed += 1
        print(f"not ok {name}: {why}")
    return cond


def need(program, package, name):
    """False, and a skip, if a program of the oracle is not installed."""
    if shutil.which(program):
        return True
    print(f"skip {name}: package {package} missing")
    return False


def done():
    sys.exit(1 if failed else 0)
