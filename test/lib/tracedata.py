"""tracedata.py -- what tests of the host program share: the recorded traces, running fathom, ok/not ok."""
import glob
import gzip
import os
import shutil
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
