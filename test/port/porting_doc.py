#!/usr/bin/env python3
"""porting_doc.py -- docs/PORTING.md shows code that is really there, and the demo's port is as short as it promises."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from checks import TOP, check, done  # noqa: E402

os.chdir(TOP)


def squeeze(text):
    return [re.sub(r"\s+", " ", l).strip() for l in text.splitlines() if l.strip()]


def contains(lines, part):
    if len(part) == 1:
        return any(part[0] in l for l in lines)
    return any(lines[i:i + len(part)] == part for i in range(len(lines) - len(part) + 1))


doc = open("docs/PORTING.md", encoding="utf-8").read()
# Steps, for the skeleton, are executed by porting_steps.py.
doc = re.sub(r"^```\w+ skeleton[^\n]*\n.*?^```$", "", doc, flags=re.M | re.S)
blocks = re.findall(r"^```(\w+) (\S+)\n(.*?)^```$", doc, re.M | re.S)
check("porting_has_code", len(blocks) >= 15, f"{len(blocks)} pieces")
check("porting_all_named", len(re.findall(r"^```\w", doc, re.M)) == len(blocks), "a piece of code without its file")
for i, (_, path, text) in enumerate(blocks):
    good = os.path.exists(path) and contains(squeeze(open(path, encoding="utf-8").read()), squeeze(text))
    check(f"porting_{i:02}_{os.path.basename(path)}", good, f"not in {path}:\n{text}")
for level in range(7):
    check(f"porting_level_{level}", f"## Level {level}:" in doc)

hot = len(squeeze(open("demo/fathom_port.h", encoding="utf-8").read()))
cold = len(squeeze(open("demo/fathom_port.c", encoding="utf-8").read()))
check("port_hot_40", hot <= 40, f"{hot} lines")
check("port_all_150", hot + cold <= 150, f"{hot + cold} lines")
done()
