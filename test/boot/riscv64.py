#!/usr/bin/env python3
"""riscv64.py -- every boot test on the demo kernel for riscv64, with small workloads; ARCH=riscv64 test/boot/NAME.py runs one alone."""
# slow 60
# live
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from others import run

run("riscv64")
