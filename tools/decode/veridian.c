/* SPDX-License-Identifier: MIT */
/* veridian.c -- VeridianOS's `trace dump`: a table of text, one CPU after another. */
#include "decode/eventlist.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * === Trace Dump (most recent N per CPU) ===
 * TIMESTAMP    CPU  EVENT              DATA0              DATA1
 * 123456789012 0    syscall_entry      0x00000000000001 0x0000000000007f
 * === Total events recorded: N ===
 */
#define TITLE	 "=== Trace Dump"
#define TOTAL	 "=== Total events"
#define ID_FIRST 1400u
#define CPUS	 256u

static const struct {
	const char *name, *first, *second;
} types[] = {
	{"syscall_entry", "nr", "arg1"},    {"syscall_exit", "nr", "ret"},
	{"sched_switch_out", "pid", "tid"}, {"sched_switch_in", "pid", "tid"},
	{"ipc_fast_send", "target", "cap"}, {"ipc_fast_recv", "endpoint", "cap"},
	{"frame_alloc", "frame", "cpu"},    {"frame_free", "frame", "cpu"},
	{"page_fault", "addr", "error"},    {"ipc_slow_path", "target", "cap"},
};
#define NR_TYPES (sizeof(types) / sizeof(types[0]))

static int probe(const struct source_probe *p)
{
	return !p->directory && memmem(p->head, p->head_bytes, TITLE, strlen(TITLE)) ? 85 : 0;
}

static int schemas(struct source *s)
{
	for (uint32_t i = 0; i < NR_TYPES; i++) {
		char fields[256], print[160];
		int err;

		snprintf(fields, sizeof(fields),
			 "\tfield:u64 %s;\toffset:8;\tsize:8;\tsigned:0;\n"
			 "\tfield:u64 %s;\toffset:16;\tsize:8;\tsigned:0;\n",
			 types[i].first, types[i].second);
		snprintf(print, sizeof(print), "\"%s=0x%%llx %s=0x%%llx\", REC->%s, REC->%s",
			 types[i].first, types[i].second, types[i].first, types[i].second);
		err = eventlist_schema(s, "veridian", types[i].name, ID_FIRST + i, fields, print);
		if (err)
			return err;
	}
	return 0;
}

/* One line of the table; false if it is none. */
static int add_line(struct source *s, const char *text, size_t len, uint64_t offset)
{
	char line[160], name[32];
	unsigned long long time, cpu, data[2];
	uint32_t type = 0;
	struct listed *e;

	if (len >= sizeof(line))
		return 0;
	memcpy(line, text, len);
	line[len] = '\0';
	if (sscanf(line, "%llu %llu %31s %llx %llx", &time, &cpu, name, &data[0], &data[1]) != 5)
		return 0;
	while (type < NR_TYPES && strcmp(types[type].name, name) != 0)
		type++;
	if (type == NR_TYPES || cpu >= CPUS) {
		source_damage(s, offset, len, "not an event of VeridianOS: cpu %llu, %s", cpu,
			      name);
		return 0;
	}
	e = eventlist_add(s->priv, (size_t)cpu, (uint16_t)(ID_FIRST + type),
			  type == 3 ? (int32_t)(data[0] & 0x7fffffff) : 0);
	if (!e)
		return -ENOMEM;
	e->time = time;
	e->offset = offset;
	memcpy(e->record + 8, data, sizeof(data));
	return 0;
}

/* The dump holds the newest of each CPU; its last line counts all that were ever recorded. */
static void state_losses(struct source *s, const char *line, size_t len, uint64_t offset)
{
	const struct eventlist *l = s->priv;
	const char *colon = memchr(line, ':', len);
	uint64_t total = colon ? strtoull(colon + 1, NULL, 10) : 0, listed = 0;

	for (size_t i = 0; i < l->nr_streams; i++)
		listed += l->streams[i].nr;
	if (total < listed)
		source_damage(s, offset, len, "%llu events were recorded, but the dump lists %llu",
			      (unsigned long long)total, (unsigned long long)listed);
	else
		source_state_loss(s, LOSS_ALL, LOSS_OMITTED, total - listed, LOSS_EXACT);
}

static int open_dump(struct source *s, const struct source_options *o)
{
	const char *text = (const char *)s->map;
	bool inside = false, counted = false;
	int err;

	(void)o;
	s->priv = calloc(1, sizeof(struct eventlist));
	s->unit = CLOCK_TICKS;
	err = s->priv ? schemas(s) : -ENOMEM;
	for (uint64_t at = 0; !err && at < s->map_bytes;) {
		const char *end = memchr(text + at, '\n', s->map_bytes - at);
		size_t len = end ? (size_t)(end - text - at) : s->map_bytes - at;

		if (memmem(text + at, len, TITLE, strlen(TITLE)))
			inside = true;
		else if (memmem(text + at, len, TOTAL, strlen(TOTAL))) {
			state_losses(s, text + at, len, at);
			inside = false;
			counted = true;
		} else if (inside)
			err = add_line(s, text + at, len, at);
		at += len + 1;
	}
	err = err ? err : eventlist_streams(s);
	for (size_t i = 0; i < s->nr_streams; i++)
		s->streams[i].counted = counted;
	return err;
}

const struct source_ops source_veridian = {
	.name = "veridian",
	.what = "VeridianOS trace dump (text)",
	.probe = probe,
	.open = open_dump,
	EVENTLIST_OPS,
};
