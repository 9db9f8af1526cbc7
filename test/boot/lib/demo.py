"""demo.py -- boot the demo kernel under QEMU and talk to its shell. For the boot tests."""
import atexit
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../lib"))
from checks import FATHOM, TOP, Checks, until  # noqa: E402,F401

PROMPT = b"\r\n# "


class Machine:
    """What an architecture changes for the tests. ARCH in the environment chooses it."""

    def __init__(self, qemu, package, args, line, cross="", ram=0, user_top=0x7ffffffff000, nmi=True, pc="RIP="):
        self.qemu, self.package, self.args, self.line = qemu, package, args, line
        self.cross, self.ram, self.user_top, self.nmi, self.pc = cross, ram, user_top, nmi, pc


VIRTIO = "virtio-serial-pci,disable-legacy=off,disable-modern=on,ioeventfd=off,max_ports=2"
PORT = ["-device", "virtserialport,chardev=trace"]
PCI_LINE = ["-device", VIRTIO + ",addr=1", *PORT]
MACHINES = {
    "x86_64": Machine("qemu-system-x86_64", "qemu-system-x86", ["-machine", "pc,accel=tcg", "-cpu", "qemu64", "-device",
                      "isa-debug-exit,iobase=0xf4,iosize=4"], ["-device", VIRTIO, *PORT]),
    "riscv64": Machine("qemu-system-riscv64", "qemu-system-misc", ["-machine", "virt"], PCI_LINE, "riscv64-linux-gnu-",
                       0x80000000, 0x3ffffff000, False, r"\bpc +"),
    "aarch64": Machine("qemu-system-aarch64", "qemu-system-arm", ["-machine", "virt,gic-version=3,highmem=off", "-cpu", "cortex-a57",
                       "-semihosting"], PCI_LINE, "aarch64-linux-gnu-", 0x40000000, pc=r"\bPC="),
}
ARCH = os.environ.get("ARCH", "x86_64")
MACHINE = MACHINES[ARCH]
NAME = "demo" + (f"-{ARCH}" if ARCH != "x86_64" else "")  # of the kernel, as fathom record --qemu calls it
BUILD = os.path.join(TOP, "build", NAME)


def kernel_file(level=6):
    return os.path.join(BUILD, f"L{level}/kernel.elf")


def need_qemu(name):
    if not shutil.which(MACHINE.qemu):
        print(f"skip {name}: package {MACHINE.package} missing")
        sys.exit(0)


def trace_line(path, serial=False):
    """QEMU's options for a trace line on a socket: a virtio console, or the second serial port."""
    port = ["-serial", "chardev:trace"] if ARCH == "x86_64" else ["-device", "pci-serial,addr=1,chardev=trace"]
    return ["-chardev", f"socket,id=trace,path={path},server=on,wait=off", *(port if serial else MACHINE.line)]


def icount(shift=1):
    """Instructions of 2^shift ns are the clock: what else this machine does costs the guest no time. One CPU after the other runs, though."""
    return ["-icount", f"shift={shift},sleep=off"]


class Demo:
    """One run of the kernel. The console is a pipe; `extra` goes to QEMU. `timeout` is against a hang only."""

    def __init__(self, smp=1, level=6, sh=None, extra=(), options="", timeout=400, kernel=None):
        cmd = [MACHINE.qemu, *MACHINE.args, "-m", "256M", "-smp", str(smp), "-display", "none", "-no-reboot", "-net", "none",
               "-kernel", kernel or kernel_file(level), "-serial", "stdio"]
        if not any("id=trace" in e for e in extra):
            cmd += ["-chardev", "null,id=trace", *MACHINE.line]
        append = options + (" " if options and sh else "") + (f"sh={sh}" if sh else "")
        if append:
            cmd += ["-append", append]
        # QEMU's own account of resets: a kernel that faults thrice ends it with code 0 and no word on the console.
        self.log = tempfile.TemporaryFile()
        cmd += ["-d", "guest_errors,cpu_reset", "-D", f"/proc/self/fd/{self.log.fileno()}"]
        self.cmd = cmd + list(extra)
        self.end = time.monotonic() + timeout
        self.out = b""
        self.asked = 0
        self.told = False  # why it ended
        self.p = subprocess.Popen(self.cmd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  pass_fds=[self.log.fileno()])
        os.set_blocking(self.p.stdout.fileno(), False)
        atexit.register(self.kill)  # a test that fails by an exception leaves nothing behind

    def pump(self, wait=0.2):
        """Read what there is. False at the end of the output."""
        if not select.select([self.p.stdout], [], [], wait)[0]:
            return True
        data = self.p.stdout.read()
        if data:
            self.out += data
        if data == b"":
            self.tell_end()
        return data != b""

    def tell_end(self):
        """Once: why QEMU ended, if neither the kernel asked for it (the code is odd then) nor we."""
        code = self.p.wait()
        if (code > 0 and code % 2) or self.told:
            return
        self.told = True
        self.log.seek(0)
        log = self.log.read().decode("latin1")
        kept = [line for line in log.splitlines() if line.startswith(("CPU Reset", "Triple", "EIP", "RIP", "CR0", "Invalid"))]
        print(f"# QEMU ended by itself: {f'signal {-code}' if code < 0 else f'code {code}'}"
              + (", a triple fault" if "Triple fault" in log else "") + ": " + " ".join(self.cmd))
        for line in kept[-8 * 4:] + ["console:"] + self.text().splitlines()[-15:]:
            print("#   " + line)
        sys.stdout.flush()

    def until(self, what, start=0):
        """Wait until `what` (bytes or regex) is in the output after `start`; where it ends, or -1."""
        pattern = re.compile(what if isinstance(what, bytes) else what.encode(), re.S)
        while True:
            m = pattern.search(self.out, start)
            if m:
                return m.end()
            if time.monotonic() > self.end:
                return -1
            if not self.pump():
                m = pattern.search(self.out, start)
                return m.end() if m else -1

    def type(self, line):
        try:
            self.p.stdin.write(line.encode() + b"\n")
            self.p.stdin.flush()
        except BrokenPipeError:
            self.wait()
            raise RuntimeError(f"QEMU has ended before: {line}") from None

    def command(self, line):
        """Type a line at the prompt; what it printed."""
        if self.until(rb"(^|\n)# $") < 0:
            raise RuntimeError("no prompt: " + self.text()[-500:])
        start = len(self.out)
        self.type(line)
        if self.until(rb"\n# $", start) < 0 and self.p.poll() is None:
            raise RuntimeError(f"{line}: no prompt after it: " + self.text()[-500:])
        return self.out[start:].decode("latin1").replace("\r\n", "\n")

    def ask(self, line):
        """Run a line whose output may look like a prompt (tracefs files do): what it printed, without the line."""
        if self.until(rb"(^|\n)# $", self.asked) < 0:
            raise RuntimeError("no prompt: " + self.text()[-500:])
        start = len(self.out)
        self.type(line + "\necho =end=")
        end = self.until(rb"\n=end=\r?\n", start)
        if end < 0:
            raise RuntimeError(f"{line}: no end of it: " + self.text()[-500:])
        self.asked = end - 1
        text = self.out[start:end].decode("latin1").replace("\r\n", "\n")
        return text[text.find("\n") + 1:text.rfind("# echo =end=\n=end=\n")]

    def leave(self):
        """`exit`, and wait for the end."""
        self.type("exit")
        return self.wait()

    def wait(self):
        """Until QEMU ends. Its exit code, or None if it had to be stopped."""
        while self.pump() and time.monotonic() < self.end:
            pass
        try:
            return self.p.wait(max(0.1, self.end - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def kill(self):
        self.told = True
        if self.p.poll() is None:
            self.p.send_signal(signal.SIGKILL)
            self.p.wait()

    def text(self):
        return self.out.decode("latin1").replace("\r\n", "\n")


EXIT_OK = 33      # isa-debug-exit with 0x10
EXIT_PANIC = 67   # with 0x21


def record(output, runs, smp=4, extra=(), timeout=400):
    """fathom record --qemu demo --json; the counters, or None with what went wrong printed."""
    cmd = [FATHOM, "record", "--qemu", NAME, "--json", "-o", output, "-s", str(smp),
           "-t", str(timeout - 10), "-c", output + ".console"]
    for r in runs:
        cmd += ["-r", r]
    p = subprocess.run(cmd + list(extra), capture_output=True, text=True, timeout=timeout)
    if p.returncode or p.stderr:
        print(" ".join(cmd + list(extra)), p.stderr, sep="\n")
    return json.loads(p.stdout)["cpus"] if p.returncode == 0 else None


def console(output):
    with open(output + ".console", encoding="latin1") as f:
        return f.read()


def check_counters(c, name, cpus):
    """Nothing is unaccounted: what was written was read, is still there, or was overwritten; and the file has it or says it is missing."""
    good = cpus is not None
    for i, s in enumerate(cpus or []):
        good &= c.check(f"{name}_cpu{i}_adds_up", s["written"] == s["read"] + s["overwritten"] + s["entries"], str(s))
        good &= c.check(f"{name}_cpu{i}_all_here", s["events"] == s["read"] + s["entries"], str(s))
        good &= c.check(f"{name}_cpu{i}_loss_is_told",
                        s["missed"] == s["overwritten"] + s["full"] + s["nested"] and s["too_big"] == 0, str(s))
    return good


def report_checker(c, name, result, kinds):
    """Print the checker's verdict on a trace; `kinds` must all be in it."""
    c.check(f"{name}_true", not result.errors, " | ".join(result.errors))
    missing = [k for k in kinds if k not in result.kinds]
    c.check(f"{name}_kinds", not missing, f"no events of {missing}")


KINDS = ("sched_switch", "sched_wakeup", "sched_wakeup_new", "sched_process_fork", "sched_process_exit", "sys_enter",
         "sys_exit", "irq_handler_entry", "irq_handler_exit", "page_fault_user", "frame_alloc", "frame_free", "fast_send",
         "fast_recv", "slow_path", "cap_invoke")
