/* SPDX-License-Identifier: MIT */
/* gen_sched.c -- write a trace.dat of a scheduler, for benchmarks of answers: gen_sched FILE EVENTS [CPUS]. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/record.h"
#include "wire/ringpage.h"
#include "wire/tracedat_write.h"

#define TEXT	  0xffffffff81000000ull
#define FUNCTIONS 400u
#define TASKS	  200 /* of each CPU */

enum {
	ENTRY = 11,
	EXIT = 10,
	SWITCH = 314,
	WAKEUP,
	IRQ_IN,
	IRQ_OUT,
	SYS_IN,
	SYS_OUT,
};

static const char common[] =
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";

struct field {
	const char *type, *name;
	int offset, size, is_signed;
};

static const struct type {
	const char *system, *name;
	unsigned id;
	struct field fields[8];
} types[] = {
	{"ftrace",
	 "funcgraph_entry",
	 ENTRY,
	 {{"unsigned long", "func", 8, 8, 0}, {"int", "depth", 16, 4, 1}}},
	{"ftrace",
	 "funcgraph_exit",
	 EXIT,
	 {{"unsigned long", "func", 8, 8, 0},
	  {"unsigned int", "depth", 16, 4, 0},
	  {"unsigned int", "overrun", 20, 4, 0},
	  {"unsigned long long", "calltime", 24, 8, 0},
	  {"unsigned long long", "rettime", 32, 8, 0}}},
	{"sched",
	 "sched_switch",
	 SWITCH,
	 {{"char", "prev_comm[16]", 8, 16, 0},
	  {"pid_t", "prev_pid", 24, 4, 1},
	  {"int", "prev_prio", 28, 4, 1},
	  {"long", "prev_state", 32, 8, 1},
	  {"char", "next_comm[16]", 40, 16, 0},
	  {"pid_t", "next_pid", 56, 4, 1},
	  {"int", "next_prio", 60, 4, 1}}},
	{"sched",
	 "sched_wakeup",
	 WAKEUP,
	 {{"char", "comm[16]", 8, 16, 0},
	  {"pid_t", "pid", 24, 4, 1},
	  {"int", "prio", 28, 4, 1},
	  {"int", "target_cpu", 32, 4, 1}}},
	{"irq",
	 "irq_handler_entry",
	 IRQ_IN,
	 {{"int", "irq", 8, 4, 1}, {"char", "name[12]", 12, 12, 0}}},
	{"irq", "irq_handler_exit", IRQ_OUT, {{"int", "irq", 8, 4, 1}, {"int", "ret", 12, 4, 1}}},
	{"raw_syscalls",
	 "sys_enter",
	 SYS_IN,
	 {{"long", "id", 8, 8, 1}, {"unsigned long", "arg0", 16, 8, 0}}},
	{"raw_syscalls", "sys_exit", SYS_OUT, {{"long", "id", 8, 8, 1}, {"long", "ret", 16, 8, 1}}},
};
#define NR_TYPES (sizeof(types) / sizeof(types[0]))

struct cpu {
	uint64_t rng, time, left; /* left: events to write */
	uint32_t id;
	int32_t pid;
	uint8_t page[WIRE_PAGE_BYTES], *at;
	uint64_t page_time, pages;
	struct fathom_dat *d; /* NULL: pages are counted only */
};

static uint32_t rnd(struct cpu *c)
{
	c->rng = c->rng * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(c->rng >> 33);
}

static void end_page(struct cpu *c)
{
	uint64_t used = (uint64_t)(c->at - c->page) - WIRE_PAGE_HEADER;

	memcpy(c->page, &c->page_time, 8);
	memcpy(c->page + 8, &used, 8);
	memset(c->at, 0, (size_t)(c->page + WIRE_PAGE_BYTES - c->at));
	if (c->d)
		fathom_dat_bytes(c->d, c->page, sizeof(c->page));
	c->pages++;
	c->at = NULL;
}

/* An event of `bytes`, some time after the last one; its common fields are written. */
static uint8_t *event(struct cpu *c, uint16_t id, uint32_t bytes, uint32_t after)
{
	struct wire_common head = {id, 0, 0, c->pid};
	uint32_t word;
	uint8_t *p;

	c->time += after;
	if (c->at && (size_t)(c->page + WIRE_PAGE_BYTES - c->at) < bytes + 4)
		end_page(c);
	word = wire_header(bytes / 4, c->at ? after : 0);
	if (!c->at) {
		c->at = c->page + WIRE_PAGE_HEADER;
		c->page_time = c->time;
	}
	memcpy(c->at, &word, 4);
	p = c->at + 4;
	memset(p, 0, bytes);
	memcpy(p, &head, 8);
	c->at = p + bytes;
	c->left -= c->left > 0;
	return p;
}

static void number(uint8_t *p, uint64_t v, int size)
{
	memcpy(p, &v, (size_t)size);
}

static void comm(uint8_t *p, int32_t pid)
{
	if (pid)
		snprintf((char *)p, 16, "task-%d", pid);
	else
		snprintf((char *)p, 16, "swapper");
}

static void put_switch(struct cpu *c, int32_t next, uint32_t state)
{
	uint8_t *p = event(c, SWITCH, 64, 200 + rnd(c) % 2000);

	comm(p + 8, c->pid);
	number(p + 24, (uint32_t)c->pid, 4);
	number(p + 28, 120, 4);
	number(p + 32, state, 8);
	comm(p + 40, next);
	number(p + 56, (uint32_t)next, 4);
	number(p + 60, 120, 4);
	c->pid = next;
}

static void put_call(struct cpu *c, uint32_t depth)
{
	uint64_t func = TEXT + rnd(c) % FUNCTIONS * 64, from;
	uint8_t *p = event(c, ENTRY, 20, 20 + rnd(c) % 100);

	number(p + 8, func, 8);
	number(p + 16, depth, 4);
	from = c->time;
	if (depth < 2)
		put_call(c, depth + 1);
	p = event(c, EXIT, 40, 50 + rnd(c) % 500);
	number(p + 8, func, 8);
	number(p + 16, depth, 4);
	number(p + 24, from, 8);
	number(p + 32, c->time, 8);
}

/* An interrupt wakes a task, which runs, makes system calls and sleeps again. */
static void cycle(struct cpu *c)
{
	int32_t pid = 100 + (int32_t)c->id * TASKS + (int32_t)(rnd(c) % TASKS);
	uint64_t irq = 30 + rnd(c) % 8, nr = rnd(c) % 60;
	uint8_t *p = event(c, IRQ_IN, 24, 500 + rnd(c) % 5000);

	number(p + 8, irq, 4);
	snprintf((char *)p + 12, 12, "device%u", (unsigned)irq);
	p = event(c, WAKEUP, 36, 300);
	comm(p + 8, pid);
	number(p + 24, (uint32_t)pid, 4);
	number(p + 28, 120, 4);
	number(p + 32, c->id, 4);
	p = event(c, IRQ_OUT, 16, 100 + rnd(c) % 400);
	number(p + 8, irq, 4);
	put_switch(c, pid, 0);
	for (uint32_t i = rnd(c) % 4; i < 4; i++) {
		p = event(c, SYS_IN, 24, 100 + rnd(c) % 1000);
		number(p + 8, nr, 8);
		put_call(c, 0);
		p = event(c, SYS_OUT, 24, 100);
		number(p + 8, nr, 8);
	}
	put_switch(c, 0, 1);
}

static struct cpu begin(uint32_t id, uint64_t events, struct fathom_dat *d)
{
	return (struct cpu){.rng = id + 1, .time = 1000000000, .left = events, .id = id, .d = d};
}

static uint64_t run(uint32_t id, uint64_t events, struct fathom_dat *d)
{
	struct cpu c = begin(id, events, d);

	while (c.left)
		cycle(&c);
	end_page(&c);
	return c.pages;
}

static void format(struct fathom_dat *d, const struct type *t)
{
	char text[4096];
	int n = snprintf(text, sizeof(text), "name: %s\nID: %u\nformat:\n%s", t->name, t->id,
			 common);

	for (const struct field *f = t->fields; f->name; f++)
		n += snprintf(text + n, sizeof(text) - (size_t)n,
			      "\tfield:%s %s;\toffset:%d;\tsize:%d;\tsigned:%d;\n", f->type,
			      f->name, f->offset, f->size, f->is_signed);
	n += snprintf(text + n, sizeof(text) - (size_t)n, "\nprint fmt: \"\"\n");
	fathom_dat_format(d, text, (size_t)n);
}

static void formats(struct fathom_dat *d)
{
	fathom_dat_ftrace(d, 2);
	format(d, &types[0]);
	format(d, &types[1]);
	fathom_dat_systems(d, 3);
	for (size_t i = 2; i < NR_TYPES; i++) {
		if (strcmp(types[i].system, types[i - 1].system))
			fathom_dat_system(d, types[i].system, 2);
		format(d, &types[i]);
	}
}

static void kallsyms(struct fathom_dat *d)
{
	char text[FUNCTIONS * 48];
	size_t n = 0;

	for (uint32_t i = 0; i < FUNCTIONS; i++)
		n += (size_t)sprintf(text + n, "%016" PRIx64 " T function_number_%u\n",
				     (uint64_t)(TEXT + (uint64_t)i * 64), i);
	fathom_dat_kallsyms(d, text, n);
}

static int to_file(void *arg, const void *bytes, size_t n)
{
	return fwrite(bytes, 1, n, arg) == n ? 0 : -5;
}

int main(int argc, char **argv)
{
	uint32_t cpus = argc > 3 ? (uint32_t)atoi(argv[3]) : 2;
	uint64_t bytes[64], events;
	struct fathom_dat d;
	FILE *f;

	if (argc < 3 || !cpus || cpus > 64 || !(f = fopen(argv[1], "w"))) {
		fprintf(stderr, "usage: gen_sched FILE EVENTS [CPUS]\n");
		return 2;
	}
	setvbuf(f, NULL, _IOFBF, 1 << 20);
	events = strtoull(argv[2], NULL, 10) / cpus;
	fathom_dat_begin(&d, to_file, f, WIRE_PAGE_BYTES, 0, 8);
	fathom_dat_header(&d, NULL, 0, NULL, 0);
	formats(&d);
	kallsyms(&d);
	fathom_dat_printk(&d, "", 0);
	fathom_dat_cmdlines(&d, "100 task-100\n", 13);
	fathom_dat_cpus(&d, cpus);
	for (uint32_t i = 0; i < cpus; i++)
		bytes[i] = run(i, events, NULL) * WIRE_PAGE_BYTES;
	fathom_dat_data(&d, "local", bytes, cpus);
	for (uint32_t i = 0; i < cpus && !d.err; i++)
		run(i, events, &d);
	if (fclose(f) || d.err) {
		perror(argv[1]);
		return 1;
	}
	return 0;
}
