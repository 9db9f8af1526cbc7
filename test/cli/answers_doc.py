#!/usr/bin/env python3
"""answers_doc.py -- docs/ANSWERS.md: every command in it prints what stands there."""
import os
import re
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tracedata import FATHOM, TOP, Traces, check, done

with open(os.path.join(TOP, "docs/ANSWERS.md"), encoding="utf-8") as f:
    blocks = re.findall(r"^```console\n\$ (fathom .*)\n((?:.*\n)*?)```$", f.read(), re.M)
check("there_are_commands", len(blocks) >= 4, len(blocks))
with Traces() as t:
    shutil.copy(t.path("events_v6.dat"), t.path("trace.dat"))
    for command, want in blocks:
        got = subprocess.run([FATHOM, *shlex.split(command)[1:]], capture_output=True, text=True, cwd=t.dir).stdout
        check(re.sub(r"\W+", "_", command), got == want, f"prints\n{got}")
done()
