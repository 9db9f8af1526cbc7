"""known.py -- the calls of demo/kernel/known.c: what a trace of them must show, by names and types, and as words."""
import re

# name, arguments, value as the host shows them; the words of arguments and value as the registers have them (x: any).
CALLS = [
    ("known_small", "a=-100, b=0xc8, c=-30000, d=0xea60", "-101"),
    ("known_wide", "a=-2000000000, b=0xee6b2800, c=-9000000000, d=0xfedcba9876543210, e=-1", "-18000000000"),
    ("known_text", "name=0x@ \"some text\", letter='x'", '0x@ "ome text"'),
    ("known_thing", "t=0x@, nothing=0x0", "0xcf"),
    ("known_colour", "c=RED, bright=true", "GREEN"),
    ("known_colour", "c=BLUE, bright=false", "BLUE"),
    ("known_not", "a=true", "false"),
    ("known_nothing", "a=-7", None),
    ("known_error", "number=0x16", "-22"),
    ("known_many", "a=1, b=-2, c=3, d=-4, e=5, f=-6, g={7}, h={-8}, i=?, j=?", "-5"),
    ("known_pair", "p={{0xfffffffffffffffb, 0x6}}, after=-9", "-11"),
    ("known_outer", "a=11", "-22"),
    ("known_error", "number=0xb", "-11"),
]
NAMES = [name for name, _, _ in CALLS]
# As JSON has them; what is not there is not compared.
JSON = {
    "known_small": {"a": -100, "b": 200, "c": -30000, "d": 60000},
    "known_wide": {"a": -2000000000, "b": 4000000000, "c": -9000000000, "d": 0xfedcba9876543210, "e": -1},
    "known_text": {"name": "some text", "letter": 120},
    "known_not": {"a": True},
    "known_nothing": {"a": -7},
    "known_outer": {"a": 11},
}
RETURNED = {"known_small": -101, "known_text": "ome text", "known_not": False, "known_outer": -22, "known_thing": 207}


def expected(arch):
    """(name, arguments as a regex, value as a regex or None) of each call in order; x86_64 passes six words in registers, others eight."""
    for name, args, value in CALLS:
        args = args.replace("{7}", "?" if arch == "x86_64" else "7").replace("{-8}", "?" if arch == "x86_64" else "-8")
        args = args.replace("{{", "{").replace("}}", "}")
        yield name, pattern(args), value and pattern(value)


def pattern(text):
    return re.escape(text).replace("@", "[0-9a-f]+")


def wrong_functions(text, arch):
    """Of the text of the function tracer's records: the first call that is not as it must be; None: all are."""
    lines = re.findall(r"known_(?!calls).*", text)
    want = list(expected(arch))
    for line, (name, args, _) in zip(lines, want):
        if not re.match(rf"{name}\({args}\)( <-|$)", line):
            return f"{line} for {name}({args})"
    return None if len(lines) == len(want) else f"{len(lines)} calls for {len(want)}"


def wrong_graph(text, arch, sender=False, value=True):
    """Of function_graph's: calls with what they return, which known_outer() says at its end, and maybe where to."""
    for name, args, returned in expected(arch):
        note = (r" <-known_\w+\+0x[0-9a-f]+(/0x[0-9a-f]+)?" if sender else "") + (f" ret={returned}" if value and returned else "")
        note = rf" /\*{note} \*/" if note else ""
        if name == "known_outer":
            start = rf"{name}\({args}\) {{" + (r" /\* <-(known_calls|main)\+0x[0-9a-f]+(/0x[0-9a-f]+)? \*/" if sender else "") + "\n"
            end = rf"}} /\* {name} ret={returned} \*/\n" if value else "}\n"
            if not re.search(start, text) or not re.search(end, text):
                return f"no {start!r} or {end!r}"
        elif not re.search(rf"\| +{name}\({args}\);{note}\n", text):
            return f"no {name}\\({args}\\);{note}"
    return None


def wrong_json(events):
    """Of the objects of `fathom query --json`: what is not as it must be; None: nothing."""
    seen, returned = {}, {}
    for e in events:
        call, name = e.get("call", {}), e["text"].split()[1]
        if "args" in call:
            seen.setdefault(name, call["args"])
        if "returned" in call:
            returned[name] = call["returned"]
    for name, args in JSON.items():
        got = seen.get(name, {})
        if any(got.get(k) != v for k, v in args.items()):
            return f"{name}: {got} for {args}"
    for name, v in RETURNED.items():
        if returned.get(name) != v:
            return f"{name} returned {returned.get(name)} for {v}"
    return "known_nothing returned something" if "known_nothing" in returned else None
