/* SPDX-License-Identifier: MIT */
/* gen_trace.c -- write a large trace.dat for benchmarks: gen_trace FILE MEGABYTES [CPUS]. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/record.h"
#include "wire/ringpage.h"
#include "wire/tracedat_write.h"

#define SYMBOLS	 100000u
#define TEXT	 0xffffffff81000000ull
#define FUNCTION 64u /* bytes from one function to the next */
#define SWITCH	 314u

static const char common[] =
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";

static const char function_fields[] =
	"\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long parent_ip;\toffset:16;\tsize:8;\tsigned:0;\n\n"
	"print fmt: \" %ps <-- %ps\", (void *)REC->ip, (void *)REC->parent_ip\n";

static const char switch_fields[] = "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
				    "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
				    "\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
				    "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
				    "\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
				    "\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
				    "\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\n"
				    "print fmt: \"prev_comm=%s prev_pid=%d prev_prio=%d "
				    "prev_state=%ld ==> next_comm=%s next_pid=%d "
				    "next_prio=%d\", REC->prev_comm, REC->prev_pid, "
				    "REC->prev_prio, REC->prev_state, REC->next_comm, "
				    "REC->next_pid, REC->next_prio\n";

#define DEPTH	  24u
#define FUNCTIONS 4000u

struct cpu {
	uint64_t rng, time;
	int32_t pid, first;	      /* tasks of a CPU stay on it: none runs on two at once */
	uint32_t depth, stack[DEPTH]; /* functions that have been entered */
};

static uint32_t rnd(struct cpu *c)
{
	c->rng = c->rng * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(c->rng >> 33);
}

static uint64_t address(uint32_t function)
{
	return TEXT + (uint64_t)function * 25 * FUNCTION;
}

/* Each function calls a few others, as in a kernel: the next event is a call by the one on top, some returns later. */
static void put_function(struct cpu *c, uint8_t *p)
{
	struct wire_common head = {WIRE_ID_FUNCTION, 0, 0, c->pid};
	uint32_t caller, callee;
	uint64_t ip, parent;

	while (c->depth > 1 && (c->depth == DEPTH || rnd(c) % 2))
		c->depth--;
	caller = c->depth ? c->stack[c->depth - 1] : 0;
	callee = (caller * 7 + rnd(c) % 5 + 1) % FUNCTIONS;
	c->stack[c->depth++] = callee;
	ip = address(callee);
	parent = address(caller) + 20;
	memcpy(p, &head, 8);
	memcpy(p + 8, &ip, 8);
	memcpy(p + 16, &parent, 8);
}

static void put_switch(struct cpu *c, uint8_t *p)
{
	struct wire_common head = {SWITCH, 0, 0, c->pid};
	int32_t next = c->first + (int32_t)(rnd(c) % 50);

	memset(p, 0, 64);
	memcpy(p, &head, 8);
	snprintf((char *)p + 8, 16, "task-%d", c->pid);
	memcpy(p + 24, &c->pid, 4);
	p[28] = p[60] = 120;
	p[32] = 1;
	snprintf((char *)p + 40, 16, "task-%d", next);
	memcpy(p + 56, &next, 4);
	c->pid = next;
}

/* Function events with a task switch now and then, a microsecond apart on average. */
static void fill_page(struct cpu *c, uint8_t *page)
{
	uint8_t *p = page + WIRE_PAGE_HEADER, *end = page + WIRE_PAGE_BYTES;
	uint64_t used;

	memset(page, 0, WIRE_PAGE_BYTES);
	memcpy(page, &c->time, 8);
	while (end - p >= 4 + 64) {
		uint32_t delta = rnd(c) % 2000, words = rnd(c) % 50 ? 6 : 16;
		uint32_t head = wire_header(words, delta);

		memcpy(p, &head, 4);
		c->time += delta;
		if (words == 6)
			put_function(c, p + 4);
		else
			put_switch(c, p + 4);
		p += 4 + words * 4;
	}
	used = (uint64_t)(p - page) - WIRE_PAGE_HEADER;
	memcpy(page + 8, &used, 8);
}

static int to_file(void *arg, const void *bytes, size_t n)
{
	return fwrite(bytes, 1, n, arg) == n ? 0 : -5;
}

static void format(struct fathom_dat *d, const char *name, unsigned id, const char *fields)
{
	char text[4096];
	int n = snprintf(text, sizeof(text), "name: %s\nID: %u\nformat:\n%s%s", name, id, common,
			 fields);

	fathom_dat_format(d, text, (size_t)n);
}

static void kallsyms(struct fathom_dat *d)
{
	char *text = malloc(SYMBOLS * 48ul);
	size_t n = 0;

	for (uint32_t i = 0; text && i < SYMBOLS; i++)
		n += (size_t)sprintf(text + n, "%016" PRIx64 " T function_number_%u\n",
				     (uint64_t)(TEXT + (uint64_t)i * FUNCTION), i);
	fathom_dat_kallsyms(d, text, n);
	free(text);
}

int main(int argc, char **argv)
{
	uint32_t cpus = argc > 3 ? (uint32_t)atoi(argv[3]) : 2;
	uint64_t bytes[64], pages;
	uint8_t page[WIRE_PAGE_BYTES];
	struct fathom_dat d;
	FILE *f;

	if (argc < 3 || !cpus || cpus > 64 || !(f = fopen(argv[1], "w"))) {
		fprintf(stderr, "usage: gen_trace FILE MEGABYTES [CPUS]\n");
		return 2;
	}
	setvbuf(f, NULL, _IOFBF, 1 << 20);
	pages = strtoull(argv[2], NULL, 10) * 256 / cpus;
	fathom_dat_begin(&d, to_file, f, WIRE_PAGE_BYTES, 0, 8);
	fathom_dat_header(&d, NULL, 0, NULL, 0);
	fathom_dat_ftrace(&d, 1);
	format(&d, "function", WIRE_ID_FUNCTION, function_fields);
	fathom_dat_systems(&d, 1);
	fathom_dat_system(&d, "sched", 1);
	format(&d, "sched_switch", SWITCH, switch_fields);
	kallsyms(&d);
	fathom_dat_printk(&d, "", 0);
	fathom_dat_cmdlines(&d, "100 task-100\n101 task-101\n", 26);
	fathom_dat_cpus(&d, cpus);
	for (uint32_t i = 0; i < cpus; i++)
		bytes[i] = pages * WIRE_PAGE_BYTES;
	fathom_dat_data(&d, "local", bytes, cpus);
	for (uint32_t i = 0; i < cpus && !d.err; i++) {
		int32_t first = 100 + 50 * (int32_t)i;
		struct cpu c = {.rng = i + 1, .time = 1000000000ull, .pid = first, .first = first};

		for (uint64_t k = 0; k < pages && !d.err; k++) {
			fill_page(&c, page);
			fathom_dat_bytes(&d, page, sizeof(page));
		}
	}
	if (fclose(f) || d.err) {
		perror(argv[1]);
		return 1;
	}
	return 0;
}
