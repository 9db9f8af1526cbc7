#!/usr/bin/env python3
# live
"""program.py -- fathom record COMMAND traces the command from inside too: samples, calls, events, on the kernel's clock. Needs root and tracefs."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from checks import FATHOM, TOP, Checks, alone_on_this_machine, fathom  # noqa: E402

check = Checks("program")

WORK = r"""
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
__attribute__((noinline)) unsigned step(unsigned n) { __asm__ volatile("" : "+r"(n)); return n; }

int main(int argc, char **argv)
{
	static int v[100000];
	const char what = argc > 1 ? argv[1][0] : 's';

	for (int i = 0; i < 1000; i++)
		step((unsigned)i);
	for (int k = 0; what == 's' && k < 40; k++) {
		for (int i = 0; i < 100000; i++)
			v[i] = rand();
		qsort(v, 100000, sizeof(v[0]), order);
	}
	if (what == 'x')
		_exit(3);
	if (what == 't')
		raise(SIGTERM);
	if (what == 'f' && fork() == 0)
		execl("/bin/true", "true", (char *)0);
	return 0;
}
"""

EVENTS = r"""
#include <sys/syscall.h>
#include <unistd.h>
#define CREATE_TRACE_POINTS
#include "fathom/tracepoint.h"
#include "fathom/trace.h"

TRACE_DEFINE(app, call, "n=%u", (U32, n))
TRACE_DEFINE(app, back, "n=%u", (U32, n))

int main(void)
{
	for (unsigned i = 0; i < 500; i++) {
		trace_call(i);
		syscall(SYS_getppid);
		trace_back(i);
	}
	trace_printk("called %d times\n", 500);
	return 0;
}
"""
INCLUDE = [f"-I{TOP}{x}" for x in ("", "/trace", "/trace/include", "/ports/user")]


def build(d, name, text, *flags):
    with open(f"{d}/{name}.c", "w") as f:
        f.write(text)
    subprocess.run(["gcc", "-O2", *INCLUDE, f"{d}/{name}.c", "-o", f"{d}/{name}", *flags, "-pthread"], check=True)
    return f"{d}/{name}"


def record(d, *args):
    out = d + "/p.dat"
    rc, said, err = fathom("record", "-F", "-e", "raw_syscalls", "-o", out, *args)
    return rc, said + err, fathom("report", out)[1]


def samples(d):
    """A program that knows nothing of Fathom, without symbols."""
    prog = build(d, "plain", WORK, "-s")
    rc, said, text = record(d, prog)
    frames = re.findall(r"^=> (\S+)", text, re.M)
    libc = [f for f in frames if f.startswith(("qsort", "libc.so.6", "rand", "msort"))]
    check("samples", rc == 0 and len(libc) >= 5 and f"of {prog} itself" in said, f"{said} {frames[:20]}")
    check("its_own_name", any(f.startswith("plain") for f in frames), frames[:20])
    check("kernel_too", re.search(r"plain-\d+ .*sys_exit", text), text[:300])
    rc, said, text = record(d, "--no-program", prog)
    check("no_program", rc == 0 and "itself" not in said and "user_stack" not in text, said)


def calls(d):
    """One with NOPs at its entries: every call, however it ends."""
    for name, flags, ends in (("pie", ["-pie", "-fPIE"], (("x", 3), ("t", 143))), ("fixed", ["-no-pie", "-fno-pie"], (("f", 0),))):
        prog = build(d, name, WORK, "-fpatchable-function-entry=5", "-fno-ipa-ra", *flags)
        for how, status in ends:
            rc, said, text = record(d, prog, how)
            n = len(re.findall(r"\bstep\(\)[; ]", text))
            check(f"calls_{name}_{how}", rc == status and n == 1000, f"{rc} {n} calls; {said}")


def events(d):
    """One with events, which has the library in it or links it: kernel and program see the same system calls at the same time."""
    shared = f"{TOP}/build/shared"
    for name, library in (("static", [f"{TOP}/build/user/libfathom.a"]),
                          ("shared", [f"{shared}/libfathom.so.0", f"{shared}/join.o", f"-Wl,-rpath,{shared}"])):
        prog = build(d, name, EVENTS, "-DFATHOM_PATCH=1", *library)
        rc, said, text = record(d, prog)
        lines = [m.groups() for m in re.finditer(rf"{name}-\d+ .*? (\d+\.\d+): (call|back|sys_enter|sys_exit): +(?:n=|NR 110)", text)]
        at = {kind: [float(t) for t, what in lines if kind == what] for kind in ("call", "sys_enter", "sys_exit", "back")}
        if not check(f"events_{name}", rc == 0 and all(len(v) == 500 for v in at.values()), f"{said} { {k: len(v) for k, v in at.items()} }"):
            continue
        rows = [sorted(v) for v in at.values()]
        early = max(a - b for x, y in zip(rows, rows[1:]) for a, b in zip(x, y))
        apart = sorted(b - a for x, y in (rows[:2], rows[2:]) for a, b in zip(x, y))[50]  # the fastest: others were interrupted
        check(f"one_clock_{name}", early < 5e-6 and apart < 5e-6, f"{early * 1e6:.1f} us before what it follows, {apart * 1e6:.1f} us apart")


def alone(d):
    """Who may not trace the kernel still traces the program."""
    os.chmod(d, 0o777)
    prog = build(d, "mine", WORK, "-fpatchable-function-entry=5", "-fno-ipa-ra")
    r = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", FATHOM, "record", "-o", d + "/alone.dat", prog, "x"], capture_output=True, text=True)
    n = len(re.findall(r"\bstep\(\)[; ]", fathom("report", "--trace", d + "/alone.dat")[1]))
    check("alone", r.returncode == 3 and n == 1000 and "only" in r.stderr, f"{r.returncode} {n} {r.stderr}")
    rc, _, err = fathom("record", "-e", "sched:sched_switch", "-C", "local", "-o", d + "/c.dat", "/bin/true")
    check("other_clock", rc == 0 and "mono" in err, err)


def main():
    if os.geteuid() or not os.path.exists("/sys/kernel/tracing"):
        return print("skip program: this takes root and a Linux with tracefs")
    alone_on_this_machine()
    with tempfile.TemporaryDirectory() as d:
        if fathom("record", "-e", "raw_syscalls", "--no-program", "-o", d + "/t.dat", "/bin/true")[0]:
            return print("skip program: this Linux does not let us trace")
        samples(d)
        calls(d)
        events(d)
        alone(d)
    return check.done()


main()
