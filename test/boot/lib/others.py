"""others.py -- the boot tests on another architecture than x86_64: all of them, or in one line why not."""
import glob
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SELF = ("riscv64", "aarch64")

# What the architecture does not change, or what another test shows of it in less time.
SKIPS = {
    "checker_self": "it boots no kernel",
    "ends": "only a PC has triple faults",
    "record_ends": "how a recording ends is the host's affair",
    "million": "smp and traced show the same in a tenth of the time",
    "forest": "graph shows the same with fewer programs",
}
# Workloads that an emulated CPU is done with in seconds.
SMALL = {"smp": {"SMP": "8"}, "toggle": {"TOGGLES": "6"}, "levels": {"LEVELS": "6"}}


def run(arch):
    failed = 0
    for path in sorted(glob.glob(HERE + "/*.py")):
        name = os.path.basename(path)[:-3]
        if name in SELF:
            continue
        if name in SKIPS:
            print(f"skip {arch}_{name}: {SKIPS[name]}", flush=True)
            continue
        start = time.monotonic()
        p = subprocess.run([path], env={**os.environ, "ARCH": arch, **SMALL.get(name, {})}, capture_output=True, text=True)
        failed |= p.returncode
        for line in p.stdout.splitlines():
            for kind in ("ok ", "not ok ", "skip "):
                if line.startswith(kind):
                    line = f"{kind}{arch}_{line[len(kind):]}"
            print(line, flush=True)
        print(p.stderr, end="")
        print(f"# {arch}_{name}: {time.monotonic() - start:.0f} s", flush=True)
        if p.returncode and "not ok" not in p.stdout:
            print(f"not ok {arch}_{name}: exit code {p.returncode}; alone: ARCH={arch} test/boot/{name}.py", flush=True)
    sys.exit(bool(failed))
