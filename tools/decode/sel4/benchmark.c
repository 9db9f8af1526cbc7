/* SPDX-License-Identifier: MIT */
/* benchmark.c -- seL4's own benchmark logs: kernel entries (24-byte records), TII's variant, tracepoints. */
#include "decode/eventlist.h"
#include "base/bytes.h"
#include "base/diag.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * CONFIG_BENCHMARK_TRACK_KERNEL_ENTRIES, on a 64-bit machine:
 *
 * OFFSET  SIZE  MEANING
 *      0     8  start: cycle counter at the entry
 *      8     4  duration
 *     12     1  path: three bits; TII's variant: four bits, numbered from Interrupt = 0, 8 is a switch
 *     13     8  syscalls: number[3:0] cap[8:4] fastpath[9] tag[28:10]; others: core[2:0] word[28:3]; switch: the TCB
 *     21     3  padding
 *
 * CONFIG_BENCHMARK_TRACEPOINTS: records of two words, id and duration.
 */
#define ENTRY_BYTES 24u
#define POINT_BYTES 16u
#define ENTRIES_MAX (16u << 20)

enum {
	ID_ENTRY = 1300,
	ID_SWITCH = 1301,
	ID_POINT = 1302,
};

#define PATHS                                                                              \
	"__print_symbolic(REC->path, {0, \"Unknown\"}, {1, \"Interrupt\"}, {2, "           \
	"\"UnknownSyscall\"}, {3, \"UserFault\"}, {4, \"DebugFault\"}, {5, \"VMFault\"}, " \
	"{6, \"Syscall\"}, {7, \"VCPUFault\"}, {8, \"UnimplementedDevice\"})"

static int schemas(struct source *s)
{
	int err = eventlist_schema(
		s, "sel4", "kernel_entry", ID_ENTRY,
		"\tfield:u8 path;\toffset:8;\tsize:1;\tsigned:0;\n"
		"\tfield:u8 syscall;\toffset:9;\tsize:1;\tsigned:0;\n"
		"\tfield:u8 cap;\toffset:10;\tsize:1;\tsigned:0;\n"
		"\tfield:u8 fastpath;\toffset:11;\tsize:1;\tsigned:0;\n"
		"\tfield:u32 tag;\toffset:12;\tsize:4;\tsigned:0;\n"
		"\tfield:u32 duration;\toffset:16;\tsize:4;\tsigned:0;\n"
		"\tfield:u32 core;\toffset:20;\tsize:4;\tsigned:0;\n"
		"\tfield:u64 word;\toffset:24;\tsize:8;\tsigned:0;\n",
		"\"%s syscall=%u cap=%u tag=%u fastpath=%u core=%u word=0x%llx "
		"duration=%u\", " PATHS
		", REC->syscall, REC->cap, REC->tag, REC->fastpath, REC->core, REC->word, "
		"REC->duration");

	if (!err)
		err = eventlist_schema(s, "sel4", "switch", ID_SWITCH,
				       "\tfield:u32 duration;\toffset:16;\tsize:4;\tsigned:0;\n"
				       "\tfield:u64 tcb;\toffset:24;\tsize:8;\tsigned:0;\n",
				       "\"tcb=0x%llx duration=%u\", REC->tcb, REC->duration");
	if (!err)
		err = eventlist_schema(s, "sel4", "tracepoint", ID_POINT,
				       "\tfield:u64 id;\toffset:16;\tsize:8;\tsigned:0;\n"
				       "\tfield:u64 duration;\toffset:24;\tsize:8;\tsigned:0;\n",
				       "\"id=%llu duration=%llu\", REC->id, REC->duration");
	return err;
}

static bool entry_plausible(const uint8_t *r, uint32_t max_path)
{
	return r[12] <= max_path && !r[21] && !r[22] && !r[23];
}

/* No magic number: records that make sense, whose times do not fall. */
static int probe_entries(const struct source_probe *p)
{
	size_t n = p->head_bytes / ENTRY_BYTES, seen = 0;
	uint64_t last = 0;

	if (p->directory || n < 4)
		return 0;
	for (; seen < n && seen < 64; seen++) {
		const uint8_t *r = p->head + seen * ENTRY_BYTES;
		uint64_t start = get_u64(r, false);

		if (!start) /* the rest of the buffer is unused */
			break;
		if (!entry_plausible(r, 7) || start < last || get_u64(r + 13, false) >> 29)
			return 0;
		last = start;
	}
	return seen >= 4 ? 30 : 0;
}

static int probe_never(const struct source_probe *p)
{
	(void)p;
	return 0;
}

static int add_entry(struct eventlist *l, const uint8_t *r, uint64_t at, bool tii)
{
	uint32_t path = r[12];
	uint64_t word = get_u64(r + 13, false);
	bool is_switch = tii && path == 8;
	struct listed *e = eventlist_add(l, 0, is_switch ? ID_SWITCH : ID_ENTRY, 0);
	uint8_t *out;

	if (!e)
		return -ENOMEM;
	if (tii && !is_switch) /* to upstream's numbers */
		path = path < 6 ? path + 1 : path == 7 ? 7 : 8;
	e->time = get_u64(r, false);
	e->offset = at;
	out = e->record;
	memcpy(out + 16, r + 8, 4);
	memcpy(out + 24, &word, 8);
	if (is_switch)
		return 0;
	out[8] = (uint8_t)path;
	if (path == 6 || path == 2) {
		uint32_t tag = (uint32_t)(word >> 10) & 0x7ffff;

		out[9] = word & 15;
		out[10] = word >> 4 & 31;
		out[11] = word >> 9 & 1;
		memcpy(out + 12, &tag, 4);
	} else {
		uint32_t core = word & 7;

		word = word >> 3 & 0x3ffffff;
		memcpy(out + 20, &core, 4);
		memcpy(out + 24, &word, 8);
	}
	return 0;
}

static int start(struct source *s, uint32_t record)
{
	s->priv = calloc(1, sizeof(struct eventlist));
	s->unit = CLOCK_TICKS;
	if (!s->priv)
		return -ENOMEM;
	if (s->map_bytes / record > ENTRIES_MAX) {
		diag_error("%s: more than %u records", s->path, ENTRIES_MAX);
		return -EFBIG;
	}
	if (s->map_bytes % record)
		source_damage(s, s->map_bytes - s->map_bytes % record, s->map_bytes % record,
			      "%" PRIu64 " bytes after the last record of %u",
			      s->map_bytes % record, record);
	return schemas(s);
}

static int open_entries(struct source *s, bool tii)
{
	int err = start(s, ENTRY_BYTES);

	for (uint64_t at = 0; !err && at + ENTRY_BYTES <= s->map_bytes; at += ENTRY_BYTES) {
		const uint8_t *r = s->map + at;

		if (!get_u64(r, false)) /* logging had not come this far */
			break;
		if (!entry_plausible(r, tii ? 8 : 7))
			source_damage(s, at, ENTRY_BYTES,
				      "not a record: path %u, padding %02x%02x%02x", r[12], r[21],
				      r[22], r[23]);
		else
			err = add_entry(s->priv, r, at, tii);
	}
	return err ? err : eventlist_streams(s);
}

static int open_upstream(struct source *s, const struct source_options *o)
{
	(void)o;
	return open_entries(s, false);
}

static int open_tii(struct source *s, const struct source_options *o)
{
	(void)o;
	return open_entries(s, true);
}

/* A tracepoint has a duration and no time: they are put one after the other. */
static int open_points(struct source *s, const struct source_options *o)
{
	int err = start(s, POINT_BYTES);
	uint64_t time = 0;

	(void)o;
	for (uint64_t at = 0; !err && at + POINT_BYTES <= s->map_bytes; at += POINT_BYTES) {
		struct listed *e = eventlist_add(s->priv, 0, ID_POINT, 0);

		if (!e)
			return -ENOMEM;
		memcpy(e->record + 16, s->map + at, POINT_BYTES);
		e->offset = at;
		e->time = time;
		time += get_u64(s->map + at + 8, false);
	}
	return err ? err : eventlist_streams(s);
}

const struct source_ops source_sel4_entries = {
	.name = "sel4-entries",
	.what = "seL4 benchmark log of kernel entries (24-byte records)",
	.probe = probe_entries,
	.open = open_upstream,
	EVENTLIST_OPS,
};

const struct source_ops source_sel4_tii = {
	.name = "sel4-tii",
	.what = "the same, TII's variant with switches",
	.probe = probe_never,
	.open = open_tii,
	EVENTLIST_OPS,
};

const struct source_ops source_sel4_tracepoints = {
	.name = "sel4-tracepoints",
	.what = "seL4 benchmark log of tracepoints (16-byte records)",
	.probe = probe_never,
	.open = open_points,
	EVENTLIST_OPS,
};
