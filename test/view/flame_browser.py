#!/usr/bin/env python3
"""flame_browser.py -- the flame graph in a real browser: click zooms, search highlights, keys work, reset restores."""
# slow
# live
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

CHROMIUM = shutil.which("chromium")
if not CHROMIUM:
    print("skip flame_browser: package chromium missing")
    sys.exit(0)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from checks import FATHOM, TOP, check, done  # noqa: E402

os.chdir(TOP)
work = tempfile.mkdtemp()
FOLDED = """main;parse;read_[k] 30
main;parse;lex 20
main;compute;fib;fib;fib 40
main;compute;<operator&"quoted"> 5
a/very/long/path`sleep 5
"""
with open(f"{work}/t.folded", "w") as f:
    f.write(FOLDED)

# What a person does, step by step; each step notes what is on the screen.
SCRIPT = """
(function () {
  const seen = {};
  const frames = () => [...document.querySelectorAll("#frames g")];
  const named = (n) => frames().find((g) => names[data[6 * Number(g.getAttribute("data-i")) + 3]] === n);
  const width = (g) => Number(g.querySelector("rect").getAttribute("width"));
  const click = (e) => e.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  const key = (k) => document.dispatchEvent(new KeyboardEvent("keydown", { key: k, bubbles: true }));
  const type = (t) => { const i = document.getElementById("search"); i.value = t; i.dispatchEvent(new Event("input")); };
  seen.start = frames().length;
  const box = (id) => document.getElementById(id).getBoundingClientRect();
  seen.apart = box("title").right <= box("searchbox").left && box("subtitle").right <= window.innerWidth &&
    (box("legend").top >= box("subtitle").bottom || box("legend").right <= box("subtitle").left);
  seen.short = named("a/very/long/path`sleep").textContent;
  seen.hint = document.getElementById("details").textContent;
  seen.all = width(named("all"));
  seen.compute = width(named("compute"));
  seen.odd = !!named('<operator&"quoted">');
  named("compute").dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
  seen.details = document.getElementById("details").textContent;
  click(named("compute").querySelector("rect"));
  seen.zoomed = width(named("compute"));
  seen.zoomedFrames = frames().length;
  seen.gone = !named("parse");
  seen.pale = named("main").classList.contains("parent");
  seen.reset = document.getElementById("reset").getAttribute("visibility");
  key("Backspace");
  seen.out = width(named("main"));
  type("^fib$");
  seen.found = frames().filter((g) => g.classList.contains("found")).length;
  seen.matched = document.getElementById("matched").textContent;
  type("(");
  seen.bad = document.getElementById("matched").textContent;
  click(document.getElementById("reset"));
  seen.after = frames().length;
  seen.afterFound = frames().filter((g) => g.classList.contains("found")).length;
  key("ArrowUp");
  key("ArrowUp");
  seen.walked = document.getElementById("details").textContent;
  seen.still = document.getElementById("static") === null;
  const out = document.createElementNS("http://www.w3.org/2000/svg", "desc");
  out.id = "result";
  out.textContent = JSON.stringify(seen);
  document.getElementById("flame").appendChild(out);
})();
"""


def browse(form, width=1220):
    path = f"{work}/t.{form}"
    subprocess.run([FATHOM, "flame", f"{work}/t.folded", "-o", path, "--title", "a title of more than forty characters, as people write"], check=True, stderr=subprocess.DEVNULL)
    text = open(path).read()
    step = f"<script><![CDATA[{SCRIPT}]]></script>" if form == "svg" else f"<script>{SCRIPT}</script>"
    at = text.rindex("</svg>") if form == "svg" else text.rindex("</body>")
    with open(path, "w") as f:
        f.write(text[:at] + step + text[at:])
    dom = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         f"--user-data-dir={work}/profile", f"--window-size={width},500", "--dump-dom", f"file://{path}"],
        capture_output=True, text=True, timeout=300).stdout
    m = re.search(r'id="result"[^>]*>(.*?)</desc>', dom, re.S)
    if not m:
        return None
    raw = m.group(1)
    for a, b in (("&quot;", '"'), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        raw = raw.replace(a, b)
    return json.loads(raw)


for form in ("svg", "html"):
    s = browse(form)
    if s is None:
        print(f"not ok {form}_runs: the page's script left no result")
        continue
    # all, main, sleep, parse, compute, read, lex, fib x3, operator
    check(f"{form}_draws_every_frame", s["start"] == 11, s)
    check(f"{form}_fits_the_window", 1100 < s["all"] <= 1220, s["all"])
    check(f"{form}_widths_are_shares", abs(s["compute"] / s["all"] - 0.45) < 0.01, s)
    check(f"{form}_odd_names", s["odd"], s)
    check(f"{form}_hover_tells", "45 samples, 45.00 %" in s["details"], s["details"])
    check(f"{form}_click_zooms", abs(s["zoomed"] - s["all"]) < 2 and s["gone"] and s["pale"], s)
    check(f"{form}_reset_shows", s["reset"] == "visible", s["reset"])
    check(f"{form}_backspace_zooms_out", s["out"] > 1000, s["out"])
    check(f"{form}_search_highlights", s["found"] == 3 and s["matched"] == "matched 40.00 %", s)
    check(f"{form}_bad_regex_is_told", "not a regular expression" in s["bad"], s["bad"])
    check(f"{form}_reset_restores", s["after"] == 11 and s["afterFound"] == 0, s)
    check(f"{form}_arrows_walk", s["walked"].startswith(("compute", "parse", "main", "a/very")), s["walked"])
    check(f"{form}_static_layer_is_replaced", s["still"], s)
    check(f"{form}_nothing_overlaps", s["apart"], s)
    check(f"{form}_says_what_can_be_done", s["hint"].startswith("click: zoom"), s["hint"])
    check(f"{form}_the_function_before_its_binary", s["short"] == "sleep", s["short"])
s = browse("svg", 500)
check("narrow_nothing_overlaps", s and s["apart"] and s["all"] < 500, s)
shutil.rmtree(work, ignore_errors=True)
done()
