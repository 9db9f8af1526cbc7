#!/usr/bin/env python3
# slow
# live
"""programs.py -- fathom run --target in the demo kernel, 4 CPUs under load: as the full trace of the same run has it."""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../control/lib"))
from targets import FATHOM, Checks, Demo, Mount, no_fuse, trace_line, until  # noqa: E402

check = Checks("programs")

# Tasks of the load alone: idle CPUs and the line's own task run before the program is attached and after it is detached too.
LOAD = " || ".join(f'args->next_comm == "{name}"' for name in ("ipc", "ipc_client", "touch", "many", "fib", "storm", "short"))
PROGRAMS = {
    "run_queue_latency": f"""tracepoint:sched:sched_wakeup, tracepoint:sched:sched_wakeup_new {{ @q[args->pid] = nsecs; }}
tracepoint:sched:sched_switch {{ if (args->prev_state == 0) {{ @q[args->prev_pid] = nsecs; }}
$ns = @q[args->next_pid];
if ($ns && ({LOAD})) {{ @us = hist((nsecs - $ns) / 1000); @n[args->next_comm] = count(); }} delete(@q[args->next_pid]); }}
END {{ clear(@q); }}""",
    "system_calls": "tracepoint:raw_syscalls:sys_enter { @[args->id] = count(); @by[comm, cpu] = count(); @nr = count(); }",
    "function_latency": """kprobe:frame_alloc { @t[tid] = nsecs; } kretprobe:frame_alloc /@t[tid]/ { @ns = hist(nsecs - @t[tid]); @n[cpu] = count();
delete(@t[tid]); } END { clear(@t); }""",
}


def run(target, program, *more):
    return subprocess.Popen([FATHOM, "run", "--target", target, "-e", program, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def attached(p):
    line = p.stdout.readline()
    return "Attaching" in line


def end(p):
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=300)
    return p.returncode, out, err


def work(demo):
    return demo.command("run load 1")


def same(demo, target, name, program, where):
    path = f"{where}/{name}.dat"
    events = sorted(set(re.findall(r"tracepoint:(\w+:\w+)", program))) or ["sched:sched_process_exit"]
    tracer = ["-p", "function_graph", "-l", "frame_alloc"] if "kprobe" in program else []
    rec = subprocess.Popen([FATHOM, "record", "--target", target, "-o", path, *tracer, *(a for e in events for a in ("-e", e))],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: os.path.exists(path) and open(target + "/tracing_on").read() == "1\n" and open(target + "/set_event").read() != "")
    p = run(target, program)
    if not check(f"{name}_attaches", attached(p), "" if p.poll() is None else p.communicate()):
        return
    work(demo)
    rc, out, err = end(p)
    rec.send_signal(signal.SIGINT)
    said = rec.communicate(timeout=300)
    check(f"{name}_runs", rc == 0 and not err, (rc, err))
    trace = subprocess.run([FATHOM, "run", "-e", program, path], capture_output=True, text=True, timeout=300)
    got, want = numbers(out), numbers(trace.stdout)
    check(f"{name}_as_the_trace", sum(got.values()) > 50 and got == want, f"live:\n{out}\ntrace:\n{trace.stdout}{trace.stderr}{said}")


def numbers(text):
    """Every bucket and every count, by name."""
    out, name = {}, ""
    for line in text.splitlines():
        if m := re.match(r"(@\S*?(?:\[.*\])?): (\d+)$", line):
            out[m[1]] = int(m[2])
        elif m := re.match(r"(@\S*?): $", line):
            name = m[1]
        elif m := re.match(r"([\[(].*?[\])])\s+(\d+) \|", line):
            if int(m[2]):
                out[name + m[1]] = int(m[2])
    return out


def registers(demo, target):
    """Frames begin at pages: what was freed is what was given, whatever CPU it was on."""
    p = run(target, "kretprobe:frame_alloc { @given[retval >> 12] = count(); @odd += retval & 4095; } "
            "kprobe:frame_free { @freed[arg0 >> 12] = count(); @odd += arg0 & 4095; }")
    check("registers_attach", attached(p))
    work(demo)
    rc, out, err = end(p)
    given, freed = (set(re.findall(rf"^@{name}\[(\d+)\]: ", out, re.M)) for name in ("given", "freed"))
    check("registers", rc == 0 and "@odd: 0\n" in out and len(given) > 20 and len(given & freed) > 20 and "0" not in given | freed,
          (len(given), len(freed), len(given & freed), out[-500:], err))


def main():
    with tempfile.TemporaryDirectory() as where:
        line = where + "/line"
        demo = Demo(smp=4, extra=trace_line(line), timeout=300)
        try:
            check("boots", demo.until(rb"# $") >= 0, demo.text()[-300:])
            p = run("unix:" + line, "tracepoint:sched:sched_switch { @ = count(); @k[kstack] = count(); }")
            check("over_the_line", attached(p))
            work(demo)
            rc, out, err = end(p)
            n = re.search(r"^@: (\d+)$", out, re.M)
            check("counts_over_the_line", rc == 0 and n and int(n[1]) > 100 and "schedule" in out, (out[-800:], err))
            out, err = run("unix:" + line, "tracepoint:sched:sched_switch { @[ustack] = count(); }").communicate(timeout=300)
            check("no_user_stack_inside_a_kernel", not out and "known of a process only" in err, (out, err))
            registers(demo, "unix:" + line)
            why = no_fuse()
            if why:
                print(f"skip programs_equal: {why}")
                return
            m = Mount("unix:" + line)
            if not m.ok:
                print(f"skip programs_equal: cannot be mounted: {m.why}")
                return
            with m as d:
                for name, program in PROGRAMS.items():
                    same(demo, d, name, program, where)
                check("nothing_is_left", os.listdir(d + "/programs") == [])
        finally:
            demo.kill()


main()
sys.exit(check.failed)
