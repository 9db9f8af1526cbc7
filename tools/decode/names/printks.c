/* SPDX-License-Identifier: MIT */
/* printks.c -- trace_printk() formats by address. */
#include "decode/names/names.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

struct printk {
	uint64_t addr;
	char *text;
};

struct printks {
	struct printk *list;
	size_t nr, cap;
	bool sorted;
};

#define PRINTKS_MAX (1u << 20)

struct printks *printks_new(void)
{
	return calloc(1, sizeof(struct printks));
}

void printks_free(struct printks *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->nr; i++)
		free(t->list[i].text);
	free(t->list);
	free(t);
}

/* The file holds \n \t \\ and \" escaped, and ends the text with a quote. */
static char *unescape(const char *p, const char *end)
{
	char *out = malloc((size_t)(end - p) + 1), *o = out;

	for (; out && p < end; p++) {
		if (*p == '\\' && p + 1 < end) {
			p++;
			*o++ = *p == 'n' ? '\n' : *p == 't' ? '\t' : *p;
		} else if (*p == '"' && p + 1 == end) {
			break;
		} else {
			*o++ = *p;
		}
	}
	if (out)
		*o = 0;
	return out;
}

static void add(struct printks *t, uint64_t addr, char *text)
{
	if (text && (t->nr >= PRINTKS_MAX || !VEC_MORE(t->list, t->nr))) {
		free(text);
		return;
	}
	if (!text)
		return;
	t->list[t->nr++] = (struct printk){addr, text};
	t->sorted = false;
}

/* 0xffffffff82012345 : "text" */
static void printk_line(struct printks *t, const char *p, const char *end)
{
	char number[24] = "";
	const char *quote, *colon = memchr(p, ':', (size_t)(end - p));

	if (!colon || (size_t)(colon - p) >= sizeof(number))
		return;
	memcpy(number, p, (size_t)(colon - p));
	quote = memchr(colon, '"', (size_t)(end - colon));
	if (!quote)
		return;
	while (end > quote + 1 && (end[-1] == '\r' || end[-1] == ' '))
		end--;
	add(t, strtoull(number, NULL, 16), unescape(quote + 1, end));
}

void printks_add_text(struct printks *t, const char *text, size_t bytes)
{
	const char *p = text, *end = text + bytes;

	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		const char *stop = nl ? nl : end;

		printk_line(t, p, stop);
		p = stop + 1;
	}
}

static int by_addr(const void *a, const void *b)
{
	const struct printk *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

const char *printks_find(struct printks *t, uint64_t addr)
{
	struct printk key = {.addr = addr}, *hit;

	if (!t || !t->nr)
		return NULL;
	if (!t->sorted)
		qsort(t->list, t->nr, sizeof(*t->list), by_addr);
	t->sorted = true;
	hit = bsearch(&key, t->list, t->nr, sizeof(*t->list), by_addr);
	return hit ? hit->text : NULL;
}
