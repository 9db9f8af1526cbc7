#!/usr/bin/env python3
# live
"""forks.py -- a process that is served and steered forks: its children end, run programs and outlive it, and it goes on."""
import os
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from checks import FATHOM, TOP, Checks, until  # noqa: E402

check = Checks()
LIBRARY = """
#include "fathom_user.h"
FATHOM_USER_LIBRARY;
int plug(int n);
int plug(int n) { return n + 1; }
"""
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int plug(int n);
__attribute__((noinline)) int down(int n) { return n ? down(n - 1) + 1 : plug(0) - 1; }
static int child(int i, char **argv)
{
	alarm(100); /* one that hangs is told */
	for (int k = 0; k < 10; k++)
		if (down(20) != 20)
			abort();
	if (i % 2)
		execv(argv[2], argv + 2);
	return 0;
}
int main(int argc, char **argv)
{
	int status, bad = 0, n = atoi(argv[1]);

	for (int i = 0; i < n; i++) {
		pid_t p = fork();

		if (!p)
			exit(child(i, argv));
		waitpid(p, &status, 0);
		bad += status != 0;
	}
	printf("%d bad\\n", bad);
	fflush(stdout);
	if (!fork()) {
		close(1);
		pause(); /* this one outlives us */
	}
	while (down(3) == 3)
		usleep(1000);
	return argc;
}
"""


def build(d, name, flags):
    include = [f"-I{TOP}/{p}" for p in ("", "trace", "trace/include", "ports/user")]
    site = ["-fpatchable-function-entry=5", "-fno-ipa-ra"] if os.uname().machine == "x86_64" else []
    for file, text in (("lib.c", LIBRARY), ("main.c", PROGRAM)):
        with open(os.path.join(d, file), "w", encoding="utf-8") as f:
            f.write(text)
    subprocess.run(["gcc", "-O2", *site, *include, "-fPIC", "-shared", f"{d}/lib.c", "-o", f"{d}/libplug.so"], check=True)
    subprocess.run(["gcc", "-O2", *flags, "-c", f"{d}/main.c", "-o", f"{d}/main.o"], check=True)
    subprocess.run(["gcc", *[f for f in flags if f == "-no-pie"], f"{d}/main.o", "-rdynamic", "-Wl,--whole-archive",
                    f"{TOP}/build/user/libfathom.a", "-Wl,--no-whole-archive", f"{d}/libplug.so", f"-Wl,-rpath,{d}", "-pthread", "-o", f"{d}/{name}"], check=True)


def fs(pid, *args):
    return subprocess.run([FATHOM, "fs", str(pid), *args], capture_output=True, text=True, timeout=300)


def steer(pid, stop):
    """The tree's lock is held most of the time, and functions change."""
    while not stop.is_set():
        for what in (("write", "current_tracer", "function_graph"), ("cat", "trace"), ("write", "current_tracer", "nop")):
            fs(pid, *what)


def forks(d, name, flags):
    build(d, name, flags)
    env = dict(os.environ, FATHOM_TRACE="serve=1,out=")
    with subprocess.Popen([f"{d}/{name}", "150", "/bin/ls", "/proc/self/fd"], env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True) as p:
        try:
            stop = threading.Event()
            t = threading.Thread(target=steer, args=(p.pid, stop))
            t.start()
            lines = []
            for line in p.stdout:  # what the children's programs have open, a number a line
                lines.append(line.strip())
                if line.endswith("bad\n"):
                    break
            stop.set()
            t.join()
            check(f"{name}_children", lines[-1:] == ["0 bad"], f"{lines[-3:]} {p.poll()}")
            numbers = set(lines[:-1])
            check(f"{name}_no_files_inherited", numbers == {"0", "1", "2", "3"}, sorted(numbers))
            r = fs(p.pid, "cat", "current_tracer")
            check(f"{name}_still_served", r.stdout == "nop\n", r.stdout + r.stderr)
            fs(p.pid, "write", "current_tracer", "function_graph")
            check(f"{name}_still_traced", until(lambda: "down()" in fs(p.pid, "cat", "trace").stdout))
            with subprocess.Popen([FATHOM, "fs", str(p.pid), "cat", "trace_pipe"], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL) as reader:
                reader.stdout.readline()
                p.kill()
                try:
                    reader.communicate(timeout=300)
                    check(f"{name}_reader_sees_the_end", True)
                except subprocess.TimeoutExpired:
                    check(f"{name}_reader_sees_the_end", False, "a child holds the line")
                    reader.kill()
        finally:
            os.killpg(p.pid, 9)


with tempfile.TemporaryDirectory() as tmp:
    if os.uname().machine == "x86_64":
        forks(tmp, "sites", ["-fno-pie", "-no-pie", "-pg", "-mfentry", "-mnop-mcount", "-mrecord-mcount",
                             "-minstrument-return=nop5", "-mrecord-return"])
    forks(tmp, "replaced", ["-fpatchable-function-entry=5", "-fno-ipa-ra"])
check.done()
