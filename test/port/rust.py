#!/usr/bin/env python3
"""rust.py -- ports/rust with Debian's rustc: VeridianOS's ten events from a program without std; the trace has each, whole and in order."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from checks import FATHOM, TOP, check, done  # noqa: E402

RUSTC = next((r for r in ("/usr/bin/rustc", shutil.which("rustc")) if r and os.path.exists(r)), None)
if not RUSTC:
    print("skip rust: package rustc missing")
    sys.exit(0)
EACH = ["syscall_entry", "frame_alloc", "ipc_fast_send", "sched_switch_out", "sched_switch_in", "ipc_fast_recv", "frame_free", "syscall_exit"]
RARE = ["ipc_slow_path", "page_fault", "command"]
FIELDS = {
    "syscall_entry": lambda i: {"nr": i % 40, "arg1": 0x1000 + i},
    "syscall_exit": lambda i: {"nr": i % 40, "ret": -i},
    "frame_alloc": lambda i: {"frame": 0x80000 + i, "cpu": i % 4},
    "ipc_fast_recv": lambda i: {"endpoint": 3, "cap": i << 32},
    "page_fault": lambda i: {"addr": 2**64 - 1 - i, "error": 6},
    "command": lambda i: {"line": "ls -l", "status": -1, "user": "root"},
}


def run(*cmd, **kw):
    p = subprocess.run(cmd, capture_output=True, text=True, check=False, **kw)
    return p.returncode, p.stdout, p.stderr


with tempfile.TemporaryDirectory() as tmp:
    rust = [RUSTC, "--edition", "2021", "-C", "panic=abort", "-O", "-D", "warnings"]
    code, _, err = run(*rust, "--crate-type", "rlib", "--crate-name", "fathom", "-o", f"{tmp}/libfathom.rlib", f"{TOP}/ports/rust/src/lib.rs")
    check("rust_crate", not code and not err, err)
    code, _, err = run(*rust, "--extern", f"fathom={tmp}/libfathom.rlib", f"{TOP}/ports/rust/examples/veridian.rs", "-o", f"{tmp}/veridian",
                       *(f"-Clink-arg={a}" for a in (f"{TOP}/build/user/libfathom.a", "-pthread", "-lc")))
    check("rust_example", not code and not err, err)

    # What the crate says of the library's structs is so.
    with open(f"{tmp}/same.c", "w", encoding="ascii") as f:
        f.write('#include "fathom/inside/emit.h"\n_Static_assert(sizeof(struct fathom_emit) <= 128 && sizeof(struct fathom_event) == 88 && '
                'offsetof(struct fathom_event, state) == 36 && sizeof(struct fathom_field) == 24 && sizeof(struct wire_common) == 8, "");\n')
    include = [f"-I{TOP}{d}" for d in ("", "/trace", "/trace/include", "/ports/template")]
    code, _, err = run("cc", "-fsyntax-only", *include, f"{tmp}/same.c")
    check("rust_same_structs", not code, err)

    code, _, err = run(f"{tmp}/veridian", cwd=tmp, env={**os.environ, "FATHOM_TRACE": "1"})
    check("rust_runs", not code, f"exit {code}: {err}")
    code, out, err = run(FATHOM, "query", "-j", f"{tmp}/trace.dat")
    events = [e for e in map(json.loads, out.splitlines()) if "event" in e]
    want = []
    for i in range(1001):
        rare = RARE if i % 10 == 0 else []
        want += [(i, n) for n in EACH[:6] + [r for r in rare if not (i == 1000 and r == "page_fault")] + EACH[6:]]
    check("rust_events", [n for _, n in want] == [e["event"] for e in events], f"{len(events)} events, not {len(want)}: {err}")
    wrong = [(i, e["fields"]) for (i, n), e in zip(want, events) if n in FIELDS and e["fields"] != FIELDS[n](i)]
    check("rust_fields", not wrong, wrong[:3])
    if shutil.which("trace-cmd"):
        code, out, err = run("trace-cmd", "report", f"{tmp}/trace.dat")
        check("rust_trace_cmd", not code and "command:              line=ls -l" in out and "page_fault:           addr=0xffffffffffffffff error=6" in out, err)
    # Off: nothing is recorded, and no argument evaluated (the program's exit code says so).
    os.unlink(f"{tmp}/trace.dat")
    env = {k: v for k, v in os.environ.items() if k != "FATHOM_TRACE"}
    check("rust_off", not run(f"{tmp}/veridian", cwd=tmp, env=env)[0] and not os.path.exists(f"{tmp}/trace.dat"))
done()
