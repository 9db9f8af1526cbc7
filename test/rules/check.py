#!/usr/bin/env python3
"""check.py -- fathom check: thirty rules judged right, and inconclusive where lost events may hide the answer."""
import json
import os
import sys
import tempfile
import xml.etree.ElementTree as xml

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tracedata import Traces, check, done, fathom


def judge(path, rules, *args):
    with tempfile.NamedTemporaryFile("w", suffix=".rules") as f:
        f.write(rules)
        f.flush()
        rc, out, err = fathom("check", *args, path, f.name)
    return rc, out, err


def verdicts(path, rules):
    rc, out, err = judge(path, "\n".join(rules), "--json")
    if not out:
        return err
    return [r["verdict"] for r in json.loads(out)["rules"]]


def sql(path, query):
    rc, out, err = fathom("sql", "--json", path, query)
    return json.loads(out.splitlines()[0])


def whole(path):
    """A trace that lost nothing: figures are taken from fathom sql, and each rule is set just above or below."""
    w = sql(path, "select count(*) n, max(duration) m, min(duration) s from span where kind='wakeup' and whole")
    r = sql(path, "select sum(duration) t from span where kind='running' and comm='ping' and whole")
    y = sql(path, "select max(duration) m from span where kind='syscall' and whole")
    p = sql(path, "select count(*) n from span where kind='wakeup' and comm='ping' and cpu=0 and whole")
    rules = [
        (f"wakeup count = {w['n']}", "ok"), (f"wakeup count > {w['n']}", "failed"), (f"wakeup count != {w['n']}", "failed"),
        (f"wakeup max <= {w['m']}ns", "ok"), (f"wakeup max < {w['m']}ns", "failed"), (f"wakeup min >= {w['s']}ns", "ok"),
        (f"wakeup min > {w['s']}ns", "failed"), ("wakeup p50 < 1s", "ok"), ("wakeup p99 < 1ns", "failed"),
        ("wakeup p99.9 < 1s where prio < 200", "ok"), ("wakeup count = 0 where prio > 200", "ok"),
        (f"wakeup count = {p['n']} where task = ping and cpu = 0", "ok"),
        (f"running total = {r['t']}ns where task = ping", "ok"), ("running mean < 1ns where task != ping", "failed"),
        ("blocked max < 1us", "failed"), ("ready p90 < 1s", "ok"), (f"syscall max <= {y['m']}ns", "failed"),
        ("syscall write count > 0", "ok"), ("syscall nosuch count > 0", "failed"), ("softirq max < 1s", "ok"),
        ("count(sched_switch) = 773", "ok"), ("count(sched_switch: next_pid == 0) <= 1", "failed"),
        ("count(sched_switch) >= 774", "failed"), ("no loss", "ok"), ("no loss in +10ms..+20ms", "ok"),
        ("every irq:softirq_entry has irq:softirq_exit within 1s by vec", "ok"),
        ("every irq:softirq_entry has irq:softirq_exit within 1ns by vec", "failed"),
        ("never sched_switch inside soft", "ok"), ("never hrtimer_expire_entry inside timers", "failed"),
        ("soft max < 1s", "ok"), ("soft count = 57", "ok"),
    ]
    names = ["span soft = irq:softirq_entry to irq:softirq_exit", "span timers = timer:hrtimer_expire_entry to timer:hrtimer_expire_exit"]
    got = verdicts(path, names + [text for text, want in rules])
    bad = [(text, want, g) for (text, want), g in zip(rules, got) if want != g] if isinstance(got, list) else got
    check("thirty_rules", not bad and len(got) == len(rules) >= 30, bad)


def lossy(path):
    """Events were lost: only what they cannot change is certain."""
    rules = [
        ("count(sched_switch) >= 1", "ok"), ("count(sched_switch) >= 100000000", "inconclusive"),
        ("count(sched_switch) <= 1", "failed"), ("count(sched_switch) <= 100000000", "inconclusive"),
        ("wakeup max < 1ns", "failed"), ("wakeup max < 100s", "inconclusive"), ("wakeup max > 1ns", "ok"),
        ("wakeup p99 < 100s", "inconclusive"), ("no loss", "failed"),
        ("every raw_syscalls:sys_enter has raw_syscalls:sys_exit within 100s", "inconclusive"),
    ]
    got = verdicts(path, [text for text, want in rules])
    bad = [(text, want, g) for (text, want), g in zip(rules, got) if want != g] if isinstance(got, list) else got
    check("loss_is_inconclusive", not bad, bad)


def shown(path):
    rc, out, err = judge(path, "# comment\n\nwakeup max < 1us # too much\nno loss\n")
    check("failure_shows_the_event", rc == 1 and "FAILED" in out and ">" in out and "1 ok, 1 failed" in out, out + err)
    rc, out, err = judge(path, "no loss\n")
    check("all_ok", rc == 0, out + err)
    rc, out, err = judge(path, "wakeup max < 1us\nwakeup max < 1s\n", "--junit")
    t = xml.fromstring(out)
    check("junit", (t.get("tests"), t.get("failures")) == ("2", "1") and t[0][0].tag == "failure", out)
    rc, out, err = fathom("check", "--rule", "no loss", path)
    check("rule_on_the_line", rc == 0, out + err)


def wrong(path):
    for name, text, want in (
        ("kind", "wakup max < 1us", "a kind of span"), ("figure", "wakeup p98 < 1us", "a figure"),
        ("unit", "wakeup max < 5", "a unit of time"), ("op", "wakeup max 5us", "one of <"),
        ("rest", "no loss at all", "the end of the line"), ("span", "never sched_switch inside nothing", "a span that"),
        ("filter", "count(sched_switch: (1 == ) > 1", "expected"), ("empty", "# nothing\n", "no rule"),
        ("event", "every nosuch has sched_switch within 1s", "no event 'nosuch'"),
        ("every", "every sched_swich has sched_wakeup within 1s", "did you mean 'sched_switch'?"),
        ("field", "count(sched_switch: nextpid == 0) >= 0", "did you mean 'next_pid'?"), ("count", "count(sched_wakup) >= 0", "did you mean 'sched_wakeup'?"),
        ("never", "span a = sched_wakeup to sched_switch\nnever sched_wakin inside a", ":2: the trace has no event 'sched_wakin'"),
        ("kind_meant", "wakup max < 1us", "did you mean 'wakeup'?"), ("figure_meant", "wakeup p98 < 1us", "did you mean 'p9"),
        ("where", "wakeup max < 1s where proi < 3", "did you mean 'prio'?"),
    ):
        rc, out, err = judge(path, text)
        check("wrong_" + name, rc == 1 and want in err and (name == "empty" or (":2: " if name == "never" else ":1: ") in err and "^" in err), err)


with Traces() as t:
    named = {os.path.basename(p): p for p in t.files}
    path = next(p for n, p in named.items() if n.startswith("events_v6"))
    whole(path)
    lossy(next(p for n, p in named.items() if n.startswith("lost_v6")))
    shown(path)
    wrong(path)
done()
