#!/usr/bin/env python3
"""sidefiles.py -- files beside a trace: those that options name are used or refused; ftrace.idx is a trace, and spares ftrace.meta."""
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tracedata import TOP, Traces, check, done, fathom


def options(t):
    dat = next(f for f in t.files if "graph" in f)
    for option in ("--symbols", "--kernel", "--cmdlines", "--formats", "--meta"):
        rc, out, err = fathom("report", option, "/no/such/file", dat)
        check(f"{option[2:]}_must_exist", rc == 1 and not out and "/no/such/file: No such file" in err, f"{rc} {err}")
    for option, path in (("--formats", t.dir), ("--meta", __file__)):
        rc, out, err = fathom("report", option, path, dat)
        check(f"{option[2:]}_of_no_use", rc == 1 and not out and f"{option} does not apply to" in err, f"{rc} {err}")
    rc, out, err = fathom("report", "--symbols", __file__, dat)
    check("symbols_without_any", rc == 1 and not out and "has no symbols" in err, f"{rc} {err}")
    used(t, dat)


def used(t, dat):
    """Names that are given replace the trace's own, in a report and in what is made of it."""
    rc, out, _ = fathom("report", dat)
    symbols, names = os.path.join(t.dir, "System.map"), os.path.join(t.dir, "cmdlines")
    with open(symbols, "w", encoding="ascii") as f:
        f.write("".join(f"{a:016x} T given_{a:x}\n" for a in range(0xffffffff80000000, 0xffffffffffff0000, 0x100000)))
    pid = out.splitlines()[1].split("[")[0].split("-")[-1].strip()
    with open(names, "w", encoding="ascii") as f:
        f.write(f"{pid} renamed\n")
    rc, out, err = fathom("report", "--symbols", symbols, "--cmdlines", names, dat)
    check("symbols_are_used", rc == 0 and "given_ffffffff8" in out, err + out[:300])
    check("cmdlines_are_used", f"renamed-{pid}" in out, out[:300])
    made = os.path.join(t.dir, "made.dat")
    fathom("convert", "--symbols", symbols, "--cmdlines", names, dat, made)
    check("and_converted", fathom("report", made)[1] == out, fathom("report", made)[1][:300])


def records(d):
    """ftrace.bin as fixed records: nothing of it is written over, and they read as it does."""
    for name in ("ftrace.bin", "ftrace.meta"):
        shutil.copy(os.path.join(TOP, "test/data/sel4", name), d)
    path = {s: os.path.join(d, "ftrace." + s) for s in ("bin", "meta", "idx", "idx.meta", "idx.types")}
    meta = open(path["meta"], "rb").read()
    rc, _, err = fathom("convert", path["bin"], path["idx"])
    check("idx_written", rc == 0 and all(os.path.exists(p) for p in path.values()), err)
    check("idx_spares_meta", open(path["meta"], "rb").read() == meta)
    for command in (("report",), ("query",), ("stat", "--summary"), ("query", "--event", "5"), ("query", "--type", "KERNEL_ENTRY", "--limit", "3")):
        bin_, idx = (fathom(*command, path[s]) for s in ("bin", "idx"))
        check("idx_" + "_".join(command).replace("--", ""), bin_[0] == idx[0] == 0 and
              bin_[1].replace(path["bin"], "") == idx[1].replace(path["idx"], "").replace("sel4-idx", "sel4"), idx[1][:200] + idx[2])
    for kept in ("idx", "idx.meta", "idx.types"):
        only = os.path.join(d, kept)
        os.mkdir(only)
        shutil.copy(path[kept], only)
        rc, _, err = fathom("convert", path["bin"], os.path.join(only, "ftrace.idx"))
        check(f"{kept}_is_not_replaced", rc == 1 and f"ftrace.{kept}: cannot write: File exists" in err and len(os.listdir(only)) == 1, err)
    rc, _, err = fathom("convert", path["idx"], os.path.join(d, "again.bin"))
    check("idx_to_bin", rc == 0 and open(os.path.join(d, "again.bin"), "rb").read() == open(path["bin"], "rb").read(), err)
    check("idx_to_meta", open(os.path.join(d, "again.meta"), "rb").read() == meta)
    before = os.listdir(d)
    for form in ("idx", "bin"):
        rc, out, err = fathom("convert", path["bin"], "-", "--form", form, cwd=d)
        check(f"{form}_not_to_stdout", rc == 2 and not out and "must go to a file" in err and os.listdir(d) == before, f"{rc} {err}")
    with open(path["idx"], "ab") as f:
        f.write(b"\xee" * 24)
    rc, out, err = fathom("verify", path["idx"])
    check("idx_damage", rc == 1 and "no type 238" in out and "the last record is cut" in out, out + err)


def main():
    with Traces() as t:
        options(t)
    with tempfile.TemporaryDirectory(prefix="fathom-test-") as d:
        records(d)
    done()


main()
