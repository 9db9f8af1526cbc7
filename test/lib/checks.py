"""checks.py -- what every test script in Python needs: where the tree and the program are, ok and not ok."""
import fcntl
import os
import shutil
import subprocess
import sys
import time

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


def until(state, seconds=60):
    """Wait for a state: what state() returned once it was true, or at last. Far longer than a busy machine needs."""
    end = time.monotonic() + seconds
    while not (got := state()) and time.monotonic() < end:
        time.sleep(0.01)
    return got


# Numbers of read(), openat() and poll() or ppoll() on x86_64, and on arm64 and riscv64.
READ, OPEN, POLL = {0, 63}, {257, 56}, {7, 73}


def asleep_in(pid, calls, path=None):
    """Does the process sleep in one of these system calls, with `path` as its first argument's file?"""
    try:
        with open(f"/proc/{pid}/syscall", encoding="ascii") as f:
            words = f.read().split()
        if words[0] == "running" or int(words[0]) not in calls:
            return False
        return path is None or os.readlink(f"/proc/{pid}/fd/{int(words[1], 16)}") == os.path.realpath(path)
    except OSError:
        return False


def alone_on_this_machine():
    """A machine has one tracefs: tests that use it, of this check and of others, take turns. Until the script ends."""
    fcntl.flock(os.open("/sys/kernel", os.O_RDONLY | os.O_DIRECTORY), fcntl.LOCK_EX)


def this_tracefs():
    """Where this machine's tracefs is; it is mounted if it is not there yet, as fathom and trace-cmd do. None: it may not be used."""
    path = "/sys/kernel/tracing"
    if os.geteuid():
        return None
    if not os.path.exists(f"{path}/per_cpu"):
        subprocess.run(["mount", "-t", "tracefs", "tracefs", path], capture_output=True, check=False)
    usable = os.access(f"{path}/per_cpu/cpu0/trace_pipe_raw", os.R_OK) and os.access(f"{path}/events/sched/sched_switch/enable", os.W_OK)
    return path if usable else None


def need(program, package, name):
    """False, and a skip, if a program of the oracle is not installed."""
    if shutil.which(program):
        return True
    print(f"skip {name}: package {package} missing")
    return False


def fathom(*args, **kw):
    """(exit code, stdout, stderr) as text."""
    r = subprocess.run([FATHOM, *args], capture_output=True, timeout=300, **kw)
    return r.returncode, r.stdout.decode(errors="replace"), r.stderr.decode(errors="replace")
