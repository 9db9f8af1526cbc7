#!/usr/bin/env python3
"""user_edges.py -- a traced process at its limits: whose environment counts, the ends of ranges, short writes, markers, loss."""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from checks import FATHOM, TOP, check, done, need  # noqa: E402

PROG = os.path.join(TOP, "build/port/user_edges")
SHORT = r"""
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>
ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
	return syscall(SYS_pwrite64, fd, p, n > 1000 ? 1000 : n, at);
}
"""


def run(options, *args, prog=PROG, wrap=(), **env):
    return subprocess.run([*wrap, prog, *map(str, args)], env={**os.environ, "FATHOM_TRACE": options, **env}, capture_output=True, text=True,
                          timeout=300)


def fathom(*args):
    return subprocess.run([FATHOM, *args], capture_output=True, text=True, timeout=300).stdout


def stat(path):
    return json.loads(fathom("stat", "--json", path))


def set_uid(d):
    """Who runs a set-uid program may not choose what it writes, nor where it listens."""
    if os.geteuid() != 0 or not need("setpriv", "util-linux", "set_uid"):
        print("skip set_uid: only root can make a set-uid program")
        return
    os.chmod(d, 0o755)
    prog, victim = d + "/su", d + "/victim"
    subprocess.run(["cp", PROG, prog], check=True)
    os.chmod(prog, 0o4755)
    with open(victim, "w", encoding="ascii") as f:
        f.write("precious\n")
    os.chmod(victim, 0o600)
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    r = run(f"events=*,out={victim}", 10, prog=prog, wrap=as_nobody)
    with open(victim, "rb") as f:
        check("set_uid_writes_nothing", f.read() == b"precious\n" and r.stdout == "done\n" and not r.stderr, r)
    os.chmod(prog, 0o755)
    r = run(f"events=*,out={d}/mine", 10, prog=prog)
    check("not_set_uid_does", r.returncode == 0 and os.path.exists(d + "/mine"), r)


def links(d):
    with open(d + "/target", "w", encoding="ascii") as f:
        f.write("kept\n")
    os.symlink(d + "/target", d + "/link")
    r = run(f"out={d}/link", 10)
    with open(d + "/target", encoding="ascii") as f:
        check("no_link_is_followed", f.read() == "kept\n" and "could not be written: Too many levels of symbolic links" in r.stderr, r)


def sizes(d):
    for kb, good in ((12, True), (262144, True), (11, False), (262145, False)):
        r = run(f"buffer_kb={kb},cpus=1,out={d}/size{kb}", 1000)
        told = f"fathom: {d}/size{kb}: " if good else "a number from 12 to 262144 is needed"
        check(f"buffer_kb_{kb}", r.stdout == "done\n" and told in r.stderr and os.path.exists(f"{d}/size{kb}") == good, r)
    check("largest_holds_all", fathom("query", "--count", f"{d}/size262144").strip() == "1000")


def short_writes(d):
    """pwrite() may write less than it was asked to."""
    with open(d + "/short.c", "w", encoding="ascii") as f:
        f.write(SHORT)
    subprocess.run(["gcc", "-shared", "-fPIC", d + "/short.c", "-o", d + "/short.so"], check=True)
    run(f"out={d}/whole", 5000)
    r = run(f"out={d}/pieces", 5000, LD_PRELOAD=d + "/short.so")
    texts = [re.findall(r"step: .*", fathom("report", d + "/" + n)) for n in ("whole", "pieces")]
    check("short_writes", r.returncode == 0 and len(texts[0]) == 5000 and texts[0] == texts[1], (r, len(texts[0]), len(texts[1])))


def markers(d):
    r = run(f"out={d}/marks", 0, "mark")
    text = fathom("report", d + "/marks")
    for name in ("first", "second"):
        check(f"marker_of_{name}", re.search(rf"^ *{name}-[1-9]\d* .*: print: +tracing_mark_write: {name}$", text, re.M), text + r.stderr)
    with open(d + "/marks", "rb") as f:
        symbols = re.findall(rb"^([0-9a-f]{8,16}) T (\S+)$", f.read(), re.M)
    marker = [at for at, name in symbols if name == b"tracing_mark_write"]
    check("marker_has_one_name", marker and {name for at, name in symbols if at == marker[0]} == {b"tracing_mark_write"}, symbols[:50])


def loss(d):
    r = run(f"mode=discard,buffer_kb=64,cpus=1,out={d}/full", 100000)
    s = stat(d + "/full")
    kept = int(fathom("query", "--count", d + "/full"))
    check("discard_is_counted", s["lost"] == 100000 - kept > 0, s)
    first = re.search(r"step: .*", fathom("report", d + "/full"))
    check("discard_keeps_the_first", first and re.search(r"\b0\b", first[0]), first)
    check("end_says_so", r.stderr == f"fathom: {d}/full: {kept} events, {100000 - kept} lost\n", (r.stderr, kept))
    run(f"buffer_kb=64,cpus=1,out={d}/over", 100000)
    text, kept = fathom("stat", d + "/over"), int(fathom("query", "--count", d + "/over"))
    check("overwritten_is_the_cause", f"{100000 - kept:,} overwritten" in text, text)
    r = run(f"out={d}/few", 5)
    check("end_says_how_many", r.stderr == f"fathom: {d}/few: 5 events\n", r.stderr)
    r = run(f"quiet=1,out={d}/few", 5)
    check("quiet_says_nothing", r.stderr == "", r.stderr)


def killed(d):
    """With rings=FILE a process that is killed leaves its trace."""
    rings, out = d + "/rings", d + "/out.dat"
    r = run(f"rings={rings},out={d}/never", 1000, "kill")
    check("killed", r.returncode == -9 and not os.path.exists(d + "/never"), r)
    r = subprocess.run([FATHOM, "record", "--from-memory", rings, "--kernel", PROG, "-o", out], capture_output=True, text=True)
    steps = [int(n) for n in re.findall(r"step: +n=(\d+)", fathom("report", out))]
    check("killed_leaves_its_trace", r.returncode == 0 and steps == list(range(1000)), (r, len(steps)))
    check("rings_are_its_owners", os.stat(rings).st_mode & 0o777 == 0o600)
    r = run(f"rings={rings},out={d}/never", 10)
    check("rings_are_not_overwritten", r.stdout == "done\n" and "File exists" in r.stderr and not os.path.exists(d + "/never"), r)
    r = run(f"mode=discard,buffer_kb=64,cpus=1,rings={d}/small,out={d}/never", 100000, "kill")
    subprocess.run([FATHOM, "record", "--from-memory", d + "/small", "--kernel", PROG, "-o", out], capture_output=True)
    kept, lost = int(fathom("query", "--count", out)), stat(out)["lost"]
    check("killed_and_full", kept + lost == 100000 and kept and lost, (kept, lost))
    r = run(f"rings={d}/gone,out={d}/saved", 1000)
    check("rings_go_when_all_is_well", not os.path.exists(d + "/gone") and fathom("query", "--count", d + "/saved").strip() == "1000", r)
    r = run(f"rings={d}/forks,out={d}/forked", 1000, "fork")
    check("a_child_leaves_them_alone", fathom("query", "--count", d + "/forked").strip() == "2000", r)


def outlived(d):
    """A forked child writes nothing, however it ends."""
    r = run(f"out={d}/parents", 100, "outlive")
    check("a_child_saves_nothing", fathom("query", "--count", d + "/parents").strip() == "100" and r.stderr.count("events") == 1, r)


def sockets(d):
    """The socket lies in a folder that is the user's alone."""
    for mode, good in ((0o700, True), (0o707, False), (0o770, False)):
        os.makedirs(d + f"/run{mode}/fathom")
        os.chmod(d + f"/run{mode}/fathom", mode)
        r = run("serve=1,out=", 1, XDG_RUNTIME_DIR=d + f"/run{mode}")
        check(f"socket_in_a_folder_of_mode_{mode:o}", ("Operation not permitted" in r.stderr) != good, r)


with tempfile.TemporaryDirectory() as work:
    for part in (set_uid, links, sizes, short_writes, markers, loss, killed, outlived, sockets):
        part(work)
done()
