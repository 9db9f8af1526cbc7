"""checks.py -- what every test script in Python needs: where the tree and the program are, ok and not ok."""
import os
import shutil
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FATHOM = os.environ.get("FATHOM", os.path.join(TOP, "build/fathom"))


class Checks:
    """Prints `ok NAME` / `not ok NAME: why`, with a prefix before the names; `failed` is what a script may exit with."""

    def __init__(self, prefix=""):
        self.prefix = prefix and prefix + "_"
        self.failed = 0

    def check(self, name, good, why=""):
        self.failed |= not good
        print(f"ok {self.prefix}{name}" if good else f"not ok {self.prefix}{name}: {str(why)[:700]}", flush=True)
        return good

    __call__ = check

    def done(self):
        sys.exit(self.failed)


_script = Checks()
check = _script.check
done = _script.done


def need(program, package, name):
    """False, and a skip, if a program of the oracle is not installed."""
    if shutil.which(program):
        return True
    print(f"skip {name}: package {package} missing")
    return False


def fathom(*args, **kw):
    """(exit code, stdout, stderr) as text."""
    r = subprocess.run([FATHOM, *args], capture_output=True, timeout=120, **kw)
    return r.returncode, r.stdout.decode(errors="replace"), r.stderr.decode(errors="replace")
