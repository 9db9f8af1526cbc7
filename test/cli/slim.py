#!/usr/bin/env python3
"""slim.py -- scheduler events that name no tasks (fathom/events/sched_slim.h) are Linux's for every command, with names."""
import json
import os
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from rawtrace import convert, format_head, pages
from tracedata import FATHOM, TOP, Traces, check, done, fathom

SWITCH, WAKEUP = 400, 401
PROGRAM = """
#define CREATE_TRACE_POINTS
#include "fathom/events/sched_slim.h"
#include "fathom/trace.h"
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 3; i++) {
		trace_sched_wakeup(getpid(), -2, 0);
		trace_sched_switch(0, getpid(), 120, -2, 0x101);
	}
	return 0;
}
"""


def fields(*which):
    return "".join(f"\tfield:{kind} {name};\toffset:{at};\tsize:{size};\tsigned:{int(kind[0] == 's')};\n" for kind, name, at, size in which)


def switch(prev, state, nxt):
    return struct.pack("<HBBi", SWITCH, 0, 0, prev) + struct.pack("<iihhH2x", prev, nxt, 120, -3, state)


def wakeup(by, pid):
    return struct.pack("<HBBi", WAKEUP, 0, 0, by) + struct.pack("<ihh", pid, 120, 1)


with Traces() as t:
    for name, ident, own in (("sched_switch", SWITCH, fields(("s32", "prev_pid", 8, 4), ("s32", "next_pid", 12, 4), ("s16", "prev_prio", 16, 2),
                                                             ("s16", "next_prio", 18, 2), ("u16", "prev_state", 20, 2))),
                             ("sched_wakeup", WAKEUP, fields(("s32", "pid", 8, 4), ("s16", "prio", 12, 2), ("s16", "target_cpu", 14, 2)))):
        os.makedirs(t.path(f"formats/sched/{name}"))
        with open(t.path(f"formats/sched/{name}/format"), "w", encoding="utf-8") as f:
            f.write(format_head(name, ident) + own + '\nprint fmt: "slim"\n')
    # pids 100 and 101 are bash and work; 7 has no name. The last record is too short to be one.
    dat = convert(t.dir, "made", [pages([switch(0, 0, 100), wakeup(100, 101), switch(100, 0x101, 101), switch(101, 2, 7),
                                         switch(7, 0, 0)[:14]])], t.path("formats"))
    text = fathom("report", dat)[1]
    check("switch_has_names", "bash:100 [120] S ==> work:101 [-3]" in text, text)
    check("unknown_task", "work:101 [120] D ==> <...>:7 [-3]" in text, text)
    check("wakeup_has_a_name", "work:101 [120] CPU:001" in text, text)
    rows = [json.loads(x) for x in fathom("query", "-j", "--type", "sched_switch", dat)[1].splitlines()]
    check("fields", rows[1]["fields"]["prev_comm"] == "bash" and rows[1]["fields"]["next_comm"] == "work" and
          (rows[1]["fields"]["prev_state"], rows[1]["fields"]["next_prio"]) == (0x101, -3) and "prev_state=S+ ==>" in rows[1]["text"], rows[1])
    got = json.loads(fathom("latency", "--json", dat)[1])
    check("latency", (got["kinds"][0]["kind"], got["kinds"][0]["count"], got["kinds"][0]["worst"][0]["comm"]) == ("running", 2, "bash"), got)
    if shutil.which("trace-cmd"):
        theirs = subprocess.run(["trace-cmd", "report", dat], capture_output=True, text=True, check=False).stdout
        check("trace_cmd_reads_the_same", "bash:100 [120] S ==> work:101 [-3]" in theirs, theirs)
    else:
        print("skip trace_cmd_reads_the_same: package trace-cmd missing")

    # The library's own events, in a process.
    with open(t.path("slim.c"), "w", encoding="utf-8") as f:
        f.write(PROGRAM)
    subprocess.run(["gcc", "-O2", "-fno-pie", "-no-pie", "-DFATHOM_PATCH=1", "-I.", "-Itrace", "-Itrace/include", "-Iports/user", t.path("slim.c"),
                    "-Wl,--whole-archive", "build/user/libfathom.a", "-Wl,--no-whole-archive", "-pthread", "-o", t.path("slim")], check=True, cwd=TOP)
    subprocess.run([t.path("slim")], check=True, env={**os.environ, "FATHOM_TRACE": f"events=sched,out={t.path('own.dat')}"})
    rows = [json.loads(x) for x in fathom("query", "-j", t.path("own.dat"))[1].splitlines()]
    last = rows[-1] if rows else {}
    check("of_the_library", len(rows) == 6 and last["event"] == "sched_switch" and last["fields"]["next_comm"] == "slim" and
          last["fields"]["prev_state"] == 0x101 and rows[0]["fields"]["prio"] == -2, last)
done()
