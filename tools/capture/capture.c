/* SPDX-License-Identifier: MIT */
/* capture.c -- what is known of a target whose trace is taken, and what the recording of it holds. */
#include "capture/capture.h"
#include "base/vec.h"
#include "decode/source.h"
#include "wire/ringpage.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool bytes_room(struct bytes *b, size_t n)
{
	b->failed = b->failed || !VEC_ROOM(b->data, b->len + n, b->size);
	return !b->failed;
}

void bytes_add(struct bytes *b, const void *data, size_t n)
{
	if (!n || !bytes_room(b, n))
		return;
	memcpy(b->data + b->len, data, n);
	b->len += n;
}

void bytes_text(struct bytes *b, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(line, sizeof(line), fmt, ap);

	va_end(ap);
	if (n > 0)
		bytes_add(b, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
}

void bytes_free(struct bytes *b)
{
	free(b->data);
	memset(b, 0, sizeof(*b));
}

void capture_init(struct capture *c)
{
	*c = (struct capture){.long_bytes = 8, .page_bytes = WIRE_PAGE_BYTES};
}

void capture_free(struct capture *c)
{
	for (size_t i = 0; i < c->nr_formats; i++) {
		free(c->formats[i].system);
		free(c->formats[i].text);
	}
	free(c->formats);
	for (uint32_t i = 0; i < c->nr_cpus; i++)
		free(c->cpus[i].stats_text);
	free(c->cpus);
	bytes_free(&c->header_page);
	bytes_free(&c->kallsyms);
	bytes_free(&c->printks);
	bytes_free(&c->cmdlines);
	capture_init(c);
}

int capture_set_cpus(struct capture *c, uint32_t nr_cpus)
{
	c->cpus = calloc(nr_cpus ? nr_cpus : 1, sizeof(*c->cpus));
	c->nr_cpus = c->cpus ? nr_cpus : 0;
	return c->cpus ? 0 : -ENOMEM;
}

int capture_format(struct capture *c, const char *system, const char *text, size_t bytes)
{
	struct capture_format *f;

	if (!VEC_MORE(c->formats, c->nr_formats))
		return -1;
	f = &c->formats[c->nr_formats];
	f->system = strdup(system);
	f->text = strndup(text, bytes);
	if (!f->system || !f->text) {
		free(f->system);
		free(f->text);
		return -1;
	}
	c->nr_formats++;
	return 0;
}

uint64_t capture_number(const char *text, const char *name)
{
	size_t n = strlen(name);

	while (text && strncmp(text, name, n) != 0) {
		text = strchr(text, '\n');
		text += text != NULL;
	}
	return text ? strtoull(text + n, NULL, 10) : 0;
}

void capture_read_stats(const char *text, struct wire_stats *to)
{
	to->entries = capture_number(text, "entries: ");
	to->overwritten = capture_number(text, "overrun: ");
	to->nested = capture_number(text, "commit overrun: ");
	to->full = capture_number(text, "dropped events: ");
	to->read = capture_number(text, "read events: ");
	to->cleared = capture_number(text, "cleared events: ");
	to->written = to->entries + to->read + to->overwritten;
}

/* ---- what is in the recording ---- */

/* Walk every block of every stream; each stream has its own scan, which is passed to `each`. */
static int scan_all(struct source *s, struct pid_counts *pids,
		    void (*each)(void *arg, uint32_t cpu, const struct tally *scan), void *arg)
{
	uint64_t *types = calloc(SOURCE_ID_FAST, sizeof(*types));
	int err = types ? 0 : -ENOMEM;

	for (uint32_t i = 0; !err && i < s->nr_streams; i++) {
		struct tally scan = {.by_type = types, .pids = pids, .losses = losses_new()};
		struct cursor *c = scan.losses ? cursor_open(s, i) : NULL;

		for (uint64_t b = 0; c && b < s->streams[i].nr_blocks; b++)
			cursor_tally(c, b, &scan);
		if (c && each)
			each(arg, s->streams[i].cpu, &scan);
		err = c ? 0 : -ENOMEM;
		losses_free(scan.losses);
		cursor_close(c);
	}
	free(types);
	return err;
}

static void count_cpu(void *arg, uint32_t cpu, const struct tally *scan)
{
	struct capture *c = arg;
	struct capture_cpu *to = cpu < c->nr_cpus ? &c->cpus[cpu] : NULL;

	if (!to)
		return;
	to->events = scan->nr_events;
	to->missed = 0;
	for (size_t i = 0; i < losses_nr(scan->losses); i++) {
		uint64_t lost = losses_at(scan->losses, i)->lost;

		if (lost == LOST_UNKNOWN)
			to->missed_unknown = true;
		else
			to->missed += lost;
	}
}

int capture_count(struct capture *c, const char *file)
{
	struct source *s;
	int err = source_open(file, NULL, &s);

	if (err)
		return err;
	err = scan_all(s, NULL, count_cpu, c);
	c->nr_pages = 0;
	for (size_t i = 0; i < s->nr_streams; i++)
		c->nr_pages += s->streams[i].nr_blocks;
	source_close(s);
	return err;
}

struct pid_list {
	int32_t *pids;
	size_t nr;
};

static void add_pid(int32_t pid, uint64_t n, void *arg)
{
	struct pid_list *l = arg;

	(void)n;
	l->pids[l->nr++] = pid;
}

int32_t *capture_pids(const char *file, size_t *nr)
{
	struct pid_counts *counts = pid_counts_new();
	struct pid_list l = {0};
	struct source *s = NULL;

	if (counts && !source_open(file, NULL, &s) && !scan_all(s, counts, NULL, NULL)) {
		l.pids = calloc(pid_counts_nr(counts) + 1, sizeof(*l.pids));
		if (l.pids)
			pid_counts_each(counts, add_pid, &l);
	}
	source_close(s);
	pid_counts_free(counts);
	*nr = l.nr;
	return l.pids;
}
