#!/usr/bin/env python3
"""linux_newer.py -- `fathom report --trace` of captures of Linux 6.1, 6.1-rt and 7.2 is the text those kernels printed.

Scenes are in test/data/linux/newer: a trace.dat, cut to the formats and symbols it needs, and the kernel's `trace` under the
options in the file's name. The kernel hashes %p; a plain report is compared with trace-cmd's of the same buffer. With
FATHOM_FIXTURES=DIR also all of DIR/linux-new is checked, as it was recorded.
"""
import glob
import gzip
import lzma
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "lib"))
from scene import Scene, difference, read, texts  # noqa: E402

ROOT = os.path.join(os.path.dirname(__file__), "../..")
FATHOM = os.environ.get("FATHOM", os.path.join(ROOT, "build/fathom"))
TRACER = {"6.1_l10_blk": "blk", "6.1-rt_l_osnoise": "osnoise"}
# A trace.dat does not say to which event an event probe is attached; the kernel prints it.
EPROBE = re.compile(rb"( sw: )\(sched\.sched_switch\)")
HASHED = re.compile(rb"( ptr )[0-9a-f]{16}")


class File(Scene):
    """A scene whose pages are in a trace.dat."""

    def __init__(self, folder, path, name):
        self.fathom, self.folder, self.side = FATHOM, path, []
        current = folder + "/current_tracer"
        self.tracer = read(current).decode().strip() if os.path.exists(current) else TRACER.get(name, "nop")

    def run(self, *args):
        return super().run(*(args if "--tracer" in args else ("--tracer", self.tracer, *args)))

    def start(self, text):
        """As of a scene; records without a raw form count too, and columns of PREEMPT_RT are wider."""
        shown = re.findall(rb"^.{8}-\d+ +\d+\S{5,7} +(\d+)us.: ", text, re.M)
        times = [int(m[1]) for m in re.finditer(rb"^-?\d+ \d+ (\d+) ", self.run("-O", "raw,nolatency-format", "--tracer", "nop"), re.M)]
        if len(times) != len(shown):
            return None
        return max(t + 500 - 1000 * int(us) - 999 for t, us in zip(times, shown))


def unpacked(stem, tmp, name):
    """The trace of a scene, as a file that fathom opens."""
    path = os.path.join(tmp, name + ".dat")
    packed = glob.glob(stem + ".dat.[gx]z")[0]
    data = open(packed, "rb").read()
    open(path, "wb").write(lzma.decompress(data) if packed.endswith("xz") else gzip.decompress(data))
    return path


def check(folder, tmp, name):
    failed = 0
    path = unpacked(folder + "/trace", tmp, name)
    scene = File(folder, path, name)
    for options, want in texts(folder):
        got = scene.render(options.replace("+", ","), want)
        want, got = (HASHED.sub(rb"\1", EPROBE.sub(rb"\1", t)) for t in (want, got))
        bad = difference(got, want)
        print(f"not ok linux_newer {name} {options}: {bad}" if bad else f"ok linux_newer {name} {options or 'default'}")
        failed |= bool(bad)
    return failed


# Which trace-cmd printed the report. Its -R shows nothing of args[], whose size the format file does not say.
LIKE = {"6.1_e_date": "3.1", "6.1_i01_marker": "3.1", "6.17_c01_funcargs": "3.4"}
ARGUMENTS = re.compile(rb"(args=ARRAY\[).*\]$", re.M)


def check_report(stem, dat, tmp, name):
    failed = 0
    path = unpacked(dat, tmp, name)
    for option in ("", "-R"):
        want = read(f"{stem}report{option}.txt.gz")
        args = [FATHOM, "report", "--like", LIKE[name], *([option] if option else []), path]
        got = subprocess.run(args, capture_output=True, check=False).stdout
        bad = difference(*(ARGUMENTS.sub(rb"\1]", t) for t in (got, want)))
        print(f"not ok linux_newer_report {name} {option}: {bad}" if bad else f"ok linux_newer_report {name} {option or 'plain'}")
        failed |= bool(bad)
    newest = subprocess.run([FATHOM, "report", path], capture_output=True, check=False).stdout
    same = subprocess.run([FATHOM, "report", "--like", "3.4", path], capture_output=True, check=False).stdout
    print(f"ok newest_by_default {name}" if newest == same and newest else f"not ok newest_by_default {name}")
    return failed or newest != same


def letters(tmp):
    """States of tasks in the plain report are those of the kernel's own text of the same events."""
    path = os.path.join(tmp, "states.dat")
    open(path, "wb").write(gzip.decompress(open(os.path.join(ROOT, "test/data/tracedat/events_v6.dat.gz"), "rb").read()))
    plain, kernel = (subprocess.run([FATHOM, "report", *a, path], capture_output=True, check=False).stdout for a in ([], ["--trace"]))
    ours = re.findall(rb"sched_switch: .* \[\d+\] (\S+) ==> ", plain)
    theirs = [s.rstrip(b"+") for s in re.findall(rb"sched_switch: .* prev_state=(\S+) ==> ", kernel)]
    good = ours == theirs and len(set(ours)) > 2
    print("ok state_letters" if good else f"not ok state_letters: {set(zip(ours, theirs))}")
    return not good


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as tmp:
        for folder in sorted(glob.glob(os.path.join(ROOT, "test/data/linux/newer/*"))):
            if os.path.isdir(folder) and glob.glob(folder + "/trace*.txt.gz"):
                failed |= check(folder, tmp, os.path.basename(folder))
            elif os.path.isdir(folder):
                failed |= check_report(folder + "/", folder + "/trace", tmp, os.path.basename(folder))
        for path in sorted(glob.glob(os.path.join(os.environ.get("FATHOM_FIXTURES", "/nonexistent"), "linux-new/[0-9]*/*"))):
            name = "_".join(path.split("/")[-2:])
            if os.path.isdir(path) and not glob.glob(path + "/trace.dat.*"):
                print(f"skip linux_newer {name}: the kernel's text is there, its pages are not")
            elif os.path.isdir(path):
                failed |= check(path, tmp, name)
            elif path.endswith(".dat.xz"):
                stem = path[: -len(".dat.xz")]
                failed |= check_report(stem + ".", stem, tmp, name[: -len(".dat.xz")])
        failed |= letters(tmp)
    return failed


if __name__ == "__main__":
    sys.exit(main())
