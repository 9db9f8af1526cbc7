#!/usr/bin/env python3
"""port.py -- FreeRTOS-Kernel (GCC/ARM_CM3) with demo/ on QEMU's mps2-an385: `make port-freertos TREE=DIR`."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from port import FATHOM, TOP, Port, listening  # noqa: E402

CROSS = "arm-none-eabi-"
HERE = "ports/freertos"
KERNEL = "tasks.c queue.c list.c portable/GCC/ARM_CM3/port.c portable/MemMang/heap_4.c"
FLAGS = ("-std=gnu11 -Os -g1 -mcpu=cortex-m3 -mthumb -ffreestanding -fno-builtin -ffunction-sections -fdata-sections -Wall -Wextra -Werror "
         f"-I{HERE} -I{HERE}/demo -isystem {HERE}/demo/include -I. -Itrace -Itrace/include")
KINDS = ("sched_switch", "sched_wakeup", "irq_handler_entry", "irq_handler_exit", "kmalloc", "kfree", "queue_send", "queue_receive",
         "queue_block", "run", "above")
RAN = r"ran queue=(\d+) sent=(\d+) received=(\d+) interrupts=(\d+) above=(\d+) ticks=(\d+) ping=(\d+) \."


def listed(name):
    return subprocess.run(["make", "-sf", "-"], input=f"include trace/files.mk\nall:\n\t@echo $({name})\n", cwd=TOP, stdout=subprocess.PIPE,
                          text=True, check=True).stdout


def image(p, name, flags, sources):
    """One image: the kernel, the demo, and Fathom's sources, compiled together as a vendor's build does."""
    tree = os.path.relpath(p.tree, TOP)
    kernel = " ".join(f"{tree}/{k}" for k in KERNEL.split())
    files = f"{HERE}/demo/board.c {HERE}/demo/main.c {kernel} {sources}".split()
    where = os.path.relpath(p.path(name), TOP)
    inc = f"-I{tree}/include -I{tree}/portable/GCC/ARM_CM3 {flags}"
    rules = "".join(f"{where}/{i}.o: {f}\n\t{CROSS}gcc {FLAGS} {inc} -c $< -o $@\n" for i, f in enumerate(files))
    objects = " ".join(f"{where}/{i}.o" for i in range(len(files)))
    os.makedirs(p.path(name))
    with open(p.path(name, "Makefile"), "w", encoding="utf-8") as f:
        f.write(f"{where}/firmware.elf: {objects}\n\t{CROSS}gcc -mcpu=cortex-m3 -mthumb -nostdlib -Wl,--gc-sections "
                f"-Wl,-T,{HERE}/demo/flash.lds $^ -lgcc -o $@\n{rules}")
    p.build(["make", "-s", "-j2", "-f", p.path(name, "Makefile")], name="builds_" + name, cwd=TOP)
    return p.path(name, "firmware.elf")


def boot(p, elf, *more):
    guest = p.boot(["qemu-system-arm", "-M", "mps2-an385", "-icount", "shift=6", "-display", "none", "-monitor", "none", "-kernel", elf, "-serial", "stdio", *more])
    p.check("boots_" + os.path.basename(os.path.dirname(elf)), guest.until("> $"), guest.text()[-300:])
    return guest


def exact(p, trace, ran):
    """What the application counted is what the trace holds between the two events of a run; queues are as full as they say."""
    text = subprocess.run([FATHOM, "query", "-j", p.path(trace)], check=True, capture_output=True, text=True).stdout
    events = [e for e in map(json.loads, text.splitlines()) if "event" in e]
    marks = [i for i, e in enumerate(events) if e["event"] == "run"]
    inside = events[marks[-2]:marks[-1]]
    queue, sent, received, interrupts, above, ticks, ping = map(int, ran.groups())
    of = lambda kind, key, value: sum(e["event"] == kind and e["fields"][key] == value for e in inside)  # noqa: E731
    got = (of("queue_send", "queue", queue), of("queue_receive", "queue", queue), of("irq_handler_entry", "irq", 24),
           sum(e["event"] == "above" for e in inside), of("irq_handler_entry", "irq", 15))
    what = trace[5:-4]
    p.check("exact" + what, got == (sent, received, interrupts, above, ticks) and of("queue_send", "queue", ping) == sent // 2,
            f"{got} {of('queue_send', 'queue', ping)}, not {ran.group()}")
    waiting, faults = {}, 0
    for e in inside:
        if e["event"] in ("queue_send", "queue_receive"):
            q, n = e["fields"]["queue"], e["fields"]["waiting"]
            faults += waiting.get(q, n) != n
            waiting[q] = n + (1 if e["event"] == "queue_send" else -1)
    p.check("queues_add_up" + what, not faults and len(waiting) >= 5, f"{faults} of {len(waiting)} queues: {waiting}")
    numbers = [e["fields"]["n"] for e in inside if e["event"] == "above"]
    p.check("nested_in_order" + what, numbers == list(range(above)), f"{len(numbers)} of {above}")
    nested = sum(1 for a, b in zip(inside, inside[1:]) if b["event"] == "above" and a["time"] == b["time"])
    print(f"# {p.name}: {len(inside)} events in {ticks} ms, {nested} of them in the same tick of the clock as the one before", flush=True)


def main():
    p = Port("freertos", [(CROSS + "gcc", "gcc-arm-none-eabi"), ("qemu-system-arm", "qemu-system-arm")])
    arch, wire = listed("FATHOM_ARCH_SRC_none"), listed("FATHOM_WIRE_SRC")
    glue = f"{HERE}/fathom_freertos.c"
    plain = image(p, "plain", "-DDEMO_PLAIN", "")
    small = image(p, "events", "-DFATHOM_FREERTOS_TREE=0", f"{glue} {listed('FATHOM_CORE_SRC')} {arch} {wire}")
    full = image(p, "whole", "", f"{glue} {listed('FATHOM_SRC')} {arch} {wire}")
    p.weigh(plain, small, 128 << 10, CROSS)
    p.weigh(plain, full, 1200 << 10, CROSS)

    def cost(guest):
        """Instructions of a round of ping and pong, of 64 ns each; the counter's tick has 40."""
        return int(guest.ask("1000p", r"took=(\d+) \.\r?\n> ").group(1)) * 40 / 64 / 1000

    costs = [cost(boot(p, plain))]

    # The whole: the control tree as 9P on a UART, everything steered by the host.
    guest = boot(p, full, "-serial", f"unix:{p.line},server=on,wait=off")
    listening(p.line)
    rans = []
    costs.append(cost(guest))
    cpus = p.record(["--target", "unix:" + p.line, "-k", full], lambda: rans.append(guest.ask("200", RAN)))
    if p.check("ran", rans and rans[0], guest.text()[-500:]) and cpus:
        p.judge(KINDS, cpus=cpus)
        exact(p, "trace.dat", rans[0])

    p.record(["--target", "unix:" + p.line], lambda: costs.append(cost(guest)), output="trace-cost.dat")

    # Events alone, no line: a debugger's stub reads them while the machine runs.
    stub = p.path("stub")
    guest = boot(p, small, "-chardev", f"socket,id=stub,path={stub},server=on,wait=off", "-gdb", "chardev:stub")
    cpus = p.record(["--target", "gdb:unix:" + stub, "-k", small], lambda: rans.append(guest.ask("60", RAN)), output="trace-gdb.dat")
    if p.check("ran-gdb", len(rans) > 1 and rans[1], guest.text()[-500:]) and cpus:
        p.judge(KINDS, cpus=cpus, output="trace-gdb.dat", alive=True)
        exact(p, "trace-gdb.dat", rans[1])
    costs.append(cost(guest))
    print("# freertos: instructions of a round of ping and pong: plain %.0f, whole and off %.0f, whole and on %.0f, events alone and on %.0f" % tuple(costs))
    p.done()


main()
