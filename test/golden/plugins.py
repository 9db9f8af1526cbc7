#!/usr/bin/env python3
"""plugins.py -- futex calls, TLB flushes, exits of guests, SCSI commands, devices, hypercalls as trace-cmd's plugins print them."""
import os
import shutil
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from rawtrace import format_head, reports  # noqa: E402
from tracedata import check, done, need  # noqa: E402

COMMON = ["unsigned short common_type", "unsigned char common_flags", "unsigned char common_preempt_count", "int common_pid"]
LONG = ("unsigned long", 8)
INT = ("u32", 4)
# (system, name, id, [(type, size, field)], struct of the fields behind the common ones)
EVENTS = {
    "futex": ("syscalls", "sys_enter_futex", 373, [("int", 4, "__syscall_nr"), (*LONG, "uaddr"), (*LONG, "op"), (*LONG, "val"),
                                                   (*LONG, "utime"), (*LONG, "uaddr2"), (*LONG, "val3")]),
    "tlb": ("tlb", "tlb_flush", 540, [("int", 4, "reason"), (*LONG, "pages")]),
    "exit": ("kvm", "kvm_exit", 600, [(*INT, "exit_reason"), (*LONG, "guest_rip"), (*INT, "isa"), (*LONG, "info1"), (*LONG, "info2")]),
    "old_exit": ("kvm", "kvm_exit", 601, [(*INT, "exit_reason"), (*LONG, "guest_rip")]),
    "inject": ("kvm", "kvm_nested_vmexit_inject", 602, [(*INT, "exit_code"), (*LONG, "exit_info1"), (*LONG, "exit_info2"),
                                                        (*INT, "exit_int_info"), (*INT, "exit_int_info_err"), (*INT, "isa")]),
    "hypercall": ("xen", "xen_mc_entry", 710, [(*INT, "op"), (*INT, "nargs")], '"op %u%s", REC->op, xen_hypercall_name(REC->op)'),
    "device": ("jbd2", "jbd2_checkpoint", 711, [("dev_t", 4, "dev"), ("int", 4, "result")],
               '"dev %s result %d after %u", jbd2_dev_to_name(REC->dev), REC->result, jiffies_to_msecs(REC->result)'),
    "frame": ("cfg80211", "cfg80211_rx_unprot_mlme_mgmt", 712, [("int", 4, "ifindex"), ("__data_loc u8[]", 4, "frame")],
              '"%d, ftype:0x%.2x", REC->ifindex, __le16_to_cpup((__le16 *)__get_dynamic_array(frame))'),
    "insn": ("kvm", "kvm_emulate_insn", 603, [(*LONG, "rip"), (*INT, "csbase"), ("u8", 1, "len"), ("u8[15]", 15, "insn"),
                                              ("u8", 1, "flags"), ("u8", 1, "failed")]),
}


def layout(fields):
    """[(offset, size)] as a compiler lays them out."""
    at, out = 8, []
    for _, size, _ in fields:
        at += -at % (size if size in (2, 4, 8) else 1)
        out.append((at, size))
        at += size
    return out


def format_text(name, number, fields, fmt=None):
    lines = []
    for (offset, size), what in zip([(0, 2), (2, 1), (3, 1), (4, 4)], COMMON):
        lines.append("\tfield:%s;\toffset:%d;\tsize:%d;\tsigned:%d;" % (what, offset, size, what.startswith("int")))
    lines.append("")
    for (offset, size), (kind, _, field) in zip(layout(fields), fields):
        base, array = (kind.split("[") + [""])[:2] if "__data_loc" not in kind else (kind, "")
        lines.append("\tfield:%s %s%s;\toffset:%d;\tsize:%d;\tsigned:%d;" % (base, field, array and "[" + array, offset, size, kind == "int"))
    return "name: %s\nID: %d\nformat:\n%s\n\nprint fmt: %s\n" % (
        name, number, "\n".join(lines), fmt or '"%s=%%lx", REC->%s' % (fields[0][2], fields[0][2]))


def record(event, *values):
    number, fields = EVENTS[event][2:4]
    out = bytearray(struct.pack("<HBBi", number, 0, 0, 100))
    for (offset, size), v in zip(layout(fields), values):
        out = out.ljust(offset, b"\0")
        out += v if isinstance(v, bytes) else (v & (1 << 8 * size) - 1).to_bytes(size, "little")
    return bytes(out)


def records():
    made = {event: [] for event in EVENTS}
    for op in [*range(16), 0x80, 0x81, 0x100, 0x180, 0x89, 0x189, 0x18B, 0x200, 1 << 32 | 1, -1]:
        made["futex"].append(record("futex", 202, 0x7F1234567890, op, 7, 0x1000, 0x7FABC, 0xFFFFFFFF))
        made["futex"].append(record("futex", 202, 0x12, op, -5, 1 << 33, 0, 3))
    for reason in range(-1, 6):
        made["tlb"].append(record("tlb", reason, -1 if reason == 2 else 5))
    for isa in range(4):
        for reason in [*range(145), *range(0x3FE, 0x405), 0x80000021, 0xFFFFFFFF]:
            made["exit"].append(record("exit", reason, 0xFFFFFFFF81234567, isa, 0x11, 0x22))
        made["inject"].append(record("inject", 48, 0x11, 0x22, 0x33, 0x44, isa))
    made["old_exit"] = [record("old_exit", reason, 0x1000) for reason in (0, 30, 78)]
    for length in (1, 5, 15):
        for failed in (0, 1):
            made["insn"].append(record("insn", 0xFFFF1234, 0x10, length, bytes(range(0x80, 0x8F)), 3, failed))
    made["hypercall"] = [record("hypercall", op, 3) for op in [*range(60), 1000, 0xFFFFFFFF]]
    made["device"] = [record("device", dev, n) for n, dev in enumerate((0, 8 << 20 | 1, 259 << 20 | 3, 1 << 20 | 0xFFFFF, 0xFFFFFFFF))]
    made["frame"] = [record("frame", n, 16 | len(f) << 16) + f for n, f in enumerate((b"\x80\0", b"\xa0\0\x12\x34", b"\xff\xff\0\0"))]
    return made


SCSI = format_head("scsi_dispatch_cmd_start", 700) + """\tfield:unsigned int cmd_len;\toffset:8;\tsize:4;\tsigned:0;
\tfield:__data_loc unsigned char[] cmnd;\toffset:12;\tsize:4;\tsigned:0;

print fmt: "cmnd=(%s raw=%s)", scsi_trace_parse_cdb(p, __get_dynamic_array(cmnd), REC->cmd_len), __print_hex(__get_dynamic_array(cmnd), REC->cmd_len)
"""


def commands():
    """Every SCSI command, and every service action of those that have them."""
    cdbs = [bytes([op, 0x29, *range(2, 32)]) for op in range(256)]
    cdbs += [bytes([0x9E, action, *range(2, 16)]) for action in range(32)]
    cdbs += [bytes([0x7F, 0, 0, 0, 0, 0, 0, 24, 0, action, 0xE9, 0, *range(12, 32)]) for action in range(20)]
    cdbs += [bytes([0x08, 5, 2, 3, 0, 0]), bytes([0x42, 0, 0, 0, 0, 0, 0, 0, 7, 0])]
    return [struct.pack("<HBBiII", 700, 0, 0, 100, len(c), 16 | len(c) << 16) + c for c in cdbs]


def compare(case, file, text, made):
    with tempfile.TemporaryDirectory() as d:
        os.mkdir(os.path.join(d, "formats"))
        with open(os.path.join(d, "formats", file), "w", encoding="ascii") as f:
            f.write(text)
        ours, theirs = reports(d, made, os.path.join(d, "formats"))
    bad = [f"want {b[40:]!r} got {a[40:]!r}" for a, b in zip(ours, theirs) if a != b]
    check(f"plugin_{case}", not bad and len(ours) == len(theirs) == len(made) + 2, "; ".join(bad[:3]) or (len(ours), len(theirs)))


for case, made in records().items() if need("trace-cmd", "trace-cmd", "plugins") else ():
    system, name, *rest = EVENTS[case]
    compare(case, f"{system}-{name}.format", format_text(name, *rest), made)
if shutil.which("trace-cmd"):
    compare("scsi", "scsi-scsi_dispatch_cmd_start.format", SCSI, commands())
done()
