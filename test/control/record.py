#!/usr/bin/env python3
"""record.py -- fathom record of a live process: only what is named, everything as it was before, two recorders at once, the command's status."""
import json
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from checks import FATHOM, TOP, Checks, fathom, need, until  # noqa: E402

check = Checks("record")
ticker = subprocess.Popen([os.path.join(TOP, "build/control/ticker"), "3"], stdout=subprocess.PIPE, text=True)
PID = ticker.stdout.readline().strip()


def fs(what, path, *text):
    return fathom("fs", PID, what, path, *text)[1]


def get(path):
    return fs("cat", path)


def put(path, text):
    fs("write", path, text)


def record(out, *args):
    return fathom("record", "--target", PID, "-o", out, *args)


def size(path):
    return os.path.getsize(path) if os.path.exists(path) else 0


def start(out, *args):
    """A recording that has begun, and has something of every thread; SIGTERM ends it."""
    p = subprocess.Popen([FATHOM, "record", "--target", PID, "-o", out, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: size(out) > 400000 or p.poll() is not None)
    return p


def stop(p):
    p.send_signal(signal.SIGTERM)
    return p.communicate(timeout=100)


def events(path):
    return set(re.findall(r"\d: (\w+):", fathom("report", path)[1]))


def state():
    files = ("set_event", "tracing_on", "current_tracer", "trace_clock", "buffer_size_kb", "events/tick/tick/filter", "set_event_pid")
    return {f: get(f) for f in files}


def steering(d):
    out = d + "/t.dat"
    put("events/tick/tock/enable", "1")
    before = state()
    check("before", before["set_event"] == "tick:tock\n", before)
    _, err = stop(start(out, "-e", "tick:tick"))
    check("only_what_is_named", events(out) == {"tick"}, f"{err} {events(out)}")
    check("all_as_before", state() == before, f"{before} {state()}")
    os.unlink(out)
    _, err = stop(start(out))
    check("all_events", events(out) >= {"tick", "tock"}, f"{err} {events(out)}")
    check("as_before_after_all", state() == before, f"{before} {state()}")
    rc, _, err = record(out, "-t", "1")
    check("for_a_second", rc == 0 and "the time was up" in fathom("stat", out)[1], f"{err} {fathom('stat', out)}")
    rc, _, err = record(out, "-e", "tick:nothing", "-t", "1")
    check("no_such_event", rc == 1 and "no such event" in err and state() == before, f"{err} {state()}")
    rc, _, err = record(out, "-e", "tick", "-t", "1", "-p", "nosuch")
    check("no_such_tracer", rc == 1 and "current_tracer" in err and state() == before, f"{err} {state()}")
    put("events/enable", "0")


def command(d):
    out = d + "/c.dat"
    rc, _, err = record(out, "sh", "-c", "exit 7")
    check("status", rc == 7 and not err and "status 7" in fathom("stat", out)[1], f"{rc} {err}")
    rc, _, err = record(out, "sh", "-c", "kill -9 $$")
    check("status_of_a_signal", rc == 137 and "SIGKILL" in fathom("stat", out)[1], f"{rc} {err}")
    os.unlink(out)
    rc, _, err = record(out, "/no/such/command")
    check("no_such_command", rc == 127 and "no such command" in err and not os.path.exists(out), f"{rc} {err} {os.listdir(d)}")
    rc, text, _ = record(d + '/a"b\\.dat', "--json", "true")
    check("json_is_json", rc == 0 and json.loads(text)["file"] == d + '/a"b\\.dat', text)


def missing(path):
    """Events of any thread that are missing in the middle."""
    last, n = {}, 0
    for task, k in re.findall(r"-(\d+) +\[\d+\].* tick: +n=(\d+)", fathom("report", path)[1]):
        n += int(k) - last.get(task, int(k) - 1) - 1
        last[task] = int(k)
    return n if last else None


def two_at_once(d):
    """Both get everything, and the one that ends first does not end the other."""
    out = [f"{d}/{i}.dat" for i in (0, 1)]
    runs = [start(f, "-e", "tick") for f in out]
    said = [None, stop(runs[1])]
    had = size(out[0])
    until(lambda: size(out[0]) > had + 400000)
    said[0] = stop(runs[0])
    check("one_has_its_instance", sum("separate instance" in err for _, err in said) == 1, said)
    spans = [json.loads(fathom("stat", "--json", f)[1]) for f in out]
    check("two_recorders_succeed", all(s["ended"] == "interrupted by SIGTERM" for s in spans), said)
    gaps = [missing(f) for f in out]
    # Whoever was put aside for seconds has been overtaken by the writers, and says so; nobody has taken anything from him.
    check("both_have_all", all(g is not None and g <= s["lost"] and {c["cause"] for c in s["lost_by_cause"]} <= {"overwritten"}
                               for g, s in zip(gaps, spans)), f"{gaps} {spans} {said}")
    check("neither_ends_the_other", spans[0]["last"] > spans[1]["last"] and spans[0]["first"] < spans[1]["last"], spans)
    check("no_instance_is_left", fs("ls", "instances") == "", fs("ls", "instances"))


def another_reader(d):
    """Who reads the rings without asking takes pages away: that is counted, and nothing is said to be whole."""
    out = d + "/o.dat"
    p = start(out, "-e", "tick")
    thief = subprocess.Popen([FATHOM, "fs", PID, "cat", "per_cpu/cpu0/trace_pipe_raw"], stdout=subprocess.PIPE)
    thief.stdout.read(10 * 4096)
    thief.kill()
    thief.communicate()
    had = size(out)
    until(lambda: size(out) > had + 400000)  # what comes behind what he took
    text, err = stop(p)
    gap = missing(out)
    said = json.loads(fathom("stat", "--json", out)[1])
    check("another_reader_took_some", gap, text)
    check("another_reader_is_counted", said["lost"] >= gap and "another program read them" in err and " 0 lost" not in text, f"{gap} {said['lost']} {err} {text}")


def cleared(d):
    """What a write to `trace` throws away before it was read is counted exactly, as a loss of its own."""
    out = d + "/e.dat"
    p = start(out, "-e", "tick:tick")
    for _ in range(30):
        put("trace", "")
    had = size(out)
    until(lambda: size(out) > had + 400000)
    text, err = stop(p)
    gap = missing(out)
    said = json.loads(fathom("stat", "--json", out)[1])
    check("clearing_took_some", gap, text)
    causes = {c["cause"] for c in said["lost_by_cause"]}
    check("clearing_is_counted", said["lost"] == gap and {"cleared by the target"} <= causes <= {"cleared by the target", "overwritten"}, f"{gap} {said}")
    check("clearing_is_reported", "buffer was cleared" in err and f" {gap} lost" in text, err + text)


FORMAT = """name: tick
ID: 7
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:unsigned int n;\toffset:8;\tsize:4;\tsigned:0;

print fmt: "n=%u", REC->n
"""


def other_machines(d):
    """Trees of files as other machines have them: longs of 4 bytes, big endian, pages of 8 KiB. The pages say what they are."""
    for big, longs, size in ((0, 4, 4096), (1, 8, 4096), (1, 4, 8192)):
        e, tree, head = "<>"[big], f"{d}/tree{big}{longs}", 8 + longs
        record_head = 3 << 27 | 1 if big else 3 | 1 << 5
        data = b"".join(struct.pack(e + "IHHII", record_head, 7, 0, 1, n) for n in range(5))
        page = struct.pack(e + "Q" + "IQ"[longs == 8], 1000, len(data)) + data
        files = {"events/header_page": "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
                 f"\tfield: local_t commit;\toffset:8;\tsize:{longs};\tsigned:1;\n\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
                 f"\tfield: char data;\toffset:{head};\tsize:{size - head};\tsigned:0;\n", "events/test/tick/format": FORMAT, "set_event": "",
                 "tracing_on": "1\n", "trace": "", "trace_clock": "[local] global\n", "kallsyms": "00001000 T work\n",
                 "per_cpu/cpu0/trace_pipe_raw": page + bytes(size - len(page)), "per_cpu/cpu0/stats": "entries: 0\nread events: 0\n"}
        for name, text in files.items():
            os.makedirs(os.path.dirname(f"{tree}/{name}"), exist_ok=True)
            with open(f"{tree}/{name}", "wb") as f:
                f.write(text if isinstance(text, bytes) else text.encode())
        rc, _, err = fathom("record", "--target", tree, "-t", "1", "-o", f"{d}/x.dat")
        seen = re.findall(r"tick: +n=(\d+)", fathom("report", f"{d}/x.dat")[1])
        check(f"machine_{'big' if big else 'little'}_{longs}_{size}", rc == 0 and seen == list("01234"), f"{rc} {err} {seen}")
        if not need("trace-cmd", "trace-cmd", "record_trace_cmd"):
            continue
        r = subprocess.run(["trace-cmd", "report", f"{d}/x.dat"], capture_output=True, text=True, errors="replace")
        check(f"trace_cmd_{'big' if big else 'little'}_{longs}_{size}", r.stdout.count("tick:") == 5, r.stdout + r.stderr)


try:
    with tempfile.TemporaryDirectory() as d:
        other_machines(d)
        steering(d)
        command(d)
        two_at_once(d)
        another_reader(d)
        cleared(d)
finally:
    ticker.kill()
    ticker.wait()
check.done()
