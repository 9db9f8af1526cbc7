#!/usr/bin/env python3
"""diff.py -- fathom diff: a slowdown of 5 % is found, and nothing else; equal runs do not differ. SEEDS=100 for more than a few."""
import json
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tracedata import Traces, check, done, fathom

CALLS, KINDS, SEEDS = 300, 10, int(os.environ.get("SEEDS", "10"))


def made(path, seed, slow=None):
    """Interrupts of about 100 us, the `slow` one by 5 % slower, as the kernel's text."""
    dice, now = random.Random(seed), 1000000.0
    order = [n for n in range(KINDS) for _ in range(CALLS)]
    dice.shuffle(order)
    with open(path, "w") as f:
        f.write("# tracer: nop\n#\n")
        for n in order:
            took = dice.gauss(100, 8) * (1.05 if n == slow else 1)
            for name, text in (("irq_handler_entry", f"irq={n} name=dev{n}"), ("irq_handler_exit", f"irq={n} ret=handled")):
                f.write(f"            work-100     [000] .....  {now / 1e6:.6f}: {name}: {text}\n")
                now += took if name == "irq_handler_entry" else dice.uniform(5, 15)


def called(path, seed, slow=None):
    """Functions of about 100 us under three callers, the `slow` one by 5 % slower, as function_graph's text."""
    dice, now = random.Random(seed), 1000000.0
    with open(path, "w") as f:
        f.write("# tracer: function_graph\n#\n#     TIME        CPU  DURATION                  FUNCTION CALLS\n"
                "#      |          |     |   |                     |   |   |   |\n")
        for n in dice.sample([n for n in range(KINDS) for _ in range(CALLS)], CALLS * KINDS):
            took, own = dice.gauss(100, 8) * (1.05 if n == slow else 1), dice.gauss(20, 3)
            f.write(f"{now / 1e6:14.6f} |   0)               |  caller{n % 3}() {{\n"
                    f"{(now + own / 2) / 1e6:14.6f} |   0)   {took:.3f} us |    dev{n}();\n"
                    f"{(now + own + took) / 1e6:14.6f} |   0)   {took + own:.3f} us |  }}\n")
            now += took + own + dice.uniform(1, 3)


def bursts(path, seed, rate=1.0):
    """Markers in bursts: their number varies far more than that of events that come by themselves."""
    dice, now = random.Random(seed), 1000000.0
    with open(path, "w") as f:
        f.write("# tracer: nop\n#\n")
        while now < 3000000:
            now += dice.expovariate(1 / 5000)
            for _ in range(int(dice.expovariate(1 / (12 * rate)))):
                now += 20
                f.write(f"            work-100     [000] .....  {now / 1e6:.6f}: tracing_mark_write: hello\n")


def diff(a, b, *args):
    rc, out, err = fathom("diff", "--json", *args, a, b)
    return rc, json.loads(out) if out else err


with tempfile.TemporaryDirectory() as d:
    a, b = os.path.join(d, "a.txt"), os.path.join(d, "b.txt")
    for make, kind in ((made, "irq"), (called, "function")):
        found = quiet = 0
        for seed in range(SEEDS):
            make(a, seed)
            make(b, seed + 1000, slow=seed % KINDS)
            rc, got = diff(a, b)
            named = [(x["kind"], x["name"]) for x in got["compared"]]
            found += rc == 1 and len(named) == 1 and str(seed % KINDS) in named[0][1] and named[0][0] == kind
            make(b, seed + 2000)
            quiet += diff(a, b)[0] == 0
        check(f"slowdown_of_one_{kind}_is_found_alone", found >= SEEDS * 0.95, f"{found} of {SEEDS}")
        check(f"equal_runs_of_{kind}s_do_not_differ", quiet >= SEEDS * 0.99, f"{quiet} of {SEEDS}")
    for name, rate, want in (("bursts_of_equal_rates_do_not_differ", 1.0, 0), ("bursts_of_twice_the_rate_do", 2.0, 1)):
        right = 0
        for seed in range(3 * SEEDS):
            bursts(a, seed)
            bursts(b, seed + 1000, rate)
            right += diff(a, b)[0] == want
        check(name, right >= 3 * SEEDS * 0.97, f"{right} of {3 * SEEDS}")
    made(a, 1)
    made(b, 2001)
    rc, out, err = fathom("diff", a, b)
    check("words", rc == 0 and out.startswith("no difference in "), out)
    rc, got = diff(a, b, "--all")
    check("all", len(got["compared"]) >= KINDS, got)
    rc, out, err = fathom("diff", a, os.path.join(d, "none"))
    check("missing_file", rc == 1 and "No such file" in err, err)
    rc, out, err = fathom("diff", "--least", "x", a, b)
    check("bad_percent", rc == 2 and "percent" in err, err)

with Traces() as t:
    path = next(p for p in t.files if os.path.basename(p).startswith("graph_v7"))
    rc, got = diff(path, path)
    check("same_file", rc == 0 and got["differences"] == 0, got)
done()
