#!/usr/bin/env python3
"""delays.py -- the latency tracers find sections of known length where they are, and only what is theirs."""
# slow
# live
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from demo import EXIT_OK, Checks, Demo, icount, need_qemu

need_qemu("delays")
c = Checks()
d = Demo(smp=1, extra=icount(4))  # a host that stops the machine makes longer sections than ours
sh = d.ask
US = 100000


def traced(tracer, lines):
    """The maximum and the trace of it."""
    sh(f"echo {tracer} > current_tracer")
    sh("echo 0 > tracing_max_latency")
    sh("echo 1 > tracing_on")
    sh(lines)
    sh("echo 0 > tracing_on")
    return int(sh("cat tracing_max_latency")), sh("cat trace")


def is_delay(kind, most, text):
    """Begins and ends in the delay, has its length, and the stack says who asked for it."""
    where = re.search(r"#  => started at: cmd_delay\n#  => ended at:   cmd_delay\n", text)
    first = re.search(rf"\n#[^\n]*\n[^#\n]* (\d+)us.?: delay_{kind}_off <-cmd_delay\n", text)
    last = re.search(rf" (\d+)us.?: delay_{kind}_off <-cmd_delay\n[^\n]*<stack trace>\n => delay_{kind}_off\n => cmd_delay\n", text)
    return most >= US and where and first and last and int(last[1]) - int(first[1]) >= US


def found(tracer, lines, check):
    most, text = traced(tracer, lines)
    return check(most, text), f"{most} us: {text[:700]}...{text[-700:]}"


for name, kind in (("irqsoff", "irqs"), ("preemptoff", "preempt"), ("preemptirqsoff", "irqs"), ("preemptirqsoff", "preempt")):
    c.check(f"delays_{name}_{kind}", *found(name, f"delay {kind} {US}", lambda most, text, k=kind: is_delay(k, most, text)))
for name, other in (("irqsoff", "preempt"), ("preemptoff", "irqs")):
    most, text = traced(name, f"delay {other} {US}")
    c.check(f"delays_{name}_not_{other}", "started at: cmd_delay" not in text, text[:1500])


def is_kept_waiting(most, text):
    """Woken by the timer in the middle of the delay; ran when it was over."""
    woken = re.search(r" \+ \[000\] .* periodic\n[^\n]*<stack trace>\n(?: => \w+\n)* => delay_us\n => delay_preempt_off\n", text)
    ran = re.search(r" ==> \[000\] .* periodic\n[^\n]*<stack trace>\n(?: => \w+\n)* => delay_preempt_off\n", text)
    return US // 4 <= most and woken and ran


# Typed ahead: what runs in the background prints something, and ends, whenever it likes.
for name in ("wakeup", "wakeup_rt", "wakeup_dl"):
    c.check(f"delays_{name}", *found(name, f"run periodic 50 &\nsleep 5\ndelay preempt {US}\nsleep 300", is_kept_waiting))
sh("echo nop > current_tracer")
c.check("delays_wrong_values", all("MICROSECONDS" in sh(f"delay {a}") for a in ("", "irqs", "irqs 0", "nmi 5", "irqs 1000001")))
c.check("delays_exit", d.leave() == EXIT_OK, d.text()[-400:])
c.done()
