/* SPDX-License-Identifier: MIT */
/* capture.c -- what was taken from a target: pages and texts as they come in, and walking the pages. */
#include "capture/capture.h"
#include "wire/record.h"
#include "wire/ringpage.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool bytes_room(struct bytes *b, size_t n)
{
	size_t size = b->size ? b->size : 4096;
	uint8_t *data;

	if (b->failed)
		return false;
	if (b->len + n <= b->size)
		return true;
	while (size < b->len + n)
		size *= 2;
	data = realloc(b->data, size);
	if (!data) {
		b->failed = true;
		return false;
	}
	b->data = data;
	b->size = size;
	return true;
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

void capture_free(struct capture *c)
{
	for (size_t i = 0; i < c->nr_formats; i++) {
		free(c->formats[i].system);
		free(c->formats[i].text);
	}
	free(c->formats);
	free(c->pids);
	bytes_free(&c->kallsyms);
	bytes_free(&c->printks);
	bytes_free(&c->cmdlines);
	for (uint32_t i = 0; i < CAPTURE_CPUS_MAX; i++)
		bytes_free(&c->pages[i]);
	memset(c, 0, sizeof(*c));
}

int capture_page(struct capture *c, uint32_t cpu, const void *page, size_t bytes)
{
	struct wire_page whole = {0};

	if (cpu >= CAPTURE_CPUS_MAX || bytes < WIRE_PAGE_HEADER || bytes > sizeof(whole))
		return -1;
	memcpy(&whole, page, bytes);
	if ((whole.commit & WIRE_COMMIT_SIZE) > bytes - WIRE_PAGE_HEADER)
		return -1;
	bytes_add(&c->pages[cpu], &whole, sizeof(whole));
	return c->pages[cpu].failed ? -1 : 0;
}

int capture_format(struct capture *c, const char *system, const char *text, size_t bytes)
{
	struct capture_format *f = realloc(c->formats, (c->nr_formats + 1) * sizeof(*f));

	if (!f)
		return -1;
	c->formats = f;
	f += c->nr_formats;
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

/* Walk the data records of one page: the payload and its bytes. State in *at, which begins at 0. */
static const uint8_t *next_record(const struct wire_page *p, uint32_t *at, uint32_t *bytes)
{
	uint32_t end = (uint32_t)(p->commit & WIRE_COMMIT_SIZE);

	if (end > WIRE_PAGE_DATA)
		return NULL;
	while (*at + 8 <= end) {
		uint32_t word, next, len;

		memcpy(&word, p->data + *at, 4);
		memcpy(&next, p->data + *at + 4, 4);
		uint32_t type = word & 31, start = *at + 4;

		if (type == WIRE_TYPE_EXTEND || type == WIRE_TYPE_STAMP) {
			*at += 8;
			continue;
		}
		if (type == WIRE_TYPE_PADDING) {
			if (!(word >> WIRE_TYPE_LEN_BITS))
				return NULL;
			*at += 4 + next;
			continue;
		}
		len = type ? type * 4 : next;
		if (!type) {
			if (len < 4)
				return NULL;
			start += 4;
			len -= 4;
		}
		len = (len + 3) & ~3u;
		if (start + len > end)
			return NULL;
		*at = start + len;
		*bytes = len;
		return p->data + start;
	}
	return NULL;
}

static uint64_t missed_before(const struct wire_page *p)
{
	uint64_t n = 0, used = p->commit & WIRE_COMMIT_SIZE;

	if (!(p->commit & WIRE_COMMIT_MISSED))
		return 0;
	if ((p->commit & WIRE_COMMIT_STORED) && used + 8 <= WIRE_PAGE_DATA)
		memcpy(&n, p->data + used, 8);
	return n;
}

uint64_t capture_count(const struct capture *c, uint32_t cpu, uint64_t *missed)
{
	const struct bytes *b = &c->pages[cpu];
	uint64_t n = 0;

	for (size_t at = 0; at + sizeof(struct wire_page) <= b->len;
	     at += sizeof(struct wire_page)) {
		const struct wire_page *p = (const struct wire_page *)(b->data + at);
		uint32_t where = 0, bytes;

		*missed += missed_before(p);
		while (next_record(p, &where, &bytes))
			n++;
	}
	return n;
}

static int by_number(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

/* Sort and drop doubles when the list has grown to twice what it was: memory stays in proportion to distinct pids. */
static size_t squeeze(int32_t *pids, size_t n)
{
	size_t kept = 0;

	if (n)
		qsort(pids, n, sizeof(*pids), by_number);
	for (size_t i = 0; i < n; i++)
		if (!kept || pids[kept - 1] != pids[i])
			pids[kept++] = pids[i];
	return kept;
}

static void add_pid(struct capture *c, int32_t pid, size_t *size)
{
	if (c->nr_pids && c->pids[c->nr_pids - 1] == pid)
		return;
	if (c->nr_pids == *size) {
		c->nr_pids = squeeze(c->pids, c->nr_pids);
		if (c->nr_pids > *size / 2 || !*size) {
			size_t more = *size ? *size * 2 : 256;
			int32_t *p = realloc(c->pids, more * sizeof(*p));

			if (!p)
				return;
			c->pids = p;
			*size = more;
		}
	}
	c->pids[c->nr_pids++] = pid;
}

void capture_each(const struct capture *c, void (*fn)(void *, const uint8_t *, uint32_t), void *arg)
{
	for (uint32_t cpu = 0; cpu < CAPTURE_CPUS_MAX; cpu++) {
		const struct bytes *b = &c->pages[cpu];

		for (size_t at = 0; at + sizeof(struct wire_page) <= b->len;
		     at += sizeof(struct wire_page)) {
			const struct wire_page *p = (const struct wire_page *)(b->data + at);
			uint32_t where = 0, bytes;
			const uint8_t *r;

			while ((r = next_record(p, &where, &bytes)))
				fn(arg, r, bytes);
		}
	}
}

struct pid_list {
	struct capture *c;
	size_t size;
};

static void note_pid(void *arg, const uint8_t *record, uint32_t bytes)
{
	struct pid_list *l = arg;
	struct wire_common common;

	if (bytes < sizeof(common))
		return;
	memcpy(&common, record, sizeof(common));
	add_pid(l->c, common.pid, &l->size);
}

void capture_find_pids(struct capture *c)
{
	struct pid_list l = {c, 0};

	free(c->pids);
	c->pids = NULL;
	c->nr_pids = 0;
	capture_each(c, note_pid, &l);
	c->nr_pids = squeeze(c->pids, c->nr_pids);
}
