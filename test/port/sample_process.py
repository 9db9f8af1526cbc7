#!/usr/bin/env python3
# live
"""sample_process.py -- a process samples its own stacks: sample= of FATHOM_TRACE, read by trace-cmd and drawn by fathom."""
import os
import re
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from checks import FATHOM, TOP, check, done  # noqa: E402

PROGRAM = r"""
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile uint64_t sink;

__attribute__((noinline)) void spin(uint64_t n) { volatile uint64_t sum = 0; for (uint64_t i = 0; i < n; i++) sum += i; sink = sum; }

/* gcc gives these no frame: one that pushes nothing, one of the C library, one that is entered and left all the time. */
__attribute__((noinline)) uint64_t leaf(uint64_t n) { uint64_t s = 1; while (n--) __asm__ volatile("imul $3, %0, %0" : "+r"(s)); return s; }
__attribute__((noinline)) uint64_t tiny(uint64_t n) { __asm__ volatile("" : "+r"(n)); return n; }
__attribute__((noinline)) void calls_leaf(void) { sink += leaf(200000000); sink++; }
__attribute__((noinline)) void calls_libc(void) { static char a[1 << 16]; for (int i = 0; i < 100000; i++) { memset(a, i, sizeof(a)); sink++; } }
__attribute__((noinline)) void calls_tiny(void) { for (int i = 0; i < 100000000; i++) sink += tiny((uint64_t)i); }
__attribute__((noinline)) uint64_t deep(uint64_t n) { if (!n) { spin(150000000); return 1; } return deep(n - 1) + sink % 2; }

/* The frame pointer leads anywhere: nowhere, into the text, round in a circle. */
__attribute__((noinline)) void astray(uint64_t n)
{
#ifdef __x86_64__
	uint64_t circle[2] = {(uint64_t)circle, 0x1234};
	uint64_t to[] = {0, 8, ~0ull, 0x1000, (uint64_t)circle, (uint64_t)astray, (uint64_t)circle + 1};

	for (uint64_t k = 0; k < n; k++)
		__asm__ volatile("push %%rbp; mov %0, %%rbp; mov $60000, %%rcx; 1: dec %%rcx; jnz 1b; pop %%rbp"
				 : : "r"(to[k % 7]) : "rcx", "memory");
#else
	spin(n * 10000);
#endif
}

static void *thread(void *unused) { spin(150000000); return unused; }

int main(int argc, char **argv)
{
	pthread_t t;
	if (argc > 1 && argv[1][0] == 'l') { calls_leaf(); calls_libc(); calls_tiny(); puts("done"); return 0; }
	if (argc > 1 && argv[1][0] == 'd') { deep((uint64_t)atoi(argv[2])); puts("done"); return 0; }
	if (argc > 1 && argv[1][0] == 'e') { spin(20000000); execv(argv[2], argv + 2); return 1; }
	if (argc > 1) { astray(4000); puts("done"); return 0; }
	pthread_create(&t, NULL, thread, NULL);
	deep(60);
	pthread_join(t, NULL);
	puts("done");
	return 0;
}
"""

os.chdir(TOP)
work = tempfile.mkdtemp()

with open(f"{work}/prog.c", "w") as f:
    f.write(PROGRAM)
subprocess.run(["gcc", "-O2", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-I.", "-Itrace", "-Itrace/include",
                "-Iports/user", f"{work}/prog.c", "-Wl,-u,fathom_user_start", "build/user/libfathom.a", "-pthread", "-o", f"{work}/prog"], check=True)


def run(options, *args):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    r = subprocess.run([f"{work}/prog", *args], env=dict(os.environ, FATHOM_TRACE=options), capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def folded(path, *options):
    return subprocess.run([FATHOM, "flame", path, "-o", "-", "--format", "folded", *options],
                          capture_output=True, text=True).stdout


dat = f"{work}/prog.dat"
r, cpu = run(f"sample=2000,quiet=1,out={dat}")
check("the_program_runs_as_ever", r.returncode == 0 and r.stdout == "done\n" and not r.stderr, r)
text = folded(dat)
total = sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines())
# The kernel looks at such timers on its own tick, 100 to 1000 times a second, and a virtual machine loses some: there are never
# more than the time allows, and the timer does not end.
check("samples_follow_the_time", 5 < total <= cpu / 0.002 * 1.1 + 2, f"{total} samples in {cpu:.3f} s")
check("all_sixty_calls_are_there", re.search(r"main(;deep[^; ]*){61};spin[^; ]* \d+", text) is not None, text)
check("the_thread_is_there", re.search(r"thread;spin[^; ]* \d+", text) is not None, text)
check("threads_apart", len({line.split(";")[0] for line in folded(dat, "--by", "task").splitlines()}) == 2, text)
check("libraries_by_name", "libc.so" in text, text)
r = subprocess.run(["trace-cmd", "report", dat], capture_output=True, text=True)
check("trace_cmd_reads_it", r.returncode == 0 and not r.stderr and "user_stack" in r.stdout and "=> spin" in r.stdout, r.stderr)

r, cpu = run(f"sample=1000,out={dat}", "astray")
check("a_wild_frame_pointer_is_survived", r.returncode == 0 and r.stdout == "done\n", r)
check("and_the_place_is_known", re.search(r"astray \d+", folded(dat)) is not None, folded(dat))

run(f"sample=1000,out={dat}", "deep", "300")
text = folded(dat)
check("both_ends_of_a_deep_stack", re.search(r"main(;deep[^; ]*)+;\[cut\](;deep[^; ]*)+;spin[^; ]* \d+", text) is not None, text)
run(f"sample=1000,out={dat}", "deep", "3000")
text = folded(dat)
check("a_stack_that_was_not_walked_to_its_end", re.search(r"^\[cut\](;deep[^; ]*){60,};spin[^; ]* \d+", text, re.M) is not None
      and not re.search(r"main;deep", text), text)

r, cpu = run(f"sample=1000,out={dat}", "leaves")
text = folded(dat)
counts = {f: sum(int(l.rsplit(" ", 1)[1]) for l in text.splitlines() if re.search(f, l)) for f in
          ("main;calls_leaf;leaf ", "main;leaf ", "main;calls_libc;libc", "main;libc", "main;calls_tiny", "main;tiny ")}
if os.uname().machine == "x86_64":
    check("a_leaf_has_its_caller", counts["main;calls_leaf;leaf "] > 2 and not counts["main;leaf "], text)
    check("a_library_has_its_caller", counts["main;calls_libc;libc"] > 2 and not counts["main;libc"], text)
    check("entry_and_return_have_their_caller", counts["main;calls_tiny"] > 2 and not counts["main;tiny "], text)
if tuple(int(n) for n in re.match(r"(\d+)\.(\d+)", os.uname().release).groups()) >= (6, 4):
    r, cpu = run(f"sample=1000,out={dat}", "exec", "/bin/sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo lived")
    check("an_exec_ends_the_timer", r.returncode == 0 and r.stdout == "lived\n", r)
r, cpu = run("sample=10")
check("a_wrong_interval_is_told", "100 to 10000000" in r.stderr and r.stdout == "done\n", r)
done()
