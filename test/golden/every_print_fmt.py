#!/usr/bin/env python3
"""every_print_fmt.py -- every event of a Linux 6.1, with made-up records, prints as libtraceevent prints it.

Three records of each of its 1,160 formats are written as pages, converted to a trace.dat, and reported by both.
"""
import os
import random
import re
import struct
import sys
import tarfile
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from rawtrace import reports  # noqa: E402
from tracedata import TOP, check, done, need  # noqa: E402

STATIC = os.path.join(TOP, "test/data/linux/tracefs/00_static")
# Where both differ, by what is different.
KNOWN = {
    "the sign of a small field is not extended": "ext4_writepages jbd2_commit_locking jbd2_commit_logging "
    "jbd2_drop_transaction jbd2_start_commit jbd2_end_commit jbd2_commit_flushing netfs_failure netfs_sreq itimer_state ext4_es_lookup_extent_exit "
    "sched_switch sched_wakeup sched_wakeup_new preempt_disable preempt_enable irq_disable irq_enable",
    "parentheses, unknown names or shifts in flags": "timer_start mm_vmscan_throttled alarmtimer_suspend alarmtimer_fired "
    "alarmtimer_start alarmtimer_cancel ext4_ext_handle_unwritten_extents",
    "the width of %s is lost": "devres_log reclaim_retry_zone",
    "the offset into a function has the wrong sign": "hrtimer_expire_entry hrtimer_start",
    "libtraceevent cannot parse it": "ma_op ma_read ma_write",
    "an array is read past its end": "neigh_event_send_done neigh_event_send_dead neigh_update neigh_update_done "
    "neigh_timer_handler neigh_cleanup_and_release neigh_create",
    "an address of no family is left out": "tcp_bad_csum tcp_probe tcp_send_reset",
}
# Of what Linux computes from jiffies as it prints, libtraceevent makes a number from the variable's address; for us it is not known.
AGE = re.compile(r"(dirtied_when=\d+) age=(?:\?|\d+)")
FIELD = re.compile(r"\tfield:(.*?);\toffset:(\d+);\tsize:(\d+);\tsigned:(\d);")


def formats():
    with tarfile.open(os.path.join(STATIC, "all_formats.tar.gz")) as tar:
        for member in sorted(tar.getmembers(), key=lambda m: m.name):
            if member.name.endswith(".format") and "/ftrace-" not in member.name:
                yield tar.extractfile(member).read().decode()


def number(rnd, size):
    bits = 8 * size
    return rnd.choice([0, 1, 2, 3, 5, 8, rnd.getrandbits(4), rnd.getrandbits(bits) >> rnd.randrange(bits), (1 << bits) - 1])


def record(rnd, text, task):
    fields = [(m[1], int(m[2]), int(m[3])) for m in FIELD.finditer(text)]
    end = (max(o + s for _, o, s in fields) + 3) & ~3
    data, tail = bytearray(end), b""
    struct.pack_into("<HBBi", data, 0, int(re.search(r"^ID: (\d+)", text, re.M)[1]), task, task, 100 + task)
    for name, offset, size in fields:
        if "common_" in name:
            continue
        if name.startswith("__data_loc"):
            more = b"str%d\0" % rnd.randrange(1000) if "unsigned" not in name else rnd.randbytes(8)
            struct.pack_into("<I", data, offset, (end + len(tail)) | len(more) << 16)
            tail += more
        elif re.search(r"char \w+\[\d+\]", name) and "unsigned" not in name:
            more = (b"name%d" % rnd.randrange(100))[: size - 1]
            data[offset : offset + len(more)] = more
        elif size in (1, 2, 4, 8):
            data[offset : offset + size] = (number(rnd, size) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
        else:
            data[offset : offset + size] = rnd.randbytes(size)
    data += tail
    return bytes(data)


def main():
    if not need("trace-cmd", "trace-cmd", "every_print_fmt"):
        return
    rnd, texts = random.Random(7), list(formats())
    known = set(" ".join(KNOWN.values()).split())
    with tempfile.TemporaryDirectory() as d:
        ours, theirs = reports(d, [record(rnd, t, k) for t in texts for k in range(3)], STATIC + "/all_formats.tar.gz",
                               "--symbols", STATIC + "/kallsyms.gz")
    check("every_print_fmt lines", len(ours) == len(theirs) > 3000, "%d lines, want %d" % (len(ours), len(theirs)))
    bad = []
    for a, b in zip(ours, theirs):
        name = re.search(r"\d: (\w+): ", b)
        if AGE.sub(r"\1", a) != AGE.sub(r"\1", b) and (not name or name[1] not in known):
            bad.append("want %r got %r" % (b[40:200], a[40:200]))
    ages = sum(" age=? " in a for a in ours)
    check("every_print_fmt ages", ages == 9, "%d of 3 formats" % ages)
    check("every_print_fmt %d formats" % len(texts), not bad, "%d lines: %s" % (len(bad), "; ".join(bad[:3])))


main()
done()
