/* SPDX-License-Identifier: MIT */
/* hist_show.c -- a histogram as text: the spec as it is kept, and one line per entry, in Linux's columns. */
#include "control/hist.h"
#include "control/str.h"
#include "wire/format.h"

static const char *const hist_suffix[] = {
	[HIST_PLAIN] = "",
	[HIST_HEX] = ".hex",
	[HIST_SYM] = ".sym",
	[HIST_SYM_OFFSET] = ".sym-offset",
	[HIST_EXECNAME] = ".execname",
	[HIST_SYSCALL] = ".syscall",
	[HIST_LOG2] = ".log2",
	[HIST_BUCKETS] = ".buckets=",
	[HIST_USECS] = ".usecs",
	[HIST_PERCENT] = ".percent",
	[HIST_GRAPH] = ".graph",
	[HIST_STACKTRACE] = "",
	[HIST_TIMESTAMP] = "",
};

static void hist_field_text(const struct hist_field *f, struct fathom_text *t)
{
	fathom_text_str(t, f->name);
	fathom_text_str(t, hist_suffix[f->modifier]);
	if (f->modifier == HIST_BUCKETS)
		fathom_text_u64(t, f->buckets, 0, ' ');
}

void fathom_hist_keys_spec(const struct ctl_hist *h, struct fathom_text *t)
{
	fathom_text_str(t, "keys=");
	for (uint32_t i = 0; i < h->nr_keys; i++) {
		if (i)
			fathom_text_char(t, ',');
		hist_field_text(&h->key[i], t);
	}
}

void fathom_hist_spec(const struct ctl_hist *h, struct fathom_text *t)
{
	fathom_text_str(t, "hist:");
	if (h->name[0]) {
		fathom_text_str(t, "name=");
		fathom_text_str(t, h->name);
		fathom_text_char(t, ':');
	}
	fathom_hist_keys_spec(h, t);
	fathom_text_str(t, ":vals=");
	for (uint32_t i = 0; i < h->nr_values; i++) {
		if (i)
			fathom_text_char(t, ',');
		hist_field_text(&h->value[i], t);
	}
	for (uint32_t i = 0; i < h->nr_vars; i++) {
		fathom_text_char(t, ':');
		fathom_hist_expr_show(&h->variable[i], t);
	}
	fathom_text_str(t, ":sort=");
	for (uint32_t i = 0; i < h->nr_sorts; i++) {
		const struct hist_sort *s = &h->sort[i];

		if (i)
			fathom_text_char(t, ',');
		fathom_text_str(t, s->is_key ? h->key[s->index].name : h->value[s->index].name);
		if (s->descending)
			fathom_text_str(t, ".descending");
	}
	fathom_text_str(t, ":size=");
	fathom_text_u64(t, h->size, 0, ' ');
	if (h->no_hitcount)
		fathom_text_str(t, ":nohitcount");
	fathom_hist_actions_spec(h, t);
}

/* `name+0x10/0x30` or the bare name; the address if there is no symbol. */
static void hist_symbol(struct fathom_text *t, uint64_t at, int offset, size_t width)
{
	size_t start = t->len;

	fathom_text_printf(t, offset ? "%pS" : "%ps", (void *)(uintptr_t)at);
	if (t->len - start < width)
		fathom_text_fill(t, ' ', width - (t->len - start));
}

static void hist_stack_text(const uint8_t *key, struct fathom_text *t)
{
	fathom_text_char(t, '\n');
	for (uint32_t i = 0; i < HIST_FRAMES; i++) {
		uint64_t at;

		__builtin_memcpy(&at, key + i * 8, 8);
		if (!at)
			break;
		fathom_text_printf(t, "         %pS\n", (void *)(uintptr_t)at);
	}
}

static void hist_padded(struct fathom_text *t, const char *s, size_t max, size_t width)
{
	size_t n = 0;

	while (n < max && s[n])
		n++;
	fathom_text_bytes(t, s, n);
	if (n < width)
		fathom_text_fill(t, ' ', width - n);
}

static void hist_number_text(const struct hist_field *f, uint64_t v, struct fathom_text *t)
{
	switch (f->modifier) {
	case HIST_HEX: fathom_text_hex(t, v, 0, ' '); break;
	case HIST_SYM:
	case HIST_SYM_OFFSET:
		fathom_text_char(t, '[');
		fathom_text_hex(t, v, 0, ' ');
		fathom_text_str(t, "] ");
		hist_symbol(t, v, f->modifier == HIST_SYM_OFFSET,
			    f->modifier == HIST_SYM ? 45 : 55);
		break;
	case HIST_SYSCALL:
		fathom_text_str(t, "unknown_syscall");
		fathom_text_fill(t, ' ', 30 - 15);
		fathom_text_char(t, '[');
		fathom_text_u64(t, v, 3, ' ');
		fathom_text_char(t, ']');
		break;
	case HIST_LOG2:
		fathom_text_str(t, "~ 2^");
		fathom_text_u64(t, v, -2, ' ');
		break;
	case HIST_BUCKETS:
		fathom_text_str(t, "~ ");
		fathom_text_u64(t, v, 0, ' ');
		fathom_text_char(t, '-');
		fathom_text_u64(t, v + f->buckets - 1, 0, ' ');
		break;
	default: fathom_text_u64(t, v, 10, ' ');
	}
}

static void hist_key_text(const struct hist_field *f, const uint8_t *key, struct fathom_text *t)
{
	uint64_t v;

	fathom_text_str(t, f->name);
	fathom_text_char(t, ':');
	if (f->modifier == HIST_STACKTRACE) {
		hist_stack_text(key, t);
		return;
	}
	fathom_text_char(t, ' ');
	if (f->modifier == HIST_EXECNAME) {
		__builtin_memcpy(&v, key, 8);
		hist_padded(t, (const char *)key + 8, 16, 16);
		fathom_text_char(t, '[');
		fathom_text_u64(t, v, 10, ' ');
		fathom_text_char(t, ']');
	} else if (f->size == 8) {
		__builtin_memcpy(&v, key, 8);
		hist_number_text(f, v, t);
	} else {
		hist_padded(t, (const char *)key, f->size, 50);
	}
}

/* Hundredths of a percent; of numbers too large to multiply the lowest bits are left out. */
static uint32_t hist_share(uint64_t v, uint64_t of)
{
	while (of >> 48) {
		of >>= 1;
		v >>= 1;
	}
	if (v > of) /* it grew since the total was made */
		v = of;
	return of ? (uint32_t)ctl_div(v * 10000, of) : 0;
}

#define HIST_BAR 20

static void hist_value_text(const struct ctl_hist *h, uint32_t i, uint64_t v, struct fathom_text *t)
{
	const struct hist_field *f = &h->value[i];
	uint32_t share;

	fathom_text_str(t, f->name);
	fathom_text_str(t, f->modifier == HIST_PERCENT ? " (%): " : ": ");
	switch (f->modifier) {
	case HIST_PERCENT:
		share = hist_share(v, h->total[i]);
		fathom_text_u64(t, share / 100, 3, ' ');
		fathom_text_char(t, '.');
		fathom_text_u64(t, share % 100, 2, '0');
		break;
	case HIST_GRAPH:
		share = hist_share(v, h->most[i]) * HIST_BAR / 10000;
		fathom_text_fill(t, '#', share);
		fathom_text_fill(t, ' ', HIST_BAR - share);
		break;
	case HIST_HEX: fathom_text_hex(t, v, 10, ' '); break;
	default: fathom_text_u64(t, v, 10, ' ');
	}
}

/* Linux leaves no blank before the brace that ends a stack. */
void fathom_hist_line(const struct ctl_hist *h, uint32_t at, struct fathom_text *t)
{
	uint32_t entry = h->order[at];
	const uint8_t *key = hist_key(h, entry);
	const struct hist_sum *sums = hist_sums(h, entry);

	fathom_text_str(t, "{ ");
	for (uint32_t i = 0; i < h->nr_keys; i++) {
		if (i)
			fathom_text_str(t, ", ");
		hist_key_text(&h->key[i], key + h->key[i].at, t);
	}
	fathom_text_str(t, h->key[h->nr_keys - 1].modifier == HIST_STACKTRACE ? "}" : " }");
	for (uint32_t i = h->no_hitcount, first = i; i < h->nr_values; i++) {
		fathom_text_str(t, i > first ? "  " : " ");
		hist_value_text(h, i, fathom_hist_sum(&sums[i]), t);
	}
	fathom_hist_actions_text(h, entry, t);
	fathom_text_char(t, '\n');
}
