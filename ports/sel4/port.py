#!/usr/bin/env python3
"""port.py -- seL4's kernel with the stream, built for x86_64 and aarch64 without a warning of ours: `make port-sel4 TREE=DIR`. Not booted."""
import os
import re
import shutil
import subprocess
import sys

for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
    os.environ.pop(name, None)
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from port import TOP, Port  # noqa: E402

ARCHES = {
    "x86_64": ("pc99", "", "-DKernelFSGSBase=msr -DKernelSupportPCID=OFF"),
    "aarch64": ("qemu-arm-virt", "aarch64-linux-gnu-", ""),
}
MODULES = {"jinja2": "python3-jinja2", "ply": "python3-ply", "yaml": "python3-yaml", "typing_extensions": "python3-typing-extensions",
           "jsonschema": "python3-jsonschema"}
# ld's own words about seL4's linker script and assembler files, with Fathom or without.
UPSTREAM = r"LOAD segment with RWX permissions|missing \.note\.GNU-stack"


def python_with(modules):
    """A python3 that has what seL4's generators ask for."""
    for python in ("/usr/bin/python3", sys.executable):
        missing = [m for m in modules if subprocess.run([python, "-c", f"import {m}"], capture_output=True, check=False).returncode]
        if not missing:
            return python, []
    return None, missing


def main():
    p = Port("sel4", [("cmake", "cmake"), ("ninja", "ninja-build"), ("xmllint", "libxml2-utils"), ("dtc", "device-tree-compiler")])
    for arch, (platform, cross, more) in ARCHES.items():
        # pyfdt is not in Debian; seL4's generator wants it where there is a device tree.
        python, missing = python_with([*MODULES, *(["pyfdt"] if arch == "aarch64" else [])])
        if missing or not shutil.which(cross + "gcc"):
            print(f"skip sel4_{arch}: missing {' '.join(MODULES.get(m, m) for m in missing) or cross + 'gcc'}")
            continue
        tree, out = p.path(arch), p.path("build-" + arch)
        shutil.copytree(p.tree, tree, symlinks=True)
        for part in ("trace", "wire", "ports/sel4"):
            shutil.copytree(f"{TOP}/{part}", f"{tree}/zfathom/{part}")
        code, text = p.run([f"{TOP}/ports/insert", f"{TOP}/ports/sel4/hooks.{arch}", tree])
        p.check("hooks_" + arch, code == 0, text)
        print("#", text.strip())
        os.makedirs(out)
        p.build(f"cmake -G Ninja -DCMAKE_TOOLCHAIN_FILE={tree}/gcc.cmake -DCROSS_COMPILER_PREFIX={cross} -DKernelPlatform={platform} "
                f"-DKernelSel4Arch={arch} -DKernelVerificationBuild=OFF -DKernelPrinting=ON -DKernelDebugBuild=OFF {more} "
                f"-DKernelBenchmarks=track_kernel_entries -DPYTHON3={python} {tree} && ninja -j1 kernel.elf",
                "builds_" + arch, allow=UPSTREAM, cwd=out)
        symbols = subprocess.run([cross + "nm", f"{out}/kernel.elf"], capture_output=True, text=True, check=True).stdout
        p.check("linked_" + arch, re.search(r" [tT] fathom_sel4_entry", symbols) and " fathom_stream_dump" in symbols, symbols[-200:])
        print(f"# {arch}: text {p.size(out + '/kernel.elf', cross)[0]}, data and bss {sum(p.size(out + '/kernel.elf', cross)[1:])}")
    p.done()


main()
