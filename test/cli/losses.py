#!/usr/bin/env python3
"""losses.py -- one account of loss: every format fills it, every command shows it, and no file loses it on the way."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from maketrace import Maker, page, tick
from rawtrace import format_head, pages
from tracedata import FATHOM, TOP, Traces, check, done, fathom


def stat(path, *args):
    rc, out, err = fathom("stat", "--json", "--no-index", *args, path)
    return json.loads(out) if rc == 0 else {"error": err}


def causes(got):
    return {c["cause"]: (c["count"], c["exact"]) for c in got.get("lost_by_cause", [])}


def put(path, data):
    with open(path, "wb") as f:
        f.write(data)
    return path


def carried(name, path, want_text=None):
    """The account goes along when the trace becomes a trace.dat of either version, and every reader is warned."""
    want = stat(path)
    for version in ("6", "7"):
        out = f"{path}.{version}.dat"
        rc, _, err = fathom("convert", path, out, "--file-version", version, "--force")
        got = stat(out)
        check(f"{name}_is_carried_v{version}", rc == 0 and (got.get("lost"), got.get("lost_is_exact"), causes(got)) ==
              (want["lost"], want["lost_is_exact"], causes(want)), (err, got.get("lost_by_cause"), want["lost_by_cause"]))
    if want_text:
        for command in (["report"], ["query"], ["timeline", "-o", "/dev/null"]):
            rc, _, err = fathom(*command, path)
            check(f"{name}_{command[0]}_tells", rc == 0 and "lost during recording" in err and want_text in err, err)


with Traces() as t:
    # trace-cmd: the counters of each CPU know what gaps without a number do not.
    path = t.path("lost_v6.dat")
    text = open(path, "rb").read()
    overrun = [int(n) for n in re.findall(rb"\noverrun: (\d+)\n", text)]
    got = stat(path)
    check("trace_cmd_counters", sum(overrun) > 0 and got["lost"] == sum(overrun) and got["lost_is_exact"] and
          causes(got) == {"overwritten": (sum(overrun), True)} and [c["lost"] for c in got["cpus"]] == overrun,
          (overrun, got["lost"], causes(got)))
    carried("trace_cmd", path, f"{sum(overrun):,} overwritten")
    half = stat(path, "--to", f"{(got['first'] + got['last']) // 2}ns")
    check("of_a_window_only_gaps_are_sure", 0 < half["lost"] < got["lost"] and not half["lost_is_exact"], half["lost"])
    got = stat(t.path("events_v6.dat"))
    check("counters_of_nothing", got["lost"] == 0 and got["lost_is_exact"] and causes(got) == {}, got)
    check("nothing_is_said_so", "lost         nothing\n" in fathom("stat", t.path("events_v6.dat"))[1])
    changed = put(t.path("drop.dat"), text.replace(b"dropped events: 0", b"dropped events: 7", 1).replace(
        b"commit overrun: 0", b"commit overrun: 5", 1))
    got = stat(changed)
    check("all_counters_of_linux", causes(got) == {"overwritten": (sum(overrun), True), "refused: buffer full": (7, True),
                                                   "refused: nested too deeply": (5, True)}, causes(got))

    # Pages alone: what is in no page is not known.
    raw = t.path("raw")
    os.mkdir(raw)
    os.makedirs(t.path("formats/x/ev"))
    put(t.path("formats/x/ev/format"), format_head("ev", 400).encode() +
        b"\tfield:u64 v;\toffset:8;\tsize:8;\tsigned:0;\n\nprint fmt: \"%llu\", REC->v\n")
    record = (400).to_bytes(2, "little") + b"\0\0" + (7).to_bytes(4, "little") + bytes(8)
    put(os.path.join(raw, "cpu0.raw"), pages([record] * 3))
    got = stat(raw, "--formats", t.path("formats"))
    out = fathom("stat", "--formats", t.path("formats"), raw)[1]
    check("no_counters_no_claim", got.get("events") == 3 and not got["lost_is_exact"] and not got["observed_is_exact"] and
          "lost         no gap seen; the trace does not count what was lost" in out, (got, out))
    put(os.path.join(raw, "cpu0.stats"), b"entries: 3\noverrun: 11\ncommit overrun: 0\ndropped events: 2\nread events: 0\n")
    got = stat(raw, "--formats", t.path("formats"))
    check("stats_beside_pages", causes(got) == {"overwritten": (11, True), "refused: buffer full": (2, True)} and
          got["lost_is_exact"] and got["lost_unplaced"] == 13, got)

    # A board that was reset in between: the gaps together are longer than the time from first to last.
    again = os.path.join(t.path("."), "again")
    os.mkdir(again)
    maker = Maker(again)
    laps = [page([(at, tick(7, at))], lost=3 if at else None) for at in (0, 10**9) * 3]
    path = maker.trace(laps)
    got, out = stat(path), fathom("stat", "--no-index", path)[1]
    check("gaps_longer_than_the_window", got["lost"] == 9 and not got["observed_is_exact"] and "is not known" in out and
          not re.search(r"-\d[\d.]* %", out), out)

    # seL4's dump counts what found no room.
    log = open(os.path.join(TOP, "test/data/sel4/sel4.log"), "rb").read()
    for name, lines, want in (
            ("events", b"STORAGE_FULL: YES\nOVERFLOW_EVENTS: 13359", {"refused: buffer full": (13359, True)}),
            ("full", b"STORAGE_FULL: YES", {"refused: buffer full": (0, False)}),
            ("none", b"STORAGE_FULL: NO", {})):
        path = put(t.path(f"sel4_{name}.log"), log.replace(b"STORAGE_FULL: NO", lines))
        got = stat(path)
        check(f"sel4_{name}", causes(got) == want and got["lost_is_exact"] == all(e for _, e in want.values()), got)
        rc, out, err = fathom("verify", path)
        check(f"sel4_{name}_verify", rc == 0 and ("not complete" in out) == bool(want), out)
        carried(f"sel4_{name}", path, "refused: buffer full" if want else None)
    got = json.loads(fathom("verify", "--json", t.path("sel4_events.log"))[1])
    check("verify_json", got["whole"] and not got["complete"] and got["lost"] == 13359 and got["lost_is_exact"], got)
    rc, out, err = fathom("graph", "--samples", t.path("sel4_events.log"))
    check("graph_tells", "13,359" in err, err)
    rc, out, err = fathom("flame", "--samples", "-o", "-", t.path("sel4_events.log"))
    check("flame_tells", "13,359 events" in out, err)
    got = stat(t.path("sel4_none.log") + ".6.dat")
    check("ticks_stay_ticks", got["unit"] == "ticks" and got["clock"] == "counter", (got["unit"], got["clock"]))

    # VeridianOS counts all that it ever recorded.
    lines = b"".join(b"%d 0    frame_alloc        0x0000000000001000 0x0000000000000000\n" % (1000 + i) for i in range(20))
    path = put(t.path("veridian.log"), b"=== Trace Dump (most recent 20 per CPU) ===\nTIMESTAMP    CPU  EVENT\n" + lines +
               b"=== Total events recorded: 4000 ===\n")
    got = stat(path)
    check("veridian_total", got["lost"] == 3980 and got["lost_is_exact"] and causes(got) == {"not in the dump": (3980, True)}, got)
    carried("veridian", path, "3,980 not in the dump")

    # The text of a `trace` file.
    path = put(t.path("trace.txt"), b"# tracer: nop\n#\n# entries-in-buffer/entries-written: 1/51   #P:1\n#\n"
               b"            bash-57      [000] d..2.    13.715963: ev: v=1\n")
    got = stat(path)
    check("text_head", got.get("lost") == 50 and causes(got) == {"overwritten": (50, True)}, got)

    # A process whose buffers were full: refused events are in no page.
    path = t.path("full.dat")
    subprocess.run([os.path.join(TOP, "build/port/full"), "100000"], check=True,
                   env={**os.environ, "FATHOM_TRACE": f"events=full:*,mode=discard,buffer_kb=64,out={path}"})
    got = stat(path)
    ticks = sum(e["count"] for e in got["types"] if e["name"] == "tick")
    check("process_refusals", got["lost"] == 100000 - ticks > 0 and got["lost_is_exact"] and
          causes(got) == {"refused: buffer full": (got["lost"], True)}, (got["lost"], 100000 - ticks, causes(got)))
    check("process_clock", got["clock"] == "local" and got["unit"] == "ns", got["clock"])
    carried("process", path, "refused: buffer full")
done()
