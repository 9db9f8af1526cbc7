#!/usr/bin/env python3
"""sql.py -- fathom sql: rows equal what fathom query lists; constraints, spans, errors, the loadable extension."""
import collections
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from checks import TOP
from tracedata import Traces, check, done, fathom

EXTENSION = os.path.join(TOP, "build/fathom_sqlite")


def sql(path, query, *args):
    rc, out, err = fathom("sql", "--json", *args, path, query)
    return [json.loads(line) for line in out.splitlines()]


def events(path, kind=None):
    rc, out, err = fathom("query", "-j", *(("--type", kind) if kind else ()), path)
    return [json.loads(line) for line in out.splitlines()]


def rows_are_events(path):
    want = [(e["n"], e["time"], e["cpu"], e["pid"], e["event"]) for e in events(path)]
    got = [(r["n"], r["time"], r["cpu"], r["pid"], r["name"]) for r in
           sql(path, "select n, time, cpu, pid, system, name from event order by time, n")]
    check("every_event", sorted(got) == sorted(want), f"{len(got)} of {len(want)}")
    switches = events(path, "sched_switch")
    got = sql(path, "select * from sched_switch order by n")
    same = [all(r[k] == v for k, v in e["fields"].items()) and r["n"] == e["n"] for r, e in zip(got, switches)]
    check("every_field", len(got) == len(switches) and all(same), got[:1])


def constraints(path):
    switches = events(path, "sched_switch")
    mid = switches[len(switches) // 2]["time"]
    pid = switches[3]["fields"]["next_pid"]
    cases = (
        (f"time >= {mid}", lambda e: e["time"] >= mid), (f"time < {mid}", lambda e: e["time"] < mid),
        (f"time = {mid}", lambda e: e["time"] == mid), (f"time between {mid - 1000000} and {mid}",
                                                        lambda e: mid - 1000000 <= e["time"] <= mid),
        ("cpu = 1", lambda e: e["cpu"] == 1), ("cpu <> 1", lambda e: e["cpu"] != 1), ("cpu = 99", lambda e: False),
        (f"next_pid = {pid}", lambda e: e["fields"]["next_pid"] == pid),
        (f"next_pid > {pid}.5", lambda e: e["fields"]["next_pid"] > pid),
        (f"next_pid = '{pid}'", lambda e: e["fields"]["next_pid"] == pid),
        ("next_pid < 'abc'", lambda e: True), ("next_pid = null", lambda e: False), ("time > -5", lambda e: True),
        ("next_comm = 'ping'", lambda e: e["fields"]["next_comm"] == "ping"),
        ("next_comm <> 'ping'", lambda e: e["fields"]["next_comm"] != "ping"),
        ("next_comm = 'PING' collate nocase", lambda e: e["fields"]["next_comm"] == "ping"),
        ("next_comm like 'p%' and cpu = 0", lambda e: e["fields"]["next_comm"].startswith("p") and e["cpu"] == 0),
        ("prev_prio = next_prio", lambda e: e["fields"]["prev_prio"] == e["fields"]["next_prio"]),
        (f"next_pid = {pid} and time > 5 or cpu = 0", lambda e: e["fields"]["next_pid"] == pid or e["cpu"] == 0),
        (f"next_pid in ({pid}, 0)", lambda e: e["fields"]["next_pid"] in (pid, 0)),
    )
    for text, keep in cases:
        got = sql(path, f"select count(*) c from sched_switch where {text}")[0]["c"]
        want = sum(map(keep, switches))
        check("where_" + "_".join(text.split()[:2]).replace("'", "") + f"_{len(text)}", got == want, (text, got, want))
    per = collections.Counter(e["event"] for e in events(path))
    got = {r["name"]: r["c"] for r in sql(path, "select name, count(*) c from event group by name")}
    check("group_by_name", got == dict(per), got)
    per = collections.Counter(e["event"] for e in events(path) if e["cpu"] == 0)
    got = {r["name"]: r["c"] for r in sql(path, "select name, count(*) c from event where cpu = 0 group by name")}
    check("group_by_name_of_one_cpu", got == dict(per), got)
    join = sql(path, "select count(*) c from sched_wakeup w join sched_switch s on s.next_pid = w.pid and s.time > w.time "
                     "and s.time < w.time + 100000")[0]["c"]
    woken = events(path, "sched_wakeup")
    want = sum(1 for w in woken for s in switches if s["fields"]["next_pid"] == w["fields"]["pid"] and
               w["time"] < s["time"] < w["time"] + 100000)
    check("join", join == want, (join, want))


def model(path):
    r = sql(path, "select count(*) n, avg(duration) mean, max(duration) max from span where kind = 'wakeup'")[0]
    text = subprocess.run(["trace-cmd", "report", "-w", path], capture_output=True, text=True).stdout
    last = [line for line in text.splitlines() if "Average wakeup latency" in line]
    mean = float(last[0].split(":")[1].split()[0]) if last else -1
    check("wakeups_as_trace_cmd", last and abs(r["mean"] / 1000 - mean) < 0.001, (r, last))
    e = sql(path, "select count(*) n, max(latency) max from wakeup")[0]
    either = sql(path, "select count(*) n, count(distinct kind) k from span where kind = 'wakeup' or kind = 'running'")[0]
    both = sum(sql(path, f"select count(*) n from span where kind = '{k}'")[0]["n"] for k in ("wakeup", "running"))
    check("spans_of_either_kind", either == {"n": both, "k": 2}, (either, both))
    check("edges_are_the_wakeups", (e["n"], e["max"]) == (r["n"], r["max"]), (e, r))
    tasks = sql(path, "select pid, comm, events from task")
    want = collections.Counter(e["pid"] for e in events(path))
    check("tasks", {t["pid"]: t["events"] for t in tasks} == dict(want), tasks[:3])


def wrong(path):
    for name, query, want in (
        ("column", "select nex_pid from sched_switch", "did you mean next_pid?"),
        ("table", "select 1 from sched_swich", "did you mean sched_switch?"),
        ("syntax", "select next_pid frm sched_switch", "did you mean from?"),
        ("first_word", "selec 1", "did you mean select?"),
        ("function", "select cout(*) from sched_switch", "did you mean count?"),
    ):
        rc, out, err = fathom("sql", path, query)
        check("wrong_" + name, rc == 1 and want in err and "\n" + query + "\n" in err and "^" in err, err)
    rc, out, err = fathom("sql", path, "delete from sched_switch")
    check("read_only", rc == 1 and "may not be modified" in err, err)


def other_ways(path):
    rc, out, err = fathom("sql", "--csv", path, "select 'a,\"b' x, 1 y")
    check("csv", out == 'x,y\n"a,""b",1\n', out)
    r = subprocess.run([os.environ.get("FATHOM", os.path.join(TOP, "build/fathom")), "sql", "--csv", path],
                       input="select 1 a;\nselect\n2 b;\n", capture_output=True, text=True)
    check("standard_input", r.stdout == "a\n1\nb\n2\n", r.stdout + r.stderr)
    if not os.path.exists(EXTENSION + ".so"):
        print("skip extension: build/fathom_sqlite.so is made by `make check`")
        return
    query = f"select fathom_open('{path}'); select count(*) from sched_switch; select count(*) from span;"
    r = subprocess.run(["sqlite3", "-cmd", f".load {EXTENSION}"], input=query, capture_output=True, text=True)
    here = [sql(path, f"select count(*) c from {t}")[0]["c"] for t in ("sched_switch", "span")]
    check("extension_in_sqlite3", list(map(int, r.stdout.split()))[1:] == here, r.stdout + r.stderr)
    program = ("import sqlite3, sys; d = sqlite3.connect(':memory:'); d.enable_load_extension(True); "
               "d.load_extension(sys.argv[1]); d.execute('select fathom_open(?)', (sys.argv[2],)); "
               "print(d.execute('select count(*) from sched_switch').fetchone()[0])")
    r = subprocess.run(["/usr/bin/python3", "-c", program, EXTENSION, path], capture_output=True, text=True)
    check("extension_in_python", r.stdout.strip() == str(here[0]), r.stdout + r.stderr)
    with tempfile.TemporaryDirectory() as d:
        bad = os.path.join(d, "none")
        r = subprocess.run(["sqlite3", "-cmd", f".load {EXTENSION}"], input=f"select fathom_open('{bad}');",
                           capture_output=True, text=True)
        check("extension_no_file", "No such file" in r.stderr, r.stderr)


GROUPED = """
select name, min(time), max(time), count(*), avg(time) from event group by name
select name, cpu, count(*) n from event group by name, cpu order by n desc, name, cpu limit 7
select time/1000000 ms, count(*) from event group by ms having count(*) > 3
select (e.time - 5)/1000000 % 7 t, e.name, count(*) from event e where e.pid > 10 group by t, 2
select cpu, count(distinct pid), sum(distinct pid) from event group by cpu
select distinct cpu, name from event
select count(*), min(time), max(time) from event where cpu = 1 and time >= 0
select count(*), sum(pid), avg(pid), max(pid), total(pid) from event where cpu = 99
select upper(next_comm) u, count(*) from sched_switch group by u
select comm, sum(length(comm)), avg(length(comm)), count(comm), max(comm) from event group by comm
select prev_comm, max(next_prio - prev_prio), max(time) - min(time) from sched_switch group by prev_comm
select "prev_comm", max([next_comm]), min(prev_pid, 5) from sched_switch group by prev_comm, prev_pid
select cpu, sum(case when pid = 0 then 1 else 0 end), max(pid*pid) from event group by cpu
select pid, comm, count(*) from event where name = 'sched_switch' and not cpu = 1 group by pid
select cpu, count(*) from event where cpu in (0, 1) or pid between 3 and 900 group by cpu
select next_comm, count(*) from sched_switch where next_comm = 'ping' and prev_prio <= 120 group by 1 -- and so on
select max(time) time, cpu from event group by cpu order by time
select cpu, max(time), name from event where name <> 'print' group by cpu
select cpu, count(*) filter (where pid > 0) from event group by cpu
select cpu, sum(count(*)) over (order by cpu) from event group by cpu
select cpu, group_concat(n) from (select cpu, count(*) n from event group by cpu, name order by n) group by cpu
select count(*) from event where n < 100
select -cpu + 1, count(*) from event group by cpu
select time/1000000||'ms', count(*) from event group by 1
select 7 - pid / 2 * 3, count(*), sum(pid % 0), count(time / 0) from event group by 1
select cpu * 4611686018427387904 * 3, count(*) from event group by 1
select type, count(*) from (select name type from event) group by type
select count(*) from event, sched_switch where sched_switch.n < 3 and event.n < 5
select prev_state, cpu, count(*) "n" from sched_switch where time > 0 and next_prio < 121 group by prev_state, cpu order by "n", 1, 2
"""


def grouped(path, db):
    """Sums of groups, which no row is read for, are what SQLite makes of the rows."""
    def rows(some):
        return sorted(str([f"{v:.6g}" if isinstance(v, float) else v for v in r]) for r in some)
    for i, query in enumerate(filter(None, GROUPED.split("\n"))):
        want = [list(r) for r in db.execute(query)]
        got = [list(r.values()) for r in sql(path, query)]
        if "order by" in query and "over" not in query:
            same = list(map(rows, ([r] for r in got))) == list(map(rows, ([r] for r in want)))
        else:
            same = rows(got) == rows(want)
        check(f"grouped_{i}", same and want, (query, got[:2], want[:2]))


def as_a_file(path):
    with tempfile.TemporaryDirectory() as d:
        out = os.path.join(d, "x.sqlite")
        rc, _, err = fathom("convert", path, out)
        db = sqlite3.connect(out)
        names = [n for (n,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        differ = []
        for name in names:
            rows = sql(path, f'SELECT * FROM "{name}"')
            saved = db.execute(f'SELECT * FROM "{name}"').fetchall()
            same = len(rows) == len(saved) and sorted(str(v) for r in rows for v in r.values() if isinstance(v, int)) == \
                sorted(str(v) for r in saved for v in r if isinstance(v, int))
            if not same:
                differ.append(name)
        check("a_database_has_the_same_tables", rc == 0 and {"event", "span", "wakeup", "loss", "sched_switch"} <= set(names) and not differ,
              (names, differ, err))
        check("a_field_may_be_called_cpu", "sched_wake_idle_without_ipi" in names and "cpu_2" in sql(path, "SELECT * FROM sched_wake_idle_without_ipi")[0], names)
        grouped(path, db)
        rc, _, err = fathom("convert", path, "/dev/full", "--form", "sqlite")
        check("a_database_on_a_full_disk", rc == 1 and "No space" in err, err)


with Traces() as t:
    path = next(p for p in t.files if os.path.basename(p).startswith("events_v6"))
    rows_are_events(path)
    constraints(path)
    model(path)
    wrong(path)
    other_ways(path)
    as_a_file(path)
done()
