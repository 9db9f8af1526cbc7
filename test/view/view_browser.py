#!/usr/bin/env python3
"""view_browser.py -- fathom view: who may ask its server, and in a real browser the same answers that the commands give."""
# slow
# live
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from browser import CHROMIUM, Browser  # noqa: E402
from checks import FATHOM, TOP, check, done  # noqa: E402
from maketrace import Maker, page, switch, wakeup  # noqa: E402
from pageserver import Server  # noqa: E402

os.chdir(TOP)
work = tempfile.mkdtemp()


def fathom(*args):
    return subprocess.run([FATHOM, *args], capture_output=True, text=True)


def unzip(name):
    with open(f"{work}/{name}.dat", "wb") as f:
        f.write(gzip.open(f"test/data/tracedat/{name}.dat.gz").read())
    return f"{work}/{name}.dat"


trace = unzip("events_v6")
with Server(trace) as s:
    check("the_address_is_printed", s.port and len(s.token) == 32, s.url)
    good = f"/{s.token}/"
    check("with_the_token_200", s.get(good)[0] == 200 and s.ask("meta")[0] == 200, "")
    other = "0" * 32 if s.token[0] != "0" else "1" * 32
    for name, path, headers in (("without_a_token", "/", {}), ("of_no_token", "/meta", {}), ("of_another_token", f"/{other}/meta", {}),
                                ("of_half_a_token", f"/{s.token[:16]}/meta", {}), ("of_a_longer_token", f"/{s.token}0/meta", {}),
                                ("from_another_origin", good, {"Origin": "http://evil.example"}), ("from_a_file", good, {"Origin": "null"}),
                                ("from_another_port", good, {"Origin": "http://127.0.0.1:1"}), ("for_another_host", good, {"Host": "evil.example"}),
                                ("for_our_name_elsewhere", good, {"Host": f"evil.example:{s.port}"}), ("from_another_site", good, {"Sec_Fetch_Site": "cross-site"})):
        status, body = s.get(path, **headers)
        check(f"{name}_403", status == 403 and b"not allowed" in body, (status, body[:80]))
    check("from_our_origin_200", s.get(good, Origin=f"http://127.0.0.1:{s.port}")[0] == 200, "")
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        check(f"{method}_405", s.get(good, method)[0] == 405, "")
    check("another_question_404", s.ask("nothing")[0] == 404 and s.ask("../meta")[0] == 404, "")
    for q in ("tiles", "tiles?level=99&first=0&lanes=0", "tiles?level=x&first=0&lanes=0", "sums", "sums?from=a&to=b", "sums?from=-1&to=nan", "events?from=0",
              "summary", "flame?from=1", "why?from=0&to=1", "search?names=x", "events?from=0&to=9&filter=next_pid+=="):
        status, body = s.ask(q)
        check(f"wrong_{q}_400", status == 400 and len(body) > 10, (status, body[:80]))
    for q in ("tiles?level=0&first=99&lanes=0", "tiles?level=0&first=0&lanes=999999", "tiles?level=0&first=0&n=1e300&lanes=0-4000000000", "sums?from=9e99&to=0",
              "events?from=0&to=9e99&max=1e99&skip=1e99", "search?names=0-99999999999999999999", "search?after=1e300&types=1"):
        check(f"odd_{q}_200", s.ask(q)[0] == 200, s.ask(q))
    # It listens here alone.
    listening = [l.split()[1] for l in open("/proc/net/tcp").read().splitlines()[1:] if l.split()[3] == "0A"]
    check("only_on_127_0_0_1", f"0100007F:{s.port:04X}" in listening and f"00000000:{s.port:04X}" not in listening, listening)
r = fathom("view", "--no-browser", "--port", "70000", trace)
check("a_wrong_port_is_said", r.returncode == 2 and "0 to 65535" in r.stderr, r)
r = fathom("view", "--no-browser", "--from", "9999", trace)
check("nothing_to_show_is_said", r.returncode == 1 and "no event to show" in r.stderr, r)
if not CHROMIUM:
    print("skip view_browser: package chromium missing")
    sys.exit(0)

with Server(trace) as s, Browser(1300, 800) as b:
    check("the_page_runs", b.open(s.url) and b.settled(), b.log)
    start = int(b.eval("page.meta.start"))
    span = b.eval("page.meta.span")
    lines = fathom("query", "--json", trace).stdout.splitlines()
    first, last = (json.loads(lines[len(lines) * k // 4])["time"] for k in (1, 2))
    window = ("--from", f"{first}ns", "--to", f"{last}ns")

    # Who used most CPU in a range: as `profile` says, to the nanosecond of the window.
    b.eval(f"page.choose({{ from: {first - start}, to: {last - start} }})")
    b.until("page.summary && !page.summary.error")
    got = {t["pid"]: t for t in b.eval("page.rangeTasks")}
    want = {t["pid"]: t for t in json.loads(fathom("profile", "--json", *window, trace).stdout)["tasks"]}
    order = sorted(want, key=lambda p: -want[p]["running_ns"])[:2]
    check("cpu_of_a_range_as_profile", [p for p in sorted(got, key=lambda p: -got[p]["cpu"])[:2]] == order and
          all((got[p]["cpu"], got[p]["ready"], got[p]["blocked"]) == (want[p]["running_ns"], want[p]["ready_ns"], want[p]["blocked_ns"]) for p in order), ([(p, got[p], want[p]) for p in order]))
    summary = b.eval("page.summary")
    check("the_summary_is_profile_and_latency", {t["pid"]: t["running_ns"] for t in summary["profile"]["tasks"]} == {p: want[p]["running_ns"] for p in want} and
          summary["latency"]["kinds"] == json.loads(fathom("latency", "--json", "--histogram", *window, trace).stdout)["kinds"], "")
    text = b.eval("document.getElementById('range').textContent")
    check("tables_of_the_range", all(w in text for w in ("how long things took", "spans by name", "events", "sched_switch", "wakeup: how long, how often")), text[:600])

    # The longest wakeup and its cause: as `latency` and `why` say.
    worst = next(k for k in json.loads(fathom("latency", "--json", trace).stdout)["kinds"] if k["kind"] == "wakeup")["worst"][0]
    b.eval("page.choose({ from: 0, to: page.meta.span })")
    b.until("page.summary && page.summary.profile.window_ns > page.meta.span * 0.9")
    shown = b.eval("page.summary.latency.kinds.find(k => k.kind === 'wakeup').worst[0]")
    check("the_longest_wakeup_as_latency", (shown["pid"], shown["time_ns"], shown["from_ns"]) == (worst["pid"], worst["time_ns"], worst["from_ns"]), (shown, worst))
    b.eval(f"page.why = null; page.showWorst({json.dumps(shown)}, {shown['from_ns'] - start}, {shown['to_ns'] - start})")
    b.settled()
    place = b.eval(f"(() => {{ const r = page.rows.find(r => r.key === 't{shown['pid']}'), c = document.getElementById('lanes').getBoundingClientRect(); "
                   f"return {{ x: c.left + page.xOf({(shown['from_ns'] + shown['to_ns']) // 2 - start}), y: c.top + r.y + r.strips[0].y + 8 - document.getElementById('main').scrollTop }}; }})()")
    b.click(place["x"], place["y"])
    check("it_was_ready", b.until("page.picked && (page.picked.what >>> 24 & 3) === 1"), b.eval("document.getElementById('told').textContent"))
    b.until("!!page.why")
    why = b.eval("page.why")
    want = json.loads(fathom("why", "--json", "--task", str(shown["pid"]), "--at", f"{(shown['from_ns'] + shown['to_ns']) // 2}ns", trace).stdout)
    mine = {(l["kind"], l["of"]["pid"], l.get("by", {}).get("pid"), l["from_ns"], l["time_ns"]) for l in why["links"] if l["leaf"]}
    theirs = {(l["kind"], l["of"]["pid"], l.get("by", {}).get("pid"), l["from_ns"], l["time_ns"]) for l in want["links"] if l["leaf"]}
    check("its_cause_as_why", mine and mine <= theirs, (mine, theirs))
    check("the_chain_is_shown", "the links add up" in b.eval("document.getElementById('cause').textContent"), b.eval("document.getElementById('cause').textContent"))

    # What ran on CPU 1 at a time: as `query` says.
    at = start + span // 3
    before = json.loads(fathom("query", "--json", "--type", "sched_switch", "--cpu", "1", "--to", f"{at}ns", trace).stdout.splitlines()[-1])
    b.eval("page.show(0, page.meta.span)")
    b.settled()
    ran = b.eval(f"(() => {{ const l = page.lanes.find(l => l.kind === page.KIND.CPU && l.id === 1); return page.spans(l.index, {at - start}, {at - start}).map(s => page.nameOf(l, s.what)); }})()")
    check("what_ran_on_cpu_1_as_query", any(n.endswith(f"-{before['fields']['next_pid']}") or not before["fields"]["next_pid"] and n == "idle" for n in ran), (ran, before["fields"]))

    # The list: the same events as `query`, filtered in the same language, further ones on scrolling.
    b.eval(f"page.show({first - start}, {last - start}); page.open('list')")
    b.until("page.listed && page.listed.length >= 200")
    b.eval("document.querySelector('#listbox > div').scrollTop = 1e6")
    check("more_on_scrolling", b.until("page.listed.length >= 400"), b.eval("page.listed.length"))
    numbers = b.eval("page.listed.map(e => [e.time, e.cpu, e.event])")
    want = [json.loads(l) for l in fathom("query", "--json", *window, "--limit", str(len(numbers)), trace).stdout.splitlines()]
    check("the_list_is_query", [tuple(n) for n in numbers] == [(e["time"], e["cpu"], e["event"]) for e in want], (numbers[:2], want[:2]))
    b.eval("(() => { const i = document.querySelector('#list input'); i.value = 'sched_switch: next_pid > 0'; i.dispatchEvent(new Event('change')); })()")
    want = len(fathom("query", *window, "--filter", "sched_switch: next_pid > 0", trace).stdout.splitlines())
    check("filtered_as_query", b.until(f"page.listed.length === Math.min(200, {want}) && page.listed.every(e => e.event === 'sched_switch' && e.fields.next_pid > 0)"), (want, b.eval("page.listed.length")))
    b.eval("(() => { const i = document.querySelector('#list input'); i.value = 'next_pid =='; i.dispatchEvent(new Event('change')); })()")
    check("a_wrong_filter_is_said", b.until("document.querySelector('#list .warn') && document.querySelector('#list .warn').textContent.includes('expected')"), b.eval("document.getElementById('list').textContent")[:200])

    # Search: names and filters over the whole trace; next and previous; density.
    def search(text, expect):
        b.eval(f"(() => {{ const s = document.getElementById('search'); s.value = {json.dumps(text)}; s.dispatchEvent(new Event('input')); }})()")
        return b.until(f"document.getElementById('found').textContent === {json.dumps(f'{expect:,} found')}")
    want = len(fathom("query", "--filter", "next_pid == 15", trace).stdout.splitlines())
    check("search_by_filter", search("next_pid == 15", want) and want > 2, (want, b.eval("document.getElementById('found').textContent")))
    check("density_adds_up", b.eval("page.density.reduce((a, b) => a + b, 0)") == want, b.eval("page.density"))
    times = [json.loads(l)["time"] - start for l in fathom("query", "--json", "--filter", "next_pid == 15", trace).stdout.splitlines()]
    b.eval("page.cursor = undefined; page.show(0, page.meta.span)")
    seen = []
    for _ in range(3):
        b.eval("page.step(1)")
        seen.append(b.eval("page.cursor"))
    b.eval("page.step(-1)")
    seen.append(b.eval("page.cursor"))
    check("next_and_previous", seen == [*times[:3], times[1]], (seen, times[:4]))
    want = len(fathom("query", "--type", "sched_wakeup", trace).stdout.splitlines())
    check("search_by_name", search("^sched_wakeup$", want), (want, b.eval("document.getElementById('found').textContent")))
    b.eval("(() => { const s = document.getElementById('search'); s.value = ''; s.dispatchEvent(new Event('input')); })()")
    check("nothing_went_wrong", [l for l in b.log if "400" not in l] == [], b.log)
    b.eval("page.open('details')")

# Stacks of a range; every frame is there.
trace = unzip("graph_v7_zstd")
with Server(trace) as s, Browser(1300, 800) as b:
    b.open(s.url)
    b.eval("page.open('stacks')")
    b.until("!!page.flameTree")
    folded = fathom("flame", "--format", "folded", "--by", "task", "-o", "-", trace).stdout.splitlines()
    leaves = b.eval("(() => { const out = []; const walk = (n, p) => { const q = p ? p + ';' + n.name : n.name; if (n.self > 0) out.push(q); n.children.forEach(c => walk(c, q)); }; page.flameTree.children.forEach(c => walk(c, '')); return out; })()")
    check("every_stack_as_flame", {l.rsplit(" ", 1)[0] for l in folded} == set(leaves), (len(folded), len(leaves), folded[:2], leaves[:2]))
    check("no_error_there", not b.log, b.log)

# Names that would do harm: end a script, turn the text round, a megabyte.
evil = f"{work}/evil.txt"
with open(evil, "w") as f:
    f.write("# tracer: nop\n#\n#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n")
    for i, name in enumerate(["</script><script>alert(1)</script>", "\u202egnp.exe", "x" * (1 << 20), "<img src=x onerror=alert(1)>", "a\u2066b\u0000c"]):
        f.write(f"          <idle>-0       [000] d....     1.{i:06d}: print: {name}\n")
        f.write(f"          <idle>-0       [000] d....     1.{i:06d}: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm={name[:15]} next_pid={7 + i} next_prio=120\n")
with Server(evil) as s, Browser(1300, 800) as b:
    b.call("Page.addScriptToEvaluateOnNewDocument", source="window.alert = () => { window.harmed = true; }")
    b.open(s.url)
    b.settled()
    b.eval("page.open('list')")
    b.until("page.listed && page.listed.length >= 5")
    shown = b.eval("document.body.innerText")
    check("hostile_names_do_nothing", not b.eval("window.harmed") and not b.eval("document.querySelector('img')") and "\u202e" not in shown and "\u2066" not in shown, b.log)
    check("and_are_shown_as_text", "</script><script>alert(1)</script>" in shown and "\\u202egnp.exe" in shown, shown[:300])
    check("a_long_one_is_cut", b.eval("document.body.innerText.length") < 100000, b.eval("document.body.innerText.length"))
    r = fathom("timeline", evil, "-o", f"{work}/evil.html")
    b.open(f"file://{work}/evil.html")
    check("alone_too", not b.eval("window.harmed") and b.eval("page.rows.length") > 3, (r, b.log))
    # From 320 pixels to 4K.
    for width, height in ((320, 480), (3840, 2160)):
        b.size(width, height)
        b.eval("page.draw()")
        check(f"fits_{width}", b.eval("document.documentElement.scrollWidth <= innerWidth && page.plotWidth() > 200 && document.getElementById('main').clientHeight >= 60"),
              b.eval("[document.documentElement.scrollWidth, innerWidth, page.plotWidth()]"))

# Two fingers, paper, and ears. Times since 1970 have more bits than a number of JavaScript holds.
epoch = 1763294400123456789
hands = Maker(os.path.join(work, "made")).trace([page([
    (epoch, switch(0, 0, 7, b"swapper/0", b"hands")), (epoch + 1001, wakeup(7, 8, b"eyes")), (epoch + 5003, switch(7, 1, 8, b"hands", b"eyes")),
    (epoch + 9007, switch(8, 1, 0, b"eyes", b"swapper/0")), (epoch + 9011, switch(0, 0, 7, b"swapper/0", b"hands"))])], comms=b"7 hands\n")
with Server(hands) as s, Browser(1000, 600) as b:
    check("a_trace_since_1970", b.open(s.url) and b.settled() and b.eval("page.meta.start") == str(epoch), b.log)
    b.eval("page.choose({ from: 0, to: page.meta.span })")
    b.until("page.summary && !page.summary.error")
    worst = "page.summary.latency.kinds.find((k) => k.kind === 'wakeup').worst[0]"
    check("its_times_are_exact", b.eval(f"[page.since({worst}.from_ns), page.since({worst}.to_ns)]") == [1001, 5003], b.eval(worst))
    check("and_shown_so", b.eval("page.stamp(1001)") == "1763294400.123457790", b.eval("page.stamp(1001)"))
    b.eval("page.show(0, page.meta.span)")
    before = b.eval("page.view")
    held = b.eval("page.tOf(600)")

    def touch(kind, *xs):
        b.call("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x, "y": 200, "id": i} for i, x in enumerate(xs)])
    touch("touchStart", 500)
    touch("touchStart", 500, 600)
    for k in range(1, 5):
        touch("touchMove", 500 - 50 * k, 600 + 25 * k)
    touch("touchEnd")
    view = b.eval("page.view")
    check("two_fingers_zoom", view["to"] - view["from"] < (before["to"] - before["from"]) / 2, (before, view))
    check("what_is_held_stays_under_the_finger", abs(b.eval("page.tOf(700)") - held) < (before["to"] - before["from"]) / 50, (b.eval("page.tOf(700)"), held))
    tree = b.call("Accessibility.getFullAXTree")["nodes"]
    role = [(n.get("role", {}).get("value"), n.get("name", {}).get("value", "")) for n in tree if not n.get("ignored")]
    nameless = [r for r, name in role if r in ("button", "searchbox", "textbox", "combobox", "tab", "img", "application", "list") and not name]
    check("everything_has_a_name_for_screen_readers", not nameless, nameless)
    check("rows_are_read_by_name", all(any(text in name for r, name in role if r == "button") for text in ("CPU 0", "hands-7", "eyes-8")), [name for r, name in role if r in ("button", "listitem")])
    b.call("Emulation.setEmulatedMedia", media="print")
    shown = b.eval("[...document.querySelectorAll('form, #tabs, .tool')].filter((e) => e.getClientRects().length).length")
    check("paper_has_the_picture_alone", shown == 0 and b.eval("document.getElementById('lanes').getBoundingClientRect().height > 100"), shown)
    check("nothing_went_wrong_there", not [x for x in b.log if "favicon" not in x], b.log)
done()
