#!/usr/bin/env python3
"""report_trace.py -- `fathom report --trace` of a real kernel's pages is that kernel's text, byte for byte.

Scenes are in test/data/linux/tracefs; with FATHOM_FIXTURES=DIR also all of DIR/linux/tracefs* are checked.
"""
import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "lib"))
from scene import Scene, difference, texts  # noqa: E402

ROOT = os.path.join(os.path.dirname(__file__), "../..")
FATHOM = os.environ.get("FATHOM", os.path.join(ROOT, "build/fathom"))

# Captures whose text is more than one `cat trace`: what stands before or behind it is not the trace's.
PART = {"05_marker", "05_marker_raw", "01_nop_userstacktrace", "06_nooverwrite", "06_overwrite", "16_trace_printk"}
# Captures whose pages are not those of the text.
SKIP = {"16_trace_printk2": "its pages were read after the buffer was cleared"}
LATER = {"16_sample_events"}  # one more event came in before its pages were read: the head counts it
# Linux 6.1's sample stores a string without its NUL; the kernel prints on into what lies behind the record.
OVERREAD = re.compile(rb"(Mother Goose|Snoopy) h\w*")
CUT = {"12_timerlat"}  # only the first lines of the text were kept


def first(path, names):
    for n in names:
        if os.path.exists(os.path.join(path, n)):
            return os.path.join(path, n)
    return None


def check(base, folder):
    name = os.path.basename(folder)
    static = os.path.join(base, "00_static")
    formats = first(folder, ["formats", "sample-trace"]) or first(static, ["all_formats.tar.gz", "formats"])
    symbols = first(folder, ["kallsyms", "kallsyms.gz"]) or first(static, ["kallsyms.gz"])
    label = os.path.basename(base) + "/" + name
    if name == "16_trace_printk" and not os.path.exists(folder + "/printk_formats"):
        print("skip report_trace %s: its printk_formats are in test/data" % label)
        return 0
    if name in SKIP:
        print("skip report_trace %s: %s" % (label, SKIP[name]))
        return 0
    scene = Scene(FATHOM, folder, formats, symbols)
    failed = 0
    for options, want in texts(folder):
        try:
            got = scene.render(options, want)
            if name in PART and want.find(got) >= 0:
                want = got
            if name in LATER:
                got, want = (OVERREAD.sub(b"", b"".join(t.splitlines(True)[4:])) for t in (got, want))
            if name in CUT or name in LATER:
                got = got[: len(want)]
            bad = difference(got, want)
        except (RuntimeError, AssertionError) as e:
            bad = str(e)
        if bad:
            print("not ok report_trace %s %s: %s" % (label, options or "default", bad))
            failed = 1
        else:
            print("ok report_trace %s %s" % (label, options or "default"))
    return failed


def bare(folder):
    """The folder alone is enough: formats and symbols are found in 00_static beside it."""
    want = dict(texts(folder))[""]
    got = subprocess.run([FATHOM, "report", "--trace", folder], capture_output=True)
    good = got.stdout == want and not got.stderr
    print("ok report_trace_of_a_folder" if good else "not ok report_trace_of_a_folder: %s %r" % (difference(got.stdout, want), got.stderr))
    return not good


def main():
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    bases = [os.path.join(ROOT, "test/data/linux/tracefs")]
    fixtures = os.environ.get("FATHOM_FIXTURES")
    if fixtures:
        bases += sorted(glob.glob(os.path.join(fixtures, "linux/tracefs*")))
    failed = 0
    for base in bases:
        for folder in sorted(glob.glob(base + "/*")):
            if glob.glob(folder + "/cpu*.raw*") and os.path.exists(folder + "/tracer_clock") and only in folder:
                failed |= check(base, folder)
    return failed | bare(os.path.join(bases[0], "03_function_filtered"))


sys.exit(main())
