#!/usr/bin/env python3
"""arguments.py -- arguments and return values of known calls in processes, by name and type: x86_64 with PIE and without optimization, aarch64, riscv64."""
# inputs: build/test/known build/test/known-O0 build/test/known-aarch64 build/test/known-riscv64 build/test/known-nodebug qemu-aarch64 qemu-riscv64
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import known  # noqa: E402
from checks import FATHOM, TOP, Checks  # noqa: E402

check = Checks("arguments")
tmp = tempfile.TemporaryDirectory()
GRAPH = ("funcgraph-args", "funcgraph-retval", "funcgraph-retaddr")


def traced(program, tracer, *options):
    """Run the program; the path of its trace, and its own `trace`."""
    name = f"known-{program}" if program else "known"
    arch = program if program in ("aarch64", "riscv64") else "x86_64"
    qemu = [shutil.which(f"qemu-{arch}-static") or f"qemu-{arch}"] if arch != "x86_64" else []
    path = f"{tmp.name}/{name}-{tracer}-{len(options)}.dat"
    r = subprocess.run([*qemu, f"{TOP}/build/test/{name}", path, tracer, *options], capture_output=True, text=True, timeout=120)
    if r.returncode:
        print(r.stderr)
    return path, r.stdout, arch


def fathom(*args):
    r = subprocess.run([FATHOM, *args], capture_output=True, text=True, timeout=60)
    return r.stdout + r.stderr


def types(program):
    return ["--types", f"{TOP}/build/test/" + (f"known-{program}" if program else "known")]


def check_program(program):
    say = lambda what: f"{program or 'pie'}_{what}"  # noqa: E731
    path, text, arch = traced(program, "function", "func-args")
    words = re.findall(r"known_not\((0x[0-9a-f]+), (.*?)\) <-known_calls", text)
    check(say("own_text"), len(words) == 1 and words[0][0].endswith("1") and words[0][1].count("0x") == (5 if arch == "x86_64" else 7), text[-800:])
    wrong = known.wrong_functions(fathom("report", *types(program), path), arch)
    check(say("function"), not wrong, wrong)
    wrong = known.wrong_functions(fathom("report", "--trace", *types(program), path), arch)
    check(say("function_trace"), not wrong, wrong)
    plain = fathom("report", path)
    check(say("without_types"), re.search(r"known_not\(0x[0-9a-f]*1, 0x", plain), plain[-500:])

    path, text, arch = traced(program, "function_graph", *GRAPH)
    check(say("own_graph"), re.search(r"\| +known_error\(0x16, .*\); /\* <-known_calls\+0x\w+/0x\w+ ret=-22 \*/", text), text[-1500:])
    for form in ([], ["--trace", "-O", ",".join(GRAPH)]):
        wrong = known.wrong_graph(fathom("report", *form, *types(program), path), arch, sender=True)
        check(say("graph" + "_trace" * bool(form)), not wrong, wrong)
    hexa = fathom("report", "--trace", "-O", "funcgraph-retval,funcgraph-retval-hex", *types(program), path)
    check(say("graph_hex"), re.search(r"known_error\(number=0x16\); /\* ret=0x(ffffffff)?ffffffea \*/", hexa), hexa[-800:])
    events = [json.loads(line) for line in fathom("query", "--json", *types(program), path).splitlines()]
    wrong = known.wrong_json(events)
    check(say("json"), not wrong, wrong)


def check_without():
    """Options off: records as short as ever. A program without types: numbers, and a message that says so."""
    path, text, arch = traced("", "function_graph")
    plain = fathom("report", *types(""), path)
    check("off", "known_not();" in plain and "ret=" not in plain and "known_not();" in text, plain[-500:])
    path, text, arch = traced("", "function_graph", "funcgraph-retval")
    wrong = re.search(r"known_not\(\); /\* ret=false \*/", fathom("report", *types(""), path))
    check("values_alone", wrong and "known_not(); /* ret=0x0 */" in text, text[-500:])
    said = fathom("report", *types("nodebug"), path)
    check("no_types_said", "it has no types" in said and "-g" in said, said[-300:])


for one in ("", "O0", "aarch64", "riscv64"):
    if one in ("aarch64", "riscv64") and not (shutil.which(f"qemu-{one}-static") or shutil.which(f"qemu-{one}")):
        print(f"skip arguments_{one}: package qemu-user missing")
        continue
    check_program(one)
check_without()
check.done()
