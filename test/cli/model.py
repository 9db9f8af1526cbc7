#!/usr/bin/env python3
"""model.py -- what pictures and sums say happened: nothing goes on through a loss, calls last as long as they say."""
import json
import os
import re
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from maketrace import Maker, entry, exec_, exit_, page, switch, tick, wakeup
from pagedata import Page
from tracedata import Traces, check, done, fathom


def page_of(path, *args):
    return Page(fathom("timeline", "-o", "-", *args, path)[1])


def graph(path, *args):
    rc, out, err = fathom("graph", "--json", "--min", "0", *args, path)
    return {k["name"]: k for k in map(json.loads, out.splitlines())}, err


MS = 1000000
NOT_RECORDED = 0xfffffe
F = [0x1000 * i for i in range(20)]

with Traces() as t:
    make = Maker(t.dir)

    # A task is not drawn through a lost interval, nor is one that may have run there said to be ready or blocked.
    path = make.trace([page([(1 * MS, switch(0, 0, 7, b"swapper", b"seven")), (2 * MS, tick(7))]),
                       page([(9 * MS, tick(8)), (10 * MS, switch(8, 1, 0))], lost=80)])
    data = page_of(path)
    ran = [(a, b, name) for a, b, name, _ in data.of("cpu", 0)]
    check("no_task_runs_through_a_loss", (0, 1 * MS, "seven-7") in ran and not any(a < 8 * MS and b > 1 * MS for a, b, _ in ran), ran)
    check("the_loss_is_drawn_with_its_number", data.of("lost", 0) == [(1 * MS, 8 * MS, 80, 0)], data.of("lost", 0))
    check("the_page_says_what_was_lost", "80 events" in data.meta["lost"], data.meta["lost"])
    slices = [(round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000), e["name"]) for e in
              json.loads(fathom("convert", path, "-", "--form", "json")[1])["traceEvents"] if e["ph"] == "X"]
    check("nor_in_chrome_json", not any(a < 9 * MS and b > 2 * MS and "lost" not in n for a, b, n in slices) and
          (2 * MS, 9 * MS, "80 events lost") in slices, slices)

    # A switch that the kernel did not record, and reported no loss: nobody knows who ran between what was seen of both.
    def tasks_of(path):
        p = json.loads(fathom("profile", "--json", path)[1])
        return {x["pid"]: x for x in p["tasks"]}, p

    path = make.trace([page([(1 * MS, switch(5, 1, 7)), (2 * MS, tick(7)), (5 * MS, tick(9)), (6 * MS, switch(9, 1, 0)), (7 * MS, wakeup(0, 9)),
                             (9 * MS, tick(9)), (10 * MS, switch(9, 1, 5))])])
    tasks, p = tasks_of(path)
    check("a_missing_switch_is_unknown", (tasks[7]["running_ns"], tasks[7]["unknown_ns"], tasks[9]["running_ns"]) == (1 * MS, 8 * MS, 2 * MS) and
          p["cpus"][0]["unknown_ns"] == 5 * MS and p["cpus"][0]["idle_ns"] == 1 * MS, p)
    check("and_every_task_adds_up", all(x["running_ns"] + x["ready_ns"] + x["blocked_ns"] + x["unknown_ns"] == x["window_ns"] == 9 * MS
                                        for x in tasks.values()), tasks)
    out = fathom("latency", path)[1]
    check("and_is_reported", "missing switches: 2, where the trace reports no loss" in out and "3 more began or ended unseen" in out, out)
    # The task that a switch leaves may have events after it; a thread that execs goes on under its leader's pid.
    path = make.trace([page([(1 * MS, switch(5, 1, 7)), (2 * MS, tick(5)), (3 * MS, exec_(6, 7)), (4 * MS, tick(6)), (5 * MS, switch(6, 1, 5))])])
    tasks, p = tasks_of(path)
    check("exec_under_another_pid", json.loads(fathom("latency", "--json", path)[1])["missing_switches"] == 0 and
          (tasks[7]["running_ns"], tasks[6]["running_ns"], p["cpus"][0]["unknown_ns"]) == (2 * MS, 2 * MS, 0), p)

    path = t.path("lost_v6.dat")
    data = page_of(path)
    lost = {cpu: data.of("lost", cpu) for cpu in (0, 1)}
    bad = sum(a < d and b > c for cpu in (0, 1) for a, b, _, _ in data.of("cpu", cpu) for c, d, _, _ in lost[cpu])
    check("real_losses_are_empty", bad == 0 and lost[0] and lost[1], bad)

    # After a merge nothing of one trace goes on to the end of the other, and CPUs without switches are there.
    short = make.trace([page([(1 * MS, switch(0, 0, 7, b"swapper", b"seven")), (2 * MS, tick(7))])])
    long = make.trace([page([(1 * MS, tick(5)), (100 * MS, tick(5))])])
    both = t.path("both.dat")
    rc, _, err = fathom("merge", long, short, "-o", both)
    for name, path in (("merged", both),):
        data = page_of(path)
        ran = {cpu: [(a, b, n) for a, b, n, _ in data.of("cpu", cpu)] for cpu in (0, 1)}
        check(f"{name}_ends_with_its_own_trace", rc == 0 and ran[1] and max(b for _, b, _ in ran[1]) == 1 * MS, (err, ran))
        check(f"{name}_has_the_cpu_without_switches", ran[0] and ran[0][-1][1] == 99 * MS, ran)
        check(f"{name}_shows_what_was_not_recorded", (1 * MS, 99 * MS, NOT_RECORDED, 0) in data.of("lost", 1), data.of("lost", 1))

    # An interrupt between a call's time and its entry record: inside it, and counted once.
    path = make.trace([page([
        (1000, entry(7, F[1], 0)),
        (3000, entry(7, F[3], 2)), (5000, exit_(7, F[3], 2, 2900, 4900)),
        (5100, entry(7, F[2], 1)), (6100, exit_(7, F[2], 1, 2000, 6000)),
        (8000, exit_(7, F[1], 0, 900, 7900))])])
    got, err = graph(path, "--by", "none")
    check("an_interrupt_before_the_entry_is_inside", (got["f1"]["total"], got["f1"]["self"]) == (7000, 3000) and
          (got["f2"]["total"], got["f2"]["self"]) == (4000, 2000) and (got["f3"]["total"], got["f3"]["depth"]) == (2000, 2), got)
    # One that came before the call's time is beside it.
    path = make.trace([page([
        (1000, entry(7, F[1], 0)),
        (3000, entry(7, F[3], 2)), (5000, exit_(7, F[3], 2, 2900, 4900)),
        (5100, entry(7, F[2], 1)), (6100, exit_(7, F[2], 1, 5050, 6000)),
        (8000, exit_(7, F[1], 0, 900, 7900))])])
    got, err = graph(path, "--by", "none")
    check("an_interrupt_before_the_call_is_beside", (got["f1"]["total"], got["f1"]["self"]) == (7000, 4050) and
          (got["f2"]["total"], got["f2"]["self"]) == (950, 950) and (got["f3"]["total"], got["f3"]["depth"]) == (2000, 1), got)
    # The same at the end of a call: its depth is free before its return is written.
    for name, ret, total, own, depth in (("inside", 5500, 4000, 2000, 2), ("beside", 2500, 1000, 1000, 1)):
        path = make.trace([page([
            (1000, entry(7, F[1], 0)), (1600, entry(7, F[2], 1)),
            (3000, entry(7, F[3], 1)), (5000, exit_(7, F[3], 1, 2900, 4900)),
            (6100, exit_(7, F[2], 1, 1500, ret)),
            (8000, exit_(7, F[1], 0, 900, 7900))])])
        got, err = graph(path, "--by", "none")
        check(f"an_interrupt_before_the_return_is_{name}", (got["f1"]["total"], got["f2"]["total"], got["f2"]["self"], got["f3"]["depth"]) ==
              (7000, total, own, depth) and "no end" not in err, (got, err))
    # Fathom gives the depth back after the return was written: an interrupt in between is one too deep.
    path = make.trace([page([
        (1000, entry(7, F[1], 0)), (1600, entry(7, F[2], 1)), (2600, exit_(7, F[2], 1, 1500, 2500)),
        (3000, entry(7, F[3], 2)), (5000, exit_(7, F[3], 2, 2900, 4900)),
        (8000, exit_(7, F[1], 0, 900, 7900))])])
    got, err = graph(path, "--by", "none")
    check("an_interrupt_after_the_return_is_beside", (got["f1"]["total"], got["f1"]["self"], got["f2"]["self"], got["f3"]["depth"]) ==
          (7000, 4000, 1000, 1) and len(got) == 3 and "no end" not in err, (got, err))
    # An exit whose entry was lost has its own time; what was called in it is in it.
    path = make.trace([page([(1000, tick(7))]), page([
        (3000, entry(7, F[3], 1)), (5000, exit_(7, F[3], 1, 2900, 4900)), (900000, exit_(7, F[2], 0, 1500, 899900))], lost=-1)])
    got, err = graph(path, "--by", "none")
    check("a_return_knows_its_time", (got["f2"]["total"], got["f2"]["self"], got["f2"]["calls"]) == (898400, 896400, 1) and
          got["f3"]["depth"] == 1, got)
    check("graph_says_what_was_lost", "an unknown number of events" in err, err)
    # A record that comes late, because of an interrupt, does not move its call.
    path = make.trace([page([(1000, entry(7, F[1], 0)), (2000, exit_(7, F[1], 0, 900, 1900)), (3000, entry(7, F[1], 0)),
                             (700000, exit_(7, F[1], 0, 2900, 4900))])])
    calls = page_of(path).of("calls", "seven-7")
    check("a_late_record_is_not_a_late_call", [c[:2] for c in calls] == [(0, 900), (1900, 3900)], calls)
    # function_graph's own count of calls that it did not follow.
    path = make.trace([page([(1000, entry(7, F[1], 0)), (2000, exit_(7, F[1], 0, 900, 1900, 4)), (3000, entry(7, F[1], 0)),
                             (4000, exit_(7, F[1], 0, 2900, 3900, 10))])])
    got, err = graph(path)
    check("calls_not_followed", "6 calls not followed" in err, err)

    # The kernel's own times, function by function.
    path = t.path("graph_v7_zstd.dat")
    want = {}
    for line in fathom("query", "-j", path)[1].splitlines():
        e = json.loads(line)
        if e["event"] == "funcgraph_exit":
            name = re.match(r"<-- (\S+)", e["text"])[1]
            calls, total = want.get(name, (0, 0))
            want[name] = (calls + 1, total + e["fields"]["rettime"] - e["fields"]["calltime"])
    have, stack, again = {}, [], set()
    for line in fathom("graph", "--json", "--min", "0", "--by", "none", path)[1].splitlines():
        k = json.loads(line)
        del stack[k["depth"]:]
        again |= {k["name"]} & set(stack)
        stack.append(k["name"])
        calls, total = have.get(k["name"], (0, 0))
        have[k["name"]] = (calls + k["calls"], total + k["total"])
    differ = {n: (have.get(n), w) for n, w in want.items() if n not in again and (have.get(n) or (0, 0))[0] != w[0]}
    check("calls_equal_the_kernels", not differ and len(want) > 300, dict(list(differ.items())[:3]))
    open_ones = {n for n in want if n not in again and have[n][1] != want[n][1]}
    check("times_equal_the_kernels", len(open_ones) <= 12, {n: (have[n], want[n]) for n in list(open_ones)[:4]})

    # Sorted by time, and nothing vanishes without a word; turned round, calls and own times are there.
    rc, out, err = fathom("graph", "--by", "none", "--depth", "1", path)
    totals = [float(n) * {"us": 1, "ms": 1e3, "s": 1e6}[u] for n, u in re.findall(r"^ +([\d.]+) (us|ms|s) ", out, re.M)]
    check("graph_is_sorted_by_time", len(totals) > 5 and totals == sorted(totals, reverse=True), totals[:8])
    check("small_trees_are_told", re.search(r"\d+ more trees take less than 0.5 %", err), err)
    back = [json.loads(x) for x in fathom("graph", "--json", "--reverse", "--by", "none", "--depth", "1", "--min", "0", path)[1].splitlines()]
    check("reverse_has_calls_and_self", back and all(k["calls"] == want[k["name"]][0] and k["self"] == k["total"] for k in back if k["name"] in want),
          back[:2])

    # Tasks that have exited are named by what the scheduler recorded.
    path = make.trace([page([(1000, switch(0, 0, 9, b"swapper/0", b"shortlived")), (2000, entry(9, F[1], 0)), (3000, exit_(9, F[1], 0, 2000, 3000)),
                             (4000, switch(9, 16, 0, b"shortlived", b"swapper/0"))])])
    check("exited_tasks_have_names", "shortlived-9" in fathom("graph", path)[1] and [9, "shortlived"] in page_of(path).meta["tasks"] and
          "shortlived-9" in fathom("stat", path)[1], fathom("graph", path)[1] + fathom("stat", path)[1])

    # seL4: one stack per CPU, emptied by an exit; a return without its call has no time; no unit without a clock.
    def stamp(v):
        return [0xffe4, 0xffff, v & 0xffff, v >> 16 & 0xffff, v >> 32]

    def sel4(name, words, hz=1000000000):
        stem = os.path.join(t.dir, name)
        with open(stem + ".bin", "wb") as f:
            f.write(struct.pack(f"<{len(words)}H", *words))
        with open(stem + ".meta", "w") as f:
            json.dump({"header": {"TYPE": "FTRACE_STREAM", "VERSION": 3, **({"CLOCK_HZ": hz} if hz else {})},
                       "dictionary": {"256": 0xf000, "257": 0xf100, "258": 0xf200}}, f)
        with open(stem + ".syms", "w") as f:
            f.write("000000000000f000 T A\n000000000000f100 T B\n000000000000f200 T head\n")
        return stem + ".bin"

    def entered(at, took, *inside):
        return [*stamp(at), 0xffee, 6 | 1 << 3, 0, 0, *inside, 0xffea, took & 0xffff, took >> 16]

    def thread(n):
        return [0xfff8, n, 0, 0]

    ENTER, LEAVE = (lambda i: i << 1 | 1), (lambda i: i << 1)
    path = sel4("exit", [w for i in range(3) for w in [*entered(1000000 * (i + 1), 10000, ENTER(256)), LEAVE(256)]])
    got, err = graph(path, "--by", "none", "--symbols", path[:-3] + "syms")
    check("sel4_returns_without_a_call", (got["A"]["calls"], got["A"]["total"]) == (3, 30000) and "3 calls have no" in err, (got, err))
    text = fathom("report", "--symbols", path[:-3] + "syms", path)[1]
    check("sel4_report_has_no_time_for_them", len(re.findall(r"^.*funcgraph_exit: {20,}\|  }", text, re.M)) == 3, text)
    text = fathom("report", "--trace", path)[1]
    check("sel4_nor_has_the_kernels_form", len(re.findall(r"^ 0\) {15}\|  }", text, re.M)) == 3 and " us " not in text, text)
    path = sel4("switch", [*thread(1), *entered(1000000, 80000, ENTER(257), *thread(2), LEAVE(257)), *entered(8000000, 5000), *thread(1),
                           *entered(9000000, 5000)])
    got, err = graph(path, "--by", "none", "--symbols", path[:-3] + "syms")
    check("sel4_one_stack_per_cpu", got["B"]["calls"] == 1 and got["B"]["total"] <= 80000, got)
    path = sel4("ticks", [*entered(1000000, 9997960, ENTER(256), LEAVE(256), ENTER(256)), LEAVE(256)], hz=0)
    out = fathom("graph", "--by", "none", path)[1]
    check("sel4_ticks_have_no_unit", re.search(r"^ +9997960 +9997960 +2 ", out, re.M) and '"ticks"' in fathom("graph", "--json", path)[1], out)
    path = sel4("head", [*entered(1000000, 5000), ENTER(258), *entered(7000000, 5000)])
    rows = [json.loads(x) for x in fathom("query", "-j", path)[1].splitlines()]
    check("sel4_what_comes_before_an_entry_has_its_time", [r["time"] for r in rows if r["event"] == "funcgraph_entry"] == [7000000], rows)

    # Flame graphs: no frame is left out if none shall be, and what is equal is grey.
    folded = t.path("x.folded")
    with open(folded, "w") as f:
        f.write("a;b 1000000\na;c 1\n")
    out = fathom("flame", "--min-width", "0", "-o", "-", folded)[1]
    check("min_width_0_keeps_all", re.search(r'"c"', out) and "leftOut:0" in out, out[-300:])
    out = fathom("flame", "--diff", "-o", "-", folded, folded)[1]
    fills = set(re.findall(r'<rect x="[^>]*fill="([^"]*)"', out))
    check("equal_is_grey", fills == {"hsl(0,0%,86%)"} and '"equal"' in out, fills)
done()
