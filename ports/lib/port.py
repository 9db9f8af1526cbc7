"""port.py -- what `make port-NAME TREE=DIR` does: copy the tree, build it with Fathom inside, boot it in QEMU, record, judge.

ports/NAME/port.py is the port's own part. Everything is written below build/port-NAME; the given tree is only read."""
import atexit
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, "test/lib"), os.path.join(TOP, "test/boot/lib")]
from checks import FATHOM, Checks, until  # noqa: E402
import checker  # noqa: E402

WARNING = re.compile(r"^.*\b(?:warning|error): .*$", re.M | re.I)


class Port(Checks):
    """A port at work. `needs`: (program, Debian package) pairs; without one the port is skipped. `ignore`: names in the tree not to copy."""

    def __init__(self, name, needs=(), ignore=(), tree=None):
        super().__init__(name)
        self.name, self.out = name, os.path.join(TOP, "build", "port-" + name)
        for program, package in needs:
            if not shutil.which(program):
                print(f"skip {name}: package {package} missing")
                sys.exit(0)
        self.given = os.path.abspath(tree or sys.argv[1])
        self.tree = os.path.join(self.out, "tree")
        self.line = os.path.join(self.out, "line")
        self.guests = []
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        self.built = "--built" in sys.argv  # by the last run: for work on what comes after the build
        if not self.built:
            shutil.rmtree(self.out, ignore_errors=True)
            shutil.copytree(self.given, self.tree, symlinks=True, ignore=shutil.ignore_patterns(".git", *ignore))
        for name in os.listdir(self.out):
            if stat.S_ISSOCK(os.stat(self.path(name)).st_mode):
                os.unlink(self.path(name))

    def path(self, *parts):
        return os.path.join(self.out, *parts)

    def run(self, cmd, **kw):
        """(exit code, output and errors) of a command, a list or a line for the shell."""
        p = subprocess.run(cmd, shell=isinstance(cmd, str), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                           **{"cwd": self.tree, "timeout": 3000, **kw})
        return p.returncode, p.stdout

    def build(self, cmd, name="builds", allow=None, **kw):
        """Build: it must succeed, and no line may be a warning, but for those that match `allow` (the tree's own). Its output."""
        code, text = self.run(cmd, **kw)
        with open(self.path(name + ".log"), "w", encoding="utf-8") as f:
            f.write(text)
        bad = [w for w in WARNING.findall(text) if not allow or not re.search(allow, w)]
        if not self.check(name, code == 0 and not bad, f"exit {code}: {bad[:3]} {text[-900:] if code else ''}"):
            self.done()
        return text

    def boot(self, cmd, timeout=300):
        """Start QEMU; its standard input and output are the console."""
        guest = Guest(cmd, timeout, self.out)
        self.guests.append(guest)
        return guest

    def record(self, options, during=None, output="trace.dat", timeout=200):
        """fathom record with these options; `during` runs once it records. The counters of each CPU, or None."""
        if any(o.startswith("gdb:") for o in options):
            return self.watch(options, during, output, timeout)
        ready, go = os.pipe(), os.pipe()
        out = self.path(output)
        hold = ["sh", "-c", f"echo >&{ready[1]}; read x <&{go[0]}"] if during else []
        cmd = [FATHOM, "record", "--json", "-o", out, *options, *hold]
        p = subprocess.Popen(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, pass_fds=[ready[1], go[0]])
        os.close(ready[1])
        try:
            if during:
                if os.read(ready[0], 1):
                    during()
                os.write(go[1], b"\n")
            said, errors = p.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            p.send_signal(signal.SIGINT)
            said, errors = p.communicate(timeout=60)
            errors += f"\nnot done in {timeout} s"
        for fd in (ready[0], go[0], go[1]):
            os.close(fd)
        return self.counters(p, output, said, errors)

    def watch(self, options, during, output, timeout):
        """The same through a debugger's stub, which takes no command: it ends by a signal."""
        out = self.path(output)
        p = subprocess.Popen([FATHOM, "record", "--json", "-o", out, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        until(lambda: p.poll() is not None or os.path.exists(out))
        if p.poll() is None:
            during()
            p.send_signal(signal.SIGINT)
        said, errors = p.communicate(timeout=timeout)
        return self.counters(p, output, said, errors)

    def counters(self, p, output, said, errors):
        self.check("recorded" + output[5:-4], p.returncode == 0, f"{' '.join(p.args)}: exit {p.returncode}: {errors}")
        try:
            return json.loads(said)["cpus"]
        except (ValueError, KeyError):
            return None

    def judge(self, kinds=(), also=(), output="trace.dat", cpus=None, lost=False, alive=False, wakes=True, kind=checker.Checker):
        """The demo kernel's checker on the trace. `kinds` must be in it, `also` may be; with counters, they must add up, and unless
        `lost` nothing may be missing. `alive`: objects may be allocated at its end. Not `wakes`: the kernel does not say when a task
        becomes ready. `kind`: a checker of the port's own. How many events of each kind."""
        what = output[5:-4]
        got = checker.check_file(self.path(output), also=(*kinds, *also), wakes=wakes, kind=kind)
        errors = [e for e in got.errors if not (alive and "are still allocated" in e)]
        self.check("true" + what, not errors, " | ".join(errors))
        missing = [k for k in kinds if k not in got.kinds]
        self.check("kinds" + what, not missing, f"no events of {missing} among {got.kinds}")
        for i, s in enumerate(cpus or []):
            # Through a stub there is no counter of what was written, only of what is missing.
            good = not s["written"] or s["written"] == s["read"] + s["overwritten"] + s["entries"] and s["events"] == s["read"] + s["entries"]
            self.check(f"cpu{i}_adds_up" + what, good and (lost or not s["missed"]), str(s))
        if cpus and not lost:
            self.check("all_here" + what, sum(s["events"] for s in cpus) == got.events, f"{got.events} of {cpus}")
        if shutil.which("trace-cmd"):
            p = subprocess.run(["trace-cmd", "report", self.path(output)], capture_output=True, text=True, errors="replace")
            lines = sum(1 for line in p.stdout.splitlines() if re.search(r"\[\d+\].*: \w+: ", line))
            self.check("trace_cmd" + what, p.returncode == 0 and lines == got.events, f"{lines} events, not {got.events}: {p.stderr[:300]}")
        print(f"# {self.name}: {got.events} events: " + " ".join(f"{k}={n}" for k, n in sorted(got.kinds.items())), flush=True)
        return got.kinds

    def size(self, elf, cross=""):
        """(text, data, bss) of an image."""
        text = subprocess.run([cross + "size", elf], check=True, capture_output=True, text=True).stdout
        return tuple(int(x) for x in text.splitlines()[1].split()[:3])

    def weigh(self, plain, traced, memory, cross=""):
        """Print what the port adds to an image: flash (text and data), and RAM (data and bss) beside the bytes of config.memory."""
        a, b = self.size(plain, cross), self.size(traced, cross)
        print(f"# {self.name}: {os.path.basename(os.path.dirname(traced) if self.out in traced else traced)}: flash {a[0] + a[1]} -> {b[0] + b[1]}, {b[0] + b[1] - a[0] - a[1]} more; "
              f"RAM {b[1] + b[2] - a[1] - a[2] - memory} more, and {memory} of rings and what they need", flush=True)

    def done(self):
        for guest in self.guests:
            guest.kill()
        super().done()


class Guest:
    """A machine in QEMU. A line that begins with FAILED or PANIC is its last."""

    def __init__(self, cmd, timeout, where):
        self.out, self.end = b"", time.monotonic() + timeout
        self.p = subprocess.Popen(cmd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=where)
        os.set_blocking(self.p.stdout.fileno(), False)
        atexit.register(self.kill)  # whatever ends the script, but SIGKILL

    def until(self, what, start=0):
        """Wait until the console has said `what` (a regex) after `start`: the match, or None. Its words are bytes."""
        while not (m := re.compile(what.encode(), re.S).search(self.out, start)):
            data = self.p.stdout.read()
            if data == b"" or time.monotonic() > self.end or re.search(rb"(^|\n)(FAILED|PANIC)[^\n]*\n", self.out):
                return None
            if data:
                self.out += data
            else:
                time.sleep(0.02)
        return m

    def type(self, text):
        self.p.stdin.write(text.encode())
        self.p.stdin.flush()

    def ask(self, text, what):
        """Type a line, and wait for an answer."""
        start = len(self.out)
        self.type(text + "\n")
        return self.until(what, start)

    def text(self):
        return self.out.decode("latin1")

    def kill(self):
        self.p.kill()
        self.p.wait()


def listening(path, seconds=20):
    """Wait for a socket that QEMU makes."""
    end = time.monotonic() + seconds
    while not os.path.exists(path) and time.monotonic() < end:
        time.sleep(0.02)
    return os.path.exists(path)


def monitor(path, line):
    """A line for QEMU's monitor on a socket; what it says."""
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        s.settimeout(60)
        text = b""
        while not text.endswith(b"(qemu) "):
            text += s.recv(4096)
        s.sendall(line.encode() + b"\n")
        text = b""
        while not text.endswith(b"(qemu) "):
            text += s.recv(4096)
    return text.decode("latin1")
