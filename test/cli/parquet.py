#!/usr/bin/env python3
"""parquet.py -- fathom convert X.parquet: read back by DuckDB, every column has the count, least, greatest and sum of the events'."""
# slow 20
import collections
import json
import os
import re
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import duckdb
import maketrace
from maketrace import Maker, common, page, switch, tick
from tracedata import Traces, check, done, fathom

MISSING = duckdb.why_not()
if MISSING:
    print(f"skip parquet: {MISSING}")
    sys.exit(0)


def column(name):
    return re.sub(r"[^A-Za-z0-9]", "_", name)


def summary(values):
    """As strings: how many, least, greatest, and the sum of numbers."""
    if not values:
        return (0, None, None, None)
    text = isinstance(values[0], str)
    key = (lambda v: v.encode()) if text else None
    return (len(values), str(min(values, key=key)), str(max(values, key=key)), None if text else str(sum(values)))


def question(source, columns, text):
    """A query for the same of a table's columns."""
    parts = []
    for i, c in enumerate(columns):
        total = "NULL" if c in text else f'sum("{c}"::HUGEINT)'
        parts.append(f'count("{c}")::VARCHAR n{i}, min("{c}")::VARCHAR lo{i}, max("{c}")::VARCHAR hi{i}, {total}::VARCHAR sum{i}')
    return f"SELECT count(*)::VARCHAR AS total, {', '.join(parts)} FROM '{source}'"


def answer(got, columns):
    """How many rows, and the summary by column."""
    if isinstance(got, dict):
        return got, {}
    row = got[0]
    return int(row["total"]), {c: (int(row[f"n{i}"]), row[f"lo{i}"], row[f"hi{i}"], row[f"sum{i}"]) for i, c in enumerate(columns)}


def differences(tables):
    """Of (file, values by column): rows of each file, and by file and column what is there and what should be. DuckDB starts twice."""
    have = [{r["column_name"]: r["column_type"] for r in rows} for rows in duckdb.ask(*(f"DESCRIBE SELECT * FROM '{f}'" for f, _ in tables))]
    # What JSON shows as text and Parquet keeps as bytes is compared by its number.
    blobs = [{c for c in want if types.get(c) == "BLOB"} for types, (_, want) in zip(have, tables)]
    texts = [{c for c, v in want.items() if isinstance(v[0], str)} for _, want in tables]
    got = duckdb.ask(*(question(f, sorted(want), t | b) for (f, want), t, b in zip(tables, texts, blobs)))
    rows, bad = [], {}
    for (f, want), said, b in zip(tables, got, blobs):
        n, found = answer(said, sorted(want))
        rows.append(n)
        bad.update({(f, c): (found.get(c), summary(v)) for c, v in want.items()
                    if (found[c][0] != len(v) if c in b else found.get(c) != summary(v))})
    return rows, bad


def events(path):
    """Values by column of the wide table, and by column of each type."""
    wide, types, rows = collections.defaultdict(list), collections.defaultdict(lambda: collections.defaultdict(list)), []
    for line in fathom("query", "-j", "--no-index", path)[1].splitlines():
        e = json.loads(line)
        rows.append(e)
        first = {k: e[k] for k in ("time", "cpu", "pid", "comm")}
        for name, v in {**first, "event": e["event"]}.items():
            wide[name].append(v)
        for name, v in first.items():
            types[e["event"]][name if name in ("time", "cpu") else "common_" + name].append(v)
        for name, v in e["fields"].items():
            if isinstance(v, (int, str)):
                wide[column(e["event"] + "_" + name)].append(v)
                types[e["event"]][column(name) + ("_2" if name in ("time", "cpu") else "")].append(v)
    return rows, wide, types


with Traces() as t:
    for name in ("events_v6.dat", "graph_v7_zstd.dat", "lost_v6.dat", "marker_v6.dat", "buffers_v7_zstd.dat"):
        path, out = t.path(name), t.path(name + ".parquet")
        rc, _, err = fathom("convert", "--no-index", path, out)
        rows, want, types = events(path)
        n, bad = differences([(out, want)])
        check(f"{name}_every_column", rc == 0 and n == [len(rows)] and rows and not bad, (n, len(rows), dict(list(bad.items())[:3]), err))
        order = duckdb.ask(f"SELECT count(*)::INT AS n FROM (SELECT time < lag(time) OVER () back FROM '{out}') WHERE back")[0]
        check(f"{name}_sorted_by_time", order == [{"n": 0}], order)

        folder = t.path(name + ".types")
        fathom("convert", "--no-index", "--form", "parquet", "--per-type", path, folder)
        files = {f.split(".")[1]: os.path.join(folder, f) for f in os.listdir(folder)}
        _, bad = differences([(files[event], columns) for event, columns in types.items()])
        check(f"{name}_a_file_per_type", len(files) == len(types) and not bad, dict(list(bad.items())[:3]))

    out = t.path("events_v6.dat.parquet")
    meta = duckdb.ask(f"SELECT DISTINCT compression c FROM parquet_metadata('{out}')",
                      f"SELECT encodings e, stats_min_value lo, stats_max_value hi FROM parquet_metadata('{out}') WHERE path_in_schema = 'event'",
                      f"SELECT stats_min_value lo FROM parquet_metadata('{out}') WHERE path_in_schema = 'time'",
                      f"SELECT value::VARCHAR v FROM parquet_kv_metadata('{t.path('lost_v6.dat.parquet')}') WHERE key::VARCHAR = 'fathom.lost'")
    first = events(t.path("events_v6.dat"))[0][0]["time"]
    check("compressed_with_zstd", meta[0] == [{"c": "ZSTD"}], meta[0])
    check("names_are_in_a_dictionary", "RLE_DICTIONARY" in meta[1][0]["e"] and meta[1][0]["lo"] < meta[1][0]["hi"], meta[1])
    check("groups_of_rows_have_statistics", meta[2] == [{"lo": str(first)}], meta[2])
    check("what_was_lost_is_noted", "4,904 overwritten" in meta[3][0]["v"], meta[3])

    # Several groups of rows, long runs and short ones, numbers of every width, and fields that records end before.
    maketrace.FORMATS["my/wide"] = (400, maketrace.field("u64", "a", 8, 8) + maketrace.field("s64", "b", 16, 8, 1) +
                                    maketrace.field("u8", "c", 24, 1) + maketrace.field("u64", "cut", 32, 8), '"%llu", REC->a')
    make = Maker(t.dir)

    def wide(i):
        a = (i * 0x9e3779b97f4a7c15) & (2**64 - 1) if i % 3 else 2**64 - 1 - i
        b = (-1)**i * (1 << i % 63)
        return common(400, 7) + struct.pack("<QqB7x", a, b, i & 255) + (struct.pack("<Q", i) if i % 5 else b""), a, b, i & 255, i

    pages, want, now = [], [], 1000000
    for i in range(0, 270000, 60):
        batch = []
        for k in range(i, i + 60):
            now += 1 + k % 1000
            rec, *values = wide(k) if k % 7 == 0 else (tick(7 + k % 3, k), k)
            want.append(values)
            batch.append((now, rec))
        pages.append(page(batch))
    path, out = make.trace(pages), t.path("many.parquet")
    fathom("convert", path, out)
    ticks, rest = [v[0] for v in want if len(v) == 1], [v for v in want if len(v) > 1]
    asked = ["time", "tick_n", "wide_a", "wide_b", "wide_c", "wide_cut"]
    n, got = answer(duckdb.ask(question(out, asked, set()))[0], asked)
    right = {"tick_n": summary(ticks), "wide_a": summary([v[0] for v in rest]), "wide_b": summary([v[1] for v in rest]),
             "wide_c": summary([v[2] for v in rest]), "wide_cut": summary([v[3] for v in rest if v[3] % 5])}
    check("several_groups", n == 270000 and all(got[c] == v for c, v in right.items()), {c: (got.get(c), v) for c, v in right.items()})
    groups = duckdb.ask(f"SELECT count(DISTINCT row_group_id)::INT n FROM parquet_metadata('{out}')")[0]
    check("of_rows", groups == [{"n": 2}], groups)
    one = duckdb.ask(f"SELECT count(*)::INT n FROM '{out}' WHERE wide_cut IS NULL AND wide_a IS NOT NULL")[0]
    check("a_cut_field_is_null", one == [{"n": len([v for v in rest if v[3] % 5 == 0])}], one)

    # Names that are not names, and text that is not UTF-8.
    hostile = os.path.join(t.dir, "hostile")
    evil = maketrace.field("u64", "select", 8, 8) + maketrace.field("u64", "SELECT", 16, 8) + maketrace.field("u64", "time", 24, 8)
    maketrace.FORMATS = {"sched/sched_switch": maketrace.FORMATS["sched/sched_switch"], "my/evil": (401, evil, '""')}
    make = Maker(hostile)
    with open(os.path.join(hostile, "formats/my/evil/format"), "r+", encoding="ascii") as f:
        text = f.read().replace("name: evil", "name: ../../x';drop")
        f.seek(0)
        f.write(text)
    comm = b"\xff\xfe\xc3(\xf0\x9f"
    path = make.trace([page([(1000, switch(0, 0, 7, b"a\x1b[31m", comm)), (2000, switch(7, 1, 0, comm, b"\xe2\x82\xac")),
                             (3000, common(401, 7) + struct.pack("<QQQ", 1, 2, 3))])])
    out, folder = os.path.join(hostile, "x.parquet"), os.path.join(hostile, "types")
    fathom("convert", path, out)
    fathom("convert", "--per-type", "--form", "parquet", path, folder)
    got = duckdb.ask(f"SELECT sched_switch_next_comm c FROM '{out}' ORDER BY time LIMIT 2", f"DESCRIBE SELECT * FROM '{out}'",
                     f"SELECT * FROM '{folder}/my.*.parquet'")
    check("text_that_is_not_utf8", got[0] == [{"c": "\ufffd\ufffd\ufffd(\ufffd\ufffd"}, {"c": "\u20ac"}], got[0])
    names = [r["column_name"] for r in got[1]]
    check("columns_have_names_that_can_be_written", all(re.fullmatch(r"\w+", n) for n in names) and len({n.lower() for n in names}) == len(names), names)
    check("files_stay_in_their_folder", len(os.listdir(folder)) == 2 and sorted(got[2][0]) == ["SELECT_2", "common_comm", "common_pid", "cpu", "select", "time", "time_2"] and
          got[2][0]["SELECT_2"] == "2", (os.listdir(folder), got[2]))

    rc, _, err = fathom("convert", "--per-type", t.path("events_v6.dat"), t.path("x.json"))
    check("per_type_is_for_parquet", rc == 2 and "--per-type is for parquet" in err, err)
    rc, _, err = fathom("convert", "--per-type", t.path("events_v6.dat"), t.path("events_v6.dat.types"), "--form", "parquet")
    check("a_directory_is_not_overwritten", rc == 1 and "exists" in err, err)
    rc, _, err = fathom("convert", t.path("events_v6.dat"), "/dev/full", "--form", "parquet")
    check("a_full_disk", rc == 1 and "No space" in err, err)
done()
