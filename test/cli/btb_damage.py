#!/usr/bin/env python3
"""btb_damage.py -- one line of a backtracer's console log is hurt in any way that its section's XOR covers: nothing is lost."""
import gzip
import os
import random
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tracedata import TOP, check, done, fathom

HEX = b"0123456789abcdef"


def gone(r, line):
    return None


def cut(r, line):
    return line[:r.randrange(len(line))]


def bad_character(r, line):
    at = r.randrange(len(line))
    return line[:at] + bytes([r.choice(b"zG#?! ")]) + line[at + 1:]


def broken(r, line):
    """Another client prints in the middle; moe goes on behind `tag: `."""
    at = r.randrange(line.index(b">=<") + 1, len(line) - 6)
    return line[:at] + b"\x1b[0m\r\n\x1b[32mother   | hello\x1b[0m\r\n\x1b[33mbacktrac: " + line[at:]


def wrong_place(r, line):
    """A digit of [id.offset] became another one."""
    at = line.index(b"[", line.index(b">=<")) + 1
    at += r.choice([0, 1, 2, 3, 4, 5, 6, 7, 9, 10])
    return line[:at] + bytes([r.choice([c for c in HEX if c != line[at]])]) + line[at + 1:]


def far_off(r, line):
    """The id of a block so far ahead that nobody could have lost all between."""
    at = line.index(b"[", line.index(b">=<")) + 1
    return line[:at] + b"0" + bytes([r.choice(HEX[1:])]) + line[at + 2:]


def coloured(r, line):
    at = r.randrange(line.index(b">=<"), len(line))
    return line[:at] + b"\x1b[01;33m" + line[at:]


with tempfile.TemporaryDirectory() as work:
    for capture in ("large", "smp", "small"):
        path = os.path.join(TOP, f"test/data/l4re/{capture}.traced.gz")
        if not os.path.exists(path):
            continue
        lines = gzip.open(path).read().split(b"\n")
        ours = [i for i, l in enumerate(lines) if b">=<" in l]
        whole, hurt, out = (os.path.join(work, n) for n in ("whole.traced", "hurt.traced", "hurt.btb"))
        open(whole, "wb").write(b"\n".join(lines))
        fathom("convert", "-f", whole, out)
        want = open(out, "rb").read()
        rc, _, err = fathom("convert", whole, out)
        check(f"{capture}_not_written_over", rc == 1 and "--force" in err and open(out, "rb").read() == want, err)
        check(f"{capture}_reads", len(want) > 100, len(want))
        # A line from nowhere after the last one opens no block of its own: nothing was lost.
        extra = far_off(random.Random(1), lines[next(i for i in ours if b".00]" in lines[i])])
        open(hurt, "wb").write(b"\n".join(lines[:ours[-1] + 1] + [extra] + lines[ours[-1] + 1:]))
        rc, _, err = fathom("convert", "-f", hurt, out)
        check(f"{capture}_line_from_nowhere", rc == 0 and open(out, "rb").read() == want and "lost" not in err, err)
        # More lines than the XOR has words for: what is gone is counted.
        few = set(ours[len(ours) // 3:len(ours) // 3 + 40])
        open(hurt, "wb").write(b"\n".join(l for i, l in enumerate(lines) if i not in few))
        rc, _, err = fathom("convert", "-f", hurt, out)
        told = re.search(r"lost: (\d+) words in", err)
        check(f"{capture}_lost_words", len(ours) < 200 or (told and int(told[1]) > 40), err)
        for harm in (gone, cut, bad_character, broken, wrong_place, far_off, coloured):
            bad = []
            for seed in range(12):
                r = random.Random(f"{capture}{harm.__name__}{seed}")
                # The first and the last line too.
                i = ours[0] if seed == 0 else ours[-1] if seed == 1 else r.choice(ours)
                new = harm(r, lines[i])
                open(hurt, "wb").write(b"\n".join(lines[:i] + ([] if new is None else [new]) + lines[i + 1:]))
                rc, _, err = fathom("convert", "-f", hurt, out)
                if rc or open(out, "rb").read() != want:
                    bad.append((seed, i, new, err))
            check(f"{capture}_{harm.__name__}", not bad, bad[:1])
done()
