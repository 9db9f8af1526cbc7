#!/usr/bin/env python3
# live
"""tree.py -- docs/TRACEFS.md against the tree of a live process: every file is there, with its mode, and nothing else."""
import re
import subprocess
import sys

DOC = "docs/TRACEFS.md"


def described():
    """What the tables and lists of the page name: {path: mode or None}. Paths have N, S and E for numbers and names."""
    files, prefix = {}, ""
    for line in open(DOC):
        if line.startswith("## "):
            head = line[3:].strip()
            prefix = head if head.endswith("/") else ""
        cells = [c.strip() for c in line.strip().strip("|").split("|")] if line.startswith("| ") else []
        if len(cells) < 2 or cells[0] == "file":
            continue
        names = [n.strip() for n in cells[0].split(",")]
        modes = [m for m in re.findall(r"\b0\d{3}\b", cells[1])]
        folder = names[0].rpartition("/")[0]
        names[1:] = [folder + "/" + n if folder in ("osnoise", "hwlat_detector") else n for n in names[1:]]
        for i, name in enumerate(names):
            if not name.endswith("/"):
                files[prefix + name] = modes[min(i, len(modes) - 1)] if modes else None
    return files


def general(path):
    """A path of the tree as the page writes it."""
    path = re.sub(r"^per_cpu/cpu\d+/", "per_cpu/cpuN/", path)
    path = re.sub(r"^programs/[^/]+/", "programs/NAME/", path)
    path = re.sub(r"^trace_stat/function\d+", "trace_stat/functionN", path)
    parts = path.split("/")
    if parts[0] == "events" and len(parts) == 3:
        path = f"events/S/{parts[2]}"
    elif parts[0] == "events" and len(parts) == 4:
        path = f"events/S/E/{parts[3]}"
    return path


def fathom(pid, *args):
    return subprocess.run(["build/fathom", "fs", str(pid), *args], capture_output=True, text=True, timeout=300).stdout


def check_options(paths, page):
    named = re.search(r"^## options/\n(.*?)^## ", page, re.S | re.M).group(1)
    missing = [p for p in paths if not re.search(rf"(?<![\w-]){re.escape(p.split('/')[1])}(?![\w-])", named)]
    return [f"{p} is not in the page" for p in missing]


def check_instance(paths, page):
    """The files of an instance's top directory are a list in the text."""
    text = re.search(r"another instance: (.*?)\. Its\b", page, re.S).group(1)
    return [f"instance: {p}" for p in set(paths) ^ set(text.split())]


def differences(tree, page):
    doc, seen = described(), set()
    options, instance, bad = [], [], []
    for line in tree.splitlines():
        mode, path = line.split()
        if mode.startswith("d"):
            continue
        if path.startswith("options/"):
            options.append(path)
        elif path.startswith("instances/"):
            instance += [path.split("/")[2]] if path.count("/") == 2 else []
        else:
            name = general(path)
            seen.add(name)
            if name not in doc:
                bad.append(f"{path} is not in the page")
            elif doc[name] != "0" + mode[1:]:
                bad.append(f"{path} has mode {mode[1:]}, the page says {doc[name]}")
    bad += [f"{name} is in the page, not in the tree" for name in sorted(set(doc) - seen - {"programs/NAME/maps/MAP"})
            if not name.startswith(("osnoise/", "hwlat_detector/"))]  # a process has no such tracers: boot/noise.py reads them
    return sorted(set(bad + check_options(options, page) + check_instance(instance, page)))


def main():
    machine = subprocess.Popen(["build/control/machine", "60"], stdout=subprocess.PIPE, text=True)
    try:
        pid = int(machine.stdout.readline())
        fathom(pid, "mkdir", "instances/one")
        fathom(pid, "mkdir", "programs/one")  # nothing is loaded: it has no maps
        tree = fathom(pid, "tree")
    finally:
        machine.kill()
        machine.wait()
    bad = differences(tree, open(DOC).read())
    for b in bad:
        print("#", b)
    print(f"not ok control_tree: {len(bad)} differences" if bad else f"ok control_tree: {len(tree.splitlines())} nodes")
    return 1 if bad else 0


sys.exit(main())
