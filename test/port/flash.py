#!/usr/bin/env python3
# flash.py -- a Cortex-M3 that runs from flash alone (QEMU mps2-an385) records events and functions; the host reads what it saved.
# slow
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import threading
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from checks import until  # noqa: E402

os.chdir(os.path.dirname(os.path.abspath(__file__)) + "/../..")
OUT = "build/port/flash"
CC = "arm-none-eabi-gcc"
FLAGS = ("-std=gnu11 -Os -ffreestanding -fno-builtin -mcpu=cortex-m3 -mthumb -ffunction-sections -fdata-sections -Wall -Wextra -Werror "
         "-I. -Itrace -Itrace/include -Itest/port/flash").split()
failed = 0


def result(name, problem):
    global failed
    failed |= bool(problem)
    print(f"not ok {name}: {problem}" if problem else f"ok {name}", flush=True)


def run(*args, **kw):
    return subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, **kw)


def sources(group):
    text = f"include trace/files.mk\nall:\n\t@echo $({group}) $(FATHOM_ARCH_SRC_none) $(sort $(wildcard wire/*.c))\n"
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    return subprocess.run(["make", "-sf", "-"], input=text, stdout=subprocess.PIPE, text=True, check=True, env=env).stdout.split()


def library(where, group, flags):
    """The library's objects of these groups of sources."""
    lib = where + "/libfathom.a"
    objects, jobs = [], []
    for src in sources(group):
        obj = f"{where}/lib/{src.replace('/', '-')}.o"
        objects.append(obj)
        jobs.append((src, obj))
    os.makedirs(where + "/lib", exist_ok=True)
    for i in range(0, len(jobs), 2):
        running = [subprocess.Popen([CC, *flags, "-c", src, "-o", obj]) for src, obj in jobs[i:i + 2]]
        if any([p.wait() for p in running]):
            return None
    if os.path.exists(lib):
        os.unlink(lib)
    run("arm-none-eabi-ar", "rcs", lib, *objects)
    return lib


def build(name, lib, tables, defines, calls):
    """The image as a programmer would burn it: bytes from address 0 on, nothing that an ELF loader would put into RAM."""
    where = f"{OUT}/{name}"
    os.makedirs(where, exist_ok=True)
    with open("test/port/flash/flash.lds") as f:
        script = f.read().replace("FLASH_TABLES is", "it is").replace("FLASH_TABLES", tables)
    with open(where + "/flash.lds", "w") as f:
        f.write(script)
    made = [run(CC, *FLAGS, *defines, "-c", f"test/port/flash/{f}.c", "-o", f"{where}/{f}.o") for f in ("start", "boot")]
    made.append(run(CC, *FLAGS, *calls, "-c", "test/port/flash/calls.c", "-o", where + "/calls.o"))
    made.append(run(CC, *FLAGS, "-nostdlib", "-Wl,--gc-sections", "-Wl,-T," + where + "/flash.lds",
                    *[f"{where}/{f}.o" for f in ("start", "boot", "calls")], lib, "-o", where + "/boot.elf"))
    made.append(run("arm-none-eabi-objcopy", "-O", "binary", where + "/boot.elf", where + "/boot.bin"))
    bad = [m.stdout for m in made if m.returncode]
    return bad[0].strip().splitlines()[0] if bad else ""


def boot(name):
    where = f"{OUT}/{name}"
    if os.path.exists(where + "/trace.dat"):
        os.unlink(where + "/trace.dat")
    # An instruction takes 32 ns, whatever else the host does.
    return run("qemu-system-arm", "-M", "mps2-an385", "-icount", "shift=5", "-display", "none", "-monitor", "none", "-serial", "none",
               "-semihosting-config", "enable=on,target=native", "-device", "loader,file=boot.bin,addr=0",
               cwd=where, stdin=subprocess.DEVNULL).stdout


def fathom(*args):
    return run("build/fathom", *args).stdout


def lines_of(name):
    """Event name and text of every line of the report."""
    out = fathom("report", f"{OUT}/{name}/trace.dat")
    return [m.groups() for m in re.finditer(r"^\s*\S+-\d+\s+\[000\]\s+\S*\s*[\d.]+: (\w+):\s*(.*)$", out, re.M)], out


WANT = ([("pair", f"a={i} b={i * i}") for i in range(100)] +
        [("mixed", "s=text big=81985529216486895 p=0xc0ffee small=-5"),
         ("sched_switch", "flash:7 [120] S ==> other:8 [100]"),
         ("bprint", "record_events: printk -3 str fedcba9876543210"),
         ("bputs", "record_events: a literal")])


def events(lib):
    for name, tables in (("placed", ""), ("included", "INCLUDE trace/fathom.lds")):
        why = build(name, lib, tables, [], [])
        if why:
            result("flash_events_" + name, why)
            continue
        said = boot(name)
        result("flash_boots_" + name, "" if said.endswith("saved\n") else f"it says {said[-200:]!r}")
        got, text = lines_of(name)
        names = [(e, re.sub(r"^\S+: ", "", t) if e in ("bprint", "bputs") else t) for e, t in got]
        want = [(e, re.sub(r"^\S+: ", "", t) if e in ("bprint", "bputs") else t) for e, t in WANT]
        first = next((f"line {i}: {g}, not {w}" for i, (g, w) in enumerate(zip(names, want)) if g != w), "")
        result("flash_decoded_" + name, first or ("" if len(names) == len(want) else f"{len(names)} events, not {len(want)}: {text[-300:]!r}"))
        dump = re.findall(r"\d: (.*)$", said, re.M)
        result("flash_dump_" + name, "" if len(dump) == 4 and "sched_switch" in dump[1] and "printk -3 str" in dump[2]
               else f"the dump is {said[:400]!r}")
        kinds = run("arm-none-eabi-objdump", "-h", f"{OUT}/{name}/boot.elf").stdout
        ram = [s for s in re.findall(r"^\s*\d+ (\S+)\s+\S+\s+(2\w{7})", kinds, re.M) if s[0] not in (".data", ".bss")]
        result("flash_tables_" + name, f"in RAM: {ram}" if ram else "")


def functions(lib):
    for name, tracer, stacks in (("function", "function", 0), ("graph", "function_graph", 0), ("stacks", "function", 1)):
        why = build(name, lib, "INCLUDE trace/fathom.lds", [f'-DFLASH_FUNCTIONS="{tracer}"', f"-DFLASH_STACKS={stacks}"],
                    ["-finstrument-functions"])
        said = why or boot(name)
        if why or not said.endswith("saved\n"):
            result("flash_" + name, why or f"it says {said[-200:]!r}")
            continue
        got, text = lines_of(name)
        if stacks:
            # frames of this CPU cannot be walked: a stack is the function and who called it
            tree = fathom("report", "--trace", f"{OUT}/{name}/trace.dat")
            found = re.findall(r"^ => leaf\n((?: =>.*\n)*)", tree, re.M)
            result("flash_stacks", "" if found == [" => middle\n"] * 4 else f"{found}: {tree[-500:]!r}")
        elif tracer == "function":
            want = [("outer", ""), ("middle", "outer")] + [("leaf", "middle")] * 3 + [("middle", "outer"), ("leaf", "middle")]
            calls = re.findall(r": (\w+) <-(\w+)$", fathom("report", "--trace", f"{OUT}/{name}/trace.dat"), re.M)
            calls = [(f, p if p in ("outer", "middle", "leaf") else "") for f, p in calls]
            result("flash_function", "" if calls == want else f"{calls}, not {want}: {text[-600:]!r}")
        else:
            tree = fathom("report", "--trace", f"{OUT}/{name}/trace.dat")
            shape = [(len(m.group(2)), m.group(3)) for m in re.finditer(r"^(.*?)\|( +)(\w+\(\)[ ;{]*|\})", tree, re.M)]
            want = [(2, "outer() {"), (4, "middle() {")] + [(6, "leaf();")] * 3 + [(4, "}"), (4, "middle() {"), (6, "leaf();"), (4, "}"), (2, "}")]
            took = [float(x) for x in re.findall(r"([\d.]+) us\s*\|\s+leaf", tree)]
            result("flash_graph_shape", "" if shape == want else f"{shape}, not {want}: {tree[-700:]!r}")
            # 300, 200, 100 and 100 rounds of a loop: the third hundred takes as long as the second
            ok = len(took) == 4 and took[2] > 0.5 and 0.7 < (took[0] - took[1]) / (took[1] - took[2]) < 1.4 and 0.7 < took[2] / took[3] < 1.4
            result("flash_graph_times", "" if ok else f"leaf took {took} us")


class Line:
    """The host's end of the link (wire/frame.h), spoken to a machine whose UART is QEMU's standard input and output."""

    def __init__(self, where):
        self.qemu = subprocess.Popen(["qemu-system-arm", "-M", "mps2-an385", "-display", "none", "-monitor", "none", "-serial", "stdio",
                                      "-device", "loader,file=boot.bin,addr=0"], cwd=where, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = 0

    def ask(self, kind, arg=0, payload=b""):
        """The answer's argument and payload."""
        self.number += 1
        head = struct.pack("<HII", len(payload), self.number, arg)
        body = bytes([kind, ~(kind + sum(head)) & 255]) + head + payload
        self.qemu.stdin.write(b"\xf5FTM" + body + struct.pack("<I", zlib.crc32(body)))
        self.qemu.stdin.flush()
        head = self.qemu.stdout.read(16)
        sync, got, _, n, number, arg = struct.unpack("<4sBBHIi", head)
        data, crc = self.qemu.stdout.read(n), self.qemu.stdout.read(4)
        if (sync, got, number) != (b"\xf5FTM", kind | 0x80, self.number) or struct.pack("<I", zlib.crc32(head[4:] + data)) != crc:
            raise ValueError(f"answer {head!r} {data!r}")
        return arg, data


def small():
    """What `make size` weighs works: ten events, their formats and pages over the link, with 3 KiB of RAM beside the ring."""
    flags = [f.replace("test/port/flash", "test/port/small") for f in FLAGS]
    where = OUT + "/small"
    lib = library(where, "FATHOM_CORE_SRC", flags)
    objects = []
    for src in ("flash/start", "small/boot", "small/small"):
        objects.append(f"{where}/{os.path.basename(src)}.o")
        run(CC, *flags, "-c", f"test/port/{src}.c", "-o", objects[-1])
    with open("test/port/flash/flash.lds") as f, open(where + "/flash.lds", "w") as out:
        out.write(f.read().replace("FLASH_TABLES is", "it is").replace("FLASH_TABLES", "INCLUDE trace/fathom.lds"))
    made = run(CC, *flags, "-nostdlib", "-Wl,--gc-sections", "-Wl,-T," + where + "/flash.lds", *objects, lib, "-o", where + "/boot.elf")
    made = made.stdout or run("arm-none-eabi-objcopy", "-O", "binary", where + "/boot.elf", where + "/boot.bin").stdout
    if made:
        result("flash_small", made)
        return
    line = Line(where)
    watch = threading.Timer(60, line.qemu.kill)
    watch.start()
    try:
        nr_events, page_bytes = struct.unpack_from("<II", line.ask(1)[1], 8)
        formats = [line.ask(2, i) for i in range(nr_events)]
        names = [re.search(rb"name: (\w+)", f[1]).group(1).decode() for f in formats if not f[0]]
        page = line.ask(3)[1]
        switched = [line.ask(8, on, b"small:e%d" % on)[0] for on in (0, 1)]
        # ten records of 4 + 8 + 8 bytes after the page's head; the first one's time is the page's
        records = [struct.unpack_from("<H2xi2I", page, 16 + 20 * i + 4)[2:] for i in range(10)] if len(page) == 216 else page
        problem = "" if (page_bytes, sorted(n for n in names if n[0] == "e"), records, switched) == (
            512, [f"e{i}" for i in range(10)], [(1, 2)] * 10, [1, 1]) else f"{page_bytes} {names} {records} {switched} {formats}"
    except (ValueError, struct.error) as e:
        problem = str(e)
    watch.cancel()
    line.qemu.kill()
    line.qemu.wait()
    result("flash_small", problem)


LIVE = 8000  # events, five times what the ring holds


def live(lib):
    """A machine without a line: its events are read through QEMU's stub while it runs."""
    where = OUT + "/live"
    why = build("live", lib, "INCLUDE trace/fathom.lds", [f"-DFLASH_LIVE={LIVE}"], [])
    if why:
        result("flash_live", why)
        return
    trace, stub = where + "/trace.dat", os.path.abspath(where + "/stub")
    for path in (trace, stub):
        if os.path.exists(path):
            os.unlink(path)
    # It waits for the recorder: -S, and then for the byte.
    qemu = subprocess.Popen(["qemu-system-arm", "-M", "mps2-an385", "-icount", "shift=5", "-display", "none", "-monitor", "none", "-serial", "stdio",
                             "-S", "-chardev", f"socket,id=stub,path={stub},server=on,wait=off", "-gdb", "chardev:stub",
                             "-device", "loader,file=boot.bin,addr=0"], cwd=where, stdin=subprocess.PIPE)
    until(lambda: os.path.exists(stub))
    p = subprocess.Popen(["build/fathom", "record", "--target", "gdb:unix:" + stub, "-k", where + "/boot.elf", "-o", trace, "--json"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: p.poll() is not None or os.path.exists(trace))
    qemu.stdin.write(b"x")
    qemu.stdin.flush()
    until(lambda: p.poll() is not None or f"a={LIVE - 1} " in fathom("report", trace))
    p.send_signal(signal.SIGINT)
    said, errors = p.communicate(timeout=60)
    running = qemu.poll() is None
    qemu.kill()
    qemu.wait()
    if p.returncode:
        result("flash_live", errors)
        return
    cpu = json.loads(said)["cpus"][0]
    got, _ = lines_of("live")
    numbers = [int(re.search(r"a=(\d+)", t).group(1)) for e, t in got if e == "pair"]
    result("flash_live", "" if len(numbers) == cpu["events"] > LIVE / 3 and numbers == sorted(set(numbers)) and running else f"{len(numbers)} {cpu} {errors}")
    result("flash_live_adds_up", "" if cpu["events"] + cpu["missed"] == LIVE and cpu["missed"] == cpu["overwritten"] else str(cpu))


def main():
    for tool, package in ((CC, "gcc-arm-none-eabi"), ("qemu-system-arm", "qemu-system-arm")):
        if not shutil.which(tool):
            print(f"skip flash: package {package} missing")
            return 0
    lib = library(OUT, "FATHOM_SRC", FLAGS)
    if not lib:
        result("flash_library", "it does not compile")
        return 1
    events(lib)
    functions(lib)
    small()
    live(lib)
    return failed


sys.exit(main())
