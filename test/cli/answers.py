#!/usr/bin/env python3
"""answers.py -- fathom latency and profile: equal to trace-cmd's wakeups, and to what a script adds up from the events."""
import collections
import json
import math
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tracedata import Traces, check, done, fathom, need


def events(path, *args):
    return [json.loads(line) for line in fathom("query", "-j", *args, path)[1].splitlines()]


def latency(path, *args):
    rc, out, err = fathom("latency", "--json", "--no-index", *args, path)
    got = json.loads(out) if rc == 0 else {"kinds": [], "error": err}
    return {k["kind"]: k for k in got["kinds"]}, got


def ranked(values, per_mille):
    """The value of rank ceil(p * n)."""
    values = sorted(values)
    return values[max(0, (len(values) * per_mille + 999) // 1000 - 1)]


def same(got, values):
    """What is wrong with a distribution; nothing if it is that of the values."""
    want = {"count": len(values), "total_ns": sum(values), "min_ns": min(values), "max_ns": max(values), "p50_ns": ranked(values, 500),
            "p90_ns": ranked(values, 900), "p99_ns": ranked(values, 990), "p999_ns": ranked(values, 999)}
    bad = {k: (got.get(k), v) for k, v in want.items() if got.get(k) != v}
    if not math.isclose(got.get("mean_ns", 0), sum(values) / len(values), rel_tol=1e-6, abs_tol=0.01):
        bad["mean_ns"] = (got.get("mean_ns"), sum(values) / len(values))
    return bad


with Traces() as t:
    have = need("trace-cmd", "trace-cmd", "wakeups_equal_trace_cmd")
    for name in ("events_v6.dat", "events_v7_zstd.dat", "lost_v6.dat", "marker_v6.dat", "buffers_v7_zstd.dat") if have else ():
        path = t.path(name)
        text = subprocess.run(["trace-cmd", "report", "-w", path], capture_output=True).stdout.decode(errors="replace")
        each = [round(float(v) * 1000) for v in re.findall(r"Latency: ([\d.]+) usecs$", text, re.M)]
        mean = re.search(r"Average wakeup latency: ([\d.]+) usecs", text)
        top = re.search(r"Maximum Latency: ([\d.]+) usecs", text)
        got = latency(path, "--kind", "wakeup")[0].get("wakeup", {"count": 0})
        check(f"{name}_wakeups_equal_trace_cmd", got["count"] == len(each) and
              (not each or (abs(got["mean_ns"] - float(mean[1]) * 1000) < 1.5 and got["max_ns"] == round(float(top[1]) * 1000))),
              (got["count"], len(each), got.get("mean_ns"), mean and mean[1]))

    # A script that pairs by itself.
    path = t.path("events_v6.dat")
    rows = events(path)
    woken, calls, lat, sys_calls, soft, open_soft = {}, {}, [], collections.defaultdict(list), [], {}
    running, since = collections.Counter(), {}
    first, last = rows[0]["time"], rows[-1]["time"]
    for e in rows:
        f = e["fields"]
        if e["event"] in ("sched_wakeup", "sched_wakeup_new"):
            woken[f["pid"]] = e["time"]
        elif e["event"] == "sched_switch":
            if f["next_pid"] in woken:
                lat.append(e["time"] - woken.pop(f["next_pid"]))
            running[f["prev_pid"]] += e["time"] - since.get(e["cpu"], first)
            since[e["cpu"]] = e["time"]
        elif e["event"] == "sys_enter":
            calls[e["pid"]] = (f["id"], e["time"])
        elif e["event"] == "sys_exit" and calls.get(e["pid"], (None,))[0] == f["id"]:
            sys_calls[f["id"]].append(e["time"] - calls.pop(e["pid"])[1])
        elif e["event"] == "softirq_entry":
            open_soft[e["cpu"]] = e["time"]
        elif e["event"] == "softirq_exit" and e["cpu"] in open_soft:
            soft.append(e["time"] - open_soft.pop(e["cpu"]))
    ends = {e["cpu"]: (e["fields"]["next_pid"], e["time"]) for e in rows if e["event"] == "sched_switch"}
    for pid, at in ends.values():
        running[pid] += last - at
    kinds, whole = latency(path)
    check("wakeup_percentiles", not same(kinds["wakeup"], lat), same(kinds["wakeup"], lat))
    check("softirqs", not same(kinds["softirq"], soft), same(kinds["softirq"], soft))
    by_name = {g["name"]: g for g in kinds["syscall"]["groups"]}
    with open("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", encoding="ascii") as f:
        numbers = {int(n): name for name, n in re.findall(r"^#define __NR_(\w+) (\d+)$", f.read(), re.M)}
    bad = {nr: same(by_name.get(numbers[nr], {}), v) for nr, v in sys_calls.items()}
    check("system_calls", len(bad) > 5 and not any(bad.values()), [b for b in bad.items() if b[1]][:2])
    check("nothing_lost_is_said", whole["lost"] == 0 and whole["lost_is_exact"] and kinds["wakeup"]["upper_bounds"] == 0, whole["lost"])
    worst = kinds["wakeup"]["worst"][0]
    pair = [events(path, "--event", str(worst[k]))[0] for k in ("begin", "end")]
    check("the_worst_has_its_events", worst["time_ns"] == max(lat) and pair[0]["event"].startswith("sched_wakeup") and
          pair[1]["event"] == "sched_switch" and pair[1]["time"] - pair[0]["time"] == max(lat), (worst, pair))
    tasks = latency(path, "--by", "task")[0]["wakeup"]["groups"]
    check("groups_add_up", sum(g["count"] for g in tasks) == len(lat) and {"ping-138", "pong-139"} <= {g["name"] for g in tasks}, tasks)
    cpus = latency(path, "--by", "cpu")[0]["running"]
    one = latency(path, "--cpu", "1")[0]["running"]
    check("one_cpu_of_all", [g["count"] for g in cpus["groups"] if g["name"] == "cpu 1"] == [one["count"]], one["count"])
    prios = latency(path, "--by", "prio", "--kind", "wakeup")[0]["wakeup"]["groups"]
    check("by_prio", "prio 120" in {g["name"] for g in prios}, prios)
    got = latency(path, "--pair", "raw_syscalls:sys_enter=raw_syscalls:sys_exit")[0]
    check("a_named_pair", got["pair"]["count"] == got["syscall"]["count"] and got["pair"]["total_ns"] == got["syscall"]["total_ns"],
          (got["pair"]["count"], got["syscall"]["count"]))
    for a, b in (("raw_syscalls:sys_enter", "sys_exit:id"), ("sys_enter", "raw_syscalls:sys_exit:id"), ("sys_enter", "raw_syscalls:sys_exit")):
        one = latency(path, "--kind", "pair", "--pair", f"{a}={b}")[0].get("pair", {})
        check(f"a_pair_with_a_system_on_one_side_{a}={b}", one.get("count", 0) > 0 and (":id" in b or one["count"] == got["pair"]["count"]), one)
    got = latency(path, "-k", "pair", "--pair", "sched_wakeup=sched_switch:prio")[1]
    check("a_pair_needs_its_key_in_both", "sched_switch has no field 'prio'" in got.get("error", ""), got.get("error"))
    got = latency(path, "--pair", "sched_wakeup=nosuch")[1]
    check("a_pair_needs_its_events", "no event 'nosuch'" in got.get("error", ""), got.get("error"))
    rc, _, err = fathom("latency", "--kind", "wake", path)
    check("wrong_kind", rc == 2 and "wakeup" in err, err)
    text = fathom("latency", "--histogram", "--kind", "wakeup", path)[1]
    check("bars", sum(int(n.replace(",", "")) for n in re.findall(r" ([\d,]+) \|#* *\|", text)) == len(lat), text)
    half = latency(path, "--from", "+20ms", "--to", "+60ms", "--kind", "wakeup")[0]["wakeup"]
    check("a_window", 0 < half["count"] < len(lat), half["count"])

    # Where the time went: every nanosecond of a task and of a CPU is somewhere.
    unit = "ns"
    for name in ("events_v6.dat", "events_v7_zstd.dat", "lost_v6.dat"):
        p = json.loads(fathom("profile", "--json", "--no-index", t.path(name))[1])
        bad = [x for x in p["tasks"] if x[f"running_{unit}"] + x[f"ready_{unit}"] + x[f"blocked_{unit}"] + x[f"unknown_{unit}"] != x[f"window_{unit}"]]
        check(f"{name}_tasks_add_up", p["tasks"] and not bad and (p["lost"] or not any(x[f"unknown_{unit}"] for x in p["tasks"])), bad[:1])
        full = [c for c in p["cpus"] if c[f"busy_{unit}"] + c[f"idle_{unit}"] + c[f"unknown_{unit}"] != p[f"window_{unit}"]]
        check(f"{name}_cpus_add_up", not full, full[:1])
    p = json.loads(fathom("profile", "--json", path)[1])
    differ = {x["comm"]: (x["running_ns"], running[x["pid"]]) for x in p["tasks"] if x["running_ns"] != running[x["pid"]]}
    check("running_times", not differ, differ)
    switches = collections.Counter(e["fields"]["next_pid"] for e in rows if e["event"] == "sched_switch")
    check("switches", all(x["switches"] == switches[x["pid"]] for x in p["tasks"]), [(x["comm"], x["switches"], switches[x["pid"]]) for x in p["tasks"]][:3])
    alive = [x for x in p["tasks"] if x["comm"].startswith("kworker")]
    check("tasks_of_before_are_there_all_the_time", alive and all(x["window_ns"] == p["window_ns"] for x in alive), alive)

    # Functions, from the kernel's own times.
    path = t.path("graph_v7_zstd.dat")
    times, order = collections.defaultdict(list), []
    for e in events(path):
        if e["event"] == "funcgraph_exit":
            times[re.match(r"<-- (\S+)", e["text"])[1]].append(e["fields"]["rettime"] - e["fields"]["calltime"])
    p = json.loads(fathom("profile", "--json", "--function", "schedule", path)[1])
    bad = {f["name"]: f for f in p["functions"] if (f["calls"], f["min_ns"], f["max_ns"], f["p99_ns"]) !=
           (len(times[f["name"]]), min(times[f["name"]]), max(times[f["name"]]), ranked(times[f["name"]], 990))}
    check("functions", len(p["functions"]) == len(times) and not bad, list(bad.values())[:1])
    who = json.loads(fathom("profile", "--json", "--no-index", t.path("function_v7_zstd.dat"))[1])
    check("who_ran_is_not_known_without_switches", who["tasks"] and not any(x["running_ns"] or x["switches"] for x in who["tasks"]) and
          all(c["unknown_ns"] == who["window_ns"] and not c["exact"] for c in who["cpus"]), who["tasks"][:1])
    recursive = [f["name"] for f in p["functions"] if f["total_ns"] != sum(times[f["name"]])]
    check("function_totals", len(recursive) < 10, recursive)
    check("self_adds_up_to_no_more_than_total", all(f["self_ns"] <= sum(times[f["name"]]) for f in p["functions"]))
    check("sorted_by_self", [f["self_ns"] for f in p["functions"]] == sorted((f["self_ns"] for f in p["functions"]), reverse=True))
    check("callers", sum(c["calls"] for c in p["callers"]) == len(times["schedule"]) and p["callees"], p["callers"])
    by_calls = [f["calls"] for f in json.loads(fathom("profile", "--json", "--sort", "calls", path)[1])["functions"]]
    check("sorted_by_calls", by_calls == sorted(by_calls, reverse=True))
    rc, _, err = fathom("profile", "--sort", "size", path)
    check("wrong_sort", rc == 2 and "self, total" in err, err)

    # What was lost is in every figure.
    kinds, whole = latency(t.path("lost_v6.dat"))
    check("loss_is_carried", whole["lost"] == 4904 and kinds["running"]["cut"] > 0 and kinds["syscall"]["upper_bounds"] > 0,
          (whole["lost"], kinds["running"]["cut"]))
    text = fathom("latency", t.path("lost_v6.dat"))[1] + fathom("profile", t.path("lost_v6.dat"))[1]
    check("and_in_text", text.count("lost: 4,904 events: 4,904 overwritten") == 2 and "upper bounds" in text, text[-200:])
    rc, _, err = fathom("latency", t.path("function_v7_zstd.dat"))
    check("nothing_to_pair", rc == 1 and "--pair" in err, err)
done()
