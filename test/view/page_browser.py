#!/usr/bin/env python3
"""page_browser.py -- the page as a person meets it: what states look like, tips and arrows, counters and samples, keys alone, ears, paper, addresses that restore a view."""
# slow 20
# live
import collections
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from browser import CHROMIUM, Browser  # noqa: E402
from checks import FATHOM, TOP, check, done, until  # noqa: E402
from maketrace import FREQUENCY, IDLE, Maker, entry, exit_, irq, page, power, switch, tick, wakeup  # noqa: E402
from pageserver import Server  # noqa: E402

os.chdir(TOP)
if not CHROMIUM:
    print("skip page_browser: package chromium missing")
    sys.exit(0)
work = tempfile.mkdtemp()
US = 1000


class Page(Browser):
    """Places of the picture by row and time, and its pixels."""

    def row(self, key, kind="s.kind"):
        """Top and height of a strip."""
        return self.eval(f"(() => {{ const r = page.shown.find((r) => r.key === '{key}'), s = r.strips.find((s) => s.kind === {kind}); "
                         "return [r.y + s.y - document.getElementById('main').scrollTop, s.h]; })()")

    def at(self, t, key, kind="s.kind"):
        y, h = self.row(key, kind)
        left, top, x = self.eval(f"(() => {{ const c = document.getElementById('lanes').getBoundingClientRect(); return [c.left, c.top, page.xOf({t})]; }})()")
        return left + x, top + y + h / 2

    def tip(self, t, key, kind="s.kind"):
        self.mouse("mouseMoved", *self.at(t, key, kind), button="none")
        return self.eval("document.getElementById('tip').textContent")

    def text(self, element):
        return self.eval(f"document.getElementById('{element}').textContent")

    def colours(self, x, y, w=1, h=1):
        """How often each colour occurs in a part of the picture."""
        data = self.eval(f"Array.from(document.getElementById('lanes').getContext('2d').getImageData({round(x)}, {round(y)}, {round(w)}, {round(h)}).data)")
        return collections.Counter(tuple(data[i:i + 3]) for i in range(0, len(data), 4))

    def part(self, t0, t1, key, kind="s.kind"):
        y, h = self.row(key, kind)
        x0, x1 = self.eval(f"[page.xOf({t0}), page.xOf({t1})]")
        return self.colours(x0 + 2, y + 1, x1 - x0 - 4, h - 2)

    def height(self, t, key, kind):
        """How high it is drawn at a time, as a part of the strip."""
        y, h = self.row(key, kind)
        x = self.eval(f"Math.round(page.xOf({t}))")
        return 1 - self.near(self.colours(x, y, 1, h), self.css("--lane")) / h

    def css(self, name):
        v = self.eval(f"page.css('{name}')").lstrip("#")
        v = "".join(2 * c for c in v) if len(v) == 3 else v
        return tuple(int(v[i:i + 2], 16) for i in (0, 2, 4))

    def near(self, colours, colour):
        """How many pixels have about the colour."""
        return sum(n for c, n in colours.items() if max(abs(a - b) for a, b in zip(c, colour)) < 40)

    def type(self, text):
        for c in text:
            self.key(c)


# Two CPUs and two tasks: a wakeup, calls, an interrupt and a call that are open at the end, 5 events lost between 400 and 600 us.
made = Maker(os.path.join(work, "made"))
states = made.trace(
    [page([(1000 * US, switch(0, 0, 7, b"swapper/0", b"seven")), (1100 * US, entry(7, 0x1000, 0)), (1150 * US, entry(7, 0x2000, 1)),
           (1180 * US, exit_(7, 0x2000, 1, 1150 * US, 1180 * US)), (1200 * US, wakeup(7, 8, b"eight", 1)), (1300 * US, exit_(7, 0x1000, 0, 1100 * US, 1300 * US)),
           (1400 * US, switch(7, 1, 0, b"seven", b"swapper/0"))]),
     page([(1600 * US, switch(0, 0, 7, b"swapper/0", b"seven")), (1700 * US, entry(7, 0x3000, 0)), (1800 * US, irq(7, 4, b"disk")), (2000 * US, tick(7))], lost=5)],
    [page([(1250 * US, switch(0, 0, 8, b"swapper/1", b"eight")), (1500 * US, tick(8)), (1900 * US, switch(8, 1, 0, b"eight", b"swapper/1"))])],
    comms=b"7 seven\n8 eight\n")
with Server(states) as s, Page(1000, 700) as b:
    b.open(s.url)
    b.settled()
    # Lost, not known, idle and blocked look different, and say themselves.
    lost, lane = b.css("--lost"), b.css("--lane")
    hatched = b.part(420 * US, 580 * US, "c0", 0)
    check("lost_is_hatched_in_red", b.near(hatched, lost) > 50 and len(hatched) > 10, hatched.most_common(4))
    idle = b.part(50 * US, 190 * US, "c1", 0)
    check("idle_is_empty", b.near(idle, lane) == sum(idle.values()), idle.most_common(4))
    unknown = b.part(420 * US, 580 * US, "t7", 4)
    check("not_known_is_dotted_in_grey", b.near(unknown, lost) == 0 and len(unknown) >= 2 and max(unknown.values()) < sum(unknown.values()), unknown.most_common(4))
    check("lost_says_how_many", "5 lost" in b.tip(500 * US, "c0", 0), b.tip(500 * US, "c0", 0))
    check("not_known_says_so", "not known" in b.tip(500 * US, "t7", 4), b.tip(500 * US, "t7", 4))
    check("idle_says_so", b.tip(100 * US, "c1", 0).startswith("idle"), b.tip(100 * US, "c1", 0))
    check("a_span_beside_one_of_no_length_says_itself", b.tip(200 * US, "c0", 0).startswith("seven-7"), b.tip(200 * US, "c0", 0))
    check("no_span_crosses_a_loss", "400 \u00b5s" in b.tip(200 * US, "c0", 0), b.tip(200 * US, "c0", 0))
    check("the_head_says_what_was_lost", "lost: at least 5" in b.text("about"), b.text("about"))
    # What is open at the end has a tip, what ended has not.
    for name, key, kind, end, is_open in (("a_call", "t7", 8, 1000, True), ("an_interrupt", "c0", 1, 1000, True), ("a_running_task", "c0", 0, 1000, True),
                                          ("a_call_that_returned", "t7", 8, 300, False), ("a_task_that_left", "c1", 0, 900, False)):
        y, h = b.row(key, kind)
        x = b.eval(f"page.xOf({end * US})")
        corner, middle = (b.colours(x - 3, y + dy).most_common(1)[0][0] for dy in (2, h // 2))
        check(f"{name}_{'has_a_tip' if is_open else 'has_none'}", (max(abs(p - q) for p, q in zip(corner, middle)) > 25) == is_open, (corner, middle))
        said = b.tip((end - 20) * US, key, kind)
        check(f"{name}_{'goes_on' if is_open else 'is_over'}", ("it was going on when the trace ended" in said) == is_open, said)
    # Picking a task that was woken: an arrow from the waker's row to its own.
    pick, ready = b.css("--pick"), b.css("--ready")
    b.click(*b.at(500 * US, "t8", 4))
    check("the_waker_is_said", b.until("document.getElementById('told').textContent.includes('woken by seven-7')"), b.text("told"))
    b.settled()
    y7, y8, x = *(b.row(k, 4)[0] for k in ("t7", "t8")), b.eval(f"page.xOf({200 * US})")
    check("an_arrow_is_drawn", b.near(b.colours(x - 30, y7 + 40, 60, y8 - y7 - 40), pick) > 20, "")
    # And the chain behind its wait: the wait for its wakeup, in the colour of waits.
    b.click(*b.at(100 * US, "t8", 4))
    check("the_chain_is_asked_for", b.until("page.why && page.arrows.some((a) => a.colour === '--ready')"), b.text("cause"))
    b.eval("page.draw()")
    check("the_critical_path_is_drawn", b.near(b.colours(x - 30, y7 + 40, 60, y8 - y7 - 40), ready) > 20, "")
    check("and_told", "the links add up" in b.text("cause") and "seven-7" in b.text("cause"), b.text("cause"))
    b.key("Escape")
    check("forgotten", b.eval("page.arrows.length") == 0 and "it is blocked" in b.text("cause"), b.text("cause"))
    # Rows: as high as the room lets them be; what is not in view takes none.
    tall = b.row("c0", 0)[1]
    b.eval("document.getElementById('panel').style.height = '420px'; page.draw()")
    check("rows_fill_the_room", tall > 25 and b.row("c0", 0)[1] < tall, (tall, b.row("c0", 0)))
    both = b.eval("page.shown.find((r) => r.key === 't7').strips.length")
    b.eval(f"page.show({320 * US}, {390 * US})")
    b.settled()
    b.eval("page.draw()")
    check("a_row_without_calls_in_view_is_low", b.eval("page.shown.find((r) => r.key === 't7').strips.length") < both, both)
    # Paper is white, whatever the screen is; names are in the picture.
    b.eval("page.show(0, page.meta.span)")
    b.call("Emulation.setEmulatedMedia", media="screen", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    check("dark", b.until("page.css('--paper') === '#15171c'") and b.until("page.drawTime >= 0") and b.settled() and b.near(b.colours(300, 2, 20, 3), (0x15, 0x17, 0x1c)) == 60, b.colours(300, 2, 20, 3))
    b.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    b.settled()
    y = b.eval("page.shown.find((r) => r.key === 't8').y")
    names = b.colours(4, y + 2, 80, 16)
    check("paper_is_white_and_has_names", b.near(b.colours(300, 2, 20, 3), (255, 255, 255)) == 60 and b.near(names, (0x1c, 0x1f, 0x24)) > 10, names.most_common(3))
    check("nothing_went_wrong", not b.log, b.log)

with gzip.open("test/data/tracedat/events_v6.dat.gz") as f, open(f"{work}/events.dat", "wb") as out:
    out.write(f.read())
trace = f"{work}/events.dat"
with Server(trace) as s, Page(1300, 800) as b:
    b.open(s.url)
    b.settled()
    start = int(b.eval("page.meta.start"))
    # Keys alone: everything that has a use can be reached by Tab, and says what it is.
    seen = []
    for _ in range(200):
        b.key("Tab")
        seen.append(b.eval("(() => { const e = document.activeElement; return [e.id || e.className || e.tagName, e.getAttribute('aria-label') || e.textContent || e.title || '', "
                           "getComputedStyle(e).outlineStyle]; })()"))
        if seen[-1][0] == "tab-details":
            break
    ids = [i for i, _, _ in seen]
    check("tab_reaches_everything", all(i in ids for i in ("search", "prev", "next", "rowfilter", "sort", "help", "main", "name", "tool pin", "tool hide", "sizer", "tab-details")), ids)
    check("what_has_the_focus_has_a_name_and_a_frame", all(name and frame != "none" for _, name, frame in seen), [x for x in seen if not x[1] or x[2] == "none"])
    for want in ("range", "list", "stacks", "hits", "details"):
        b.key("ArrowRight")
        check(f"arrow_to_{want}", b.eval(f"document.activeElement.id === 'tab-{want}' && document.activeElement.getAttribute('aria-selected') === 'true' && !document.getElementById('{want}').hidden"), "")
    b.eval("document.activeElement.blur()")
    b.key("ArrowDown")
    check("a_key_picks", b.eval("!!page.picked && page.picked.row.key") == "c0" and "CPU 0" in b.text("told"), b.text("told"))
    said = b.text("told")
    b.key("]")
    check("the_next_span", b.text("told") != said, said)
    for _ in range(2):
        b.key("ArrowDown")
    check("the_row_below", b.eval("page.picked.row.key[0]") == "t", b.eval("page.picked.row.key"))
    b.key("f")
    b.settled()
    check("f_goes_there", b.eval("Math.abs((page.view.to - page.view.from) / page.picked.len - 1.2) < 0.01"), b.eval("[page.view, page.picked.len]"))
    b.key("m")
    b.key("]")
    b.key("m")
    b.key("x")
    check("a_range_by_keys", b.until("page.tab === 'range' && page.summary && !page.summary.error"), b.eval("page.range"))
    check("its_distance_is_said", "distance" in b.text("marks"), b.text("marks"))
    b.settled()
    b.eval("page.listed = null")
    b.key("e")
    b.until("page.listed && page.listed.length > 1")
    b.eval("document.querySelector('#list tbody tr').focus()")
    b.key("ArrowDown")
    check("the_list_by_keys", b.eval("document.querySelector('#list tr.at') === document.querySelectorAll('#list tbody tr')[1]") and "fields" in b.text("list"), b.text("list")[:300])
    b.key("?")
    check("all_keys_are_listed", b.eval("document.getElementById('keys').open"), "")
    b.key("Escape")
    check("and_go_away", not b.eval("document.getElementById('keys').open"), "")
    # Ears: what changes is said, what is shown has a role.
    live = b.eval("[...document.querySelectorAll('[aria-live], [role=status]')].map((e) => e.id)")
    check("changes_are_read_out", "told" in live and "found" in live, live)
    nodes = [(n.get("role", {}).get("value"), n.get("name", {}).get("value", "")) for n in b.call("Accessibility.getFullAXTree")["nodes"] if not n.get("ignored")]
    check("roles_have_names", not [r for r, name in nodes if r in ("button", "tab", "tabpanel", "img", "application", "list", "searchbox", "combobox", "dialog") and not name],
          [r for r, name in nodes if not name])

    # Search: the list is what query finds, in both languages; one is gone to.
    def search(text):
        b.eval(f"(() => {{ page.hits = page.found = null; const s = document.getElementById('search'); s.value = {json.dumps(text)}; s.dispatchEvent(new Event('input')); }})()")
        return b.until("page.hits && page.found && !page.found.error")
    b.eval("page.open('hits')")
    check("found_is_listed", search("next_pid == 15"), b.text("hits"))
    want = [json.loads(x)["time"] for x in subprocess.run([FATHOM, "query", "--json", "--filter", "next_pid == 15", trace], capture_output=True, text=True).stdout.splitlines()]
    check("as_query_finds_them", [t + start for t in b.eval("page.hits.map((h) => h.t)")] == want and len(want) > 2, (want[:3], b.eval("page.hits.length")))
    b.eval("document.querySelectorAll('#hits tbody tr')[2].click()")
    check("one_is_gone_to", b.eval("page.mark.A") == want[2] - start and b.eval(f"page.view.from <= {want[2] - start} && page.view.to >= {want[2] - start}"), b.eval("page.view"))
    check("found_by_name", search("sched_wakeup$|^ping"), b.text("hits"))
    b.eval("document.getElementById('hits').scrollTop = 1e6")
    check("more_of_them_on_scrolling", b.until("page.hits.length > 200"), b.eval("page.hits.length"))
    while (n := b.eval("page.hits.length")) < b.eval("page.found.count"):
        b.eval("document.getElementById('hits').scrollTop = 1e9")
        if not b.until(f"page.hits.length > {n}"):
            break
    times = b.eval("page.hits.map((h) => h.t)")
    check("all_of_them_in_order", len(times) == b.eval("page.found.count") and times == sorted(times), (len(times), b.eval("page.found.count")))
    kinds = {bool(h) for h in b.eval("page.hits.map((h) => h.lane !== undefined)")}
    check("spans_and_events", kinds == {True, False}, kinds)

    # An address restores all of it.
    b.eval("page.rowFilter = ''; document.getElementById('sort').value = 'name'; document.getElementById('sort').dispatchEvent(new Event('change'))")
    b.eval("(() => { const l = page.rows.find((r) => r.key === 't138').lanes[page.KIND.TASK][0], s = page.spans(l.index, 0, page.meta.span)[0]; page.show(0, page.meta.span / 2); })()")
    b.settled()
    b.eval("page.open('list')")
    b.eval("(() => { const i = document.querySelector('#list input'); i.value = 'sched_switch: next_pid == 138'; i.dispatchEvent(new Event('change')); })()")
    b.click(*b.at(b.eval("page.meta.span / 40"), "t138", 4))
    picked = b.eval("[page.picked.row.key, page.picked.from, page.picked.len]")
    whole = "JSON.stringify([page.view, page.range, page.mark, page.order, page.tab, page.listFilter, document.getElementById('search').value, page.picked && [page.picked.row.key, page.picked.from]])"
    b.until("location.hash.includes('filter=') && (new URLSearchParams(location.hash.slice(1)).get('pick') || '').endsWith(`,${page.picked.from}`)")
    before, url = b.eval(whole), b.eval("location.href")
    b.call("Page.navigate", url="about:blank")
    b.open(url)
    check("an_address_restores_everything", b.until(f"{whole} === {json.dumps(before)}", 20), (before, b.eval(whole), picked))
    b.eval("location.hash = 'view=1000,2000&A=1500&tab=range&sort=pid'")
    check("an_address_that_is_typed_too", b.until("page.view.from === 1000 && page.view.to === 2000 && page.mark.A === 1500 && page.tab === 'range' && page.order === 'pid'"), b.eval(whole))
    b.call("Page.navigate", url="about:blank")
    b.open(url)
    check("the_list_is_filtered_again", b.until("page.listed && page.listed.length && page.listed.every((e) => e.event === 'sched_switch' && e.fields.next_pid === 138)"), b.eval("page.listed && page.listed.length"))
    check("no_error_there", not [x for x in b.log if "400" not in x], b.log)

# The flame graph is of the range, with every frame; a frame that is clicked on has its callers and callees.
with gzip.open("test/data/tracedat/graph_v7_zstd.dat.gz") as f, open(f"{work}/graph.dat", "wb") as out:
    out.write(f.read())
with Server(f"{work}/graph.dat") as s, Page(1300, 900) as b:
    b.open(s.url)
    b.settled()
    start, span = int(b.eval("page.meta.start")), b.eval("page.meta.span")
    first, last = start + span // 4, start + span // 2
    # The first answer comes after the one of the range.
    b.eval("(() => { const real = window.fetch; let slow = true; window.fetch = (what, ...more) => real(what, ...more).then((r) => { const wait = String(what).startsWith('flame') && slow; "
           "slow = slow && !wait; return wait ? new Promise((go) => setTimeout(() => { window.late = true; go(r); }, 1000)) : r; }); })()")
    b.eval(f"page.open('stacks'); page.choose({{ from: {first - start}, to: {last - start} }})")
    b.until(f"page.flameTree && document.getElementById('stacks').textContent.includes('from ' + page.stamp({first - start}))")
    b.until("window.late")
    b.eval("new Promise((go) => setTimeout(go, 100))")
    folded = subprocess.run([FATHOM, "flame", "--format", "folded", "--by", "task", "--from", f"{first}ns", "--to", f"{last}ns", "-o", "-", f"{work}/graph.dat"],
                            capture_output=True, text=True).stdout.splitlines()
    want = {k: int(v) for k, v in (line.rsplit(" ", 1) for line in folded)}
    got = dict(b.eval("(() => { const out = []; const walk = (n, p) => { const q = p ? p + ';' + n.name : n.name; if (n.self > 0) out.push([q, n.self]); n.children.forEach((c) => walk(c, q)); }; "
                      "page.flameTree.children.forEach((c) => walk(c, '')); return out; })()"))
    check("flame_graph_of_the_range_as_flame", got == want and len(want) > 10, (len(got), len(want), list(got.items())[:2], list(want.items())[:2]))
    name = max((n for line in want for n in line.split(";")[2:-1]), key=lambda n: sum(v for k, v in want.items() if n in k.split(";")))
    callers, callees = collections.Counter(), collections.Counter()
    for line, n in want.items():
        frames = line.split(";")
        for i, f in enumerate(frames):
            if f == name:
                callers[frames[i - 1]] += n
                if i + 1 < len(frames):
                    callees[frames[i + 1]] += n
    b.eval(f"(() => {{ const r = [...document.querySelectorAll('#stacks tbody tr')].find((r) => r.textContent.startsWith({json.dumps(name)})); if (r) r.click(); }})()")
    check("callers_and_callees", b.eval("page.sandwich && [page.sandwich.name, Object.fromEntries(page.sandwich.callers), Object.fromEntries(page.sandwich.callees)]") ==
          [name, dict(callers), dict(callees)], (name, callers, callees, b.eval("page.sandwich && Object.fromEntries(page.sandwich.callers)")))
    check("tables_of_both", all(w in b.text("stacks") for w in ("callers", "callees", *callers, *callees)), b.text("stacks")[:300])
    b.click(*b.eval("(() => { const c = document.getElementById('flame').getBoundingClientRect(); return [c.left + 5, c.top + 17 * 1.5]; })()"))
    check("a_frame_that_is_clicked_on", b.eval("page.sandwich.name === page.flameTree.children[0].name"), b.eval("page.sandwich.name"))
    check("no_error_of_stacks", not b.log, b.log)

# A kernel's own trace: rows are grouped, sorted, filtered, closed; IPC is an arrow; tasks of one name differ in colour.
demo = f"{work}/demo.dat"
r = subprocess.run([FATHOM, "record", "--qemu", "demo", "--run", "run ipc", "--run", "run load", "-o", demo], capture_output=True, text=True)
with Server(demo) as s, Page(1300, 900) as b:
    b.open(s.url)
    b.settled()
    labels = "page.shown.filter((r) => r.group === 'task' && !r.heading).map((r) => r.label)"
    tasks = b.eval(labels)
    check("tasks_of_the_demo", len(tasks) > 10 and sum(t.startswith("ipc_client-") for t in tasks) > 3, (r, tasks))
    check("tasks_of_one_name_differ_in_colour", b.eval("new Set(page.shown.filter((r) => r.label.startsWith('ipc_client-')).map((r) => page.colour(r.label))).size") > 2, "")

    def choose(order):
        b.eval(f"(() => {{ const s = document.getElementById('sort'); s.value = '{order}'; s.dispatchEvent(new Event('change')); }})()")
        return b.eval(labels)

    def press(key):
        """The name of a row, which is scrolled to."""
        b.eval(f"document.getElementById('main').scrollTop = Math.max(0, page.shown.find((r) => r.key === {json.dumps(key)}).y - 100)")
        b.until(f"!!document.querySelector('[data-of={json.dumps(key)}]')")
        b.eval(f"document.querySelector('[data-of={json.dumps(key)}]').click()")
    pids = [int(t.rsplit("-", 1)[1]) for t in choose("pid") if not t.startswith("idle")]
    check("sorted_by_pid", pids == sorted(pids), pids)
    names = [t.rsplit("-", 1) for t in choose("name") if not t.startswith("idle")]
    check("sorted_by_name", names == sorted(names, key=lambda n: (n[0], int(n[1]))), names)
    choose("group")
    heads = b.eval("page.shown.filter((r) => r.heading).map((r) => r.label)")
    family = next((h for h in heads if h.startswith("ipc_client (")), "")
    check("grouped_by_name", family and int(family[12:-1]) == sum(t.startswith("ipc_client-") for t in tasks), heads)
    press(b.eval(f"page.shown.find((r) => r.label === {json.dumps(family)}).key"))
    check("a_group_closes", not [t for t in b.eval(labels) if t.startswith("ipc_client-")] and family in b.eval("page.shown.filter((r) => r.heading).map((r) => r.label)"), b.eval(labels))
    b.eval("page.showRow(page.rows.find((r) => r.label.startsWith('ipc_client-')))")
    check("what_is_gone_to_is_opened", [t for t in b.eval(labels) if t.startswith("ipc_client-")], b.eval(labels))
    choose("cpu")
    press("g-cpu")
    check("cpus_close", not b.eval("page.shown.some((r) => r.group === 'cpu' && !r.heading)"), "")
    b.key("r")
    b.type("ipc-")
    check("rows_are_filtered", b.until("page.shown.filter((r) => !r.heading).length") and all("ipc-" in t for t in b.eval(labels)), b.eval(labels))
    b.key("Escape")
    check("and_come_back", b.until(f"{labels}.length === {len(tasks)}"), b.eval(labels))
    # A message that was received: from the row of its sender.
    key, lane = b.eval("(() => { const l = page.lanes.filter((l) => l.kind === page.KIND.IPC).sort((a, b) => b.nr - a.nr)[0]; return [l.row.key, l.index]; })()")
    b.eval(f"page.showRow(page.rows.find((r) => r.key === '{key}'))")
    message = None
    for _ in range(20):  # where most of them are, ever nearer, until they are told apart
        b.settled()
        message = b.eval(f"(page.spans({lane}, page.view.from, page.view.to) || []).find((s) => s.from > page.view.from && s.from + s.len < page.view.to && s.len > 0)")
        if message:
            break
        b.eval(f"(() => {{ const n = Math.round(page.plotWidth()), c = page.columns({lane}, page.view.from, page.view.to, n).share, w = (page.view.to - page.view.from) / n; let best = 0; "
               "for (let i = 1; i < n; i++) if (c[4 * i] > c[4 * best]) best = i; const t = page.view.from + (best + 0.5) * w; page.show(t - n * w / 8, t + n * w / 8); })()")
    b.eval(f"page.show({message['from'] - 2 * message['len']}, {message['from'] + 3 * message['len']})")
    b.settled()
    b.click(*b.at(message["from"] + message["len"] / 2, key, "page.KIND.TASK"))
    check("ipc_is_an_arrow", b.until("page.arrows.some((a) => a.to > a.from)"), (message, b.eval("page.arrows.length"), b.text("told")))
    check("no_error_of_the_demo", not [x for x in b.log if "400" not in x], b.log)

# Text that programs wrote stands in the picture.
with gzip.open("test/data/tracedat/marker_v6.dat.gz") as f, open(f"{work}/marker.dat", "wb") as out:
    out.write(f.read())
with Server(f"{work}/marker.dat") as s, Page(1300, 800) as b:
    b.call("Page.addScriptToEvaluateOnNewDocument", source="window.texts = new Set(); const put = CanvasRenderingContext2D.prototype.fillText; "
           "CanvasRenderingContext2D.prototype.fillText = function (text, ...more) { window.texts.add(text); return put.call(this, text, ...more); };")
    b.open(s.url)
    b.settled()
    lines = subprocess.run([FATHOM, "query", "--json", "--type", "print", f"{work}/marker.dat"], capture_output=True, text=True).stdout.splitlines()
    first = json.loads(lines[0])
    text = first["text"].removeprefix("tracing_mark_write: ")
    b.eval(f"page.show({first['time']} - page.meta.start - 1e6, {first['time']} - page.meta.start + 1e6)")
    check("markers_have_their_text", b.until(f"[...window.texts].some((t) => t.startsWith({json.dumps(text[:12])}))"), (text, b.eval("[...window.texts].slice(-20)")))
    at = first["time"] - int(b.eval("page.meta.start"))
    check("and_say_it", until(lambda: text in b.tip(at, "m")), b.tip(at, "m"))

# Counters: a row each with its whole name, as high as the value, with the value in it.
few = made.trace([page([(1000 * US, tick(7)), (1100 * US, power(FREQUENCY, 0, 800000)), (1150 * US, power(IDLE, 0, 2)), (1300 * US, power(FREQUENCY, 0, 2400000)),
                        (1400 * US, power(IDLE, 0, 0xffffffff)), (1600 * US, power(FREQUENCY, 0, 1600000)), (1800 * US, power(IDLE, 0, 1)), (2000 * US, tick(7))])])
COUNTER, SAMPLES = "page.KIND.COUNTER", "page.KIND.SAMPLES"
with Server(few) as s, Page(1200, 600, dark=True) as b:
    b.open(s.url)
    b.settled()
    keys = dict(b.eval("page.shown.filter((r) => r.group === 'counter' && !r.heading).map((r) => [r.label, r.key])"))
    check("counters_are_rows", list(keys) == ["CPU 0, kHz", "CPU 0 idle state"], keys)
    cut = b.eval("[...document.querySelectorAll('#labels .name')].filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent)")
    check("their_names_are_not_cut", b.eval("document.querySelectorAll('#labels .name').length") >= 4 and not cut, cut)
    khz, idle = keys.get("CPU 0, kHz"), keys.get("CPU 0 idle state")
    heights = {t: b.height(t * US, khz, COUNTER) for t in (50, 290, 590, 990)}
    check("a_counter_is_as_high_as_its_value", heights[50] == 0 and heights[590] > 0.8 and abs(heights[290] / heights[590] - 1 / 3) < 0.06 and abs(heights[990] / heights[590] - 2 / 3) < 0.06, heights)
    bars = [b.part(a * US, z * US, khz, COUNTER) for a, z in ((200, 300), (500, 600), (800, 1000))]
    colours = [[c for c, _ in part.most_common(2) if not b.near({c: 1}, b.css("--lane"))] for part in bars]
    check("in_one_colour", len({tuple(c) for c in colours}) == 1 and len(colours[0]) == 1, colours)
    none = b.part(400 * US, 500 * US, idle, COUNTER)
    check("a_value_of_0_stands_in_its_row", b.near(none, b.css("--ink")) > 3, none.most_common(4))
    said = b.tip(450 * US, khz, COUNTER)
    check("the_tip_has_value_and_time", "CPU 0, kHz: 2,400,000" in said and "0.001300000 to 0.001600000" in said, said)
    check("of_each_value", "800,000" in b.tip(200 * US, khz, COUNTER) and "idle state: 2" in b.tip(300 * US, idle, COUNTER) and "idle state: 0" in b.tip(600 * US, idle, COUNTER), b.tip(600 * US, idle, COUNTER))
    check("nothing_before_the_first", "kHz" not in b.tip(50 * US, khz, COUNTER), b.tip(50 * US, khz, COUNTER))
    check("no_error_of_counters", not b.log, b.log)

# More values than pixels: the highest of each, so that one peak among thousands is seen; every second one is low.
PEAK, MANY = 15001, 20000


def value(i):
    return 3000000 if i == PEAK else 500000 + 75 * i if i % 2 else 100000


many = made.trace([page([((1000 + i) * US, power(FREQUENCY, 0, value(i))) for i in range(p, min(MANY, p + 150))]) for p in range(0, MANY, 150)])
alone = os.path.join(work, "many.html")
subprocess.run([FATHOM, "timeline", "-o", alone, many], check=True, capture_output=True)
with Server(many) as s, Page(1200, 600) as b:
    for name, url in (("view", s.url), ("timeline", f"file://{alone}")):
        b.open(url)
        b.settled()
        key = b.eval("page.shown.find((r) => r.group === 'counter' && !r.heading).key")
        at = [(i, b.height(i * US, key, COUNTER)) for i in (1000, 6000, 12000, 19000)]
        top = max(b.height((PEAK + d) * US, key, COUNTER) for d in (-20, 0, 20))
        check(f"many_values_have_their_height_in_{name}", top > 0.8 and all(abs(h / top - value(i - 1) / 3e6) < 0.04 for i, h in at), (at, top))
        y, h = b.row("c0", "page.KIND.MARKS")
        foot = b.colours(b.eval("page.left()") + 2, y + h - 3, 1000, 1)
        check(f"events_of_one_type_have_one_colour_in_{name}", len(foot) == 1, foot)
        said = b.tip(12000 * US, key, COUNTER)
        most = re.search(r"kHz: at most ([0-9,]+) here", said)
        if name == "view":  # the other has each of them
            check("the_tip_has_the_highest", most and abs(int(most[1].replace(",", "")) - value(11999)) < 20000, said)
        b.eval(f"page.show({(PEAK - 10) * US}, {(PEAK + 10) * US})")
        b.settled()
        check(f"one_by_one_when_near_in_{name}", until(lambda: "3,000,000" in b.tip((PEAK + 0.5) * US, key, COUNTER)) and "100,000" in b.tip((PEAK + 1.5) * US, key, COUNTER), b.tip((PEAK + 0.5) * US, key, COUNTER))
    check("no_error_of_many", not b.log, b.log)

# Samples of stacks: each where it was taken, by its function; the flame graph has those of the range.
sampled = f"{work}/sampled.dat"
r = subprocess.run([FATHOM, "record", "--qemu", "demo", "--run", "sample start 1000", *["--run", "run load"] * 3, "--run", "sample stop", "-o", sampled], capture_output=True, text=True)
stacks = [json.loads(x) for x in subprocess.run([FATHOM, "query", "--json", "--filter", "kernel_stack,user_stack", sampled], capture_output=True, text=True).stdout.splitlines()]
with Server(sampled) as s, Page(1300, 900) as b:
    b.open(s.url)
    b.settled()
    start = int(b.eval("page.meta.start"))
    for e in stacks:
        e["t"] = e["time"] - start
    # At most a hundred of them, among thousands of other events: a fast machine is through the load before there are more.
    stacks.sort(key=lambda e: e["t"])
    del stacks[100:]
    last = stacks[-1]["t"]
    b.eval(f"page.show(0, {last})")
    b.settled()
    check("samples_are_drawn_one_by_one", b.until(f"!!page.exactEvents(page.lanes.find((l) => l.kind === {SAMPLES}))"), (r, len(stacks)))
    b.eval("page.draw()")
    lane = b.css("--lane")
    for cpu in sorted({e["cpu"] for e in stacks}):
        y, h = b.row(f"c{cpu}", SAMPLES)
        left, right = b.eval("[page.left(), Math.floor(page.xOf(page.view.to))]")
        data = b.eval(f"Array.from(document.getElementById('lanes').getContext('2d').getImageData({left}, {round(y + h / 2)}, {right - left}, 1).data)")
        inked = {x for x in range(right - left) if max(abs(p - q) for p, q in zip(data[4 * x:4 * x + 3], lane)) > 8}
        want = [x - left for x in b.eval(f"{json.dumps([e['t'] for e in stacks if e['cpu'] == cpu])}.map(page.xOf)")]
        check(f"samples_of_cpu_{cpu}_are_where_they_were_taken", want and all({int(x - 1), int(x), int(x + 1)} & inked for x in want) and
              all(any(abs(x + 0.5 - w) < 2 for w in want) for x in inked), (want[:5], sorted(inked)[:9]))
    for e in stacks:
        e["top"] = e["text"].split("\n")[0].strip().removeprefix("=> ")
    lone = [e for e in stacks if not [o for o in stacks if o is not e and o["cpu"] == e["cpu"] and abs(o["t"] - e["t"]) < last / 100]]
    said = [(e["top"], b.tip(e["t"], f"c{e['cpu']}", SAMPLES)) for e in lone[:-1]]
    check("the_tip_names_the_function", len({top for top, _ in said}) > 1 and all(text.split("\n")[0] in (f"kernel_stack: {top}", f"user_stack: {top}") and "\\u00" not in text and "0x0" not in text for top, text in said), said)
    first, end = stacks[len(stacks) // 5]["time"], stacks[len(stacks) * 3 // 5]["time"]
    b.eval(f"page.open('stacks'); page.choose({{ from: {first - start}, to: {end - start} }})")
    b.until(f"page.flameTree && document.getElementById('stacks').textContent.includes('from ' + page.stamp({first - start}))")
    want = collections.Counter()
    for line in subprocess.run([FATHOM, "flame", "--format", "folded", "--by", "task", "--samples", "--from", f"{first}ns", "--to", f"{end}ns", "-o", "-", sampled], capture_output=True, text=True).stdout.splitlines():
        want[line.rsplit(" ", 1)[0].split(";")[-1]] += int(line.rsplit(" ", 1)[1])
    rows = dict(b.eval("[...document.querySelectorAll('#stacks tbody tr')].map((r) => [...r.children].map((c) => c.textContent)).filter((r) => r.length === 2)"))
    got = {k: int(v.split(" ")[0]) for k, v in rows.items() if not v.startswith("0 ")}
    check("the_flame_graph_has_the_samples_of_the_range", got == dict(want) and sum(want.values()) > 10 and f"{sum(want.values())} samples" in b.text("stacks"), (got, want, b.text("stacks")[:80]))
    check("no_error_of_samples", not b.log, b.log)
subprocess.run(["rm", "-rf", work], check=True)
done()
