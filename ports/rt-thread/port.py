#!/usr/bin/env python3
"""port.py -- RT-Thread, its own BSP qemu-virt64-aarch64 with 4 CPUs: `make port-rt-thread TREE=DIR`."""
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from port import FATHOM, TOP, Port, listening, monitor  # noqa: E402
from calls import Forest  # noqa: E402

SPECS = "/usr/lib/picolibc/aarch64-linux-gnu/picolibc.specs"
KINDS = ("sched_switch", "irq_handler_entry", "irq_handler_exit", "kmalloc", "kfree", "take", "put", "trytake")
ALSO = ("sched_wakeup",)


def compiler(p):
    """Debian's compiler for Linux under the name and with the libc of the BSP's: what its rtconfig.py asks for is not packaged."""
    os.makedirs(p.path("bin"))
    for tool in ("gcc", "g++", "cpp", "ar", "size", "objdump", "objcopy", "strip", "nm"):
        with open(p.path("bin", "aarch64-none-elf-" + tool), "w", encoding="utf-8") as f:
            flags = (f"-specs={SPECS} -nostartfiles -fno-pie -no-pie -fno-stack-protector " if tool in ("gcc", "g++", "cpp") else "")
            f.write(f'#!/bin/bash\na=(); for x; do [ "$x" = -lsupc++ ] || a+=("$x"); done\n'
                    f'exec aarch64-linux-gnu-{tool} {flags} "${{a[@]}}"\n')
        os.chmod(p.path("bin", "aarch64-none-elf-" + tool), 0o755)


def events_of(p, trace):
    text = subprocess.run([FATHOM, "query", "-j", p.path(trace)], check=True, capture_output=True, text=True).stdout
    return [e for e in map(json.loads, text.splitlines()) if "event" in e]


def build(p, bsp):
    """Without Fathom, for the sizes; then with it, as a group of the BSP's build."""
    compiler(p)
    env = {**os.environ, "RTT_EXEC_PATH": p.path("bin"), "RTT_ROOT": p.tree}
    jobs = ["scons", "-j2"]
    p.build(jobs, name="builds_plain", cwd=bsp, env=env)
    shutil.copy(os.path.join(bsp, "rtthread.elf"), p.path("plain.elf"))
    for d in ("trace", "wire"):
        shutil.copytree(os.path.join(TOP, d), os.path.join(bsp, "fathom", d))
    here = os.path.dirname(os.path.abspath(__file__))
    for f in ("SConscript", "fathom_port.h", "fathom_rtt_events.h", "fathom_rtt.c"):
        shutil.copy(os.path.join(here, f), os.path.join(bsp, "fathom"))
    shutil.copy(os.path.join(here, "demo.c"), os.path.join(bsp, "applications"))
    # The BSP's configuration: functions begin with NOPs.
    with open(os.path.join(bsp, "rtconfig.py"), "a", encoding="utf-8") as f:
        f.write("\nCFLAGS += ' -fpatchable-function-entry=2 -fno-ipa-ra'\n")
    p.build(jobs, cwd=bsp, env=env)


def functions(p, guest, elf):
    """Every function of the kernel on four CPUs, patched while they run. The last of it is in memory, and is read from there."""
    for tracer, lines in (("function", 20), ("function_graph", 20)):
        for line in ("tracing_on 0", "trace 0", f"current_tracer {tracer}", "tracing_on 1"):
            guest.ask("fathom " + line, r"fathom: 0\r?\n")
        p.check("ran_" + tracer, guest.ask(f"work {lines}", rf"worked rounds={lines} counter={lines} \."), guest.text()[-500:])
        guest.ask("fathom tracing_on 0", r"fathom: 0\r?\n")
        raw, out = p.path("memory.raw"), f"trace-{tracer}.dat"
        monitor(p.path("monitor"), f'pmemsave 0x40000000 0x8000000 "{raw}"')
        code, said = p.run([FATHOM, "record", "--from-memory", raw, "--base", "0x40000000", "-k", elf, "-o", p.path(out)])
        os.unlink(raw)
        if not p.check("memory_" + tracer, code == 0, said):
            continue
        if tracer == "function":
            code, said = p.run([FATHOM, "query", "--limit", "400000", p.path(out), "--filter", "event == 'function'"])
            names = set(re.findall(r"function:\s+(\w+)", said))
            p.check("functions", code == 0 and len(names) > 20, f"{len(names)} functions: {said[-300:]}")
            print(f"# rt-thread: {said.count('function:')} calls of {len(names)} functions in the rings")
        else:
            # Where an interrupt switches, RT-Thread drops the frames that led there: those calls have no return.
            names = subprocess.run(["aarch64-linux-gnu-nm", elf], capture_output=True, text=True, check=True).stdout
            at = int(re.search(r"(\w+) . rt_scheduler_do_irq_switch\n", names).group(1), 16)
            forest = Forest(events_of(p, out), range(at, at + 16))
            p.check("graph_nests", not forest.faults and forest.pairs > 1000, f"{forest.pairs} pairs, {len(forest.faults)} faults: {forest.faults[:3]}")
            print(f"# rt-thread: {forest.pairs} calls with their returns, {forest.nested} inside others; {forest.nr_dropped} were dropped by a switch")
        guest.ask("fathom current_tracer nop", r"fathom: 0\r?\n")


def main():
    p = Port("rt-thread", [("scons", "scons"), ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"), ("qemu-system-aarch64", "qemu-system-arm")],
             ignore=["build"])
    if not os.path.exists(SPECS):
        print("skip rt-thread: package picolibc-aarch64-linux-gnu missing")
        return
    bsp = os.path.join(p.tree, "bsp/qemu-virt64-aarch64")
    if not p.built:
        build(p, bsp)
    elf = os.path.join(bsp, "rtthread.elf")
    p.weigh(p.path("plain.elf"), elf, 12 << 20, "aarch64-linux-gnu-")

    guest = p.boot(["qemu-system-aarch64", "-M", "virt,gic-version=2", "-cpu", "cortex-a53", "-m", "128M", "-smp", "4", "-display", "none",
                    "-monitor", f"unix:{p.path('monitor')},server=on,wait=off", "-serial", "stdio", "-net", "none", "-kernel", os.path.join(bsp, "rtthread.bin"), "-append", "console=ttyAMA0 earlycon",
                    "-chardev", f"socket,id=stub,path={p.line},server=on,wait=off", "-gdb", "chardev:stub"])
    if not p.check("boots", guest.until("Call cpu 1 on success.*Call cpu 2 on success|Call cpu 2 on success.*Call cpu 1 on success"), guest.text()[-500:]):
        p.done()
    guest.type("\n")
    listening(p.line)
    target = ["--target", "gdb:unix:" + p.line, "-k", elf]
    ran = []

    def traced(on, rounds, off):
        """What is typed once the recorder reads along."""
        for line in on:
            p.check(f"shell_{len(ran)}", guest.ask("fathom " + line, r"fathom: 0\r?\n"), guest.text()[-300:])
        ran.append(guest.ask(f"work {rounds}", rf"worked rounds={rounds} counter={rounds} \."))
        guest.ask("fathom " + off, r"fathom: 0\r?\n")

    cpus = p.record(target, lambda: traced(["events/enable 1"], 300, "events/enable 0"))
    if p.check("ran", ran and ran[0], guest.text()[-500:]) and cpus:
        p.judge(KINDS, ALSO, cpus=cpus, wakes=False)
        events = events_of(p, "trace.dat")
        of = lambda kind, name: sum(e["event"] == kind and e["fields"]["name"] == name for e in events)  # noqa: E731
        got = [of(*k) for k in (("put", "ping"), ("take", "ping"), ("put", "pong"), ("take", "pong"), ("put", "box"), ("take", "box"),
                                ("take", "shared"), ("put", "shared"), ("put", "done"))]
        p.check("exact", got == [300] * 8 + [4], f"{got}")
        p.check("cpus", len({e["cpu"] for e in events if e["event"] == "sched_switch"}) == 4, "not all CPUs switched")
    functions(p, guest, elf)
    p.done()


main()
