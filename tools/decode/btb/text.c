/* SPDX-License-Identifier: MIT */
/* text.c -- the text forms of a backtrace buffer: interpreted, btb_lines, folded, histogram, durations. */
#include "decode/btb/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * The forms are the original's, byte for byte, but where it is wrong:
 *
 *	W1  The weight of a stack is the time since the entry before it ended, whatever CPU that was taken on. Where two
 *	    CPUs overlap the original's difference wraps to 1.8e19; here the time since the previous entry of the same CPU
 *	    counts, or 0 if that overlaps too.
 *	W2  A binary mapped twice ends the original; here the later mapping holds from its time on.
 */
const char *const btb_form_suffix[BTB_FORMS] = {"interpreted", "btb_lines", "folded", "histogram",
						"durations"};

struct sorted_attr {
	const char *name;
	uint32_t at;
};

static int by_name(const void *a, const void *b)
{
	const struct sorted_attr *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static void put_attr(struct btb_names *names, const char *name, uint64_t v, FILE *out)
{
	fprintf(out, "  %-16s: %16" PRIx64, name, v);
	if (!strcmp(name, "task_id"))
		fprintf(out, " %s", btb_names_task(names, v));
	else if (!strcmp(name, "tsc_time"))
		fprintf(out, " %13.9f s", (double)v / 1e9);
	else if (!strcmp(name, "tsc_duration"))
		fprintf(out, " %13.3f µs", (double)v / 1e3);
	else if (v >= 10)
		fprintf(out, " %" PRIu64, v);
	fputc('\n', out);
}

static void put_payload(const struct btb *b, struct btb_names *names, const struct btb_entry *e,
			FILE *out)
{
	const uint64_t *w = btb_entry_words(b, e);
	int t = btb_type_index(w[0]);
	uint32_t nr = b->layout.nr[t];

	for (size_t i = 0; i < w[1] - nr; i++) {
		uint64_t v = w[0] == WIRE_BTB_STACK ? btb_stack_frame(b, e, i) : w[nr + i];
		bool text = w[0] == WIRE_BTB_MAPPING || (w[0] == WIRE_BTB_INFO && i >= w[5]);

		fprintf(out, "  %15zu : %16" PRIx64, i, v);
		if (w[0] == WIRE_BTB_STACK)
			fprintf(out, " %s",
				btb_names_label(names, b->layout.task < 0 ? 0 : w[b->layout.task],
						v, w[2])
					->text);
		else if (text)
			fprintf(out, " %.8s", (const char *)&w[nr + i]);
		fputc('\n', out);
	}
}

static void put_interpreted(const struct btb *b, struct btb_names *names, const struct btb_entry *e,
			    FILE *out)
{
	const uint64_t *w = btb_entry_words(b, e);
	int t = btb_type_index(w[0]);
	struct sorted_attr a[WIRE_BTB_ATTR_MAX] = {0};
	uint32_t nr = b->layout.nr[t];

	fputs("read entry: \n", out);
	for (uint32_t i = 0; i < nr; i++)
		a[i] = (struct sorted_attr){b->layout.name[t][i], i};
	qsort(a, nr, sizeof(*a), by_name);
	for (uint32_t i = 0; i < nr; i++)
		put_attr(names, a[i].name, w[a[i].at], out);
	put_payload(b, names, e, out);
	fputc('\n', out);
}

static void put_lines(const struct btb *b, const struct btb_entry *e, FILE *out)
{
	const uint64_t *w = btb_entry_words(b, e);

	fprintf(out, "btb @%16" PRIx64 ": ", e->at);
	for (uint64_t i = 0; i < w[1]; i++)
		fprintf(out, " %016" PRIx64, w[i]);
	fputc('\n', out);
}

/* W1. `prev` is the entry before in time, `same` the end of the previous entry of this CPU, 0 if there is none. */
static uint64_t weight(const uint64_t *w, const uint64_t *prev, uint64_t same)
{
	uint64_t end;

	if (!prev)
		return 1;
	end = prev[2] + prev[3];
	if (end > w[2])
		end = same && same <= w[2] ? same : w[2];
	return w[2] - end;
}

static void put_folded(const struct btb *b, struct btb_names *names, const struct btb_entry *e,
		       uint64_t weight, FILE *out)
{
	const uint64_t *w = btb_entry_words(b, e);
	uint64_t task = b->layout.task < 0 ? 0 : w[b->layout.task];

	fprintf(out, "cpu_%" PRIu64, btb_entry_cpu(b, e));
	for (size_t i = btb_stack_frames(b, e); i-- > 0;) {
		const struct source_label *l =
			btb_names_label(names, task, btb_stack_frame(b, e, i), w[2]);

		fputc_unlocked(';', out);
		fwrite_unlocked(l->text, 1, l->bytes, out);
	}
	fprintf(out, " %" PRIu64 "\n", weight);
}

static void put_histogram(const struct btb *b, const struct btb_entry *e, uint64_t number,
			  FILE *out)
{
	const uint64_t *w = btb_entry_words(b, e);
	uint64_t room = w[1] - b->layout.nr[4], bins, size;

	if (b->layout.bins < 0 || b->layout.bin_size < 0)
		return;
	bins = w[b->layout.bins];
	size = w[b->layout.bin_size];
	if (bins > room / 2)
		bins = room / 2;
	for (uint64_t i = 0; i < bins; i++) {
		uint64_t count = w[b->layout.nr[4] + i], time = w[b->layout.nr[4] + bins + i];

		fprintf(out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%f\n", number,
			i * size, (i + 1) * size, count,
			count ? (double)time / (double)count : 0.0);
	}
}

static void put_durations(const struct btb *b, const struct btb_entry *e, const uint64_t *prev,
			  FILE *out)
{
	const uint64_t *w = btb_entry_words(b, e);

	fprintf(out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
		b->layout.step < 0 ? 0 : w[b->layout.step],
		b->layout.depth < 0 ? 0 : w[b->layout.depth], w[3], prev ? w[2] - prev[2] : 0);
}

static uint64_t form_type(enum btb_form form)
{
	return form == BTB_HISTOGRAM ? WIRE_BTB_STATS : WIRE_BTB_STACK;
}

/* In the file of one CPU the original has only stacks (or statistics), and the heading only on the first CPU's. */
static bool wanted(enum btb_form form, int64_t cpu, uint64_t type)
{
	if (cpu < 0 && (form == BTB_INTERPRETED || form == BTB_LINES))
		return true;
	return type == form_type(form);
}

static void put_heading(const struct btb *b, enum btb_form form, int64_t cpu, FILE *out)
{
	if (cpu >= 0) {
		for (size_t i = 0; i < b->nr_entries; i++) {
			if (btb_entry_words(b, &b->entries[i])[0] != form_type(form))
				continue;
			if ((int64_t)btb_entry_cpu(b, &b->entries[i]) != cpu)
				return;
			break;
		}
	}
	if (form == BTB_HISTOGRAM)
		fputs("hist_counter,depth_min,depth_max,count,average_time_in_ns\n", out);
	if (form == BTB_DURATIONS)
		fputs("timer_step,stack_depth,ns_duration,ns_interval\n", out);
}

void btb_text_write(const struct btb *b, struct btb_names *names, enum btb_form form, int64_t cpu,
		    FILE *out)
{
	uint64_t stats = 0, ended[256] = {0};
	const uint64_t *prev = NULL;

	if (form == BTB_HISTOGRAM && !btb_text_cpus(b, form, NULL, 0))
		return;
	put_heading(b, form, cpu, out);
	for (size_t i = 0; i < b->nr_entries; i++) {
		const struct btb_entry *e = &b->entries[i];
		const uint64_t *w = btb_entry_words(b, e);
		uint64_t on = btb_entry_cpu(b, e);

		if (wanted(form, cpu, w[0]) && (cpu < 0 || on == (uint64_t)cpu)) {
			switch (form) {
			case BTB_INTERPRETED: put_interpreted(b, names, e, out); break;
			case BTB_LINES: put_lines(b, e, out); break;
			case BTB_FOLDED:
				put_folded(b, names, e, weight(w, prev, ended[on & 255]), out);
				break;
			case BTB_HISTOGRAM: put_histogram(b, e, stats, out); break;
			case BTB_DURATIONS: put_durations(b, e, prev, out); break;
			case BTB_FORMS: break;
			}
		}
		stats += w[0] == WIRE_BTB_STATS;
		ended[on & 255] = w[2] + w[3];
		prev = w;
	}
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

size_t btb_text_cpus(const struct btb *b, enum btb_form form, uint64_t *cpus, size_t max)
{
	size_t n = 0;
	uint64_t last = UINT64_MAX;

	for (size_t i = 0; i < b->nr_entries; i++) {
		uint64_t cpu = btb_entry_cpu(b, &b->entries[i]);
		size_t k = 0;

		if (btb_entry_words(b, &b->entries[i])[0] != form_type(form) || (cpu == last && n))
			continue;
		last = cpu;
		if (!cpus) {
			n = 1;
			continue;
		}
		while (k < n && cpus[k] != cpu)
			k++;
		if (k == n && n < max)
			cpus[n++] = cpu;
	}
	if (cpus)
		qsort(cpus, n, sizeof(*cpus), by_value);
	return n;
}
