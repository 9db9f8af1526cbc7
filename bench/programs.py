#!/usr/bin/env python3
"""programs.py -- make bench-programs: programs inside a process, and over a trace of 10 million events.

    BENCH_EVENTS=10000000   events of the trace (made with gen_sched, removed afterwards)

Rates are events per second of processor time (user + system, of all threads together): two cores are up to twice as fast.
"""
import os
import signal
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FATHOM = os.path.join(TOP, "build/fathom")
EVENTS = int(os.environ.get("BENCH_EVENTS", "10000000"))
short = 0


def bar(name, measured, goal, ok):
    global short
    short += not ok
    print(f"bar {name} {measured} {goal} {'ok' if ok else 'SHORT'}", flush=True)


def inside():
    """ns per event: off, recorded, and with a program that counts it."""
    p = subprocess.Popen([os.path.join(TOP, "build/bench/programs")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                         env={**os.environ, "FATHOM_TRACE": "serve=1,buffer_kb=4096,out="})
    pid = p.stdout.readline().strip()

    def a_round():
        p.stdin.write("go\n")
        p.stdin.flush()
        return float(p.stdout.readline())

    def with_program(text):
        run = subprocess.Popen([FATHOM, "run", "--target", pid, "-e", text], stdout=subprocess.PIPE, text=True)
        run.stdout.readline()
        ns = min(a_round() for _ in range(3))
        run.send_signal(signal.SIGINT)
        out = run.communicate(timeout=60)[0]
        return ns, out

    def recorded(on):
        subprocess.run([FATHOM, "fs", pid, "write", "events/bench/tick/enable", on], check=True, stdout=subprocess.DEVNULL)
        return min(a_round() for _ in range(3))

    bare, off = recorded("1"), recorded("0")
    print(f"inside a process: {off:.1f} ns off, {bare:.1f} ns recorded", flush=True)
    for name, text, goal in (("tid", "@[tid] = count();", None), ("pid", "@[pid] = count();", 60), ("field", "@[args->n & 1023] = count();", None),
                             ("hist", "@ = hist(args->n);", None)):
        ns, out = with_program(f"tracepoint:bench:tick {{ {text} }}")
        print(f"  {text:32} {ns:.1f} ns an event, {ns - bare:.1f} over the recorded event", flush=True)
        if goal:
            bar(f"program_count_by_{name}_ns", f"{ns - bare:.1f}", goal, ns - bare <= goal)
        if "@" not in out:
            bar(f"program_{name}_has_a_result", 0, 1, False)
    p.stdin.close()
    p.wait(timeout=20)


def over_traces():
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "sched.dat")
        subprocess.run([os.path.join(TOP, "build/bench/gen_sched"), path, str(EVENTS), "4"], check=True, stdout=subprocess.DEVNULL)
        for name, text, goal in (
                ("count_by_string", "tracepoint:sched:sched_switch { @[args->next_comm] = count(); }", 20),
                ("latency_by_pid", "tracepoint:sched:sched_wakeup { @q[args->pid] = nsecs; } tracepoint:sched:sched_switch { $t = @q[args->next_pid]; "
                 "if ($t) { @ = hist(nsecs - $t); } delete(@q[args->next_pid]); } END { clear(@q); }", 8)):
            best = 1e9
            for _ in range(3):
                p = subprocess.Popen([FATHOM, "run", "-e", text, path], stdout=subprocess.DEVNULL)
                _, status, used = os.wait4(p.pid, 0)
                p.returncode = status
                best = min(best, used.ru_utime + used.ru_stime)
                if status:
                    sys.exit(f"fathom run: status {status}")
            rate = EVENTS / best / 1e6
            bar(f"program_{name}_Mevents_per_s", f"{rate:.1f}", goal, rate >= goal)


inside()
over_traces()
sys.exit(short != 0)
