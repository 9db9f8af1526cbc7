"""calls.py -- what must be true of function and function_graph traces. For the boot tests."""
import bisect
import collections
import json
import re
import subprocess

from demo import ARCH, FATHOM, MACHINE, kernel_file

# Calls and jumps in a disassembly: the mnemonic, then a target by name, or none if it is in a register.
CALLS = {
    "x86_64": r"\t(?:call|jmp)\s+(\*)?(?:[0-9a-f]+ <([^>+]+)(\+[^>]*)?>)?",
    "riscv64": r"\t(?:jal|j|jalr|jr)\t(?:(?:ra,)?[0-9a-f]+ |.*# [0-9a-f]+ |(.*))(?:<([^>+]+)(\+[^>]*)?>)?",
    "aarch64": r"\t(?:bl|b|blr|br)\t(?:[0-9a-f]+ |(.*))(?:<([^>+]+)(\+[^>]*)?>)?",
}


def record(out, tracer, lines, level="6"):
    """Trace the lines on the demo kernel, all functions; the events."""
    cmd = [FATHOM, "record", "--qemu", kernel_file(level), "-e", "sched:sched_switch", "-a", "trace_mib=160", "-m", "512", "-t", "400",
           "--via", "memory", "-o", out, "-r", "echo 0 > tracing_on", "-r", f"echo {tracer} > current_tracer", "-r", "echo 1 > tracing_on"]
    for line in lines:
        cmd += ["-r", line]
    subprocess.run(cmd + ["-r", "echo 0 > tracing_on"], check=True, capture_output=True)
    text = subprocess.run([FATHOM, "query", "-j", out], check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in text.splitlines()]


class Forest:
    """Per task (pid 0 per CPU) entries and exits nest, but for calls open at the start or the end, and callees take no
    longer than their caller, whatever CPU they ran on. What spans events that the trace says were lost is not judged.
    Calls may be a level too deep for each context that was interrupted inside the tracer: an interrupt, an NMI in that.
    `dropped`: functions (addresses) whose frame and callers' a kernel may drop, which then do not return; how many is in `nr_dropped`."""

    def __init__(self, events, dropped=()):
        self.faults, self.pairs, self.nested, self.moved, self.nr_dropped = [], 0, 0, 0, 0
        self.stacks = collections.defaultdict(list)
        for e in events:
            if "lost" in e:
                self.stacks.clear()
            stack = self.stacks[(e["pid"], e["cpu"] if e["pid"] == 0 else None)]
            if stack and stack[-1][0] in dropped and "depth" in e["fields"] and \
                    e["fields"]["depth"] <= stack[-1][1] - (e["event"] == "funcgraph_exit"):
                self.nr_dropped += 1
                while stack and stack[-1][1] >= e["fields"]["depth"] + (e["event"] == "funcgraph_exit"):
                    stack.pop()
            if e["event"] == "funcgraph_entry":
                self.enter(e, e["fields"], stack)
            elif e["event"] == "funcgraph_exit" and stack:  # else it began before the trace did
                self.leave(e, e["fields"], stack)

    def enter(self, e, f, stack):
        if stack and not 1 <= f["depth"] - stack[-1][1] <= 3:
            self.faults.append(f"event {e['n']}: depth {f['depth']} inside depth {stack[-1][1]}")
        stack.append([f["func"], f["depth"], 0, e["cpu"]])

    def leave(self, e, f, stack):
        func, depth, children, cpu = stack.pop()
        took = f["rettime"] - f["calltime"]
        if (func, depth) != (f["func"], f["depth"]):
            self.faults.append(f"event {e['n']}: return of {f['func']:x} depth {f['depth']}, open is {func:x} depth {depth}")
            stack.clear()
            return
        self.pairs += 1
        self.moved += cpu != e["cpu"]
        if children > took:
            self.faults.append(f"event {e['n']}: callees took {children} ns of {took}")
        if stack:
            stack[-1][2] += took
            self.nested += 1


class Code:
    """Direct call targets and indirect calls of each function, from the disassembly."""

    def __init__(self, kernel):
        text = subprocess.run([MACHINE.cross + "objdump", "-d", "--no-show-raw-insn", kernel], check=True, capture_output=True, text=True).stdout
        name, self.starts, self.direct, self.indirect = None, [], collections.defaultdict(set), set()
        for line in text.splitlines():
            m = re.match(r"([0-9a-f]+) <([^>]+)>:$", line)
            if m:
                name = m.group(2)
                self.starts.append((int(m.group(1), 16), name))
                continue
            m = re.search(CALLS[ARCH], line)
            if m and m.group(1):
                self.indirect.add(name)
            elif m and m.group(2) and not m.group(3):
                self.direct[name].add(m.group(2))
        self.starts.sort()
        self.bases = [s for s, _ in self.starts]

    def name_at(self, at):
        i = bisect.bisect_right(self.bases, at) - 1
        return self.starts[i][1] if i >= 0 else "?"

    def edges(self, events):
        """(caller, callee) of every function record."""
        return {(self.name_at(e["fields"]["parent_ip"] - 1), self.name_at(e["fields"]["ip"])) for e in events if e["event"] == "function"}

    def wrong(self, edges):
        return [f"{a} -> {b}" for a, b in edges if b not in self.direct[a] and a not in self.indirect]
