#!/usr/bin/env python3
# slow 100
# live
# inputs: trace wire docs/PORTING.md ports/insert ports/lib ports/template test/port/porting_steps.py test/port/skeleton test/lib/mem.h bench/icount/start.S build/fathom aarch64-linux-gnu-gcc riscv64-linux-gnu-gcc arm-none-eabi-gcc
"""porting_steps.py -- docs/PORTING.md, executed: its steps are applied to a kernel that is not traced, and the trace is judged after each.

porting_steps.py [ARCH...] for some of the architectures."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, "test/lib"), os.path.join(TOP, "ports/lib")]
from checks import FATHOM, Checks, until  # noqa: E402
from line import Line  # noqa: E402

MACHINES = {
    "x86_64": ("gcc -mno-red-zone -mgeneral-regs-only -mcmodel=kernel -fno-pic -m64", "qemu-system-x86_64 -machine pc,accel=tcg", "0x100000"),
    "aarch64": ("aarch64-linux-gnu-gcc -mno-outline-atomics -mgeneral-regs-only -mstrict-align", "qemu-system-aarch64 -machine virt -cpu cortex-a57", "0x40080000"),
    "riscv64": ("riscv64-linux-gnu-gcc -march=rv64imac_zicsr_zifencei -mabi=lp64 -mcmodel=medany", "qemu-system-riscv64 -machine virt -bios none", "0x80000000"),
    "cortex-m3": ("arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb", "qemu-system-arm -machine mps2-an385", "0"),
}
# The library, which is much code, is compiled by clang without optimising: what it is like optimised, other tests look at.
LIBRARY = {
    "x86_64": "-mno-red-zone -mgeneral-regs-only -mcmodel=kernel",
    "aarch64": "--target=aarch64-linux-gnu -mno-outline-atomics -mgeneral-regs-only -mstrict-align",
    "riscv64": "--target=riscv64-linux-gnu -march=rv64imac -mabi=lp64 -mcmodel=medany",
    "cortex-m3": "--target=arm-none-eabi -meabi gnu -mcpu=cortex-m3 -mthumb -fshort-enums",
}
ORDER = (0, 3, 6, 4, 5)
FLAGS = ("-std=gnu11 -O1 -g1 -ffreestanding -fno-builtin -fno-pic -fno-stack-protector -fno-asynchronous-unwind-tables "
         "-fno-tree-loop-distribute-patterns -ffunction-sections -fdata-sections -Wall -Wextra -Werror")
ROUNDS, MIXES = 60, 4
c = Checks("steps")


def steps():
    """By level: (kind, file, architectures, text) of each step in the document's order."""
    with open(f"{TOP}/docs/PORTING.md", encoding="utf-8") as f:
        parts = re.split(r"^## Level (\d):", f.read(), flags=re.M)
    found = {}
    for level, text in zip(parts[1::2], parts[2::2]):
        found[int(level)] = [(kind, file[9:], arches.split(), body) for kind, file, arches, body in
                             re.findall(r"^```(\w+) (skeleton\S*)([^\n]*)\n(.*?)^```$", text, re.M | re.S)]
    return found


class Kernel:
    """The skeleton of one architecture, with what was applied so far."""

    def __init__(self, arch):
        self.arch, self.out, self.flags, self.level, self.port = arch, f"{TOP}/build/port/steps/{arch}", "", 0, None
        self.cc, self.qemu, self.ram = MACHINES[arch]
        shutil.rmtree(self.out, ignore_errors=True)
        shutil.copytree(f"{TOP}/test/port/skeleton", self.out)
        for file in ("symbols.c", "symbols.awk"):
            shutil.copy(f"{TOP}/ports/template/{file}", self.out)

    def run(self, cmd):
        p = subprocess.run(cmd, shell=True, cwd=self.out, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if p.returncode or p.stdout:
            raise RuntimeError(f"{cmd}: {p.stdout[-1500:]}")

    def apply(self, level, todo):
        self.level = level
        for kind, file, arches, text in todo:
            if arches and self.arch not in arches:
                continue
            if kind == "flags":
                self.flags = dict(line.split(": ") for line in text.splitlines())[self.arch]
            elif kind == "hooks":
                with open(f"{self.out}/hooks", "w", encoding="utf-8") as f:
                    f.write(text)
                self.run(f"{TOP}/ports/insert hooks . >/dev/null")
            else:
                with open(f"{self.out}/{file}", "a", encoding="utf-8") as f:
                    f.write(text)

    def build(self):
        cc, top = f"{self.cc} {FLAGS}", f"-I{TOP} -I{TOP}/build/amalgamation"
        cross = self.cc.split()[0][:-3]
        traced = os.path.exists(f"{self.out}/trace.c")
        self.run(f"{cc} -Dbench_main=kernel_main -Dbench_cpu=this_cpu -c {TOP}/bench/icount/start.S -o start.o")
        self.run(f"{cc} {self.flags} -I. {top} -c kernel.c -o kernel.o")
        objects = "start.o kernel.o"
        if traced:
            self.run(f"{cc} -I. {top} -c trace.c -o trace.o")
            with open(f"{self.out}/fathom_port.h", encoding="utf-8") as f:
                port = (6 if self.level >= 4 else self.level, f.read())
            if port != self.port:  # the library is compiled again when the port changes, and then only
                self.run(f"clang {LIBRARY[self.arch]} {FLAGS.replace('-O1 -g1', '-O0').replace('-fno-tree-loop-distribute-patterns ', '')} -Wno-unknown-warning-option -Wno-ignored-optimization-argument "
                         f"-I. {top} -DFATHOM_LEVEL={port[0]} -DFATHOM_SAMPLER=0 -c {TOP}/build/amalgamation/fathom.c -o fathom.o")
                self.port = port
            objects += " trace.o fathom.o"
        link = (f"{cc} -nostdlib -static -no-pie -Wl,--build-id=none,--gc-sections,-z,noexecstack,-L,{TOP}/build/amalgamation,-T,skeleton.lds,"
                f"--defsym=RAM={self.ram} {'' if 'arm-none' in cc else '-Wl,--no-warn-rwx-segments'}")
        if self.flags:
            self.run(f"awk -f symbols.awk /dev/null >table.c && {cc} -c symbols.c -o symbols.o && {cc} -c table.c -o table.o")
            self.run(f"{link} {objects} symbols.o table.o -o first.elf")
            self.run(f"{cross}nm -n first.elf | awk -f symbols.awk >table.c && {cc} -c table.c -o table.o")
            objects += " symbols.o table.o"
        self.run(f"{link} {objects} -o kernel.elf && cp kernel.elf boot.elf")
        if self.arch == "x86_64":
            self.run("objcopy -O elf32-i386 boot.elf")
        self.run("rm -f uart line stub")

    def boot(self, *more):
        line = Line([*self.qemu.split(), "-display", "none", "-monitor", "none", "-net", "none", "-kernel", f"{self.out}/boot.elf", "-serial", "UART",
                     *more], self.out)
        line.until("skeleton\n")
        return line

    def events(self):
        p = subprocess.run([FATHOM, "query", "-j", f"{self.out}/trace.dat"], capture_output=True, text=True, check=False)
        return [e for e in map(json.loads, p.stdout.splitlines()) if "event" in e]

    def record(self, line, *options):
        """What the host records over the line while `r` runs."""
        ready, go = os.pipe(), os.pipe()
        p = subprocess.Popen([FATHOM, "record", "--target", "unix:" + line.client, "-o", f"{self.out}/trace.dat", *options, "sh", "-c",
                              f"echo >&{ready[1]}; read x <&{go[0]}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, pass_fds=[ready[1], go[0]])
        os.close(ready[1])
        if os.read(ready[0], 1):
            start = len(line.text)
            line.type("r")
            line.until("ran\n", start)
        os.write(go[1], b"\n")
        said = p.communicate(timeout=100)[0]
        for fd in (ready[0], go[0], go[1]):
            os.close(fd)
        c.check(f"{self.arch}_{self.level}_recorded", p.returncode == 0, said)
        return self.events()

    def check(self, what, good, why=""):
        return c.check(f"{self.arch}_{self.level}_{what}", good, why)

    def right(self, events, what="events"):
        """Each round has its two switches and its event, in order, and no time goes back."""
        kinds = [e["event"] for e in events]
        jobs = [e["fields"]["job"] for e in events if e["event"] == "round"]
        order = all(a["time"] <= b["time"] for a, b in zip(events, events[1:]))
        self.check(what, kinds == ["sched_switch", "round", "sched_switch"] * ROUNDS and jobs == ["init", "shell", "disk"] * (ROUNDS // 3) and order,
                   f"{len(kinds)} events: {kinds[:6]} {jobs[:6]}")


def level0(k):
    """Events in RAM, which a debugger reads."""
    line = k.boot("-chardev", f"socket,id=stub,path={k.out}/stub,server=on,wait=off", "-gdb", "chardev:stub")
    line.type("r")
    line.until("ran\n")
    p = subprocess.Popen([FATHOM, "record", "--target", f"gdb:unix:{k.out}/stub", "-k", "kernel.elf", "-o", "trace.dat"], cwd=k.out, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True)
    until(lambda: os.path.exists(f"{k.out}/trace.dat") or p.poll() is not None)
    p.send_signal(signal.SIGINT)
    said = p.communicate(timeout=100)[0]
    k.check("recorded", p.returncode == 0, said)
    k.right(k.events())
    line.kill()


def level3(k):
    """Names and pids, and a panic's last events."""
    line = k.boot()
    line.type("rp")
    line.until("halted\r?\n|round: job=disk round=20")
    end = line.until(r"round: job=disk round=20\s+disk-3 [^\n]*sched_switch: prev_comm=disk prev_pid=3 [^\n]*next_comm=idle")
    k.check("panic", end)
    line.kill()


def level6(k):
    line = k.boot()
    k.right(k.record(line, "-e", "all"))
    names = subprocess.run([FATHOM, "fs", "unix:" + line.client, "cat", "saved_cmdlines"], capture_output=True, text=True, check=False).stdout
    k.check("tree", "shell" in names, names)
    k.check("filtered", [e["fields"]["job"] for e in k.record(line, "-e", "round", "-f", 'job == "shell"')] == ["shell"] * (ROUNDS // 3))
    line.kill()


def level4(k):
    line = k.boot()
    got = k.record(line, "-p", "function_graph")
    text = subprocess.run([FATHOM, "report", f"{k.out}/trace.dat"], capture_output=True, text=True, check=False).stdout
    calls = [text.count(f"{f}();") + text.count(f"{f}() {{") for f in ("mix", "run", "switch_to")]
    k.check("graph", calls == [ROUNDS * MIXES, ROUNDS, 2 * ROUNDS], f"{calls} of mix(), run(), switch_to() in {len(got)} events")
    got = k.record(line, "-p", "function", "-l", "mix")
    k.check("function", [e["event"] for e in got] == ["function"] * ROUNDS * MIXES, f"{len(got)} events")
    k.right(k.record(line, "-e", "all"))
    line.kill()


def level5(k):
    line = k.boot()
    sites = {}
    for name in ("__start_fathom_sites", "__stop_fathom_sites"):
        p = subprocess.run([k.cc.split()[0][:-3] + "nm", f"{k.out}/kernel.elf"], capture_output=True, text=True, check=True).stdout
        sites[name] = int((re.search(rf"(\w+) \w {name}$", p, re.M) or [0, "0"])[1], 16)
    k.check("sites", (sites["__stop_fathom_sites"] > sites["__start_fathom_sites"]) == (k.arch != "cortex-m3"), sites)
    for i in range(3):
        k.right(k.record(line, "-e", "all"), f"on_{i}")
        got = k.record(line, "-e", "round")
        k.check(f"off_{i}", [e["event"] for e in got] == ["round"] * ROUNDS, f"{len(got)} events")
    line.kill()


def main():
    found = steps()
    subprocess.run(["make", "-s", "amalgamation"], cwd=TOP, check=True)
    for arch in sys.argv[1:] or MACHINES:
        compiler, qemu = MACHINES[arch][0].split()[0], MACHINES[arch][1].split()[0]
        missing = [p for p in (compiler, qemu, "clang") if not shutil.which(p)]
        if missing:
            print(f"skip steps_{arch}: the package of {missing[0]} is missing")
            continue
        k = Kernel(arch)
        try:
            k.level = "untraced"
            k.build()
            line = k.boot()
            line.type("r")
            k.check("runs", line.until("ran\n"))
            line.kill()
            for level in ORDER:
                k.apply(level, found[level])
                k.build()
                globals()[f"level{level}"](k)
        except (RuntimeError, SystemExit, subprocess.TimeoutExpired) as e:
            k.check("done", False, e)
    c.done()


main()
