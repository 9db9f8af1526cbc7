#!/usr/bin/env python3
"""timeline_browser.py -- the timeline: its numbers are the trace's, and in a real browser it zooms, moves, searches, tells."""
# slow
# live
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from checks import FATHOM, TOP, check, done  # noqa: E402

os.chdir(TOP)
work = tempfile.mkdtemp()


def fathom(*args):
    return subprocess.run([FATHOM, *args], capture_output=True, text=True)


def page(path):
    text = open(path).read()
    return text, json.loads(re.search(r'<script id="data" type="application/json">\n(.*?)\n</script>', text, re.S).group(1))


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
check("a_page_is_made", r.returncode == 0 and "7 events" in r.stderr, r)
text, d = page(f"{work}/t.html")
check("no_name_ends_the_script", text.count("</script>") == 2, text.count("</script>"))
names, lanes = d["names"], d["lanes"]


def items(lane, kind):
    v = lanes[lane][kind]
    return [tuple(v[i:i + 4]) for i in range(0, len(v), 4)]


check("lanes_of_cpus", [l["label"] for l in lanes] == ["cpu 0", "cpu 1"], [l["label"] for l in lanes])
tasks = [[(s, n, names[k], w) for s, n, k, w in items(i, "tasks")] for i in (0, 1)]
check("tasks_of_cpu_0", tasks[0] == [(0, 400000, "a</script>-7", 0), (400000, 100000, "idle", 0)], tasks[0])
check("tasks_of_cpu_1", tasks[1] == [(0, 130000, "idle", 0), (130000, 370000, "b-8", 30000)], tasks[1])
check("the_interrupt", [(s, n, names[k]) for s, n, k, _ in items(1, "irqs")] == [(200000, 50000, "serial")], lanes[1]["irqs"])
check("the_marks", [names[e] for l in (0, 1) for _, e, _, _ in items(l, "marks")] == ["sched_wakeup", "print"], lanes)
r = fathom("timeline", f"{work}/t.txt", "-o", f"{work}/cut.html", "--max", "2")
check("a_full_page_says_so", "of 7 events were skipped" in r.stderr and page(f"{work}/cut.html")[1]["left"] > 0, r.stderr)
r = fathom("timeline", f"{work}/t.txt", "-o", f"{work}/none.html", "--from", "9.0")
check("nothing_to_show_is_said", r.returncode == 1 and "no event to show" in r.stderr and not os.path.exists(f"{work}/none.html"), r)

# The same for the name of a task's own lane.
GRAPH = """# tracer: function_graph
#
#     TIME        CPU  TASK/PID         DURATION                  FUNCTION CALLS
#      |          |     |    |           |   |                     |   |   |   |
    1.000010 |   0)  e</script>-9  |               |  outer() {
    1.000020 |   0)  e</script>-9  |   1.000 us    |    inner();
    1.000030 |   0)  e</script>-9  | + 20.000 us   |  }
"""
with open(f"{work}/g.txt", "w") as f:
    f.write(GRAPH)
r = fathom("timeline", f"{work}/g.txt", "-o", f"{work}/g.html")
check("a_lane_is_named_after_it", "script" in page(f"{work}/g.html")[1]["lanes"][-1]["label"], r)
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
r = fathom("timeline", f"{work}/open.txt", "-o", f"{work}/open.html")
d = page(f"{work}/open.html")[1]
calls = {}
v = d["lanes"][-1]["calls"]
for i in range(0, len(v), 4):
    calls[d["names"][v[i + 2]]] = (v[i], v[i] + v[i + 1], v[i + 3])
check("a_call_of_before_is_drawn_from_the_start", calls.get("early", (1, 1))[:2] == (0, 30000), calls)
check("open_calls_are_drawn_to_the_end", calls.get("late") == (40000, d["span"], 0) and calls.get("later") == (50000, d["span"], 1), calls)
check("no_lane_ends_the_script", open(f"{work}/g.html").read().count("</script>") == 2, "")

# Calls of a real kernel: every exit of function_graph is a slice, and every call that is open at the end.
with open(f"{work}/graph.dat", "wb") as f:
    f.write(gzip.open("test/data/tracedat/graph_v7_zstd.dat.gz").read())
fathom("timeline", f"{work}/graph.dat", "-o", f"{work}/graph.html")
_, g = page(f"{work}/graph.html")
calls = sum(len(l["calls"]) // 4 for l in g["lanes"])
exits = int(re.search(r"([\d,]+)\s+[\d.]+\s+[\d.]+\s+ftrace:funcgraph_exit", fathom("stat", f"{work}/graph.dat").stdout).group(1).replace(",", ""))
check("every_call_is_a_slice", exits <= calls <= exits * 1.01, f"{calls} of {exits}")

CHROMIUM = shutil.which("chromium")
if not CHROMIUM:
    print("skip timeline_browser: package chromium missing")
    sys.exit(0)
# What a person does, step by step.
SCRIPT = """
<script>
(function () {
  const seen = { errors: [] };
  const t = window.timeline, c = document.getElementById("lanes");
  const key = (k) => document.dispatchEvent(new KeyboardEvent("keydown", { key: k, bubbles: true }));
  const at = (type, x, y, more) => c.dispatchEvent(new MouseEvent(type, Object.assign({ bubbles: true, clientX: x + c.getBoundingClientRect().left,
    clientY: y + c.getBoundingClientRect().top }, more)));
  const width = () => t.to - t.from;
  seen.all = width();
  const rows = [];
  for (let y = 0; y < 200; y++) { const h = t.find(400, y); if (h && rows.indexOf(h.row.kind + h.row.lane.label) < 0) rows.push(h.row.kind + h.row.lane.label); }
  seen.rows = rows;
  let y = 0;
  while (y < 300 && !(t.find(300, y) && t.find(300, y).row.kind === "task")) y++;
  seen.tell = t.tell(t.find(300, y + 3));
  c.dispatchEvent(new WheelEvent("wheel", { deltaY: -100, bubbles: true, cancelable: true, clientX: 500, clientY: 200 }));
  seen.zoomed = width();
  key("f");
  seen.fitted = width();
  at("mousedown", 300, y + 3); at("mouseup", 300, y + 3);
  seen.picked = document.getElementById("details").textContent;
  at("dblclick", 300, y + 3);
  seen.to_slice = width();
  key("Escape");
  key("+");
  const before = t.from;
  key("ArrowRight");
  seen.moved = t.from > before;
  const s = document.getElementById("search");
  s.value = "^b-8$"; s.dispatchEvent(new Event("input"));
  seen.found = document.getElementById("found").textContent;
  s.value = "("; s.dispatchEvent(new Event("input"));
  seen.bad = document.getElementById("found").textContent;
  const p = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
  let inked = 0;
  for (let i = 0; i < p.length; i += 4) if (Math.max(p[i], p[i + 1], p[i + 2]) - Math.min(p[i], p[i + 1], p[i + 2]) > 60) inked++;
  seen.inked = inked;
  const out = document.createElement("pre");
  out.id = "result";
  out.textContent = JSON.stringify(seen);
  document.body.appendChild(out);
})();
</script>
"""
with open(f"{work}/run.html", "w") as f:
    f.write(text.replace("</body>", SCRIPT + "</body>"))
out = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1200,600", "--dump-dom",
                      f"file://{work}/run.html"], capture_output=True, text=True, timeout=120).stdout
m = re.search(r'<pre id="result">(.*?)</pre>', out, re.S)
seen = json.loads(m.group(1).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")) if m else {}
check("the_page_runs", bool(seen), out[-300:])
check("rows_of_all_kinds", {"taskcpu 0", "taskcpu 1"} <= set(seen.get("rows", [])), seen)
check("a_slice_tells_itself", "a</script>-7" in seen.get("tell", "") and "400 \u00b5s" in seen.get("tell", ""), seen.get("tell"))
check("wheel_zooms", seen.get("zoomed", 1e99) < seen.get("all", 0), seen)
check("f_shows_all", seen.get("fitted") == seen.get("all"), seen)
check("click_tells", "a</script>-7" in seen.get("picked", ""), seen)
check("double_click_zooms_to_it", seen.get("to_slice", 1e99) <= 480001, seen)
check("arrow_moves", seen.get("moved"), seen)
check("search_finds", seen.get("found") == "1 found", seen)
check("a_wrong_expression_is_told", "not a regular" in seen.get("bad", ""), seen)
check("something_is_drawn", seen.get("inked", 0) > 1000, seen)
done()
