#!/usr/bin/env python3
"""dynamic.py -- probes on the demo kernel's functions: arguments, memory behind them, registers and return values are what the command
at the shell says they are; synthetic events join two of them."""
# slow
# live
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from demo import ARCH, EXIT_OK, Checks, Demo, need_qemu

need_qemu("dynamic")
c = Checks()
d = Demo(smp=2)
sh = d.ask

FIRST = {"x86_64": "%di", "aarch64": "%x0", "riscv64": "%a0"}[ARCH]
PROBES = [
    "p:call cmd_delay n=$arg1:s32 which=+0(+8($arg2)):string us=+0(+16($arg2)):string",
    f"p:text parse_u64 text=+0($arg1):string same=+0({FIRST}):string",
    "r:number parse_u64 value=$retval:u64",
    "r:done cmd_delay error=$retval:s32",
    "p:off delay_irqs_off us=$arg1:u32",
]


def fields(name, text):
    return re.findall(rf"^.*: {name}: (.*)$", text, re.M)


for i, probe in enumerate(PROBES):
    c.check(f"dynamic_defined_{i}", sh(f"echo '{probe}' >> kprobe_events") == "", sh("cat error_log"))
c.check("dynamic_listed", len(sh("cat kprobe_events").splitlines()) == len(PROBES), sh("cat kprobe_events"))
sh("echo 'wait u64 delta' > synthetic_events")
sh("echo 'hist:keys=common_pid:t0=common_timestamp' > events/kprobes/text/trigger")
sh("echo 'hist:keys=common_pid:delta=common_timestamp-$t0:onmatch(kprobes.text).wait($delta)' > events/kprobes/done/trigger")
for name in ("kprobes", "synthetic"):
    sh(f"echo 1 > events/{name}/enable")
sh("delay irqs 1234")
sh("delay preempt 77")
sh("delay irqs nonsense")
sh("echo 0 > tracing_on")
text = sh("cat trace")

c.check("dynamic_arguments", [re.sub(r"^\(.*?\) ", "", x) for x in fields("call", text)] ==
        ['n=3 which="irqs" us="1234"', 'n=3 which="preempt" us="77"', 'n=3 which="irqs" us="nonsense"'], text[-2500:])
c.check("dynamic_register", [re.sub(r"^\(.*?\) ", "", x) for x in fields("text", text)] ==
        ['text="1234" same="1234"', 'text="77" same="77"', 'text="nonsense" same="nonsense"'], fields("text", text))
c.check("dynamic_retval", [x.rsplit("=", 1)[1] for x in fields("number", text)] == ["1234", "77", "0"], fields("number", text))
c.check("dynamic_negative", [x.rsplit("=", 1)[1] for x in fields("done", text)] == ["0", "0", "-22"], fields("done", text))
c.check("dynamic_one_function", [x.rsplit("=", 1)[1] for x in fields("off", text)] == ["1234"], fields("off", text))
c.check("dynamic_place", all(re.match(r"\(cmd_delay\+0x\w+/0x\w+\)", x) for x in fields("call", text)), fields("call", text))
waits = [int(x.rsplit("=", 1)[1]) for x in fields("wait", text)]
c.check("dynamic_synthetic", len(waits) == 3 and waits[0] >= 1234000 and waits[1] >= 77000, f"{waits}: {text[-1500:]}")
c.check("dynamic_profile", re.findall(r"^ *(\w+) +(\d+) +0$", sh("cat kprobe_profile"), re.M) ==
        [("call", "3"), ("text", "3"), ("number", "3"), ("done", "3"), ("off", "1")], sh("cat kprobe_profile"))
for name in ("kprobes", "synthetic"):
    sh(f"echo 0 > events/{name}/enable")
sh("echo '!hist:keys=common_pid:delta=common_timestamp-$t0:onmatch(kprobes.text).wait($delta)' > events/kprobes/done/trigger")
sh("echo '!hist:keys=common_pid:t0=common_timestamp' > events/kprobes/text/trigger")
sh("echo > kprobe_events")
sh("echo > synthetic_events")
c.check("dynamic_gone", sh("cat dynamic_events") == "" and "kprobes" not in sh("ls events"), sh("cat dynamic_events"))
c.check("dynamic_exit", d.leave() == EXIT_OK, d.text()[-400:])
c.done()
