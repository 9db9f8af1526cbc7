#!/usr/bin/env python3
"""newcomer.py -- a newcomer's ten minutes: what a person does wrong first is answered with what helps."""
import os
import re
import pty
import socket
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tracedata import FATHOM, Traces, check, done, fathom



def on_terminal(*args, **env):
    """What a person sees who runs it in a terminal."""
    master, slave = pty.openpty()
    p = subprocess.Popen([FATHOM, *args], stdout=slave, env={**os.environ, "TERM": "xterm", **env})
    os.close(slave)
    out = b""
    try:
        while chunk := os.read(master, 65536):
            out += chunk
    except OSError:  # the other side is closed
        pass
    p.wait()
    os.close(master)
    return out


COMMANDS = ["stat", "query", "index", "convert", "verify", "report"]

with Traces() as t:
    trace, empty, text = t.path("events_v6.dat"), t.path("empty.dat"), t.path("notes.dat")
    open(empty, "w").close()
    open(text, "w").write("dear diary\n" * 100)

    rc, out, err = fathom("--help")
    check("help_lists_the_commands", rc == 0 and all(f"  {c}" in out for c in COMMANDS), out)
    rc, out, err = fathom()
    check("no_command", rc == 2 and "usage" in err, err)
    rc, out, err = fathom("reprot", trace)
    check("misspelt_command", rc == 2 and "did you mean 'report'" in err, err)
    rc, out, err = fathom("rpt", trace)
    check("abbreviated_command", rc == 2 and "did you mean 'report'" in err, err)
    rc, out, err = fathom(trace)
    check("file_instead_of_command", rc == 2 and f"fathom report {trace}" in err, err)
    rc, out, err = fathom("stat", "--fliter", "x", trace)
    check("misspelt_option", rc == 2 and "did you mean --filter" in err, err)
    rc, out, err = fathom("stat", "--zzzz", trace)
    check("unlike_any_option", rc == 2 and "did you mean" not in err, err)
    for c in COMMANDS:
        a, b = fathom(c, "--help"), fathom("help", c)
        check(f"help_{c}", a[0] == b[0] == 0 and a[1] == b[1] and a[1].startswith(f"usage: fathom {c}"), a)
        second = [t.path("x.txt")] if c == "convert" else []
        rc, out, err = fathom(c, "/no/such/file", *second)
        check(f"{c}_missing_file", rc == 1 and "/no/such/file: No such file or directory" in err, err)
        rc, out, err = fathom(c, t.dir, *second)
        check(f"{c}_directory", rc == 1 and "a directory" in err, err)
        rc, out, err = fathom(c, empty, *second)
        check(f"{c}_empty_file", rc == 1 and "the file is empty" in err, err)
        rc, out, err = fathom(c, text, *second)
        check(f"{c}_text_file", rc == 1 and "this is text" in err, err)
        rc, out, err = fathom(c, "--no-such-option", trace, *second)
        check(f"{c}_bad_option", rc == 2 and "no-such-option" in err and "--help" in err, err)
        rc, out, err = fathom(c)
        check(f"{c}_no_file", rc == 2 and "usage: fathom" in err, err)
    os.symlink(trace, t.path("trace.dat"))
    rc, out, err = fathom("report", cwd=t.dir)
    check("the_trace_of_the_folder", rc == 0 and out == fathom("report", trace)[1] and out, err)
    os.unlink(t.path("trace.dat"))
    rc, out, err = fathom("stat", cwd=t.dir)
    check("no_trace_in_the_folder", rc == 2 and "no trace.dat in this folder" in err, err)
    # A letter means the same in every command that reads traces; -n is always how many. What steers a target is as in trace-cmd record.
    letters = {}
    for name in re.findall(r"^  ([a-z]+) ", fathom("--help")[1], re.M):
        if name in ("record", "mount", "fs"):
            continue
        for letter, option in re.findall(r"^  -(\w), --([a-z-]+)(?!.* TARGET:)", fathom(name, "--help")[1], re.M):
            letters.setdefault(letter, set()).add("how many" if letter == "n" else option)
    check("letters_mean_the_same_everywhere", len(letters) > 8 and all(len(v) == 1 for v in letters.values()), {k: v for k, v in letters.items() if len(v) > 1})
    rc, out, err = fathom("query", trace, "--cpu", "zero")
    check("bad_cpu_list", rc == 2 and "0,2-4" in err, err)
    rc, out, err = fathom("query", trace, "--from", "noon")
    check("bad_time", rc == 2 and "'noon' is not a time" in err, err)
    rc, out, err = fathom("query", trace, "--filter", "pid ==")
    check("bad_filter", rc == 2 and "expected a field" in err and err.endswith("pid ==\n              ^\n"), err)
    rc, out, err = fathom("query", trace, "--buffer", "foo")
    check("no_such_instance", rc == 1 and "no trace instance 'foo'" in err, err)
    rc, out, err = fathom("stat", trace, "--as", "xml")
    check("no_such_format", rc == 1 and "known formats are" in err, err)

    # A pipe closed by head: no message, no failure that a person would see.
    for c in ("query", "report", "report --json", "convert --form csv"):
        line = f"set -o pipefail; {FATHOM} {c} {trace} {'-' if 'convert' in c else ''} | head -1"
        r = subprocess.run(["bash", "-c", line], capture_output=True)
        check(f"{c.replace(' ', '_')}_into_head", r.returncode == 0 and not r.stderr and len(r.stdout.splitlines()) == 1,
              (r.returncode, r.stderr))

    # The trace as a stream: read to its end, no index left behind.
    whole, before = fathom("report", trace)[1], set(os.listdir(t.dir))
    for name, line in (("redirected", "{0} report - < {1}"), ("dev_stdin", "{0} report /dev/stdin < {1}"),
                       ("piped", "cat {1} | {0} report -"), ("piped_dev_stdin", "cat {1} | {0} report /dev/stdin"),
                       ("substituted", "{0} report <(cat {1})"), ("fifo", "mkfifo {1}.p; cat {1} >{1}.p & {0} report {1}.p; rm {1}.p")):
        r = subprocess.run(["bash", "-c", line.format(FATHOM, trace)], capture_output=True, cwd=t.dir)
        check(f"stream_{name}", r.returncode == 0 and r.stdout.decode() == whole and not r.stderr, (r.returncode, r.stderr))
    check("stream_leaves_nothing", set(os.listdir(t.dir)) == before, set(os.listdir(t.dir)) - before)
    r = subprocess.run(["bash", "-c", f"cat {trace} | {FATHOM} index -"], capture_output=True, cwd=t.dir)
    check("index_of_a_stream", r.returncode == 1 and b"a stream has no index" in r.stderr, r.stderr)
    r = subprocess.run(["bash", "-c", f"cat {trace} | TMPDIR=/no/such {FATHOM} stat -"], capture_output=True)
    check("stream_nowhere_to_keep", r.returncode == 1 and b"cannot keep the stream" in r.stderr, r.stderr)
    # Stacks are looked for in every kind of file: a stream is read once all the same.
    graph = t.path("graph_v7_zstd.dat")
    folded = fathom("flame", graph, "--format", "folded", "-o", "-")[1].encode()
    for name, line in (("piped", "cat {1} | {0} flame - --format folded -o -"), ("redirected", "{0} flame - --format folded -o - < {1}"),
                       ("folded", "{0} flame {1} --format folded -o - | {0} flame - --format folded -o -")):
        r = subprocess.run(["bash", "-c", line.format(FATHOM, graph)], capture_output=True, cwd=t.dir)
        check(f"flame_stream_{name}", r.returncode == 0 and r.stdout == folded != b"", (r.returncode, r.stderr))
    packed = t.path("packed.dat.gz")
    subprocess.run(f"gzip -c {trace} > {packed}", shell=True, check=True)
    rc, out, err = fathom("report", packed)
    check("a_packed_trace", rc == 1 and f"`gzip -dc {packed} | fathom report -` reads it" in err, err)
    check("help_of_help", fathom("help", "help") == fathom("help"))
    rc, out, err = fathom("report", "/dev/zero")
    check("a_device", rc == 1 and "a device, not a trace" in err, err)
    r = subprocess.run(f"{FATHOM} stat {trace} > /dev/full", shell=True, capture_output=True)
    check("full_disk", r.returncode == 1 and b"No space left" in r.stderr, r.stderr)
    for out in ("/dev/full", "- > /dev/full"):
        r = subprocess.run(f"{FATHOM} convert {trace} --form csv {out}", shell=True, capture_output=True)
        check(f"full_disk_{out[0]}", r.returncode == 1 and b"No space left" in r.stderr, r.stderr)

    # Colours on a terminal, and only there.
    lost = t.path("lost_v6.dat")
    seen = on_terminal("report", lost)
    check("colours_of_report", b"\033[36msched_switch:\033[0m" in seen and b"\033[31mCPU:0 [" in seen, seen[:300])
    check("colours_of_stat", b"\033[31m4,904 events: 4,904 overwritten\033[0m" in on_terminal("stat", lost), on_terminal("stat", lost)[:300])
    check("colours_of_query", b"\033[1m" in on_terminal("query", lost, "--event", "10", "--context", "2"))
    check("no_colour", b"\033" not in on_terminal("report", lost, NO_COLOR="1") + on_terminal("stat", lost, TERM="dumb"))
    check("no_colours_in_a_pipe", "\033" not in fathom("report", lost)[1] + fathom("stat", lost)[1])

    # A target that takes the connection and goes away.
    line = socket.socket(socket.AF_UNIX)
    line.bind(t.path("gone.sock"))
    line.listen()
    threading.Thread(target=lambda: (c := line.accept()[0]).recv(1) and c.close(), daemon=True).start()
    rc, out, err = fathom("fs", "unix:" + t.path("gone.sock"), "ls")
    check("target_that_goes_away", rc == 1 and "gone.sock" in err, f"{rc}: {err}")

    # A read-only folder: everything works, without an index file.
    os.chmod(t.dir, 0o555)
    rc, out, err = fathom("query", trace, "--event", "100")
    check("read_only_folder", rc == 0 and out, err)
    os.chmod(t.dir, 0o755)
done()
