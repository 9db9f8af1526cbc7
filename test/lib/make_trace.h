/* SPDX-License-Identifier: MIT */
/* make_trace.h -- write small trace.dat files with known events, for tests of the host program. */
#ifndef TEST_MAKE_TRACE_H
#define TEST_MAKE_TRACE_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wire/ringpage.h"
#include "wire/tracedat_write.h"

struct made_event {
	uint64_t time;
	uint32_t cpu, type, n;
	int32_t pid;
};

/* Pages of one CPU, filled event by event; a page is closed when it is full or made_flush() says so. */
struct made_cpu {
	uint8_t *pages;
	size_t nr_pages;
	uint32_t used; /* of the last page's data */
	uint64_t time;
};

static inline uint8_t *made_page(struct made_cpu *c)
{
	return c->pages + (c->nr_pages - 1) * WIRE_PAGE_BYTES;
}

static inline void made_new_page(struct made_cpu *c, uint64_t time)
{
	c->pages = realloc(c->pages, (c->nr_pages + 1) * WIRE_PAGE_BYTES);
	c->nr_pages++;
	memset(made_page(c), 0, WIRE_PAGE_BYTES);
	memcpy(made_page(c), &time, 8);
	c->used = 0;
	c->time = time;
}

static inline void made_put32(struct made_cpu *c, uint32_t v)
{
	uint64_t commit;

	memcpy(made_page(c) + WIRE_PAGE_HEADER + c->used, &v, 4);
	c->used += 4;
	memcpy(&commit, made_page(c) + 8, 8);
	commit = (commit & ~(uint64_t)WIRE_COMMIT_SIZE) | c->used;
	memcpy(made_page(c) + 8, &commit, 8);
}

/* A record of common fields and one u32. Times that step back begin a new page, as a page's deltas cannot. */
static inline void made_add(struct made_cpu *c, const struct made_event *e)
{
	uint64_t delta;

	if (!c->nr_pages || c->used + 24 > WIRE_PAGE_DATA || e->time < c->time)
		made_new_page(c, e->time);
	delta = e->time - c->time;
	if (delta > WIRE_DELTA_MAX) {
		made_put32(c, wire_header(WIRE_TYPE_EXTEND, (uint32_t)(delta & WIRE_DELTA_MAX)));
		made_put32(c, (uint32_t)(delta >> WIRE_DELTA_BITS));
		delta = 0;
	}
	made_put32(c, wire_header(3, (uint32_t)delta));
	made_put32(c, e->type);
	made_put32(c, (uint32_t)e->pid);
	made_put32(c, e->n);
	c->time = e->time;
}

/* Events were lost before the page that is filled now. */
static inline void made_lost(struct made_cpu *c, uint64_t n)
{
	uint64_t commit;

	memcpy(&commit, made_page(c) + 8, 8);
	commit |= WIRE_COMMIT_MISSED | WIRE_COMMIT_STORED;
	memcpy(made_page(c) + 8, &commit, 8);
	memcpy(made_page(c) + WIRE_PAGE_HEADER + c->used, &n, 8);
}

static inline int made_write(void *arg, const void *bytes, size_t n)
{
	return fwrite(bytes, 1, n, arg) == n ? 0 : -5;
}

/* Types FIRST .. FIRST + nr - 1 are events `ev0` ... of system `made`, each with a u32 field n. */
#define MADE_FIRST 100u

static inline void made_save(const char *path, struct made_cpu *cpus, uint32_t nr_cpus,
			     uint32_t nr_types)
{
	FILE *f = fopen(path, "w");
	uint64_t bytes[64];
	struct fathom_dat d;

	fathom_dat_begin(&d, made_write, f, WIRE_PAGE_BYTES, 0, 8);
	fathom_dat_header(&d, NULL, 0, NULL, 0);
	fathom_dat_ftrace(&d, 0);
	fathom_dat_systems(&d, 1);
	fathom_dat_system(&d, "made", nr_types);
	for (uint32_t i = 0; i < nr_types; i++) {
		char text[1000];
		int n = snprintf(
			text, sizeof(text),
			"name: ev%u\nID: %u\nformat:\n"
			"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
			"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
			"\tfield:unsigned char "
			"common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
			"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
			"\tfield:u32 n;\toffset:8;\tsize:4;\tsigned:0;\n\n"
			"print fmt: \"n=%%u\", REC->n\n",
			i, MADE_FIRST + i);

		fathom_dat_format(&d, text, (size_t)n);
	}
	fathom_dat_kallsyms(&d, "", 0);
	fathom_dat_printk(&d, "", 0);
	fathom_dat_cmdlines(&d, "1 one\n2 two\n3 three\n", 20);
	fathom_dat_cpus(&d, nr_cpus);
	for (uint32_t i = 0; i < nr_cpus; i++)
		bytes[i] = cpus[i].nr_pages * WIRE_PAGE_BYTES;
	fathom_dat_data(&d, "mono", bytes, nr_cpus);
	for (uint32_t i = 0; i < nr_cpus; i++)
		fathom_dat_bytes(&d, cpus[i].pages, bytes[i]);
	fclose(f);
	for (uint32_t i = 0; i < nr_cpus; i++)
		free(cpus[i].pages);
}

#endif
