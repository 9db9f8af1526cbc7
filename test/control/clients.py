#!/usr/bin/env python3
# live
"""clients.py -- eight 9P clients at all files of a live process at once, for a few seconds: no hang, no broken answer, no
event that waits for them, and when all settings are reset everything reads and records as before.
`make control-clients` runs it for a minute."""
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from checks import until  # noqa: E402

SECONDS = float(os.environ.get("CLIENT_SECONDS", "3"))
CLIENTS = 8
VALUES = ["0", "1", "2", "nop", "function", "function_graph", "-1", "x", "sched_switch", "*:*", "prev_pid == 1",
          "next_comm ~ \"w*\" && prev_pid > 3", "schedule", "sys_*", "!schedule", "hist:keys=next_pid",
          "!hist:keys=next_pid", "traceoff:1", "!traceoff", "snapshot", "!snapshot", "stacktrace:3", "!stacktrace",
          "1000", "100", "local", "ff", "", "sched:sched_switch", "enable_event:sched:sched_wakeup",
          "!enable_event:sched:sched_wakeup", "schedule:traceon", "!schedule:traceon"]


class Client:
    """As much of 9P as it takes; every answer is checked for its size, type and tag."""

    def __init__(self, path):
        self.s = socket.socket(socket.AF_UNIX)
        self.s.settimeout(100)
        self.s.connect(path)
        self.call(100, 0xFFFF, struct.pack("<I", 8192) + self.text("9P2000"))
        self.call(104, 1, struct.pack("<II", 0, 0xFFFFFFFF) + self.text("u") + self.text(""))

    @staticmethod
    def text(t):
        return struct.pack("<H", len(t)) + t.encode()

    def need(self, n):
        b = b""
        while len(b) < n:
            part = self.s.recv(n - len(b))
            if not part:
                raise RuntimeError("the server closed the connection")
            b += part
        return b

    def call(self, kind, tag, body):
        self.s.sendall(struct.pack("<IBH", 7 + len(body), kind, tag) + body)
        size, got, back = struct.unpack("<IBH", self.need(7))
        if size < 7 or size > 8192 or back != tag or got not in (kind + 1, 107):
            raise RuntimeError(f"answer to {kind}: size {size}, type {got}, tag {back}, sent {tag}")
        data = self.need(size - 7)
        return None if got == 107 else data

    def open(self, path, mode):
        names = [n for n in path.split("/") if n]
        data = self.call(110, 2, struct.pack("<IIH", 0, 7, len(names)) + b"".join(map(self.text, names)))
        if data is None or struct.unpack("<H", data[:2])[0] != len(names):
            return False
        if self.call(112, 3, struct.pack("<IB", 7, mode)) is None:
            self.close()
            return False
        return True

    def close(self):
        self.call(120, 4, struct.pack("<I", 7))

    def read(self, offset, count):
        return self.call(116, 5, struct.pack("<IQI", 7, offset, count))

    def write(self, data):
        return self.call(118, 6, struct.pack("<IQI", 7, 0, len(data)) + data)

    def walk_tree(self, dir="", depth=0):
        """Every file there is."""
        out, at = [], 0
        if not self.open(dir, 0):
            return out
        dirs = []
        while True:
            data = self.read(at, 8000)
            if data is None or len(data) == 4:
                break
            at += len(data) - 4
            p = 4
            while p < len(data):
                (size,) = struct.unpack_from("<H", data, p)
                n = struct.unpack_from("<H", data, p + 41)[0]
                name = data[p + 43:p + 43 + n].decode()
                path = f"{dir}/{name}" if dir else name
                (dirs if data[p + 8] & 0x80 else out).append(path)
                p += 2 + size
        self.close()
        for d in dirs:
            if depth < 4:
                out += self.walk_tree(d, depth + 1)
        return out


def worker(path, files, seed, until, errors, counts):
    r = random.Random(seed)
    try:
        c = Client(path)
        while time.time() < until or counts[seed] < 5:
            f = r.choice(files)
            mode = r.choice([0, 0, 1, 0x11, 2])
            if r.random() < 0.02:
                name = r.choice("xyz")
                data = c.call(110, 2, struct.pack("<IIH", 0, 7, 1) + c.text("instances"))
                if data:
                    c.call(114, 3, struct.pack("<I", 7) + c.text(name) + struct.pack("<IB", 0x800001E8, 0))
                    c.close()
                for own in ("set_ftrace_filter", "current_tracer", r.choice(files)):
                    put(c, f"instances/{name}/{own}", "function" if own == "current_tracer" else r.choice(VALUES))
                data = c.call(110, 2, struct.pack("<IIH", 0, 7, 2) + c.text("instances") + c.text(name))
                if data and struct.unpack("<H", data[:2])[0] == 2:
                    c.call(122, 3, struct.pack("<I", 7))
            if not c.open(f, mode):
                continue
            if mode in (0, 2):
                at = 0
                for _ in range(r.randrange(1, 6)):
                    data = c.read(at | 1 << 63, r.choice([1, 100, 4096, 8000]))
                    if not data or len(data) == 4:
                        break
                    at += len(data) - 4
            else:
                c.write((r.choice(VALUES) + "\n").encode())
            c.close()
            counts[seed] += 1
        c.s.close()
    except Exception as e:  # noqa: the thread's verdict
        errors.append(f"client {seed}: {e!r}")


def settings(files):
    """Files that show how tracing is set, not what it recorded: the same settings read the same."""
    volatile = ("trace", "trace_pipe", "trace_pipe_raw", "trace_pipe_packed", "snapshot", "snapshot_raw", "stats", "tracer_stats", "saved_cmdlines",
                "saved_tgids", "error_log", "stack_trace", "stack_max_size", "tracing_max_latency", "free_buffer", "trace_marker",
                "trace_marker_raw", "printk_formats", "touched_functions")
    return [f for f in files if f.split("/")[-1] not in volatile and not f.startswith("trace_stat/")]


def whole(c, path, most=1 << 20):
    """A file from its beginning to its end; None if it cannot be read."""
    out = b""
    if not c.open(path, 0):
        return None
    while len(out) < most:
        data = c.read(len(out), 8000)
        if data is None or len(data) == 4:
            break
        out += data[4:]
    c.close()
    return out


def put(c, path, value, mode=0x11):
    """1: taken, 0: refused."""
    if not c.open(path, mode):
        return 0
    ok = c.write((value + "\n").encode()) is not None
    c.close()
    return int(ok)


def reset(c, files, options):
    """Every setting as at the start, as Linux's own selftests do between two of theirs: a random value may be a trigger
    that takes a snapshot with each event, and then nothing stays in `trace`."""
    put(c, "tracing_on", "0")
    put(c, "current_tracer", "nop")
    for f in [f for f in files if f.endswith("/trigger")]:
        for line in (whole(c, f) or b"").decode().splitlines():
            if not line.startswith("#"):
                for end in (" [active]", " [paused]"):
                    line = line.removesuffix(end)
                if not put(c, f, "!" + line, 1):
                    raise RuntimeError(f"{f} does not take back {line!r}")
    put(c, "events/enable", "0")
    for f in [f for f in files if f.endswith("/filter")]:
        put(c, f, "0")
    for f in ("set_ftrace_filter", "set_ftrace_notrace", "set_ftrace_pid", "set_ftrace_notrace_pid", "set_graph_function",
              "set_graph_notrace", "set_event_pid", "set_event_notrace_pid", "stack_trace_filter", "error_log"):
        put(c, f, "")
    for line in (whole(c, "set_ftrace_filter") or b"").decode().splitlines():
        if not line.startswith("#"):  # a function's probe: what it shows takes it away
            put(c, "set_ftrace_filter", "!" + line.replace(":unlimited", ""), 1)
    put(c, "tracepoint_printk", "0")
    for path, value in options.items():
        put(c, path, value.decode().strip())
    for f, v in (("buffer_size_kb", "1000"), ("snapshot", "0"), ("tracing_cpumask", "ff"), ("trace_clock", "local"),
                 ("tracing_thresh", "0"), ("max_graph_depth", "0"), ("buffer_percent", "50"), ("tracing_max_latency", "0"),
                 ("function_profile_enabled", "0"), ("stack_tracer_enabled", "0"), ("trace", ""), ("tracing_on", "1")):
        put(c, f, v)


def instances(c, most=12):
    """How many instances the memory gives; all are removed again."""
    made = []
    for i in range(most):
        c.call(110, 2, struct.pack("<IIH", 0, 7, 1) + c.text("instances"))
        ok = c.call(114, 3, struct.pack("<I", 7) + c.text(f"count{i}") + struct.pack("<IB", 0x800001E8, 0)) is not None
        c.close()
        if not ok:
            break
        made.append(f"count{i}")
    for name in made + ["x", "y", "z"]:
        data = c.call(110, 2, struct.pack("<IIH", 0, 7, 2) + c.text("instances") + c.text(name))
        if data and struct.unpack("<H", data[:2])[0] == 2:
            c.call(122, 3, struct.pack("<I", 7))
    return len(made)


def verdict(name, wrong):
    print(f"not ok {name}: {wrong}" if wrong else f"ok {name}", flush=True)
    return 1 if wrong else 0


def storm(path, files):
    errors, counts = [], [0] * CLIENTS
    until = time.time() + SECONDS
    threads = [threading.Thread(target=worker, args=(path, files, i, until, errors, counts)) for i in range(CLIENTS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(SECONDS + 200)
    hung = [t for t in threads if t.is_alive()]
    if not errors and not hung:
        print(f"# {sum(counts)} operations on {len(files)} files by {CLIENTS} clients in {SECONDS:.0f} s", flush=True)
        return ""
    return f"{errors[:3]}, {len(hung)} hang, operations {counts}"


def recorded(c):
    """A marker, and an event of the threads that never stopped."""
    put(c, "trace_marker", "still here", 1)
    put(c, "events/sched/sched_switch/enable", "1")
    wanted = (b"still here", b"sched_switch: prev_comm=")
    until(lambda: all(w in whole(c, "trace") for w in wanted))
    put(c, "events/sched/sched_switch/enable", "0")
    text = whole(c, "trace")
    return [w for w in wanted if w not in text]


def main():
    # What tracepoint_printk prints goes nowhere: a pipe or a disk that is slow would hold up the events.
    machine = subprocess.Popen(["build/control/machine", "1000", "meter"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    pid = int(machine.stdout.readline())
    run = os.environ.get("XDG_RUNTIME_DIR", "")
    path = f"{run}/fathom/{pid}" if run and os.path.exists(f"{run}/fathom/{pid}") else f"/tmp/fathom-{os.getuid()}/{pid}"
    bad = 0
    try:
        c = Client(path)
        files = c.walk_tree()
        options = {f: whole(c, f) for f in files if f.startswith("options/")}
        reset(c, files, options)
        before = {f: whole(c, f) for f in settings(files)}
        room = instances(c)
        wrong = storm(path, files)
        if machine.poll() is not None:
            wrong += f" the process ended with {machine.poll()}"
        bad += verdict("control_clients", wrong)
        if wrong:
            machine.kill()
            os._exit(1)
        reset(c, files, options)
        missing = recorded(c)
        bad += verdict("control_after", missing and f"not recorded: {missing}")
        instances(c)  # removes those of the clients
        left = instances(c)
        bad += verdict("control_memory", left != room and f"{room} instances before, {left} after")
        differ = [f for f in before if whole(c, f) != before[f]]
        bad += verdict("control_settings", differ and f"read otherwise after all was reset: {differ[:6]}")
        machine.send_signal(signal.SIGTERM)
        meter = dict(w.split("=") for w in machine.stdout.readline().split())
        bursts, blocked = int(meter["bursts"]), int(meter["blocked"])
        print(f"# {bursts * 64} events in {bursts} bursts: {blocked} gave up the CPU, worst burst {meter['worst_us']} us of CPU")
        bad += verdict("control_event_path", (blocked * 100 > bursts or bursts < 100) and str(meter))
        return bad != 0
    finally:
        machine.kill()
        machine.wait()


sys.exit(main())
