"""maketrace.py -- traces made record by record: ring pages of a scheduler's events and function_graph's, as trace.dat."""
import os
import struct
import subprocess

from rawtrace import format_head
from tracedata import FATHOM

ENTRY, EXIT, SWITCH, WAKEUP, TICK, EXEC, MIGRATE, IRQ_IN, IRQ_OUT, OFF, ON, NEW, FREQUENCY, IDLE = 11, 10, 300, 301, 302, 303, 304, 305, 306, 307, 308, 309, 310, 311


def field(kind, name, offset, size, signed=0):
    return f"\tfield:{kind} {name};\toffset:{offset};\tsize:{size};\tsigned:{signed};\n"


FORMATS = {
    "ftrace/funcgraph_entry": (ENTRY, field("unsigned long", "func", 8, 8) + field("int", "depth", 16, 4, 1), '"%d", REC->depth'),
    "ftrace/funcgraph_exit": (EXIT, field("unsigned long", "func", 8, 8) + field("unsigned int", "depth", 16, 4) +
                              field("unsigned int", "overrun", 20, 4) + field("unsigned long long", "calltime", 24, 8) +
                              field("unsigned long long", "rettime", 32, 8), '"%d", REC->depth'),
    "sched/sched_switch": (SWITCH, field("char", "prev_comm[16]", 8, 16) + field("pid_t", "prev_pid", 24, 4, 1) +
                           field("int", "prev_prio", 28, 4, 1) + field("long", "prev_state", 32, 8, 1) +
                           field("char", "next_comm[16]", 40, 16) + field("pid_t", "next_pid", 56, 4, 1) +
                           field("int", "next_prio", 60, 4, 1), '"%d ==> %d", REC->prev_pid, REC->next_pid'),
    "sched/sched_wakeup": (WAKEUP, field("char", "comm[16]", 8, 16) + field("pid_t", "pid", 24, 4, 1) +
                           field("int", "prio", 28, 4, 1) + field("int", "target_cpu", 32, 4, 1), '"%d", REC->pid'),
    "sched/sched_process_exec": (EXEC, field("pid_t", "pid", 8, 4, 1) + field("pid_t", "old_pid", 12, 4, 1), '"%d", REC->pid'),
    "sched/sched_wakeup_new": (NEW, field("char", "comm[16]", 8, 16) + field("pid_t", "pid", 24, 4, 1) +
                               field("int", "prio", 28, 4, 1) + field("int", "target_cpu", 32, 4, 1), '"%d", REC->pid'),
    "sched/sched_migrate_task": (MIGRATE, field("pid_t", "pid", 8, 4, 1) + field("int", "orig_cpu", 12, 4, 1) +
                                 field("int", "dest_cpu", 16, 4, 1), '"%d", REC->pid'),
    "irq/irq_handler_entry": (IRQ_IN, field("int", "irq", 8, 4, 1) + field("char", "name[16]", 12, 16), '"%d", REC->irq'),
    "irq/irq_handler_exit": (IRQ_OUT, field("int", "irq", 8, 4, 1), '"%d", REC->irq'),
    "preemptirq/irq_disable": (OFF, field("u32", "caller_offs", 8, 4), '"%u", REC->caller_offs'),
    "preemptirq/irq_enable": (ON, field("u32", "caller_offs", 8, 4), '"%u", REC->caller_offs'),
    **{f"power/{name}": (ident, field("u32", "state", 8, 4) + field("u32", "cpu_id", 12, 4), '"state=%lu cpu_id=%lu", (unsigned long)REC->state, (unsigned long)REC->cpu_id')
       for name, ident in (("cpu_frequency", FREQUENCY), ("cpu_idle", IDLE))},
    "my/tick": (TICK, field("u64", "n", 8, 8), '"%llu", REC->n'),
}


def common(kind, pid, flags=0):
    return struct.pack("<HBBi", kind, flags, 0, pid)


def entry(pid, func, depth):
    return common(ENTRY, pid) + struct.pack("<Qi4x", func, depth)


def exit_(pid, func, depth, call, ret, overrun=0):
    return common(EXIT, pid) + struct.pack("<QIIQQ", func, depth, overrun, call, ret)


def switch(prev, state, nxt, prev_comm=b"", next_comm=b""):
    return common(SWITCH, prev) + struct.pack("<16siiq16sii", prev_comm, prev, 120, state, next_comm, nxt, 120)


def wakeup(by, pid, comm=b"", cpu=0, flags=0, new=False):
    return common(NEW if new else WAKEUP, by, flags) + struct.pack("<16siii", comm, pid, 120, cpu)


def migrate(by, pid, old, new):
    return common(MIGRATE, by) + struct.pack("<iii", pid, old, new)


def irq(pid, number, name=None):
    """Its entry, or without a name its exit."""
    return common(IRQ_IN, pid) + struct.pack("<i16s", number, name) if name else common(IRQ_OUT, pid) + struct.pack("<i", number)


def irqs(pid, on):
    return common(ON if on else OFF, pid) + struct.pack("<I", 0)


def power(kind, cpu, value):
    """From now on the FREQUENCY in kHz or the IDLE state of a CPU."""
    return common(kind, 0) + struct.pack("<II", value, cpu)


def tick(pid, n=0):
    return common(TICK, pid) + struct.pack("<Q", n)


def exec_(pid, old):
    return common(EXEC, pid) + struct.pack("<ii", pid, old)


def page(events, lost=None):
    """A ring page of (time, record)s; lost: None, a number, or -1: events before it are missing, not known how many."""
    data, now = b"", events[0][0]
    for time, r in events:
        r = r.ljust((len(r) + 3) & ~3, b"\0")
        data += struct.pack("<II", (time - now) << 5, len(r) + 4) + r
        now = time
    commit = len(data) | (0 if lost is None else 1 << 31 | (1 << 30 if lost >= 0 else 0))
    if lost is not None and lost >= 0:
        return struct.pack("<QQ", events[0][0], commit) + (data + struct.pack("<Q", lost)).ljust(4080, b"\0")
    return struct.pack("<QQ", events[0][0], commit) + data.ljust(4080, b"\0")


class Maker:
    def __init__(self, folder):
        self.dir, self.nr = folder, 0
        for name, (ident, fields, text) in FORMATS.items():
            os.makedirs(os.path.join(folder, "formats", name))
            with open(os.path.join(folder, "formats", name, "format"), "w") as f:
                f.write(format_head(name.split("/")[1], ident) + fields + f"\nprint fmt: {text}\n")

    def trace(self, *cpus, comms=b"7 seven\n"):
        """A trace.dat of the pages of each CPU."""
        raw = os.path.join(self.dir, f"raw{self.nr}")
        self.nr += 1
        os.mkdir(raw)
        files = {"current_tracer": b"nop\n", "saved_cmdlines": comms, "trace_clock": b"[local] global\n",
                 "kallsyms": b"".join(b"%016x T f%d\n" % (0x1000 * i, i) for i in range(1, 20))}
        for name, data in [*files.items(), *((f"cpu{n}.raw", b"".join(pages)) for n, pages in enumerate(cpus))]:
            with open(os.path.join(raw, name), "wb") as f:
                f.write(data)
        subprocess.run([FATHOM, "convert", "--formats", os.path.join(self.dir, "formats"), raw, raw + ".dat"], check=True,
                       capture_output=True)
        return raw + ".dat"
