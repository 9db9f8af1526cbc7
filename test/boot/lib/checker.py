"""checker.py -- is a trace of the demo kernel true? Reads the text of `fathom report -t -N` and checks what must hold."""
import re
import subprocess

from demo import FATHOM, MACHINE

LINE = re.compile(r"^\s*(.+)-(\d+)\s+\[(\d+)\]\s+(?:\S{4,6}\s+)?(\d+)\.(\d+):\s+(\w+):\s*(.*)$")
SWITCH = re.compile(r"prev_comm=(.*) prev_pid=(\d+) prev_prio=(-?\d+) prev_state=(\S+) ==> next_comm=(.*) next_pid=(\d+) next_prio=(-?\d+)")
PID = re.compile(r"\bpid=(\d+)")
IRQ = re.compile(r"irq=(\d+)")
FRAME = re.compile(r"frame=0x([0-9a-f]+)")
OBJECT = re.compile(r"ptr=0x([0-9a-f]+)")
FAULT = re.compile(r"address=(?:0x)?([0-9a-f]+)")
SYS = re.compile(r"(\w+) = (-?\d+) duration=(\d+) ns")
LOST = re.compile(r"CPU:(\d+) \[(?:(\d+) )?EVENTS (?:DROPPED|LOST)", re.I)

PAGE = 4096
HEAP = 0x100000000
IMAGE = range(0x400000, 0x410000)
STACK = range(MACHINE.user_top - 0x100000, MACHINE.user_top)


class Checker:
    """Feed it lines; `errors` says what does not hold. With lost events, what spans a loss is not judged. `also`: events of other kernels.
    Not `wakes`: the kernel does not say when a task becomes ready."""

    def __init__(self, touch_pages=None, also=(), wakes=True):
        self.errors = []
        self.also, self.wakes = also, wakes
        self.events = 0
        self.kinds = {}
        self.cpus = set()
        self.last = {}        # cpu: time
        self.running = {}     # cpu: pid
        self.irqs = {}        # cpu: stack of vectors
        self.calls = {}       # pid: (name, time of entry)
        self.user = {}        # pid: when it surely was in user mode last
        self.woken = {}       # pid: when it was woken last
        self.blocked = {}     # pid: True once it was switched out blocked and not woken since
        self.frames = {}      # frame: where it was allocated
        self.objects = {}     # of kmalloc: where it was allocated
        self.heap = {}        # pid of a toucher: faults in its heap
        self.touch_pages = touch_pages
        self.lossy = False
        self.nmis = 0

    def error(self, what, line):
        if len(self.errors) < 20:
            self.errors.append(f"{what}: {line.strip()}")
        else:
            self.errors[-1] = "... and more"

    def lost(self, cpu):
        self.lossy = True
        self.running.pop(cpu, None)
        self.irqs[cpu] = None
        self.blocked.clear()
        self.calls.clear()

    def feed(self, line):
        m = LINE.match(line)
        if not m:
            l = LOST.search(line)
            if l:
                self.lost(int(l.group(1)))
            elif not line.startswith("cpus="):
                self.error("a line that is no event", line)
            return
        comm, pid, cpu, sec, ns, kind, rest = m.groups()
        pid, cpu, time = int(pid), int(cpu), int(sec) * 10**9 + int(ns)
        self.events += 1
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        self.cpus.add(cpu)
        if time < self.last.get(cpu, 0):
            self.error("time goes back on this CPU", line)
        self.last[cpu] = time
        handler = getattr(self, "on_" + kind, None)
        if handler:
            handler(line, comm, pid, cpu, time, rest)
        elif kind not in ("sched_migrate_task", "sched_process_fork", "sched_process_exit", "cap_invoke", "fast_send",
                          "fast_recv", "slow_path", "sched_waking", "page_fault_kernel", "signal_generate", *self.also):
            self.error("an event that nobody knows", line)

    def on_sched_switch(self, line, comm, pid, cpu, time, rest):
        m = SWITCH.match(rest)
        if not m:
            return self.error("not readable", line)
        prev, state, nxt = int(m.group(2)), m.group(4), int(m.group(6))
        if prev != pid:
            self.error("the task that leaves is not the one that recorded it", line)
        if cpu in self.running and self.running[cpu] != prev:
            self.error(f"cpu {cpu} ran pid {self.running[cpu]}", line)
        self.running[cpu] = nxt
        if prev and state in ("S", "D"):
            self.blocked[prev] = True
        if nxt and self.wakes and self.blocked.get(nxt):
            self.error("runs again and nobody has woken it", line)

    def on_sched_wakeup(self, line, comm, pid, cpu, time, rest):
        woken = int(PID.search(rest).group(1))
        self.blocked[woken] = False
        self.woken[woken] = time

    on_sched_wakeup_new = on_sched_wakeup

    def on_irq_handler_entry(self, line, comm, pid, cpu, time, rest):
        stack = self.irqs.setdefault(cpu, None)
        if stack is None:
            stack = self.irqs[cpu] = []
        stack.append(IRQ.search(rest).group(1))

    def on_irq_handler_exit(self, line, comm, pid, cpu, time, rest):
        stack = self.irqs.setdefault(cpu, None)
        if stack is None:     # the trace began, or was interrupted, inside of it
            self.irqs[cpu] = []
        elif not stack or stack.pop() != IRQ.search(rest).group(1):
            self.error("an interrupt ends that did not begin", line)

    def on_nmi_handler(self, line, comm, pid, cpu, time, rest):
        self.nmis += 1

    def on_sys_enter(self, line, comm, pid, cpu, time, rest):
        if pid in self.calls:
            self.error("a system call in a system call", line)
        self.calls[pid] = (rest.split("(")[0], time)

    def on_sys_exit(self, line, comm, pid, cpu, time, rest):
        m = SYS.match(rest)
        if not m or int(m.group(3)) <= 0:
            return self.error("no duration", line)
        call = self.calls.pop(pid, None)
        if not call:
            if not self.lossy and pid in self.blocked:
                self.error("a system call ends that did not begin", line)
            return
        if call[0] != m.group(1):
            return self.error(f"pid {pid} was in {call[0]}", line)
        # The clock was read between user mode and the entry's stamp, and between the last wakeup and this one's; whoever was put
        # aside there has a duration that is not the difference of the stamps.
        least, most = self.woken.get(pid, 0) - call[1], time - self.user.get(pid, 0)
        if not least - 1000 <= int(m.group(3)) <= most + 1000:
            self.error(f"not from {least} to {most} ns", line)
        self.user[pid] = time

    def on_frame_alloc(self, line, comm, pid, cpu, time, rest):
        frame = FRAME.search(rest).group(1)
        if frame in self.frames and not self.lossy:
            self.error("a frame was given out twice", line)
        self.frames[frame] = line

    def on_frame_free(self, line, comm, pid, cpu, time, rest):
        if not self.frames.pop(FRAME.search(rest).group(1), None) and not self.lossy:
            self.error("a frame was freed that was not allocated", line)

    def on_kmalloc(self, line, comm, pid, cpu, time, rest):
        at = OBJECT.search(rest).group(1)
        if at in self.objects and not self.lossy:
            self.error("an object was given out twice", line)
        self.objects[at] = line

    def on_kfree(self, line, comm, pid, cpu, time, rest):
        if not self.objects.pop(OBJECT.search(rest).group(1), None) and not self.lossy:
            self.error("an object was freed that was not allocated", line)

    def on_page_fault_user(self, line, comm, pid, cpu, time, rest):
        at = int(FAULT.search(rest).group(1), 16)
        self.user[pid] = time
        if comm != "touch":
            return
        if at in IMAGE or at in STACK:
            return
        self.heap.setdefault(pid, []).append((at - HEAP) // PAGE)
        if at < HEAP or at >= HEAP + 3 * ((self.touch_pages or 1000) + 1) * PAGE:
            self.error("a toucher's fault outside of its region", line)

    def finish(self):
        """The checks that need the whole trace."""
        for cpu, stack in self.irqs.items():
            if stack and len(stack) > 1:
                self.error(f"interrupts without an end on cpu {cpu}", str(stack))
        if self.frames and not self.lossy:
            self.error(f"{len(self.frames)} frames are still allocated, one of them", next(iter(self.frames.values())))
        if self.objects and not self.lossy:
            self.error(f"{len(self.objects)} objects are still allocated, one of them", next(iter(self.objects.values())))
        if self.touch_pages and not self.lossy:
            want = [r * (self.touch_pages + 1) + i for r in range(3) for i in range(self.touch_pages)]
            for pid, got in self.heap.items():
                if sorted(got) != want:
                    self.error(f"pid {pid} touched {len(want)} pages", f"{len(got)} faults")
        return self


def check_file(path, touch_pages=None, also=(), wakes=True, kind=Checker):
    c = kind(touch_pages, also, wakes)
    p = subprocess.Popen([FATHOM, "report", "--like", "3.1", "-t", "-N", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in p.stdout:
        c.feed(line)
    err = "".join(s for s in p.stderr if "lost during recording" not in s)
    if p.wait() or err:
        c.errors.append(f"fathom report: exit {p.returncode}: {err[:300]}")
    return c.finish()
