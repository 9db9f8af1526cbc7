#!/usr/bin/env python3
# live
"""answers.py -- what a real Linux 6.1 answered to good and bad values (test/data/tracefs/errno.txt), asked again of a
process's tree through a mount, by the same system calls."""
import ctypes
import errno
import os
import re
import select
import subprocess
import sys
import tempfile

FATHOM = "build/fathom"
TABLE = "test/data/tracefs/errno.txt"
# What Fathom does not have: a line is left out if one of these is in it.
ABSENT = {
    "kprobe_": "no kprobes", "uprobe_": "no uprobes", "synthetic_events": "no synthetic events",
    "dynamic_events": "no dynamic events", "eval_map": "needs no map", "hist_debug": "none", "/inject": "none",
    "perf": "clock of another subsystem",
}
# Where a mount cannot, or Fathom does not, answer as 6.1 did; docs/TRACEFS.md tells why.
DIFFERS = {
    ('wn', ''): "FUSE sends no empty writes",
    ('poll', 'per_cpu/cpu0/trace_pipe_raw'): "as later kernels: when there is something",
    ('seek', 'trace'): "FUSE answers SEEK_END itself",
    ('seek', 'set_ftrace_filter'): "FUSE answers SEEK_END itself",
}
# Written when the record goes on to another file, as the script that made it did.
LEAVE = {
    "current_tracer": "nop", "tracing_on": "1", "trace_clock": "local", "options/sym-offset": "0", "options/overwrite": "1",
    "buffer_size_kb": "1408", "buffer_percent": "50", "tracing_cpumask": "3", "set_ftrace_pid": "", "set_event_pid": "",
    "set_event_notrace_pid": "", "set_ftrace_notrace_pid": "", "tracing_thresh": "0", "max_graph_depth": "0",
    "set_ftrace_filter": "", "set_graph_function": "", "set_event": "", "events/enable": "0", "free_buffer": "x",
    "events/sched/sched_switch/filter": "0", "options/funcgraph-cpu": "1", "options/func_stack_trace": "0",
}
FLAGS = {"w": os.O_TRUNC | os.O_CREAT, "wn": os.O_TRUNC | os.O_CREAT, "big": os.O_TRUNC | os.O_CREAT, "a": os.O_APPEND, "W": 0}


def name_of(fn):
    """What a call answers: its value, or the name of its error."""
    try:
        return fn()
    except OSError as e:
        return errno.errorcode[e.errno]


class Tree:
    def __init__(self, top):
        self.top = top

    def at(self, path):
        return os.path.join(self.top, path)

    def put(self, path, value):
        fd = os.open(self.at(path), os.O_WRONLY | os.O_TRUNC)
        name_of(lambda: os.write(fd, (value + "\n").encode()))
        os.close(fd)

    def cat(self, path):
        with open(self.at(path), "rb") as f:
            return f.read().decode()

    def write(self, op, path, value):
        fd = name_of(lambda: os.open(self.at(path), os.O_WRONLY | FLAGS[op], 0o644))
        if isinstance(fd, str):
            return "open: " + fd
        n = name_of(lambda: os.write(fd, value))
        os.close(fd)
        return f"write: {n}" if isinstance(n, str) else f"write: {n}/{len(value)}"

    def read(self, path, flags):
        fd = name_of(lambda: os.open(self.at(path), os.O_RDONLY | flags))
        if isinstance(fd, str):
            return "open: " + fd
        n = name_of(lambda: os.read(fd, 4096))
        os.close(fd)
        return f"read: {n}"

    def twice(self, path):
        fds = [name_of(lambda: os.open(self.at(path), os.O_RDONLY)) for _ in range(2)]
        for fd in fds:
            if not isinstance(fd, str):
                os.close(fd)
        return "first %s, second %s" % tuple(fd if isinstance(fd, str) else "OK" for fd in fds)

    def poll(self, path):
        fd = os.open(self.at(path), os.O_RDONLY | os.O_NONBLOCK)
        p = select.poll()
        p.register(fd, select.POLLIN)
        got = p.poll(50)
        os.close(fd)
        return f"ret {len(got)} revents {hex(got[0][1] if got else 0)}"

    def seek(self, path):
        fd = os.open(self.at(path), os.O_WRONLY if path == "trace_marker" else os.O_RDONLY)
        out = [name_of(lambda w=w: os.lseek(fd, n, w)) for n, w in ((10, os.SEEK_SET), (0, os.SEEK_END))]
        os.close(fd)
        return "SEEK_SET %s SEEK_END %s" % tuple(out)

    def modes(self, path):
        out = []
        for mode in ("O_RDONLY", "O_WRONLY", "O_RDWR"):
            fd = name_of(lambda m=mode: os.open(self.at(path), getattr(os, m) | os.O_NONBLOCK))
            out.append(f"{mode}:{fd if isinstance(fd, str) else 'ok'}")
            if not isinstance(fd, str):
                os.close(fd)
        return " ".join(out)

    def map(self, path):
        fd = os.open(self.at(path), os.O_RDONLY)
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        got = libc.mmap(None, ctypes.c_size_t(4096), 1, 1, fd, ctypes.c_long(0))  # PROT_READ, MAP_SHARED
        failed = errno.errorcode.get(ctypes.get_errno(), "OK") if got == ctypes.c_void_p(-1).value else "OK"
        os.close(fd)
        return failed

    def stat(self, path):
        s = os.stat(self.at(path))
        return f"mode {s.st_mode:06o} size {s.st_size}"


class Replay:
    """One line after another; `last` is the file of the line before."""

    def __init__(self, tree):
        self.tree, self.last, self.held, self.busy = tree, "", None, 0
        self.asked, self.left, self.wrong, self.may = 0, {}, [], None

    def answer(self, line, got, want):
        self.asked += 1
        if got != want and self.may:
            self.left[self.may] = self.left.get(self.may, 0) + 1
        elif got != want:
            self.wrong.append(f"{' '.join(line.split())}: got {got}")

    def hold(self, path):
        if self.held is not None:
            os.close(self.held)
        self.held = os.open(self.tree.at(path), os.O_RDONLY) if path else None

    def before_busy(self):
        """The record's `# busy` lines, by number: who has what open."""
        put = self.tree.put
        if self.busy == 0:
            put("current_tracer", "function")
        elif self.busy == 1:
            put("current_tracer", "nop")
            self.hold("trace_pipe")
        elif self.busy == 4:
            self.hold(None)
            put("trace_clock", "local")
            self.hold("trace")
        elif self.busy == 6:
            self.hold(None)
        elif self.busy == 7:
            put("buffer_size_kb", "1408")
            self.hold("per_cpu/cpu0/trace_pipe_raw")
        elif self.busy == 9:
            self.hold(None)
        elif self.busy == 10:
            put("current_tracer", "function_graph")
        self.busy += 1

    def command(self, line, busy):
        op, path, rest = re.match(r"(\w+)\s+(\S+)\s*(.*)", line).groups()
        value, want = rest.rsplit("-> ", 1)
        absent = [w for k, w in ABSENT.items() if k in line]
        self.may = next((w for (o, what), w in DIFFERS.items() if o == op and what in (path, value.strip()[1:-1])), None)
        if path != self.last and self.last in LEAVE and not busy:
            self.tree.put(self.last, LEAVE[self.last])
        self.last = "" if absent else path
        if absent:
            self.left[absent[0]] = self.left.get(absent[0], 0) + 1
            return
        if busy:
            self.before_busy()
        t = self.tree
        if op in FLAGS:
            data = b"x" * int(value.split()[0]) if op == "big" else value.strip()[1:-1].replace("\\n", "\n").encode()
            self.answer(line, t.write(op, path, data), want)
        elif op == "stat":
            want = re.sub(r" nlink.* size", " size", want).split(" blksize")[0]
            self.answer(line, t.stat(path), want)
        else:
            ask = {"r": lambda: t.read(path, 0), "rn": lambda: t.read(path, os.O_NONBLOCK), "r2": lambda: t.twice(path),
                   "poll": lambda: t.poll(path), "seek": lambda: t.seek(path), "open": lambda: t.modes(path),
                   "mmap": lambda: t.map(path)}
            self.answer(line, ask[op](), want)

    def value(self, line):
        """What the file of the line before reads as."""
        if not self.last or self.last == "saved_cmdlines_size":  # the size of its table is the machine's
            return
        if line.startswith("   now:"):
            want = line[7:].strip()
            got = " ".join(self.tree.cat(self.last).split())
            if "total:" in want:
                got += f" total: {self.tree.cat('buffer_total_size_kb').strip()} cpu0: " + \
                    self.tree.cat("per_cpu/cpu0/buffer_size_kb").strip()
            self.answer(f"{self.last} {line}", got, want)
        elif self.last == "free_buffer":
            self.answer(line, self.tree.cat("buffer_size_kb").strip(), line.strip())
            self.tree.put("buffer_size_kb", "1408")
        else:
            self.answer(f"{self.last} {line}", self.tree.cat(self.last).strip(), line.strip())

    def sizes(self, lines):
        """Four values: of CPUs that differ."""
        self.tree.put("buffer_size_kb", "1408")
        self.tree.put("per_cpu/cpu0/buffer_size_kb", "100")
        got = [self.tree.cat(f).strip() for f in ("buffer_size_kb", "per_cpu/cpu0/buffer_size_kb",
                                                  "per_cpu/cpu1/buffer_size_kb", "buffer_total_size_kb")]
        self.answer("sizes that differ", got, lines)

    def run(self, lines):
        busy = False
        while lines:
            line = lines.pop(0).rstrip("\n")
            if line.startswith("#"):
                busy = line == "# busy"
                if line.startswith("# nonblocking") or line == "# poll":
                    self.tree.put("trace", "")
            elif line == "X":
                self.sizes([line] + [lines.pop(0).strip() for _ in range(3)])
            elif " -> " in line or "-> " in line:
                if line.startswith("poll   trace_pipe") and self.last == "tracing_on":
                    with open(self.tree.at("trace_marker"), "w") as f:
                        f.write("hi\n")
                self.command(line, busy)
            elif "perf]" not in line:
                self.value(line)


def main():
    machine = subprocess.Popen(["build/control/machine", "120", "quiet"], stdout=subprocess.PIPE, text=True)
    pid = int(machine.stdout.readline())
    d = tempfile.mkdtemp(prefix="fathom-answers-")
    mounted = False
    try:
        if not os.path.exists("/dev/fuse"):
            print("skip control_answers: this machine has no /dev/fuse")
            return 0
        r = subprocess.run([FATHOM, "mount", str(pid), d], capture_output=True, text=True, timeout=300)
        if r.returncode:
            print(f"skip control_answers: this machine does not let us mount FUSE" if "cannot mount" in r.stderr
                  else f"not ok control_answers: {r.stderr}")
            return 0 if "cannot mount" in r.stderr else 1
        mounted = True
        replay = Replay(Tree(d))
        replay.tree.put("buffer_size_kb", "1408")
        with open(TABLE) as f:
            replay.run(f.readlines())
        replay.hold(None)
        for w in replay.wrong:
            print(f"# {w}")
        print(f"# {replay.asked} asked; left out: " + ", ".join(f"{n} {why}" for why, n in replay.left.items()))
        good = not replay.wrong and replay.asked > 330
        print("ok control_answers" if good else f"not ok control_answers: {len(replay.wrong)} of {replay.asked} differ from Linux")
        return not good
    finally:
        if mounted:
            subprocess.run([FATHOM, "mount", "-u", d], timeout=300)
        os.rmdir(d)
        machine.kill()
        machine.wait()


sys.exit(main())
