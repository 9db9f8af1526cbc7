/* SPDX-License-Identifier: MIT */
/* show.c -- values as bpftrace prints them. */
#include "program/machine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t word(const uint8_t *data)
{
	uint64_t v;

	memcpy(&v, data, 8);
	return v;
}

/* ---- symbols and stacks ---- */

static void symbol(struct machine *m, FILE *out, uint64_t addr, bool offset)
{
	struct symbol s;

	if (!source_symbol(m->source, addr, &s))
		fprintf(out, "0x%" PRIx64, addr);
	else if (offset)
		fprintf(out, "%s+%" PRIu64, s.name, s.offset);
	else
		fputs(s.name, out);
}

static void stack(struct machine *m, FILE *out, uint64_t number, int indent)
{
	const struct stack_trace *t;
	uint32_t i;

	fputc('\n', out);
	if (!number || number > m->nr_stacks || !m->stacks[number - 1])
		return;
	t = m->stacks[number - 1];
	for (i = 0; i < t->nr; i++) {
		fprintf(out, "%*s", indent, "");
		symbol(m, out, t->frames[i], true);
		fputc('\n', out);
	}
}

/* "kprobe:vfs_read": the kind as it was written, and the function's own name. */
static void probe_name(struct machine *m, FILE *out, uint64_t number)
{
	uint64_t function, probe;
	const struct probe *p;
	const char *colon;

	if (m->live) { /* BPF_PROBE_ID of a target: address << 16 | part + 1 */
		function = (uint64_t)((int64_t)number >> 16);
		probe = (number & 0xffff) - 1;
	} else if (number && number <= m->nr_names) {
		function = m->names[number - 1].function;
		probe = m->names[number - 1].probe;
	} else {
		return;
	}
	if (probe >= m->c->nr_probes)
		return;
	p = &m->c->probes[probe];
	colon = strrchr(p->name, ':');
	fwrite(p->name, 1, colon ? (size_t)(colon - p->name) + 1 : 0, out);
	symbol(m, out, function, false);
}

/* ---- times ---- */

void show_time(struct machine *m, FILE *out, const char *format, uint64_t ns)
{
	uint64_t at = m->source->info.has_date ? ns + (uint64_t)m->source->info.date_offset : ns;
	time_t seconds = (time_t)(at / 1000000000);
	char text[256];
	struct tm tm;

	/* A clock that does not know the time of day starts at midnight: there is no zone to add. */
	if (m->source->info.has_date)
		localtime_r(&seconds, &tm);
	else
		gmtime_r(&seconds, &tm);
	fwrite(text, 1, strftime(text, sizeof(text), format, &tm), out);
}

/* ---- values ---- */

static void number(FILE *out, const struct type *t, uint64_t v)
{
	if (t->is_signed)
		fprintf(out, "%" PRId64, (int64_t)v);
	else
		fprintf(out, "%" PRIu64, v);
}

static void tuple(struct machine *m, FILE *out, const struct type *t, const uint8_t *data,
		  int indent)
{
	uint32_t i;

	fputc('(', out);
	for (i = 0; i < t->nr; i++) {
		fputs(i ? ", " : "", out);
		show_value(m, out, &t->of[i], data, indent);
		data += type_room(&t->of[i]);
	}
	fputc(')', out);
}

void show_value(struct machine *m, FILE *out, const struct type *t, const uint8_t *data, int indent)
{
	switch (t->kind) {
	case VALUE_STRING: fwrite(data, 1, strnlen((const char *)data, t->bytes), out); break;
	case VALUE_TUPLE: tuple(m, out, t, data, indent); break;
	case VALUE_KSTACK:
	case VALUE_USTACK: stack(m, out, word(data), indent); break;
	case VALUE_KSYM:
	case VALUE_USYM: symbol(m, out, word(data), false); break;
	case VALUE_PROBE: probe_name(m, out, word(data)); break;
	case VALUE_TIME: show_time(m, out, m->c->times[word(data + 8)], word(data)); break;
	default: number(out, t, word(data));
	}
}

/* ---- printf ---- */

/* The value as text, for %s: of an address whose memory is not in the trace, the address. */
static char *as_text(struct machine *m, const struct type *t, const uint8_t *data)
{
	char *text = NULL;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	if (!f)
		return NULL;
	if (t->kind == VALUE_POINTER || t->kind == VALUE_INT)
		fprintf(f, "<0x%" PRIx64 ">", word(data));
	else
		show_value(m, f, t, data, 8);
	fclose(f);
	return text;
}

/* Only as many bytes as the value has: -1 of four bytes is ffffffff in hex. */
static uint64_t narrow(const struct type *t, uint64_t v)
{
	return t->kind == VALUE_INT && t->bytes < 8 ? v & ((1ull << (t->bytes * 8)) - 1) : v;
}

static void convert(struct machine *m, char *spec, size_t n, const struct type *t,
		    const uint8_t *data)
{
	char c = spec[n - 1], *text;

	if (c == 's' || c == 'r') {
		spec[n - 1] = 's';
		text = as_text(m, t, data);
		fprintf(m->out, spec, text ? text : "");
		free(text);
	} else if (c == 'c') {
		fprintf(m->out, spec, (int)word(data));
	} else if (c == 'p') {
		fprintf(m->out, "0x%" PRIx64, word(data));
	} else {
		memcpy(spec + n - 1, "ll", 2);
		spec[n + 1] = c;
		spec[n + 2] = 0;
		fprintf(m->out, spec, c == 'd' || c == 'i' ? word(data) : narrow(t, word(data)));
	}
}

void show_printf(struct machine *m, const char *f, const struct type *args, uint32_t nr,
		 const uint8_t *data)
{
	const char *next;
	char spec[64];
	uint32_t i = 0;
	size_t n;

	for (; (next = strchr(f, '%')); f = next) {
		fwrite(f, 1, (size_t)(next - f), m->out);
		if (next[1] == '%') {
			fputc('%', m->out);
			next += 2;
			continue;
		}
		n = 1 + strspn(next + 1, "-+ #0123456789.");
		if (i >= nr || n > sizeof(spec) - 8)
			return;
		memcpy(spec, next, n);
		next += n + strspn(next + n, "hlzjt");
		spec[n++] = *next++;
		spec[n] = 0;
		convert(m, spec, n, &args[i], data);
		data += type_room(&args[i++]);
	}
	fputs(f, m->out);
}
