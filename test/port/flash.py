#!/usr/bin/env python3
# flash.py -- a Cortex-M3 that runs from flash alone (QEMU mps2-an385) records events and functions; the host reads what it saved.
# slow
import os
import re
import shutil
import subprocess
import sys

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
    return subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, **kw)


def sources():
    text = "include trace/files.mk\nall:\n\t@echo $(FATHOM_SRC) $(FATHOM_ARCH_SRC_none) $(sort $(wildcard wire/*.c))\n"
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    return subprocess.run(["make", "-sf", "-"], input=text, stdout=subprocess.PIPE, text=True, check=True, env=env).stdout.split()


def library():
    """The library's objects; each is made when it is older than any header or its source."""
    lib = OUT + "/libfathom.a"
    objects, jobs = [], []
    for src in sources():
        obj = f"{OUT}/lib/{src.replace('/', '-')}.o"
        objects.append(obj)
        jobs.append((src, obj))
    os.makedirs(OUT + "/lib", exist_ok=True)
    for i in range(0, len(jobs), 2):
        running = [subprocess.Popen([CC, *FLAGS, "-c", src, "-o", obj]) for src, obj in jobs[i:i + 2]]
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
    return run("qemu-system-arm", "-M", "mps2-an385", "-display", "none", "-monitor", "none", "-serial", "none",
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


def main():
    for tool, package in ((CC, "gcc-arm-none-eabi"), ("qemu-system-arm", "qemu-system-arm")):
        if not shutil.which(tool):
            print(f"skip flash: package {package} missing")
            return 0
    lib = library()
    if not lib:
        result("flash_library", "it does not compile")
        return 1
    events(lib)
    functions(lib)
    return failed


sys.exit(main())
