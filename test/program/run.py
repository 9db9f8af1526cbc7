#!/usr/bin/env python3
"""run.py -- fathom run: the language as bpftrace has it, and results that are counted again by other means."""
import collections
import gzip
import json
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from checks import TOP
from tracedata import Traces, check, done, fathom

with open(os.path.join(TOP, "test/data/bpftrace/language.json")) as f:
    CASES = json.load(f)


def run(program, path, *args):
    rc, out, err = fathom("run", "-e", program, path, *args)
    return rc, out, err


def events(path, kind=None):
    rc, out, err = fathom("query", "-j", *(("--type", kind) if kind else ()), path)
    return [json.loads(line) for line in out.splitlines()]


def maps(text):
    """{'@name[key]': 'value'} of the lines of an output."""
    return dict(m.groups() for m in re.finditer(r"^(@\w*(?:\[.*\])?): (\S.*)$", text, re.M))


def language(path):
    """What bpftrace 0.17 printed for programs that need no event."""
    bad = []
    for c in CASES:
        rc, out, err = run(c["program"], path)
        if "error" in c and (rc != 1 or not err.startswith(c["error"] + "\n")):
            bad.append((c["program"], err))
        if "output" in c and out != "\n".join(c["output"]):
            bad.append((c["program"], out))
    check("language_as_bpftrace", not bad, f"{len(bad)} of {len(CASES)}: {bad[:1]}")


def counts(path):
    switches = events(path, "sched_switch")
    rc, out, err = run("tracepoint:sched:sched_switch { @[args->next_comm] = count(); }", path)
    want = collections.Counter(e["fields"]["next_comm"] for e in switches)
    check("count_by_string", maps(out) == {f"@[{k}]": str(v) for k, v in want.items()}, out)
    values = [int(v) for v in maps(out).values()]
    check("count_is_sorted", values == sorted(values) and values, values)
    rc, dotted, err = run("tracepoint:sched:sched_switch { @[args.next_comm] = count(); }", path)
    check("fields_with_a_dot", dotted == out)
    rc, one, err = run("tracepoint:sched:sched_switch { @[args.next_comm] = count(); }", path, "--threads", "1")
    check("threads_agree", one == out)
    rc, out, err = run("tracepoint:sched:sched_wak* { @[probe] = count(); @c[cpu] = count(); }", path)
    both = [e for e in events(path) if e["event"].split(":")[-1].startswith("sched_wak")]
    want = collections.Counter("@[tracepoint:sched:%s]" % e["event"].split(":")[-1] for e in both)
    want.update("@c[%d]" % e["cpu"] for e in both)
    check("wildcards", maps(out) == {k: str(v) for k, v in want.items()}, out)
    pid = switches[0]["fields"]["next_pid"]
    rc, out, err = run("t:sched:sched_switch /args->next_pid == %d/ { @n = count(); @p = sum(args->next_prio); "
                       "@max = max(args->prev_pid); @st = stats(args->prev_prio); }" % pid, path)
    some = [e["fields"] for e in switches if e["fields"]["next_pid"] == pid]
    total = sum(f["prev_prio"] for f in some)
    want = {"@n": str(len(some)), "@p": str(sum(f["next_prio"] for f in some)), "@max": str(max(f["prev_pid"] for f in some)),
            "@st": f"count {len(some)}, average {total // len(some)}, total {total}"}
    check("predicate_and_sums", maps(out) == want, (out, want))


def log2(ns):
    return max(0, ns.bit_length() - 1)


def latencies(path):
    """runqlat, counted again here."""
    woken, want = {}, collections.Counter()
    for e in events(path):
        name, f = e["event"].split(":")[-1], e["fields"]
        if name in ("sched_wakeup", "sched_wakeup_new"):
            woken[f["pid"]] = e["time"]
        elif name == "sched_switch":
            if f["prev_state"] == 0:
                woken[f["prev_pid"]] = e["time"]
            if woken.get(f["next_pid"]):
                want[log2((e["time"] - woken[f["next_pid"]]) // 1000)] += 1
            woken.pop(f["next_pid"], None)
    program = """tracepoint:sched:sched_wakeup, tracepoint:sched:sched_wakeup_new { @q[args->pid] = nsecs; }
        tracepoint:sched:sched_switch {
            if (args->prev_state == TASK_RUNNING) { @q[args->prev_pid] = nsecs; }
            $ns = @q[args->next_pid];
            if ($ns) { @usecs = hist((nsecs - $ns) / 1000); }
            delete(@q[args->next_pid]);
        }
        END { clear(@q); }"""
    rc, out, err = run(program, path)
    got = {}
    for low, kilo, n in re.findall(r"^\[(\d+)(K?)[,\]].*?(\d+) \|", out, re.M):
        if int(n):
            power = log2(int(low)) + (10 if kilo else 0)
            got[power] = got.get(power, 0) + int(n)
    check("histogram_of_latency", got == dict(want), (got, want))


def functions(path):
    rc, out, err = run("kprobe:* { @ = count(); } kretprobe:* { @r = count(); }", path)
    stat = json.loads(fathom("stat", "--json", path)[1])
    by_type = {e["name"]: e["count"] for e in stat["types"]}
    want = {"@": str(by_type["funcgraph_entry"]), "@r": str(by_type["funcgraph_exit"])}
    check("calls_and_returns", maps(out) == want, (out, want))
    rc, out, err = run("kprobe:* { @[func] = count(); }", path)
    name, n = max(((k[2:-1], int(v)) for k, v in maps(out).items()), key=lambda x: x[1])
    rc, out, err = run("kprobe:%s { @t[tid] = nsecs; } kretprobe:%s /@t[tid]/ { @n = count(); @p[probe] = count(); "
                       "delete(@t[tid]); }" % (name, name), path)
    check("one_function", 0 < int(maps(out).get("@n", 0)) <= n and f"@p[kretprobe:{name}]" in out, out)


def time(path):
    rc, out, err = run('interval:ms:10 { @i++; } profile:hz:100 { @p[cpu] = count(); } END { printf("%d\\n", elapsed / 1e6); }', path)
    got = maps(out)
    span = int(out.split("\n")[1])
    check("interval", abs(int(got["@i"]) - span // 10) <= 1, out)
    check("profile", all(abs(int(v) - span // 10) <= 2 for k, v in got.items() if k.startswith("@p")), out)
    first = events(path)[0]["time"]
    rc, out, err = run("tracepoint:*:* { @n = count(); @first = min(nsecs); }", path, "--from", f"{first + 50000000}ns")
    late = [e for e in events(path) if e["time"] >= first + 50000000]
    check("window", maps(out) == {"@n": str(len(late)), "@first": str(min(e["time"] for e in late))}, out)
    rc, out, err = run("tracepoint:*:* { @n++; if (@n == 5) { exit(); } } END { printf(\"end\\n\"); }", path)
    check("exit_ends_it", maps(out) == {"@n": "5"} and "\nend\n" in out, out)


WAITS = """tracepoint:sched:sched_waking /args->comm == "ping" || args->comm == "pong"/ { @t[args->pid] = (nsecs + 500) / 1000; }
tracepoint:sched:sched_switch /@t[args->next_pid]/ { $us = (nsecs + 500) / 1000 - @t[args->next_pid];
    @[args->next_comm] = hist($us); @max[args->next_pid] = max($us); @n[args->next_pid] = count(); delete(@t[args->next_pid]); }"""
MADE = """tracepoint:synthetic:wlat { @[str(args->comm)] = hist(args->lat); @max[args->pid] = max(args->lat); @n[args->pid] = count(); }"""
SIZES = {"": 1, "K": 1024, "M": 1 << 20}


def histograms(text):
    """{(name, last value + 1 of the bucket): count} of what hist() printed."""
    out, name = {}, ""
    for line in text.splitlines():
        head, row = re.match(r"@\[(\w+)\]:", line), re.match(r"\[\S+, (\d+)([KM]?)\) +(\d+) ", line)
        name = head.group(1) if head else name
        if row and row.group(3) != "0":
            out[name, int(row.group(1)) * SIZES[row.group(2)]] = int(row.group(3))
    return out


def as_the_kernel():
    """Wakeup latencies that Linux 6.1 had in its own histograms while it was traced; it rounds to microseconds."""
    folder = os.path.join(TOP, "test/data/linux/newer/6.1_k02_probes_synth")
    with open(folder + "/hist_wlat.txt") as f:
        rows = re.findall(r"comm: (\w+) *, lat: ~ 2\^(\d+) *} hitcount: +(\d+)", f.read())
    with open(folder + "/hist_onmax.txt") as f:
        most = re.findall(r"next_pid: +(\d+) } hitcount: +(\d+)\n\tmax: +(\d+)", f.read())
    want = {(name, 1 << int(power)): int(n) for name, power, n in rows}
    with tempfile.NamedTemporaryFile(suffix=".dat") as dat:
        with gzip.open(folder + "/trace.dat.gz") as f:
            dat.write(f.read())
        dat.flush()
        for name, program in (("events", WAITS), ("synthetic", MADE)):
            rc, out, err = run(program, dat.name)
            check(f"kernel_histogram_{name}", want and histograms(out) == want, f"{want}: {out} {err}")
            found = maps(out)
            check(f"kernel_onmax_{name}", most and all((found.get(f"@n[{pid}]"), found.get(f"@max[{pid}]")) == (n, most_us)
                                                       for pid, n, most_us in most), f"{most}: {out}")


def wrong(path):
    for name, program, what in (
        ("unknown_event", "tracepoint:sched:sched_swich { }", "did you mean sched_switch?"),
        ("unknown_field", "tracepoint:sched:sched_switch { @ = args->nex_comm; }", "has no field called 'nex_comm'"),
        ("not_recorded", "tracepoint:sched:sched_switch { @[uid] = count(); }", "not recorded in a trace"),
        ("deep", "BEGIN { @ = " + "(" * 5000 + "1" + ")" * 5000 + "; }", "nested too deeply"),
        ("empty", "", "unexpected end of file"),
        ("endless", "BEGIN { while (1) { @x++; } }", "a loop does not end"),
    ):
        rc, out, err = run(program, path)
        check("wrong_" + name, what in err and (rc == 1 or name == "endless"), (rc, err[-300:]))
    rc, out, err = fathom("run", "/no/such.bt", path)
    check("wrong_file", rc == 1 and "No such file" in err, err)


with Traces() as t:
    named = {os.path.basename(p): p for p in t.files}
    path = next(p for n, p in named.items() if n.startswith("events_v6"))
    language(path)
    counts(path)
    latencies(path)
    functions(next(p for n, p in named.items() if n.startswith("graph_v7")))
    time(path)
    wrong(path)
as_the_kernel()
done()
