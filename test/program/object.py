#!/usr/bin/env python3
"""object.py -- objects of clang -target bpf: inside a process and over a trace of the same run, as bpftrace's language has it."""
# live
import os
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from checks import FATHOM, TOP, Checks, fathom, until  # noqa: E402

check = Checks("object")
SOURCES = os.path.join(TOP, "test/program/objects")
TURNS, THREADS = 300, 4
SAME = """tracepoint:sched:sched_wakeup { @q[args->pid] = nsecs; }
tracepoint:sched:sched_switch { $t = @q[args->next_pid]; if ($t) { @sum[args->next_pid] = sum(nsecs - $t); @n[args->next_comm] = count();
delete(@q[args->next_pid]); } } END { clear(@q); }"""


def compiled(d, name, *flags, source=None):
    out = f"{d}/{name}.o"
    path = f"{SOURCES}/{name}.c"
    if source is not None:
        path = f"{d}/{name}.c"
        with open(path, "w", encoding="ascii") as f:
            f.write('#include "bpf.h"\n' + source)
    made = subprocess.run(["clang", "-target", "bpf", "-O2", "-g", "-I", SOURCES, *flags, "-c", path, "-o", out], capture_output=True, text=True,
                          check=False)
    check(f"{name}_compiles", made.returncode == 0, made.stderr)
    return out


def maps(out, *names):
    return sorted(line for line in out.splitlines() if line.startswith(tuple(f"@{n}[" for n in names)))


def start(*args):
    return subprocess.Popen([FATHOM, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def stop(p):
    p.send_signal(signal.SIGINT)
    return p.communicate(timeout=100)


def inside(d):
    """The objects run inside while everything is recorded; then they run over what was recorded."""
    busy = subprocess.Popen([os.path.join(TOP, "build/program/busy"), "20", str(TURNS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            env={**os.environ, "FATHOM_TRACE": "serve=1,buffer_kb=8192,out="})
    pid = busy.stdout.readline().strip()
    path = f"{d}/run.dat"
    fathom("fs", pid, "write", "tracing_on", "0")
    rec = start("record", "--target", pid, "-o", path, "-e", "all", "-p", "function_graph")
    until(lambda: os.path.exists(path) and fathom("fs", pid, "cat", "tracing_on")[1].strip() == "1")
    live = {}
    for name in "latency", "legacy", "globals", "printed":
        live[name] = start("run", "--target", pid, compiled(d, name))
        check(f"{name}_attaches", live[name].stdout.readline().startswith("Attaching"), "")
    busy.stdin.write("go\n")
    busy.stdin.flush()
    busy.stdout.readline()
    out = {name: stop(p) for name, p in live.items()}
    stop(rec)
    busy.stdin.close()
    busy.wait(timeout=100)
    shown = "n", "sum", "total", "calls", ".bss", ".data", ".rodata"
    printed, said = out.pop("printed")
    check("printed", printed.split("\n\n")[0].splitlines() == ["pid 101, 515396075520 ffffffff", "plain", "100% x"] * TURNS and not said, (printed[:500], said))
    check("printed_is_as_the_trace", fathom("run", f"{d}/printed.o", path)[1].split("\n", 1)[1] == printed, printed[:500])
    for name, (text, err) in out.items():
        rc, trace, said = fathom("run", f"{d}/{name}.o", path)
        check(f"{name}_live_is_as_the_trace", rc == 0 and not err and maps(text, *shown) == maps(trace, *shown) and
              "@" in text, f"{text}\n{trace}\n{err}{said}")
    want = fathom("run", "-e", SAME, path)[1]
    check("as_the_language", maps(out["latency"][0], "n", "sum") == maps(want, "n", "sum") and len(maps(want, "n", "sum")) == 2 * THREADS, (out["latency"], want))
    calls = dict(re.findall(r"^@calls\[(\d)\]: (\d+)$", out["legacy"][0], re.M))
    check("functions_are_counted", calls == {str(i): str(TURNS * THREADS) for i in range(3)}, out["legacy"])
    total = sum(int(n) for n in re.findall(r"^@total\[0, \d+\]: (\d+)$", out["latency"][0], re.M))
    check("per_cpu_values", total == TURNS * THREADS, out["latency"])
    n, of = TURNS * THREADS, [100 + i for i in range(THREADS)]
    left = 2**64 + 1000000 - TURNS * sum((pid & 7) + 1 for pid in of)
    check("variables", maps(out["globals"][0], *shown) == [f"@.bss[0]: ({n}, {max(of)})", f"@.data[0]: ({left % 2**64}, {7 + 3 * n})"], out["globals"])
    check("ring", out["legacy"][0].count("@ring: 65 00 00 00 00 00 00 00\n") == TURNS, out["legacy"][0][:500])
    return path


def refused(d, trace):
    for name, source, want in (
            ("outside", 'SEC("tp/sched/sched_switch") int f(char *r) { return r[4000]; }', "refused at instruction 0: outside the context"),
            ("endless", 'SEC("tp/sched/sched_switch") int f(int *r) { int n = *r; while (n != 7) { n = n * 3 + 1; asm volatile("" : "+r"(n)); } return n; }',
             "loop without may_goto"),
            ("extern", 'extern int seen; SEC("tp/sched/sched_switch") int f(void *r) { seen++; return 0; }', "that are not in the object"),
            ("large", 'char all[5000]; SEC("tp/sched/sched_switch") int f(void *r) { all[4999]++; return 0; }', "more than 4096 bytes"),
            ("beyond", 'char all[8]; SEC("tp/sched/sched_switch") int f(unsigned *r) { return all[r[1]]; }', "moved by a number without bounds"),
            ("past", 'char all[8]; SEC("tp/sched/sched_switch") int f(unsigned *r) { return all[r[1] & 15]; }', "outside"),
            ("text", 'SEC("tp/sched/sched_switch") int f(char *r) { bpf_printk("%s", r + 8); return 0; }', "constant format"),
            ("unsure", 'SEC("tp/sched/sched_switch") int f(int *r) { static const char a[] = "a", b[] = "b"; trace_printk(*r ? a : b, 2); return 0; }', "constant format"),
            ("nowhere", 'SEC("socket") int f(void *r) { return 0; }', "no section is an attach point"),
            ("unknown", 'SEC("tp/sched/sched_swich") int f(void *r) { return 0; }', "did you mean sched_switch"),
            ("type", 'struct { __uint(type, 7); __uint(max_entries, 1); __type(key, u32); __type(value, u32); } m SEC(".maps");'
             'SEC("tp/sched/sched_switch") int f(void *r) { u32 k = 0; map_lookup(&m, &k); return 0; }', "type 7 is not known")):
        rc, _, err = fathom("run", compiled(d, name, "-w", source=source), trace)
        check(f"refused_{name}", rc == 1 and want in err, (rc, err))
    with open(f"{d}/latency.o", "rb") as f:
        whole = f.read()
    for n in (64, 200, len(whole) // 2, len(whole) - 70):
        with open(f"{d}/cut.o", "wb") as f:
            f.write(whole[:n])
        rc, _, err = fathom("run", f"{d}/cut.o", trace)
        check(f"cut_at_{n * 4 // len(whole)}", rc == 1 and "cut.o: ERROR" in err, (rc, err))


with tempfile.TemporaryDirectory() as where:
    refused(where, inside(where))
sys.exit(check.done())
