#!/usr/bin/env python3
"""checker_self.py -- the checker of the boot tests finds what it is there to find: one line is changed, and it must object."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from calls import Forest
from checker import Checker
from demo import Checks

GOOD = """cpus=2
          <idle>-0     [000]     1.000000100: sched_wakeup_new:     comm=touch pid=5 prio=120 target_cpu=000
          <idle>-0     [000]     1.000000200: sched_switch:         prev_comm=idle/0 prev_pid=0 prev_prio=140 prev_state=R ==> next_comm=touch next_pid=5 next_prio=120
           touch-5     [000]     1.000000300: sys_enter:            map(0x1000, 0x0, 0x0)
           touch-5     [000]     1.000000900: sys_exit:             map = 4294967296 duration=650 ns
           touch-5     [000]     1.000001000: page_fault_user:      address=0x100000000 ip=0x400100 error_code=0x6
           touch-5     [000]     1.000001100: frame_alloc:          frame=0x1748000 order=0 caller=vm_fault+0x26
           touch-5     [000]     1.000001150: kmalloc:              call_site=vm_add+0xa4 ptr=0xffffffff8047dfc0 bytes_req=240 bytes_alloc=256
           touch-5     [000]     1.000001200: irq_handler_entry:    irq=64 name=timer
           touch-5     [000]     1.000001300: nmi_handler:          ip=0xffffffff80201000 user=0
           touch-5     [000]     1.000001400: irq_handler_exit:     irq=64 ret=handled
           touch-5     [000]     1.000001500: page_fault_user:      address=0x100002000 ip=0x400100 error_code=0x6
           touch-5     [000]     1.000001600: page_fault_user:      address=0x100004000 ip=0x400100 error_code=0x6
           touch-5     [000]     1.000001700: frame_free:           frame=0x1748000 order=0
           touch-5     [000]     1.000001750: kfree:                call_site=vm_destroy+0x35 ptr=0xffffffff8047dfc0
           touch-5     [000]     1.000001800: sys_enter:            sleep(0x1, 0x0, 0x0)
           touch-5     [000]     1.000001900: sched_switch:         prev_comm=touch prev_pid=5 prev_prio=120 prev_state=S ==> next_comm=idle/0 next_pid=0 next_prio=140
          <idle>-0     [001]     1.000002000: sched_wakeup:         comm=touch pid=5 prio=120 target_cpu=000
          <idle>-0     [000]     1.000002100: sched_switch:         prev_comm=idle/0 prev_pid=0 prev_prio=140 prev_state=R ==> next_comm=touch next_pid=5 next_prio=120
           touch-5     [000]     1.000002200: sys_exit:             sleep = 0 duration=420 ns
""".splitlines()


def judge(lines):
    k = Checker(touch_pages=1)
    for line in lines:
        k.feed(line)
    return k.finish().errors


def without(text):
    return [l for l in GOOD if text not in l]


def changed(old, new):
    return [l.replace(old, new) for l in GOOD]


c = Checks()
c.check("self_good", not judge(GOOD), str(judge(GOOD)))
for name, lines in {
        "no_wakeup": without("sched_wakeup:"),
        "wrong_next": changed("1.000000200: sched_switch:         prev_comm=idle/0 prev_pid=0 prev_prio=140 prev_state=R ==> next_comm=touch next_pid=5",
                              "1.000000200: sched_switch:         prev_comm=idle/0 prev_pid=0 prev_prio=140 prev_state=R ==> next_comm=touch next_pid=6"),
        "zero_duration": changed("duration=650", "duration=0"),
        "longer_than_since_user_mode": changed("duration=420", "duration=1800"),
        "shorter_than_it_slept": changed("1.000002", "1.000012"),
        "wrong_call": changed("sys_exit:             sleep", "sys_exit:             map"),
        "no_irq_entry": without("irq_handler_entry"),
        "other_irq": changed("irq=64 ret", "irq=65 ret"),
        "no_free": without("frame_free"),
        "no_alloc": without("frame_alloc"),
        "no_kfree": without("kfree:"),
        "no_kmalloc": without("kmalloc:"),
        "outside": changed("0x100004000", "0x200000000"),
        "fault_missing": without("0x100002000"),
        "time_back": changed("1.000001700", "1.000001550"),
        "garbled": GOOD + ["?????"],
        "unknown": changed("nmi_handler: ", "whatever: "),
}.items():
    if name in ("no_irq_entry",):  # the first exit on a CPU may have begun before the trace: make it the second
        lines = [GOOD[8], GOOD[10]] + lines
    c.check(f"self_{name}", judge(lines), "not noticed")

# the forest of calls
def forest(text, lost=None):
    """`a{b{}}` of one task, a digit behind a name is its depth there; faults. `lost`: at which record events were lost."""
    events, names = [], []
    for i, (name, given, end) in enumerate(re.findall(r"(\w)(\d?)\{|(\})", text)):
        if name:
            names.append((name, int(given) if given else len(names)))
        (what, depth), took = names[-1], 1000 >> 2 * (len(names) - 1)
        if end:
            names.pop()
        events.append({"n": i, "event": "funcgraph_entry" if name else "funcgraph_exit", "pid": 7, "cpu": 0,
                       "fields": {"func": ord(what), "depth": depth, "calltime": 0, "rettime": took}})
        if i == lost:
            events[-1]["lost"] = 2
    return Forest(events).faults


c.check("forest_good", not forest("a{b{}c{}}d{}"), str(forest("a{b{}c{}}d{}")))
c.check("forest_too_shallow", len(forest("a{b0{}c0{}}")) == 2, str(forest("a{b0{}c0{}}")))
c.check("forest_interrupted_tracer", not forest("a{b{}c2{d3{}}}"), str(forest("a{b{}c2{d3{}}}")))
c.check("forest_too_deep", len(forest("a{b{}c4{}}")) == 1, str(forest("a{b{}c4{}}")))
c.check("forest_told_loss", not forest("a{b3{}}c{}", lost=1), str(forest("a{b3{}}c{}", lost=1)))
c.check("forest_callees_longer", forest("a{b{}c{}d{}e{}f{}}"), "five callees of 250 ns in 1000: not noticed")
c.done()
