#!/usr/bin/env python3
"""sample.py -- stacks sampled in the demo kernel, exported over its console among other text, drawn on the host."""
# slow
# live
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import demo  # noqa: E402

demo.need_qemu("sample")
os.chdir(demo.TOP)
work = tempfile.mkdtemp()
check = demo.Checks()

# `many` prints meanwhile.
SMP, INTERVAL_US = 1 if demo.ARCH == "riscv64" else 4, 4000  # icount lets harts that wait for each other take turns of 100 ms
NMI_US = 1013  # no multiple of the timer's period: it would be found at the same place of it each time, or never
SH = ("sample start;run fib 30 &;run ipc 3000 &;run fib 29 &;sleep 1000;sample stop;sample stats;"
      "run many 30 &;sample export 10;sleep 50;exit")


def console(sh):
    """What the demo prints for a script."""
    d = demo.Demo(smp=SMP, sh=sh, extra=demo.icount())
    d.wait()  # to the end of what it printed, which may be in the pipe still when QEMU has left
    text = d.out.decode("latin1")
    with open(f"{work}/demo.traced", "w") as f:
        f.write(text)
    return text


text = console(SH)
m = re.search(r"samples (\d+), cost (\d+) ns on average", text)
check("samples_are_taken", m is not None, text[-300:])
samples = int(m.group(1)) if m else 0
check("the_sampler_tells_its_cost", m is not None and int(m.group(2)) > 0)

with open(f"{work}/binaries.list", "w") as f:
    f.write(f"KERNEL: {demo.kernel_file()}\n")
    for p in os.listdir(demo.BUILD + "/user"):
        if p.endswith(".elf"):
            f.write(f"rom/{p[:-4]}: {demo.BUILD}/user/{p}\n")


def flame(*args):
    r = subprocess.run([demo.FATHOM, "flame", f"{work}/demo.traced", "-o", "-", *args], capture_output=True, text=True)
    return r.stdout


folded = flame("--format", "folded", "--samples", "--by", "task")
total = sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines())
check("every_sample_arrives", samples <= total <= samples + SMP, f"{total} of {samples}")  # one may be under way
check("recursion_of_the_program", "rom/fib`fib;rom/fib`fib;rom/fib`fib" in folded, folded[:500])
check("ipc_paths_of_the_kernel", re.search(r"rom/ipc[^;]*;.*KERNEL`syscall.*ipc", folded) is not None, folded[:500])
check("idle_paths_of_the_kernel", "KERNEL`sched_idle" in folded)
nameless = [line for line in folded.splitlines() if re.search(r"(^|;)[0-9a-f]+/[0-9a-f]{16}", line)]
check("all_frames_have_names", not nameless, "; ".join(nameless))
# START to STOP, as the capture itself tells it, on every CPU one sample an interval.
info = subprocess.run([demo.FATHOM, "report", f"{work}/demo.traced"], capture_output=True, text=True).stdout
times = [float(x) for x in re.findall(r"(\d+\.\d+): *control:.*(?:START|STOP)", info)]
if len(times) == 2:
    want = (times[1] - times[0]) * 1e6 / INTERVAL_US * SMP
    check("samples_equal_time_over_interval", abs(samples - want) <= 0.05 * want, f"{samples} samples, {want:.0f} expected")
else:
    check("samples_equal_time_over_interval", False, f"START and STOP not found: {info[:300]}")
svg = flame()
check("the_picture_is_drawn", svg.startswith("<svg") and "rom/fib`fib" in svg)

# The line loses a burst of lines: the same picture.
lines = text.splitlines(True)
data = [i for i, line in enumerate(lines) if ">=<" in line or ">#<" in line]
burst = len(data) * 8 // 100
cut = data[len(data) // 3]
open(f"{work}/demo.traced", "w").write("".join(lines[:cut] + lines[cut + burst:]))
check("a_burst_of_8_percent_changes_nothing", flame("--format", "folded", "--samples", "--by", "task") == folded)

# A program starts and stops the sampler itself; then NMIs look, and the export goes on while they do. Each is a run.
text = console("run sampled 4000;sample export 10;" + (f"sample nmi {NMI_US} 3000;run ipc 9000 &;run touch 600 &;run fib 31 &;"
               "sample export 10;sample stats;" if demo.MACHINE.nmi else "") + "exit")
check("a_program_controls_the_sampler", re.search(r"sampled: every 4000 us, \d{3,} words", text) is not None, text[:600])
folded = flame("--format", "folded", "--samples", "--by", "task", "--run", "0")
check("a_program_is_in_its_own_samples", "rom/fib`fib" in folded, folded[:500])
if not demo.MACHINE.nmi:
    print(f"skip nmi_samples: {demo.ARCH} has no NMI")
    check.done()
folded = flame("--format", "folded", "--samples", "--by", "task", "--run", "1")
total = sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines())
want = SMP * 3000000 // NMI_US
# With icount CPUs take turns: one that waits for its turn while two NMIs come takes them as one.
check("nmi_samples_come_at_the_interval", want // 2 <= total <= 1.05 * want, f"{total} samples, {want} expected")
check("nmi_samples_have_names", "rom/fib`fib" in folded and not re.search(r"(^|;)[0-9a-f]+/[0-9a-f]{16}", folded), folded[:500])
# These run with interrupts off only: the timer interrupt never finds them at the top of a stack.
blind = re.compile(r"KERNEL`(syscall_entry|trap_entry|trap|page_fault|vm_fault|frame_alloc|switch_tasks|switch_to) \d+$", re.M)
check("nmi_samples_see_code_with_interrupts_off", blind.search(folded) is not None, folded[:500])
check("timer_and_ipc_paths_of_the_kernel", re.search(r"KERNEL`trap;.*(tick|irq_end|interrupt)", folded) is not None and
      re.search(r"KERNEL`syscall;KERNEL`sys_(call|reply_recv);KERNEL`ipc", folded) is not None, folded[:500])
check("an_export_goes_on_with_the_samples", "no room 0" in text, text[-400:])
check.done()
