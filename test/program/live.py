#!/usr/bin/env python3
"""live.py -- fathom run --target: programs inside a process, and the same programs over a full trace of the same run."""
# live
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from checks import FATHOM, TOP, Checks, fathom, until  # noqa: E402

check = Checks("live")
TURNS, THREADS = 1500, 4
busy = subprocess.Popen([os.path.join(TOP, "build/program/busy"), "50", str(TURNS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                        env={**os.environ, "FATHOM_TRACE": "serve=1,buffer_kb=8192,out="})
PID = busy.stdout.readline().strip()

RUNQLAT = """tracepoint:sched:sched_wakeup { @q[args->pid] = nsecs; }
tracepoint:sched:sched_switch { $ns = @q[args->next_pid]; if ($ns) { @runq = hist(nsecs - $ns); } delete(@q[args->next_pid]); }
END { clear(@q); }"""
SYSCALLS = "tracepoint:raw_syscalls:sys_enter { @calls[args->id, comm] = count(); @last = max(args->args[0]); }"
LATENCY = """kprobe:turn { @t[tid] = nsecs; } kretprobe:turn /@t[tid]/ { @ns = hist(nsecs - @t[tid]); @st[tid] = stats(nsecs - @t[tid]); delete(@t[tid]); }
kprobe:step { @s[tid] = nsecs; } kretprobe:step { @own = lhist(nsecs - @s[tid], 0, 20000, 500); @n[probe] = count(); }
END { clear(@s); }"""
FIELDS = """tracepoint:busy:turn { @v[args->name] = stats(args->value); @min = min(args->value); @max = max(args->value); @sum = sum(args->value);
@avg = avg(args->turn); if (args->name == "two") { @two++; } @last[cpu, tid] = args->turn > 5 ? (int64)1 : 0; }
tracepoint:irq:irq_handler_* { @irq[probe] = count(); }"""


def round_of_work():
    busy.stdin.write("go\n")
    busy.stdin.flush()
    return busy.stdout.readline()


def start(*args):
    return subprocess.Popen([FATHOM, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(p, what):
    line = " "
    while what not in line and line:
        line = p.stdout.readline()
    return line


def stop(p):
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=100)
    return p.returncode, out, err


def recorder(path, *more):
    p = start("record", "--target", PID, "-o", path, "-e", "all", *more)
    until(lambda: os.path.exists(path) and fathom("fs", PID, "cat", "tracing_on")[1].strip() == "1")
    return p


def same_as_trace(d, name, program, *more):
    """The program runs inside while everything is recorded; then it runs over what was recorded."""
    path = f"{d}/{name}.dat"
    fathom("fs", PID, "write", "tracing_on", "0")
    rec = recorder(path, *more)
    live = start("run", "--target", PID, "-e", program)
    wait_for(live, "Attaching")
    round_of_work()
    rc, out, err = stop(live)
    said = rec.send_signal(signal.SIGINT), rec.communicate(timeout=100)
    check(f"{name}_runs", rc == 0 and not err, (rc, err))
    lost = fathom("stat", path)[1]
    check(f"{name}_trace_is_whole", " 0 lost" in said[1][0] or "lost" not in said[1][0], said)
    rc, trace, err = fathom("run", "-e", program, path)
    want = trace.split("\n", 1)[1].strip()
    check(f"{name}_as_the_trace", out.strip() == want and "@" in out, f"live:\n{out}\ntrace:\n{want}\n{err}{lost if err else ''}")
    return out


def equal(d):
    same_as_trace(d, "run_queue_latency", RUNQLAT)
    out = same_as_trace(d, "system_calls", SYSCALLS)
    calls = sum(int(n) for n in re.findall(r"^@calls\[.*\]: (\d+)$", out, re.M))
    check("every_call_is_counted", calls == TURNS * THREADS, out)
    out = same_as_trace(d, "function_latency", LATENCY, "-p", "function_graph")
    check("every_return_is_counted", f"@n[kretprobe:step]: {2 * TURNS * THREADS}" in out, out)
    same_as_trace(d, "fields_and_sums", FIELDS)


def step(n):
    """What busy.c's function of that name returns, as a signed number."""
    h = n
    for i in range(n % 8 * 50):
        h = (h ^ i) * 0x100000001b3 % 2**64
    return h - (h >> 63 << 64)


def registers():
    live = start("run", "--target", PID, "-e", "kprobe:turn { @args = sum(arg0); @first = min(arg0); } kretprobe:step { @[retval & 4095] = count(); @value = sum(retval); }")
    wait_for(live, "Attaching")
    round_of_work()
    rc, out, err = stop(live)
    got = {name: int(n) for name, n in re.findall(r"^@(\w+): (-?\d+)$", out, re.M)}
    turns = range(got.get("first", 0), got.get("first", 0) + TURNS * THREADS)
    values = [step(m) for n in turns for m in (n, n + 1)]
    check("arguments", got.get("args") == sum(turns) and rc == 0 and not err, (got, sum(turns), err))
    check("return_values", (got.get("value", 0) - sum(values)) % 2**64 == 0, (got, sum(values)))
    low = {v & 4095 for v in values}
    check("return_values_each", {int(k) for k in re.findall(r"^@\[(\d+)\]: ", out, re.M)} == low, (len(low), out[:300]))


def alone():
    """Nothing is recorded, and the ring stays empty."""
    fathom("fs", PID, "write", "trace", "")
    before = fathom("fs", PID, "cat", "set_event")[1]
    live = start("run", "--target", PID, "-e", 'BEGIN { printf("begin %d\\n", 7); } tracepoint:busy:turn { @ = count(); @k[kstack] = count(); @u[ustack] = count(); } '
                 'interval:ms:100 { printf("tick\\n"); print(@); } END { printf("end\\n"); }')
    wait_for(live, "begin 7")
    round_of_work()
    ticked = wait_for(live, "tick")
    rc, out, err = stop(live)
    check("count_alone", rc == 0 and f"@: {TURNS * THREADS}\n" in out and not err, (out, err))
    check("intervals_and_end", ticked == "tick\n" and "end\n" in out, out)
    check("stack_is_named", "work+" in out, out)
    stacks = [re.findall(rf"^@{m}\[(.*?)^\]: (\d+)", out, re.M | re.S) for m in "ku"]
    check("the_stack_of_a_process_is_the_users", stacks[0] and stacks[0] == stacks[1], stacks)
    text = fathom("fs", PID, "cat", "trace")[1]
    check("nothing_was_recorded", "busy" not in text.split("||| /")[-1].split("\n", 3)[-1], text[-500:])
    check("nothing_is_left", fathom("fs", PID, "ls", "programs")[1] == "" and fathom("fs", PID, "cat", "set_event")[1] == before,
          (fathom("fs", PID, "ls", "programs"), fathom("fs", PID, "cat", "set_event"), before))


def ends():
    rc, out, err = fathom("run", "--target", PID, "-e", 'interval:ms:50 { @n++; if (@n == 3) { exit(); } }')
    check("exit", rc == 0 and "@n: 3" in out, (out, err))
    t = time.monotonic()
    rc, out, err = fathom("run", "--target", PID, "--seconds", "1", "-e", "tracepoint:busy:turn { @ = count(); }")
    check("seconds", rc == 0 and time.monotonic() - t > 0.9, (time.monotonic() - t, err))


def refused():
    for program, want in (("tracepoint:busy:nothing { @ = count(); }", "tracepoint not found"),
                          ("kprobe:nothing_like_it { @ = count(); }", "no such function"),
                          ("kprobe:turn { @ = arg6; }", "a target knows arg0 to arg5"),
                          ("profile:hz:99 { @ = count(); }", "takes no samples")):
        rc, out, err = fathom("run", "--target", PID, "--seconds", "1", "-e", program)
        check(f"refused_{want.split()[0]}_{want.split()[-1]}", rc == 1 and want in err, (rc, out, err))
    check("nothing_is_left_after_refusals", fathom("fs", PID, "ls", "programs")[1] == "", "")


def by_hand():
    """The tree itself: what is wrong is said in error_log."""
    check("make", fathom("fs", PID, "mkdir", "programs/x")[0] == 0, "")
    check("files", re.findall(r"/(\w+)/?$", fathom("fs", PID, "ls", "programs/x")[1], re.M) == ["attach", "events", "load", "run", "stacks", "stats", "maps"],
          fathom("fs", PID, "ls", "programs/x"))
    rc, _, err = fathom("fs", PID, "write", "programs/x/load", "not a program at all, but long enough for a head")
    check("not_a_program", rc == 1 and "not a program" in fathom("fs", PID, "cat", "error_log")[1], (err, fathom("fs", PID, "cat", "error_log")))
    check("attach_needs_one", fathom("fs", PID, "write", "programs/x/attach", "0 tracepoint:busy:turn")[0] == 1, "")
    check("remove", fathom("fs", PID, "rmdir", "programs/x")[0] == 0 and fathom("fs", PID, "ls", "programs")[1] == "", "")


with tempfile.TemporaryDirectory() as where:
    equal(where)
    registers()
    alone()
    ends()
    refused()
    by_hand()
busy.stdin.close()
busy.wait(timeout=100)
sys.exit(check.done())
