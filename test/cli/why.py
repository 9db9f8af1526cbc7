#!/usr/bin/env python3
"""why.py -- fathom why: the links of a delay add up to it, name who was in the way, and say what is not known."""
import json
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from maketrace import Maker, irq, irqs, migrate, page, switch, tick, wakeup
from tracedata import Traces, check, done, fathom

MS = 1000000
HARDIRQ = 8


def why(path, *args):
    rc, out, err = fathom("why", "--json", "--no-index", *args, path)
    return json.loads(out) if rc == 0 else {"links": [], "error": err, "rc": rc, "delay_ns": -1}


def leaves(got):
    """What the delay is made of, in the order of the links."""
    return [(k["kind"], k.get("by", k["of"])["pid"], k.get("name", k.get("why", "")), k["time_ns"] // 1000) for k in got["links"] if k["leaf"]]


def adds_up(got):
    return got["links"] and sum(k["time_ns"] for k in got["links"] if k["leaf"]) == got["delay_ns"]


with Traces() as t:
    make = Maker(t.dir)

    # Woken while another ran, which served an interrupt; a third went first.
    path = make.trace([page([(1 * MS, switch(9, 1, 5)), (2 * MS, wakeup(5, 9)), (3 * MS, irq(5, 7, b"disk")), (4 * MS, irq(5, 7)),
                             (5 * MS, switch(5, 1, 6)), (8 * MS, switch(6, 0, 9)), (9 * MS, tick(9))])])
    got = why(path)
    check("who_ran_instead", leaves(got) == [("instead", 5, "", 2000), ("irq", 9, "disk", 1000), ("instead", 6, "", 3000)] and adds_up(got) and
          got["task"]["pid"] == 9 and got["kind"] == "wakeup" and (got["cause"]["by"]["pid"], got["cause"]["time_ns"]) == (6, 3 * MS), got)
    out = fathom("why", path)[1]
    check("in_words", "<...>-9: wakeup 6.000 ms" in out and "<...>-9 was ready: <...>-6 (prio 120) ran instead on cpu 0" in out and
          "cause 3.000 ms of it (50 %)" in out and "lost:" in out, out)
    got = why(path, "--task", "9", "--at", "0.008500")
    check("the_delay_at_a_time", got["kind"] == "off" and (got["from_ns"], got["to_ns"]) == (1 * MS, 8 * MS) and adds_up(got), got)
    check("before_it_was_woken_its_waker_ran", leaves(got)[0] == ("ran", 5, "", 1000), got)

    # A chain: 9 waits for 7, which waits for 6, which was preempted by 5 (a lock's holder, say).
    path = make.trace([page([(1 * MS, switch(9, 2, 7)), (2 * MS, switch(7, 2, 6)), (3 * MS, switch(6, 256, 5)), (13 * MS, switch(5, 1, 6)),
                             (14 * MS, wakeup(6, 7)), (15 * MS, switch(6, 1, 7)), (16 * MS, wakeup(7, 9)), (17 * MS, switch(7, 1, 9)),
                             (18 * MS, tick(9))])])
    got = why(path, "--worst", "off", "--task", "9")
    chain = [(k["kind"], k["depth"], k["of"]["pid"], k.get("by", {}).get("pid")) for k in got["links"]]
    check("a_chain_of_wakers", chain[:3] == [("blocked", 0, 9, 7), ("ran", 1, 7, 7), ("blocked", 1, 7, 6)] and adds_up(got) and
          (got["cause"]["kind"], got["cause"]["by"]["pid"], got["cause"]["of"]["pid"]) == ("instead", 5, 6), got)
    check("and_the_text_says_for_whom", "<...>-9 waited for <...>-6" in fathom("why", "--task", "9", "--worst", "off", path)[1])

    # Woken by an interrupt that had to wait: interrupts were off. Not the fault of the task that was interrupted.
    path = make.trace([page([(1 * MS, switch(9, 1, 5)), (3 * MS, irqs(5, False)), (8 * MS, irqs(5, True)), (8 * MS + 10000, irq(5, 7, b"timer")),
                             (8 * MS + 20000, wakeup(5, 9, flags=HARDIRQ)), (8 * MS + 30000, irq(5, 7)), (8 * MS + 40000, switch(5, 0, 9)),
                             (9 * MS, tick(9))])])
    got = why(path, "--worst", "off", "--task", "9")
    check("interrupts_were_off", leaves(got)[:3] == [("external", 9, "timer", 2010), ("irqsoff", 5, "timer", 5000), ("irq", 9, "timer", 10)] and
          adds_up(got) and got["cause"]["kind"] == "irqsoff", got)
    # Without events of interrupts the flags of the wakeup tell.
    path = make.trace([page([(1 * MS, switch(9, 1, 5)), (8 * MS, wakeup(5, 9, flags=HARDIRQ)), (9 * MS, switch(5, 0, 9)), (10 * MS, tick(9))])])
    got = why(path, "--worst", "off", "--task", "9")
    check("an_interrupt_that_was_not_recorded", leaves(got) == [("external", 9, "", 7000), ("instead", 5, "", 1000)] and adds_up(got), got)
    # On another CPU with interrupts off, to which it was sent.
    path = make.trace([page([(1 * MS, switch(9, 1, 0)), (2 * MS, wakeup(0, 9, cpu=1, flags=HARDIRQ)), (12 * MS, tick(0))])],
                      [page([(1 * MS, switch(4, 1, 5)), (3 * MS, irqs(5, False)), (9 * MS, irqs(5, True)), (10 * MS, switch(5, 0, 9)), (11 * MS, tick(9))])])
    got = why(path)
    check("interrupts_off_where_it_should_run", leaves(got) == [("instead", 5, "", 2000), ("irqsoff", 5, "", 6000)] and adds_up(got), got)

    # It waited in two queues.
    path = make.trace([page([(1 * MS, switch(9, 1, 5)), (2 * MS, wakeup(5, 9)), (9 * MS, tick(5))])],
                      [page([(1 * MS, switch(4, 1, 6)), (4 * MS, migrate(6, 9, 0, 1)), (7 * MS, switch(6, 1, 9)), (8 * MS, tick(9))])])
    got = why(path)
    check("in_the_queue_of_one_cpu_then_another", leaves(got) == [("instead", 5, "", 2000), ("instead", 6, "", 3000)] and adds_up(got), got)
    path = make.trace([page([(1 * MS, switch(9, 1, 5)), (2 * MS, wakeup(5, 9)), (9 * MS, tick(5))])],
                      [page([(1 * MS, switch(4, 1, 6)), (7 * MS, switch(6, 1, 9)), (8 * MS, tick(9))])])
    got = why(path)
    check("a_queue_that_is_not_recorded_is_unknown", [k[0] for k in leaves(got)] == ["unknown"] and "queue" in leaves(got)[0][2] and adds_up(got), got)

    # It was waited for before it was born: what its parent did.
    path = make.trace([page([(1 * MS, switch(9, 1, 5)), (4 * MS, wakeup(5, 6, new=True)), (5 * MS, switch(5, 1, 6)), (6 * MS, wakeup(6, 9)),
                             (7 * MS, switch(6, 16, 9)), (8 * MS, tick(9))])])
    got = why(path, "--worst", "off", "--task", "9")
    check("before_its_birth_its_parent", [(k["kind"], k["of"]["pid"]) for k in got["links"]][:3] == [("blocked", 9), ("unborn", 6), ("ran", 5)] and
          adds_up(got), got)

    # What is lost, or was never recorded, is nobody's fault.
    path = make.trace([page([(1 * MS, switch(9, 2, 5)), (2 * MS, tick(5))]),
                       page([(9 * MS, tick(8)), (10 * MS, wakeup(8, 9)), (11 * MS, switch(8, 1, 9)), (12 * MS, tick(9))], lost=80)])
    got = why(path, "--worst", "off", "--task", "9")
    check("loss_is_unknown", {k[0] for k in leaves(got)} == {"unknown", "instead"} and adds_up(got) and got["cause"]["kind"] == "unknown" and
          got["lost"] == 80, got)
    path = make.trace([page([(1 * MS, switch(9, 2, 5)), (3 * MS, switch(5, 1, 9)), (4 * MS, tick(9))])])
    got = why(path, "--worst", "off", "--task", "9")
    check("a_wakeup_that_is_missing_is_unknown", leaves(got) == [("unknown", 9, "it was blocked, and who woke it is not recorded", 2000)], got)

    # Without a scheduler's events, as in seL4's stream, only who ran is known.
    def stamp(v):
        return [0xffe4, 0xffff, v & 0xffff, v >> 16 & 0xffff, v >> 32]

    words = [w for n, at in ((1, 1000000), (2, 2000000), (1, 5000000)) for w in [0xfff8, n, 0, 0, *stamp(at), 0xffee, 14, 0, 0, 0xffea, 5000, 0]]
    stem = os.path.join(t.dir, "two")
    with open(stem + ".bin", "wb") as f:
        f.write(struct.pack(f"<{len(words)}H", *words))
    with open(stem + ".meta", "w", encoding="ascii") as f:
        json.dump({"header": {"TYPE": "FTRACE_STREAM", "VERSION": 3, "CLOCK_HZ": 1000000000}, "dictionary": {}}, f)
    got = why(stem + ".bin", "--worst", "off")
    check("sel4_who_ran_meanwhile", adds_up(got) and {k[0] for k in leaves(got)} == {"meanwhile"} and len({k[1] for k in leaves(got)} - {got["task"]["pid"]}) == 1, got)

    # Every task of real traces: the links add up, whatever is in them.
    nr, bad = 0, []
    for name in ("events_v6.dat", "lost_v6.dat", "marker_v6.dat"):
        path = t.path(name)
        for task in json.loads(fathom("profile", "--json", "--no-index", path)[1])["tasks"][:12]:
            for kind in ("off", "wakeup", "syscall"):
                got = why(path, "--task", str(task["pid"]), "--worst", kind)
                nr += "error" not in got
                if "error" not in got and not adds_up(got):
                    bad.append((name, task["pid"], kind))
    check("every_delay_adds_up", nr > 40 and not bad, (nr, bad))

    # What is wrong is said.
    path = t.path("events_v6.dat")
    check("needs_a_task", "--at needs --task" in why(path, "--at", "5")["error"] and why(path, "--at", "5")["rc"] == 2)
    check("wrong_kind", "wakeup   <- did you mean this?" in why(path, "--worst", "wakup")["error"], why(path, "--worst", "wakup"))
    check("wrong_time", "is not a time" in why(path, "--task", "ping", "--at", "noon")["error"])
    check("wrong_task", "no delay of a task nosuch" in why(path, "--task", "nosuch")["error"], why(path, "--task", "nosuch"))
    check("by_name", why(path, "--task", "ping")["task"] == why(path, "--task", "ping-138")["task"] == {"pid": 138, "comm": "ping"})
done()
