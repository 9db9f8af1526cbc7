#!/usr/bin/env python3
"""manuals.py -- what is written of the commands is what they take: man pages and README against --help."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tracedata import TOP, check, done, fathom, need


def text_of(name):
    return open(os.path.join(TOP, name)).read()


def page_of(name):
    """A man page as one would read it: its source with the fonts and escapes off."""
    return re.sub(r"\\f[A-Z]|\\&", "", text_of(f"docs/man/{name}.1")).replace("\\-", "-")


def options_in(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*|(?<![\w-])-[A-Za-z0-9](?![\w-])", text))


COMMANDS = re.findall(r"^  (\w+)  ", fathom("help")[1], re.M)
check("commands_are_listed", len(COMMANDS) > 10 and "report" in COMMANDS, COMMANDS)
overview, readme = page_of("fathom"), text_of("README.md")
SHARED = options_in(overview[overview.index(".SH SHARED OPTIONS"):overview.index(".SH FILTERS")])
for c in COMMANDS:
    check(f"overview_names_{c}", f".BR fathom-{c} (1)" in overview or c == "version", c)
    check(f"readme_names_{c}", re.search(rf"^\| host program \|.*\b{c}\b", readme, re.M) or c == "version", c)
    if c == "version":
        continue
    page, help_text = page_of(f"fathom-{c}"), fathom(c, "--help")[1]
    takes = set()
    for line in re.findall(r"^  +(-.*?)(?:  |$)", help_text, re.M):
        takes |= options_in(line)
    # Those that commands share are told once, in the overview, to which the page leads.
    untold = takes - options_in(page)
    if ".BR fathom (1)" in page:
        untold -= SHARED
    check(f"man_{c}_has_every_option", not untold - {"--help", "-h"}, untold)
    told = set()
    for line in re.findall(r"^\.TP\n(.*--.*)$", page.split(".SH OPTIONS")[-1].split(".SH ")[0], re.M):
        told |= options_in(line)
    check(f"man_{c}_tells_no_other_option", not told - takes - {"--help", "-h"}, told - takes)
    check(f"man_{c}_exit_status", ".SH EXIT STATUS" in page and ".SH SEE ALSO" in page, c)

forms = set(re.findall(r"^  ([a-z_]+) ", fathom("help", "convert")[1].split("forms:\n")[1].split("\n\n")[0], re.M))
told = set(" ".join(re.findall(r"^\.TP\n\.B (.*)$", page_of("fathom-convert").split(".SH FORMS")[1].split(".SH ")[0], re.M)).split())
check("man_convert_has_every_form", forms == told and len(forms) > 10, forms ^ told)
forms = re.findall(r"^  ([a-z_]+) ", fathom("help", "flame")[1].split("forms:\n")[1].split("\n\n")[0], re.M)
told = re.search(r"--format FORM\nThe form, regardless of the suffix: (.*)\.$", page_of("fathom-flame"), re.M)
check("man_flame_has_every_form", told and re.split(r", | or ", told.group(1)) == forms and len(forms) > 3, forms)

for name in sorted(os.listdir(os.path.join(TOP, "docs/man"))):
    stem = name[:-2]
    check(f"man_{stem}_is_of_a_command", stem == "fathom" or stem[7:] in COMMANDS, stem)
    seen = set(re.findall(r"(fathom(?:-\w+)?) ?\(1\)", page_of(stem)))
    gone = [s for s in seen if not os.path.exists(os.path.join(TOP, f"docs/man/{s}.1"))]
    check(f"man_{stem}_leads_to_pages_that_are_there", not gone, gone)
    if need("groff", "groff-base", f"man_{stem}_is_set_without_a_warning"):
        r = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8", name], cwd=os.path.join(TOP, "docs/man"),
                           capture_output=True, text=True)
        check(f"man_{stem}_is_set_without_a_warning", r.returncode == 0 and not r.stderr, r.stderr)

with tempfile.TemporaryDirectory() as place:
    r = subprocess.run(["make", "-s", "install", f"DESTDIR={place}", "PREFIX=/usr"], cwd=TOP, capture_output=True, text=True)
    pages = os.listdir(os.path.join(place, "usr/share/man/man1")) if not r.returncode else []
    check("install_puts_program_and_pages", len(pages) == len(COMMANDS) and os.access(f"{place}/usr/bin/fathom", os.X_OK),
          r.stderr + str(pages))
done()
