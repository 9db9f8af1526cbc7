#!/usr/bin/env python3
"""aarch64.py -- every boot test on the demo kernel for aarch64, with small workloads; ARCH=aarch64 test/boot/NAME.py runs one alone."""
# slow 65
# live
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from others import run

run("aarch64")
