#!/usr/bin/env python3
"""port.py -- xv6-riscv with Fathom in QEMU, three harts, one UART for shell and trace line: `make port-xv6 TREE=DIR`."""
import json
import os
import re
import shutil
import subprocess
import sys

os.environ["ARCH"] = "riscv64"  # of what the boot tests' library reads
for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):  # of the make that starts this: xv6 counts on built-in rules
    os.environ.pop(name, None)
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from line import Line  # noqa: E402
from port import FATHOM, TOP, Port  # noqa: E402
from calls import Code, Forest  # noqa: E402
from checker import Checker  # noqa: E402

CROSS = "riscv64-linux-gnu-"
HERE = f"{TOP}/ports/xv6"
PROMPT = "init: starting sh\r?\n\\$ "
KINDS = ("sched_switch", "sched_wakeup", "sched_wakeup_new", "sched_process_fork", "sched_process_exec", "sched_process_exit", "sys_enter",
         "sys_exit", "irq_handler_entry", "irq_handler_exit", "frame_alloc", "frame_free")

LINE = "2"  # the process that has the trace line; what it does for the recorder is not what is looked for, nor are the UART's interrupts
EVENTS = ["-e", "sched:sched_switch", "-f", f"prev_pid != {LINE} && next_pid != {LINE}", "-e", "sched:sched_wakeup*", "-f", f"pid != {LINE}",
          "-e", "sched:sched_process*", "-e", "irq", "-f", "irq != 10", "-e", "raw_syscalls", "-e", "kmem", "-e", "exceptions"]
TASKS = ["-P", "3", "-O", "function-fork"]  # the shell, and what it starts


class Xv6Checker(Checker):
    """What the demo's checker knows; xv6's system calls have Linux's records, and frames outlive the trace."""

    def on_sys_enter(self, line, comm, pid, cpu, time, rest):
        if pid in self.calls:
            self.error("a system call in a system call", line)
        self.calls[pid] = re.match(r"NR (\d+) \(", rest)[1]

    def on_sys_exit(self, line, comm, pid, cpu, time, rest):
        m, call = re.match(r"NR (\d+) = (-?\d+)$", rest), self.calls.pop(pid, None)
        if not m or call not in (None, m[1]):
            self.error(f"pid {pid} was in {call}", line)

    def on_frame_free(self, line, comm, pid, cpu, time, rest):
        self.frames.pop(re.search(r"frame=0x([0-9a-f]+)", rest)[1], None)  # the trace began after many were allocated

    def finish(self):
        self.frames.clear()
        return super().finish()


class Calls(Forest):
    """usertrap() and usertrapret() never return: what the next trap finds open is over."""

    def enter(self, e, f, stack):
        if f["depth"] == 0:
            stack.clear()
        super().enter(e, f, stack)


def build(p, tree, hooks):
    """Fathom, or only the benchmark, into a copy of the tree, and the kernel made."""
    for part in ("trace", "wire", "ports/xv6"):
        shutil.copytree(f"{TOP}/{part}", f"{tree}/{part}")
    shutil.copy(f"{HERE}/tracebench.c", f"{tree}/user/")
    code, text = p.run([f"{TOP}/ports/insert", f"{HERE}/{hooks}", tree])
    p.check("hooks_" + hooks, code == 0, text)
    print("#", text.strip())
    p.build(["make", "-j2", "TOOLPREFIX=" + CROSS, "kernel/kernel", "fs.img"], "builds_" + hooks, allow="has a LOAD segment with RWX permissions", cwd=tree)
    return f"{tree}/kernel/kernel"


def boot(p, tree, *more):
    line = Line(["qemu-system-riscv64", "-machine", "virt", "-bios", "none", "-kernel", f"{tree}/kernel/kernel", "-m", "128M", "-display", "none",
                 "-monitor", "none", "-serial", "UART", "-global", "virtio-mmio.force-legacy=false", "-drive",
                 f"file={tree}/fs.img,if=none,format=raw,id=x0", "-device", "virtio-blk-device,drive=x0,bus=virtio-mmio-bus.0", *more], p.out)
    p.guests.append(line)
    line.until(PROMPT)
    return line


def write(line, file, text):
    subprocess.run([FATHOM, "fs", "unix:" + line.client, "write", file, text], check=True, capture_output=True, timeout=120)


def record(p, line, output, options, *work):
    def during():
        for text in work:
            start = len(line.text)
            line.type(text)
            line.until("\\$ ", line.until(re.escape(text), start))

    return p.record(["--target", "unix:" + line.client, *options], during, output)


def events(p, output):
    text = subprocess.run([FATHOM, "query", "-j", p.path(output)], check=True, capture_output=True, text=True).stdout
    return [e for e in map(json.loads, text.splitlines()) if "event" in e]


def judge(p, kernel):
    line = boot(p, p.tree, "-smp", "3")
    cpus = record(p, line, "trace.dat", EVENTS, "ls", "forktest", "wc README")
    p.check("recorded_to_the_end", "the command ended" in subprocess.run([FATHOM, "stat", p.path("trace.dat")], capture_output=True, text=True, check=False).stdout)
    p.judge(KINDS, cpus=cpus, kind=Xv6Checker)

    record(p, line, "trace-function.dat", ["-p", "function", "-b", "256", *TASKS], "ls", "wc README")
    calls, code = events(p, "trace-function.dat"), Code(kernel)
    edges = code.edges(calls)
    wrong = [w for w in code.wrong(edges) if w != "? -> usertrap"]  # the trampoline, at its other address
    p.check("function_edges", len(edges) > 100 and not wrong, f"{len(edges)}, wrong: {wrong[:9]}")
    print(f"# {len(calls)} calls, {len(edges)} pairs of caller and callee")

    record(p, line, "trace-graph.dat", ["-p", "function_graph", "-b", "256", *TASKS], "ls", "wc README")
    forest = Calls(events(p, "trace-graph.dat"))
    p.check("graph_true", forest.pairs > 500 and forest.nested > 100 and not forest.faults, f"{forest.pairs} calls: {forest.faults[:5]}")
    print(f"# {forest.pairs} calls with their returns, {forest.nested} inside others, {forest.moved} went on on another hart")

    start = len(line.text)
    line.type("usertests reparent")
    for tracer in ("function_graph", "nop", "function", "nop") * 2:
        write(line, "current_tracer", tracer)
    p.check("toggled_under_load", line.until("ALL TESTS PASSED", start, 200))
    write(line, "events/enable", "1")
    start = len(line.text)
    line.type("kill 1")  # xv6 panics if init exits, and prints the last events
    end = line.until(r"init-1 +\[00\d\] [^\n]*: \w+: [^\n]*\n", start)  # other harts may print in the middle of xv6's own line
    p.check("panic_shows_events", end, line.text[start:][-300:])
    line.kill()


def cost(p, tree, name, first, *settings):
    """Instructions per getpid() on one hart: QEMU counts 1 ns for each."""
    line = boot(p, tree, "-smp", "1", "-icount", "shift=0")
    for file, text in settings:
        write(line, file, text)
    start = len(line.text)
    line.type("tracebench 1000")
    end = line.until("tracebench: [0-9]+ ", start, 300)
    n = int(re.search(rb"tracebench: (\d+) ", line.text[start:end])[1])
    first.append(n)
    print(f"# {name}: {n} instructions per getpid(), {n / first[0]:.2f} x", flush=True)
    line.kill()


def main():
    p = Port("xv6", [(CROSS + "gcc", "gcc-riscv64-linux-gnu"), ("qemu-system-riscv64", "qemu-system-misc")], ignore=("*.o", "*.d"))
    plain = p.path("plain")
    shutil.copytree(p.tree, plain)
    kernel = build(p, p.tree, "hooks")
    judge(p, kernel)
    p.weigh(build(p, plain, "plain"), kernel, 8 << 20, CROSS)
    first = []
    cost(p, plain, "plain xv6", first)
    cost(p, p.tree, "built in, off", first)
    cost(p, p.tree, "all events on", first, ("events/enable", "1"))
    cost(p, p.tree, "function", first, ("current_tracer", "function"))
    cost(p, p.tree, "function_graph", first, ("current_tracer", "function_graph"))
    p.done()


if __name__ == "__main__":
    main()
