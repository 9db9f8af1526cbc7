#!/usr/bin/env python3
"""timeline_browser.py -- the page for itself: its spans are the trace's, and in a real browser it draws, zooms, sums up and lists them."""
# slow
# live
import gzip
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from browser import CHROMIUM, Browser  # noqa: E402
from checks import FATHOM, TOP, check, done  # noqa: E402
from pagedata import Page  # noqa: E402

os.chdir(TOP)
work = tempfile.mkdtemp()


def fathom(*args):
    return subprocess.run([FATHOM, *args], capture_output=True, text=True)


def page(name):
    return Page(open(f"{work}/{name}.html").read())


# A log whose answers can be seen: two CPUs, a task whose name would end a script, an interrupt, a wakeup.
LOG = """# tracer: nop
#
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
          <idle>-0       [000] d....     1.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a</script> next_pid=7 next_prio=120
    a</script>-7       [000] d....     1.000100: sched_wakeup: comm=b pid=8 prio=120 target_cpu=001
          <idle>-0       [001] d....     1.000130: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=b next_pid=8 next_prio=120
               b-8       [001] d.h..     1.000200: irq_handler_entry: irq=4 name=serial
               b-8       [001] d.h..     1.000250: irq_handler_exit: irq=4 ret=handled
    a</script>-7       [000] d....     1.000400: sched_switch: prev_comm=a</script> prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
               b-8       [001] .....     1.000500: print: hello
"""
with open(f"{work}/t.txt", "w") as f:
    f.write(LOG)
r = fathom("timeline", f"{work}/t.txt", "-o", f"{work}/t.html")
check("a_page_is_made", r.returncode == 0 and "7 events, every span" in r.stderr, r)
p = page("t")
check("no_name_is_part_of_the_page", "a</script>" not in p.text and p.text.count("</script>") == p.text.count("<script") > 3, p.text.count("</script>"))
check("tasks_of_cpu_0", [s[:3] for s in p.of("cpu", 0)] == [(0, 0, "idle"), (0, 400000, "a</script>-7"), (400000, 500000, "idle")], p.of("cpu", 0))
check("tasks_of_cpu_1", [s[:3] for s in p.of("cpu", 1)] == [(0, 130000, "idle"), (130000, 500000, "b-8")], p.of("cpu", 1))
check("what_a_task_did", [s[:3] for s in p.of("task", "b-8")] == [(0, 100000, "blocked"), (100000, 130000, "ready"), (130000, 500000, "running")], p.of("task", "b-8"))
check("who_woke_it", p.of("wakes", "b-8") == [(100000, 130000, "a</script>-7", 0)], p.of("wakes", "b-8"))
check("the_interrupt", [s[:3] for s in p.of("irq", 1)] == [(200000, 250000, "serial")], p.of("irq", 1))
check("events_are_listed", len(p.events) == 7 and p.events[-1]["t"] == 500000, p.events)
r = fathom("timeline", f"{work}/t.txt", "-o", f"{work}/none.html", "--from", "9.0")
check("nothing_to_show_is_said", r.returncode == 1 and "no event to show" in r.stderr and not os.path.exists(f"{work}/none.html"), r)
r = fathom("timeline", f"{work}/t.txt", "-o", f"{work}/one.html", "--cpu", "1")
check("only_the_cpu_that_is_asked_for", {l["id"] for l in page("one").lanes if l["kind"] == "cpu"} == {1}, r)

# Calls that began before the first event, or have not returned at the last, are drawn as far as is known.
GRAPH = """# tracer: function_graph
#
#     TIME        CPU  TASK/PID         DURATION                  FUNCTION CALLS
#      |          |     |    |           |   |                     |   |   |   |
    1.000010 |   0)     e-9     |               |    first() {
    1.000020 |   0)     e-9     |   1.000 us    |      inner();
    1.000030 |   0)     e-9     | + 20.000 us   |    }
    1.000040 |   0)     e-9     | + 90.000 us   |  } /* early */
    1.000050 |   0)     e-9     |               |  late() {
    1.000060 |   0)     e-9     |               |    later() {
    1.000070 |   0)     e-9     |   1.000 us    |      inner();
"""
with open(f"{work}/open.txt", "w") as f:
    f.write(GRAPH)
fathom("timeline", f"{work}/open.txt", "-o", f"{work}/open.html")
p = page("open")
calls = {s[2]: s for s in p.of("calls")}
end = p.meta["span"]
check("a_call_of_before_is_drawn_from_the_start", calls["early"][:2] == (0, 30000), calls)
check("open_calls_are_drawn_to_the_end", calls["late"][:2] == (40000, end) and calls["later"][:2] == (50000, end) and calls["late"][3] & 2, calls)

# Calls of a real kernel: every exit of function_graph is a span, and every call that is open at the end.
with open(f"{work}/graph.dat", "wb") as f:
    f.write(gzip.open("test/data/tracedat/graph_v7_zstd.dat.gz").read())
fathom("timeline", f"{work}/graph.dat", "-o", f"{work}/graph.html")
calls = len(page("graph").of("calls"))
exits = int(re.search(r"([\d,]+)\s+[\d.]+\s+[\d.]+\s+ftrace:funcgraph_exit", fathom("stat", f"{work}/graph.dat").stdout).group(1).replace(",", ""))
check("every_call_is_a_span", exits <= calls <= exits * 1.01, f"{calls} of {exits}")

# More than fits: the whole span is there, summed up, and never only its beginning. gen_trace: 2 % switches.
subprocess.run(["make", "-s", "build/bench/gen_trace"], check=True, stdout=subprocess.DEVNULL)
subprocess.run(["build/bench/gen_trace", f"{work}/large.dat", "60", "1"], check=True)
r = fathom("timeline", f"{work}/large.dat", "--max-size", "1")
check("a_large_trace_fits", r.returncode == 0 and os.path.getsize(f"{work}/large.html") <= 1000000 and "left out" not in r.stderr and "summed up in" in r.stderr, r)
r = fathom("timeline", f"{work}/large.dat", "-o", f"{work}/again.html", "--max-size", "1")
check("kept_beside_the_trace", os.path.exists(f"{work}/large.dat.fpage") and open(f"{work}/again.html").read() == open(f"{work}/large.html").read(), r)
with open(f"{work}/large.dat.fpage", "r+b") as f:
    f.seek(-5000, os.SEEK_END)
    f.write(b"x" * 100)
r = fathom("timeline", f"{work}/large.dat", "-o", f"{work}/again.html", "--max-size", "1")
check("a_damaged_file_beside_is_made_anew", r.returncode == 0 and open(f"{work}/again.html").read() == open(f"{work}/large.html").read(), r)
# The same with every span, which is what the switches say.
r = fathom("timeline", f"{work}/large.dat", "-o", f"{work}/whole.html", "--max-size", "100")
whole = page("whole")
check("the_first_picture_does_not_wait_for_the_rest", whole.text.index('id="tiles-0"') < whole.text.index("page.draw = ") < whole.text.index('id="tiles-1"'), "")
ran = [s[2] for s in whole.of("cpu", 0)][1:]
switches = re.findall(r'"next_pid": ?(\d+)', fathom("query", f"{work}/large.dat", "--type", "sched_switch", "--cpu", "0", "--json").stdout)
check("every_switch_is_a_span", "every span" in r.stderr and ran == [f"task-{n}-{n}" for n in switches], (len(ran), len(switches), r.stderr))

if not CHROMIUM:
    print("skip timeline_browser: package chromium missing")
    sys.exit(0)

with Browser(1200, 700) as b:
    check("the_page_runs", b.open(f"file://{work}/t.html"), b.log)
    left = b.eval("page.left()")
    x = lambda t: b.eval(f"page.xOf({t}) + document.getElementById('lanes').getBoundingClientRect().left")  # noqa: E731
    y = lambda key, kind=None: b.eval(  # noqa: E731
        f"(() => {{ const r = page.shown.find(r => r.key === '{key}'), s = r.strips.find(s => {kind if kind is not None else 's.kind'} === s.kind); "
        "return document.getElementById('lanes').getBoundingClientRect().top + r.y + s.y + s.h / 2 - document.getElementById('main').scrollTop; })()")
    rows = b.eval("page.shown.map(r => r.label)")
    check("rows_of_cpus_and_tasks", rows == ["CPUs (2)", "CPU 0", "CPU 1", "Markers", "markers", "Tasks (2)", "a</script>-7", "b-8"], rows)
    b.mouse("mouseMoved", x(300000), y("t8"), button="none")
    tip = b.eval("document.getElementById('tip').textContent")
    check("a_span_tells_itself", "running on CPU 1" in tip and "370 \u00b5s" in tip, tip)
    b.click(x(300000), y("t8"))
    told = b.eval("document.getElementById('told').textContent")
    check("click_says_who_woke_it", "waited 30 \u00b5s to run, woken by a</script>-7" in told, told)
    check("an_arrow_from_the_waker", b.eval("page.arrows.length === 1 && page.arrows[0].fromRow.label") == "a</script>-7", b.eval("page.arrows.length"))
    b.mouse("mousePressed", x(300000), y("t8"), clickCount=2)
    b.mouse("mouseReleased", x(300000), y("t8"), clickCount=2)
    check("double_click_zooms_to_it", abs(b.eval("page.view.to - page.view.from") - 444000) < 2, b.eval("page.view"))
    b.key("Backspace")
    check("back_to_the_view_before", b.eval("page.view.to - page.view.from") == 500000, b.eval("page.view"))
    b.key("Escape")
    b.wheel(x(250000), y("t8"), -200, modifiers=2)
    b.until("page.view.to - page.view.from < 400000")
    check("wheel_zooms", b.eval("page.view.to - page.view.from") < 400000, b.eval("page.view"))
    b.key("f")
    check("f_shows_all", b.eval("page.view.to - page.view.from") == 500000, b.eval("page.view"))
    for k, way in (("w", "page.view.to - page.view.from === 250000"), ("d", "page.view.from > 125000"), ("a", "page.view.from === 125000"), ("s", "page.view.to - page.view.from === 500000")):
        b.key(k)
        check(f"key_{k}", b.eval(way), b.eval("page.view"))
    # A range: who used which CPU, to the nanosecond.
    b.drag(x(100000), x(400000), y("t8"))
    b.until("page.tab === 'range' && !!document.querySelector('#range table')")
    r = b.eval("({ range: page.range, tasks: page.rangeTasks, text: document.getElementById('range').textContent })")
    a, z = r["range"]["from"], r["range"]["to"]
    want = {7: (z - a, 0, 0) if z <= 400000 else (400000 - a, 0, z - 400000), 8: (z - 130000, 30000 - max(0, a - 100000), max(0, 100000 - a))}
    got = {t["pid"]: (t["cpu"], t["ready"], t["blocked"]) for t in r["tasks"]}
    check("sums_of_a_range", set(got) == {7, 8} and all(abs(u - v) < 2 for k in got for u, v in zip(got[k], want[k])), (got, want))
    b.key("m")
    b.key("d")
    b.key("m")
    check("distance_of_a_and_b", re.search(r"A 1\.\d+ +B 1\.\d+ +distance", b.eval("document.getElementById('marks').textContent")), b.eval("document.getElementById('marks').textContent"))
    b.key("x")
    check("a_range_from_a_to_b", b.eval("page.range.from === Math.min(page.mark.A, page.mark.B) && page.range.to === Math.max(page.mark.A, page.mark.B)"), b.eval("[page.range, page.mark]"))
    b.key("Escape")
    b.key("f")
    b.key("ArrowDown")
    b.key("ArrowDown")
    check("picked_by_keys", b.eval("page.picked && page.picked.row.key") == "c1" and "b-8" in b.eval("document.getElementById('told').textContent"), b.eval("document.getElementById('told').textContent"))
    b.key("[")
    check("the_span_before", "idle" in b.eval("document.getElementById('told').textContent") or b.eval("page.picked.from") == 130000, b.eval("page.picked.from"))
    b.key("Escape")
    # The list, and the fields of one.
    b.key("f")
    b.key("f")
    b.key("e")
    b.until("page.listed && page.listed.length === 7")
    check("list_of_events", b.eval("document.querySelectorAll('#list tbody tr').length") >= 7, b.eval("document.getElementById('list').textContent"))
    b.eval("document.querySelectorAll('#list tbody tr')[1].click()")
    check("fields_of_one", "target_cpu" in b.eval("document.querySelector('#listbox > div:last-child').textContent"), b.eval("document.getElementById('list').textContent"))
    # Search: how many, the next one.
    b.eval("(() => { const s = document.getElementById('search'); s.value = '^b-8$'; s.dispatchEvent(new Event('input')); })()")
    check("search_counts", b.until("document.getElementById('found').textContent === '1 found'"), b.eval("document.getElementById('found').textContent"))
    b.eval("document.getElementById('next').click()")
    check("next_goes_there", b.until("page.mark.A === 130000"), b.eval("page.mark"))
    b.eval("(() => { const s = document.getElementById('search'); s.value = '('; s.dispatchEvent(new Event('input')); })()")
    check("a_wrong_expression_is_said", b.until("document.getElementById('found').textContent.includes('not a regular')"), "")
    b.eval("(() => { const s = document.getElementById('search'); s.value = ''; s.dispatchEvent(new Event('input')); })()")
    # Rows: close, hide, pin, sort, filter; the address restores it all.
    b.eval("document.querySelector('[data-of=c0]').click()")
    check("a_row_closes", b.eval("page.shown.find(r => r.key === 'c0').strips.length") == 1, "")
    b.eval("document.querySelector('[aria-label=\"hide: CPU 1\"]').click()")
    check("a_row_is_hidden", b.eval("!page.shown.some(r => r.key === 'c1') && !document.getElementById('showall').hidden"), "")
    b.eval("document.querySelector('[aria-label=\"pin to the top: b-8\"]').click()")
    check("a_row_is_pinned", b.eval("page.shown[1].key") == "t8", b.eval("page.shown.map(r => r.key)"))
    b.eval("page.show(100000, 200000)")
    b.until("location.hash.includes('pinned')")
    url = b.eval("location.href")
    b.eval("document.body.dataset.ready = ''")
    b.call("Page.navigate", url="about:blank")
    check("the_address_restores_the_view", b.open(url) and b.eval("page.view.from === 100000 && page.shown[1].key === 't8' && page.hidden.has('c1')"), url)
    b.eval("document.getElementById('showall').click()")
    b.key("?")
    check("keys_are_listed", b.eval("document.getElementById('keys').open && document.getElementById('keys').textContent.includes('zoom in')"), "")
    b.key("Escape")
    # Flame graph of what is in view, from the calls on the page.
    b.open(f"file://{work}/graph.html")
    b.eval("page.open('stacks')")
    b.until("!!page.flameTree")
    top = b.eval("page.flameTree && page.flameTree.children.map(c => c.name)")
    check("flame_graph_of_the_view", top and any("work-168" in n for n in top), top)
    b.eval("[...document.querySelectorAll('#stacks tr')].find(r => r.textContent.includes('vfs_statx')).click()")
    check("callers_and_callees", b.eval("page.sandwich && page.sandwich.callers.has('vfs_fstatat') || [...page.sandwich.callers.keys()].length > 0"), "")

    # A page of a large trace: what each task did in each pixel of 1,024, within 1 % of all its spans.
    check("the_large_page_runs", b.open(f"file://{work}/large.html"), b.log)
    all_time, worst, sums = 2 ** whole.meta["scale"], 0, 0
    pixel = all_time / 1024
    for lane in [l for l in whole.lanes if l["kind"] in ("cpu", "task")][:8]:
        shares = b.eval(f"Array.from(page.columns({whole.lanes.index(lane)}, 0, {all_time}, 1024).share)")
        true = [0.0] * 4096
        for a, z, name, _ in whole.spans(lane):
            klass = ["running", "ready", "blocked", "lost"].index(name) if lane["kind"] == "task" else int(name == "idle")
            for k in range(int(a / pixel), min(1023, int(z / pixel)) + 1):
                true[k * 4 + klass] += max(0, min(z, (k + 1) * pixel) - max(a, k * pixel)) / pixel
        worst = max(worst, max(abs(u - v) for u, v in zip(true, shares)))
        sums += sum(true)
    check("times_of_each_pixel_are_within_1_percent", worst < 0.01 and sums > 2000, (worst, sums))
    last = b.eval("page.columns(page.lanes.find(l => l.kind === 0).index, page.meta.span * 0.99, page.meta.span, 1).share[0]")
    check("the_end_is_on_the_page", last > 0.9, last)
    check("thinned_parts_say_so", b.eval("page.show(0, page.meta.span / 1000), page.thinned && document.getElementById('about').textContent.includes('summed up')"), b.eval("document.getElementById('about').textContent"))
    check("nothing_went_wrong", not b.log, b.log)
done()
