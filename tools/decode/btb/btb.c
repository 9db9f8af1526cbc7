/* SPDX-License-Identifier: MIT */
/* btb.c -- entries of the backtrace buffer: found, checked, put in time order. */
#include "decode/btb/btb.h"
#include "base/vec.h"
#include "base/diag.h"
#include "base/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int attr(const struct btb_layout *l, int type, const char *name)
{
	for (uint32_t i = 0; i < l->nr[type]; i++)
		if (!strcmp(l->name[type][i], name))
			return (int)i;
	return -1;
}

/* Read an INFO entry of n words; false if it does not describe itself sensibly. */
static bool read_info(struct btb_layout *l, const uint64_t *w, size_t n)
{
	size_t types, at;

	if (n < 6)
		return false;
	types = w[5];
	at = 6 + types;
	if (w[4] == 2)
		at++; /* version 2 has one word of padding before the table */
	if (types == 0 || types > 64 || at > n)
		return false;
	memset(l, 0, sizeof(*l));
	for (size_t t = 0; t < types; t++) {
		uint64_t nr = w[at - types + t];

		if (nr > WIRE_BTB_ATTR_MAX || (n - at) / 2 < nr)
			return false;
		/* the table stands before the names, so read all counts against the names' place */
		if (t < WIRE_BTB_TYPES)
			l->nr[t] = (uint32_t)nr;
	}
	for (size_t t = 0, pos = at; t < types; t++) {
		uint64_t nr = w[at - types + t];

		if ((n - pos) / 2 < nr)
			return false;
		for (uint64_t k = 0; k < nr; k++, pos += 2)
			if (t < WIRE_BTB_TYPES)
				memcpy(l->name[t][k], &w[pos], WIRE_BTB_NAME_BYTES);
	}
	for (uint32_t t = 0; t < WIRE_BTB_TYPES; t++)
		l->cpu[t] = attr(l, (int)t, "cpu_id");
	l->task = attr(l, 0, "task_id");
	l->step = attr(l, 0, "timer_step");
	l->depth = attr(l, 0, "stack_depth");
	l->start = attr(l, 0, "start_index");
	l->map_base = attr(l, 1, "mapping_base");
	l->map_task = attr(l, 1, "mapping_task_id");
	l->map_flags = attr(l, 1, "mapping_flags");
	l->bins = attr(l, 4, "hist_bin_count");
	l->bin_size = attr(l, 4, "hist_bin_size");
	return true;
}

/* Could an entry begin here? Length within what is left, and long enough for its attributes. */
static bool plausible(const struct btb *b, size_t at)
{
	const uint64_t *w = b->w + at;
	size_t left = b->nr_words - at;
	int t;

	if (left <= WIRE_BTB_ENTRY_HEAD)
		return false;
	t = btb_type_index(w[0]);
	return t >= 0 && w[1] > WIRE_BTB_ENTRY_HEAD && w[1] <= left && w[1] <= WIRE_BTB_ENTRY_MAX &&
	       w[1] >= b->layout.nr[t] && w[3] < (uint64_t)1 << 40;
}

/* After damage: an entry that is followed by another, or by the end, and whose time is near what was seen. */
static bool convincing(const struct btb *b, size_t at, uint64_t time)
{
	const uint64_t *w = b->w + at;
	size_t next;

	if (!plausible(b, at))
		return false;
	if (time && (w[2] > time ? w[2] - time : time - w[2]) > 3600000000000ull)
		return false;
	next = at + w[1];
	return next == b->nr_words || plausible(b, next);
}

static bool find_info(struct btb *b)
{
	for (size_t at = 0; at + 6 <= b->nr_words;) {
		const uint64_t *w = b->w + at;
		bool entry = btb_type_index(w[0]) >= 0 && w[1] > WIRE_BTB_ENTRY_HEAD &&
			     w[1] <= b->nr_words - at;

		if (entry && w[0] == WIRE_BTB_INFO && read_info(&b->layout, w, w[1]))
			return true;
		at += entry ? w[1] : 1;
	}
	/* It may stand after damage that the walk by lengths ran past. */
	for (size_t at = 0; at + 6 <= b->nr_words; at++)
		if (b->w[at] == WIRE_BTB_INFO && b->w[at + 1] <= b->nr_words - at &&
		    b->w[at + 1] > 6 && read_info(&b->layout, b->w + at, b->w[at + 1]))
			return true;
	return false;
}

static int by_time(const void *a, const void *b)
{
	const struct btb_entry *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static int add_entry(struct btb *b, size_t at)
{
	if (!VEC_MORE(b->entries, b->nr_entries))
		return -ENOMEM;
	b->entries[b->nr_entries++] = (struct btb_entry){b->w[at + 2], at};
	return 0;
}

int btb_parse(struct btb *b, const uint64_t *w, size_t n, const size_t *cuts, size_t nr_cuts,
	      const char *file, struct btb_loss *loss)
{
	size_t cut = 0, at = 0;
	uint64_t time = 0;
	bool sorted = true;

	bool mapped = b->mapped;
	size_t walked = 0;

	memset(b, 0, sizeof(*b));
	b->mapped = mapped;
	b->w = w;
	b->nr_words = n;
	if (!find_info(b)) {
		diag_error("%s: no INFO entry in %zu words of the backtrace buffer: the layout of "
			   "the entries is unknown",
			   file, n);
		return -EINVAL;
	}
	while (at < n) {
		size_t from = at, len;
		bool hole;

		while (cut < nr_cuts && cuts[cut] <= at)
			cut++;
		hole = cut < nr_cuts && plausible(b, at) && at + w[at + 1] > cuts[cut];
		if (hole || !plausible(b, at)) {
			size_t jump = hole ? cuts[cut] : at + 1;

			while (jump < n && !convincing(b, jump, time))
				jump++;
			diag_at(file, from * 8, "%s; %zu words skipped up to the next entry",
				hole ? "an entry was cut by a loss" : "no entry here", jump - from);
			loss->skipped_words += jump - from;
			at = jump;
			continue;
		}
		len = w[at + 1];
		if (w[at] == WIRE_BTB_INFO && at)
			read_info(&b->layout, w + at, len);
		sorted = sorted && w[at + 2] >= time;
		time = w[at + 2];
		if (add_entry(b, at)) {
			btb_free(b);
			return -ENOMEM;
		}
		btb_walked(b, at, &walked);
		at += len;
	}
	if (!sorted)
		qsort(b->entries, b->nr_entries, sizeof(*b->entries), by_time);
	loss->entries += b->nr_entries;
	return 0;
}

void btb_walked(const struct btb *b, size_t at, size_t *since)
{
	if (b->mapped)
		file_map_walked(b->w, b->nr_words * sizeof(*b->w), b->w[at + 1] * sizeof(*b->w),
				since);
}

void btb_free(struct btb *b)
{
	free(b->entries);
	b->entries = NULL;
	b->nr_entries = 0;
}

uint64_t btb_entry_cpu(const struct btb *b, const struct btb_entry *e)
{
	const uint64_t *w = btb_entry_words(b, e);
	int at = b->layout.cpu[btb_type_index(w[0])];

	return at < 0 ? 0 : w[at];
}

size_t btb_stack_frames(const struct btb *b, const struct btb_entry *e)
{
	return btb_entry_words(b, e)[1] - b->layout.nr[0];
}

uint64_t btb_stack_frame(const struct btb *b, const struct btb_entry *e, size_t i)
{
	const uint64_t *w = btb_entry_words(b, e);
	size_t n = w[1] - b->layout.nr[0];

	if (b->layout.start >= 0)
		i = (i + w[b->layout.start] % n) % n;
	return w[b->layout.nr[0] + i];
}
