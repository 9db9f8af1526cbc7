"""pagedata.py -- what is on a page of `fathom timeline`: its lanes with their spans, as tools/view/page/tiles.h packs them."""
import base64
import json
import re
import struct
import zlib

KINDS = ["cpu", "irq", "lost", "marks", "task", "wakes", "ipc", "spans", "calls", "markers", "samples", "counter"]
COUNTS = ("marks", "markers", "samples")


def unpack(text, name):
    m = re.search(rf'<script id="{name}" type="text/plain">([^<]*)</script>', text)
    return zlib.decompress(base64.b64decode(m.group(1)), -15) if m else None


class Page:
    def __init__(self, text):
        self.text = text
        self.meta = json.loads(unpack(text, "meta"))
        events = unpack(text, "events")
        self.events = json.loads(events)["events"] if events else None
        self.lanes = [dict(kind=KINDS[v[1]], id=v[2], depth=v[3], cpu=v[4], nr=v[5], sums=v[6:10], tiles={}) for v in self.meta["lanes"]]
        level = 0
        while tiles := unpack(text, f"tiles-{level}"):
            self.take(tiles)
            level += 1

    def take(self, data):
        at = 0
        while at < len(data):
            level, index, n, _ = struct.unpack_from("<4I", data, at)
            at += 16
            end = at + n
            while at < end:
                lane, head = struct.unpack_from("<2I", data, at)
                mode, nr = head & 255, head >> 8
                at += 8
                if mode == 0:
                    v = [struct.unpack_from(f"<{nr}{c}", data, at + o) for c, o in (("d", 0), ("d", nr * 8), ("I", nr * 16))]
                    at += nr * 16 + (nr + 1) // 2 * 8
                else:
                    v = [data[at:at + nr * 4] if mode == 1 else struct.unpack_from(f"<{nr}I", data, at), struct.unpack_from(f"<{nr}I", data, at + nr * 4)]
                    at += nr * 8
                self.lanes[lane]["tiles"][level, index] = (mode, v)

    def task(self, number):
        pid, comm = self.meta["tasks"][number]
        return f"{comm}-{pid}" if pid else "idle"

    def name(self, lane, what):
        n = what & 0xffffff
        if lane["kind"] in ("cpu", "wakes", "ipc"):
            return self.task(n)
        if lane["kind"] == "task":
            return ["running", "ready", "blocked", "lost"][what >> 24 & 3]
        return n if lane["kind"] in ("lost", "counter") else self.meta["names"][n]

    def spans(self, lane):
        """All of them, by (from, to, name, flags); None if only sums are there."""
        out = {}

        def walk(level, index):
            mode, v = lane["tiles"].get((level, index), (None, None))
            if mode == 0:
                for f, n, w in zip(*v):
                    out[f, n, w] = (int(f), int(f + n), self.name(lane, w), w >> 26)
                return True
            return mode is not None and all(walk(level + 1, index * 2 + i) for i in (0, 1))
        return sorted(out.values()) if walk(0, 0) else None

    def of(self, kind, who=None):
        """Spans of a CPU (number) or a task ("comm-pid"), over all depths."""
        found = [l for l in self.lanes if l["kind"] == kind and (who is None or l["id"] == who or
                 (kind not in ("cpu", "irq", "lost", "marks", "samples") and self.task(l["id"]) == who))]
        return [s for l in found for s in self.spans(l)]
