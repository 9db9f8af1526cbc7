"""duckdb.py -- DuckDB, as npm has it: an oracle for Parquet. It is fetched once, into build/test/npm."""
import fcntl
import json
import os
import shutil
import subprocess

from checks import TOP

PACKAGE = "@duckdb/node-api@1.5.6-r.1"
HOME = os.path.join(TOP, "build/test/npm")


def why_not():
    """None if it is there; else what to say after `skip NAME: `."""
    if not shutil.which("npm"):
        return "package npm missing"
    os.makedirs(HOME, exist_ok=True)
    with open(os.path.join(HOME, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.isdir(os.path.join(HOME, "node_modules/@duckdb/node-api")):
            got = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", HOME, PACKAGE], capture_output=True,
                                 text=True, timeout=300)
            if got.returncode:
                return f"npm cannot fetch {PACKAGE}: {got.stderr.strip()[-200:]}"
    return None


def ask(*queries):
    """The rows of each query; {"error": ...} where it went wrong. Whole numbers are text where JavaScript would round them."""
    got = subprocess.run(["node", os.path.join(TOP, "test/lib/duckdb.mjs"), HOME], input="\n".join(queries) + "\n", capture_output=True,
                         text=True, timeout=300, check=True)
    return [json.loads(line) for line in got.stdout.splitlines()]
