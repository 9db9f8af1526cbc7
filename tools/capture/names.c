/* SPDX-License-Identifier: MIT */
/* names.c -- task names out of the events themselves, when nobody can be asked. */
#include "capture/names.h"
#include "wire/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A pair of fields of one event: a name of 16 bytes and the pid it belongs to. */
struct pair {
	uint16_t id;
	uint32_t comm, pid;
};

/* `offset:N` of the field whose declaration ends with `name;`; 0 if there is none of that size. */
static uint32_t field_offset(const char *format, const char *name, unsigned size)
{
	char want[64];
	const char *p = format;

	snprintf(want, sizeof(want), " %s;", name);
	while ((p = strstr(p, want))) {
		unsigned offset, bytes;

		p += strlen(want);
		if (sscanf(p, " offset:%u; size:%u;", &offset, &bytes) == 2 && bytes == size &&
		    offset < 4096)
			return offset;
	}
	return 0;
}

static size_t find_pairs(const struct capture *c, struct pair *out, size_t max)
{
	static const char *const fields[][3] = {{"sched_switch", "prev_comm[16]", "prev_pid"},
						{"sched_switch", "next_comm[16]", "next_pid"},
						{"sched_process_fork", "child_comm[16]",
						 "child_pid"}};
	size_t n = 0;

	for (size_t i = 0; i < c->nr_formats; i++) {
		const char *text = c->formats[i].text;
		char name[64];
		unsigned id;

		if (sscanf(text, "name: %63s ID: %u", name, &id) != 2)
			continue;
		for (size_t k = 0; k < sizeof(fields) / sizeof(fields[0]) && n < max; k++) {
			struct pair p = {(uint16_t)id, field_offset(text, fields[k][1], 16),
					 field_offset(text, fields[k][2], 4)};

			if (!strcmp(name, fields[k][0]) && p.comm && p.pid)
				out[n++] = p;
		}
	}
	return n;
}

struct names {
	struct capture *c;
	struct pair pair[8];
	size_t nr_pairs;
	uint8_t known[1 << 16]; /* by pid, as far as that goes */
};

static void look(void *arg, const uint8_t *record, uint32_t bytes)
{
	struct names *n = arg;
	struct wire_common common;

	if (bytes < sizeof(common))
		return;
	memcpy(&common, record, sizeof(common));
	for (size_t i = 0; i < n->nr_pairs; i++) {
		const struct pair *p = &n->pair[i];
		int32_t pid;
		char comm[17] = {0};

		if (p->id != common.type || p->comm + 16 > bytes || p->pid + 4 > bytes)
			continue;
		memcpy(&pid, record + p->pid, 4);
		memcpy(comm, record + p->comm, 16);
		if (pid <= 0 || pid >= (int32_t)sizeof(n->known) || n->known[pid] || !*comm)
			continue;
		n->known[pid] = 1;
		bytes_text(&n->c->cmdlines, "%d %s\n", pid, comm);
	}
}

void capture_names(struct capture *c)
{
	struct names *n = calloc(1, sizeof(*n));

	if (!n)
		return;
	n->c = c;
	n->nr_pairs = find_pairs(c, n->pair, sizeof(n->pair) / sizeof(n->pair[0]));
	capture_each(c, look, n);
	free(n);
}
