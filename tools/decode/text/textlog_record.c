/* SPDX-License-Identifier: MIT */
/* textlog_record.c -- a line of a trace's text as a record: the fields its type was seen to have, and the whole text. */
#include "decode/text/textlog.h"

#include <string.h>

#define TEXT_MAX 32768u /* of one string; longer ones are cut */

struct record_build {
	uint8_t *record;
	uint32_t used;
	bool cut;
};

/* A string that does not fit stays the empty one at 0: what a line may repeat, it may repeat any number of times. */
static void put_string(struct record_build *b, uint32_t slot, const char *p, size_t n)
{
	uint32_t loc;

	if (n > TEXT_MAX) {
		n = TEXT_MAX;
		b->cut = true;
	}
	if (b->used + n + 1 > TEXT_RECORD_MAX - 8) {
		b->cut = true;
		return;
	}
	loc = b->used | (uint32_t)(n + 1) << 16;
	memcpy(b->record + slot, &loc, 4);
	memcpy(b->record + b->used, p, n);
	b->record[b->used + n] = 0;
	b->used += (uint32_t)n + 1;
}

static const struct text_key *find_key(const struct text_type *k, struct words name)
{
	for (uint32_t i = 0; i < k->nr_keys; i++)
		if (k->keys[i].name.n == name.n && !memcmp(k->keys[i].name.p, name.p, name.n))
			return &k->keys[i];
	return NULL;
}

static void put_keys(struct record_build *b, const struct text_type *k, struct words info)
{
	const char *p = info.p, *end = info.p + info.n, *arrow;
	struct words name, value;

	arrow = k->function ? memmem(p, info.n, " <-", 3) : NULL;
	if (arrow) {
		put_string(b, k->keys[0].offset, p, (size_t)(arrow - p));
		put_string(b, k->keys[1].offset, arrow + 3, (size_t)(end - arrow - 3));
		return;
	}
	while (!k->function && text_next_pair(&p, end, &name, &value)) {
		const struct text_key *key = find_key(k, name);
		int64_t v;

		if (key && key->text)
			put_string(b, key->offset, value.p, value.n);
		else if (key && text_number(value, &v))
			memcpy(b->record + key->offset, &v, 8);
	}
}

void text_was_cut(struct source *s, uint64_t offset, uint64_t bytes)
{
	source_damage(s, offset, bytes,
		      "an event of %llu bytes is too long: its text was cut at %u bytes",
		      (unsigned long long)bytes, TEXT_MAX);
}

uint32_t text_make_record(uint8_t *record, const struct text_type *k, const struct text_line *l,
			  const char *text_end, bool *cut)
{
	struct record_build b = {record, k->fixed, false};
	uint16_t type = (uint16_t)k->id;

	memset(record, 0, k->fixed);
	memcpy(record, &type, 2);
	record[2] = l->flags;
	record[3] = l->preempt;
	memcpy(record + 4, &l->pid, 4);
	put_string(&b, 8, l->info.p, (size_t)(text_end - l->info.p));
	put_keys(&b, k, l->info);
	while (b.used % 4)
		record[b.used++] = 0;
	*cut = b.cut;
	return b.used;
}
