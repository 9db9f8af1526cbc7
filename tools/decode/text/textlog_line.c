/* SPDX-License-Identifier: MIT */
/* textlog_line.c -- one line of a trace's text: its columns, and the key=value pairs after them. */
#include "decode/text/textlog.h"
#include "wire/record.h"

#include <ctype.h>
#include <string.h>

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

static const char *blanks(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	return p;
}

static const char *number(const char *p, const char *end, uint64_t *v)
{
	const char *start = p;

	for (*v = 0; p < end && digit(*p) && p - start < 19; p++)
		*v = *v * 10 + (uint64_t)(*p - '0');
	return p == start ? NULL : p;
}

/* "12.345678:" or "4711:"; the fraction may have up to nine digits. NULL if it is no time. */
static const char *parse_time(const char *p, const char *end, struct text_line *out)
{
	uint64_t whole, part = 0, scale = 1000000000;

	p = number(p, end, &whole);
	if (!p)
		return NULL;
	out->ticks = p == end || *p != '.';
	if (!out->ticks) {
		for (p++; p < end && digit(*p); p++) {
			scale /= 10;
			part += (uint64_t)(*p - '0') * scale;
		}
		whole = whole * 1000000000 + part;
	}
	out->time = whole;
	return p < end && *p == ':' ? p + 1 : NULL;
}

static uint8_t flag_of(char c, ptrdiff_t column)
{
	if (column == 0)
		return c == 'd'	  ? WIRE_FLAG_IRQS_OFF
		       : c == 'b' ? WIRE_FLAG_BH_OFF
		       : c == 'D' ? WIRE_FLAG_IRQS_OFF | WIRE_FLAG_BH_OFF
				  : 0;
	switch (c) {
	case 'B': /* newer kernels: lazily, too */
	case 'N': return WIRE_FLAG_NEED_RESCHED | WIRE_FLAG_PREEMPT_RESCHED;
	case 'b':
	case 'n': return WIRE_FLAG_NEED_RESCHED;
	case 'L':
	case 'p': return WIRE_FLAG_PREEMPT_RESCHED;
	case 'Z': return WIRE_FLAG_NMI | WIRE_FLAG_HARDIRQ;
	case 'z': return WIRE_FLAG_NMI;
	case 'H': return WIRE_FLAG_HARDIRQ | WIRE_FLAG_SOFTIRQ;
	case 'h': return WIRE_FLAG_HARDIRQ;
	case 's': return WIRE_FLAG_SOFTIRQ;
	default: return 0;
	}
}

/*
 * irqs, resched, context, preempt depth, migrate-disable: as the header of `trace` explains them. Kernels with PREEMPT_RT
 * may have a column more, between resched and context or after the depth.
 */
void text_parse_flags(const char *p, const char *end, struct text_line *out)
{
	unsigned depths = 0;

	for (const char *q = p; q < end; q++) {
		out->flags |= flag_of(*q, q - p);
		if (q - p < 3 || depths > 1)
			continue;
		if (digit(*q))
			out->preempt |= (uint8_t)((*q - '0') << 4 * depths);
		depths++;
	}
}

/* "comm-pid", with blanks after; the comm may hold dashes and blanks itself. */
bool text_parse_task(const char *p, const char *end, struct text_line *out)
{
	const char *q;
	uint64_t pid;

	while (end > p && end[-1] == ' ')
		end--;
	for (q = end; q > p && digit(q[-1]);)
		q--;
	if (q == end || q - 1 <= p || q[-1] != '-' || end - q > 9)
		return false;
	number(q, end, &pid);
	p = blanks(p, end);
	out->pid = (int32_t)pid;
	out->comm = (struct words){p, (uint32_t)(q - 1 - p)};
	return q - 1 > p;
}

static bool parse_lost(const char *p, const char *end, struct text_line *out)
{
	uint64_t cpu, n;

	if (end - p < 8 || memcmp(p, "CPU:", 4) != 0 || !(p = number(p + 4, end, &cpu)))
		return false;
	p = blanks(p, end);
	if (p == end || *p++ != '[' || cpu >= TEXT_CPU_MAX)
		return false;
	if (end - p > 5 && !memcmp(p, "LOST ", 5))
		p += 5;
	out->cpu = (uint32_t)cpu;
	out->lost = digit(*p) && number(p, end, &n) && n ? n : LOST_UNKNOWN;
	out->kind = LINE_LOST;
	return true;
}

/* "name: info", "function <-parent" or anything a marker wrote. */
void text_parse_info(const char *p, const char *end, struct text_line *out)
{
	const char *q;

	p = blanks(p, end);
	for (q = p; q < end && (isalnum((unsigned char)*q) || *q == '_' || *q == '.' || *q == '-');)
		q++;
	if (q > p && q < end && *q == ':' && (q + 1 == end || q[1] == ' ') && !digit(*p)) {
		out->name = (struct words){p, (uint32_t)(q - p)};
		p = blanks(q + 1, end);
	} else {
		out->name = memmem(p, (size_t)(end - p), " <-", 3) ? (struct words){"function", 8}
								   : (struct words){"print", 5};
	}
	out->info = (struct words){p, (uint32_t)(end - p)};
}

/* "[001] d..2. 12.345678:", flags or none; what stands after it. NULL if it is something else. */
static const char *parse_cpu_time(const char *p, const char *end, struct text_line *out)
{
	const char *t, *q;
	uint64_t cpu;

	p = number(p + 1, end, &cpu);
	if (!p || p == end || *p != ']' || cpu >= TEXT_CPU_MAX)
		return NULL;
	out->cpu = (uint32_t)cpu;
	p = blanks(p + 1, end);
	t = parse_time(p, end, out);
	if (t)
		return t;
	for (q = p; q < end && *q != ' ';)
		q++;
	if (q - p > 8)
		return NULL;
	text_parse_flags(p, q, out);
	return parse_time(blanks(q, end), end, out);
}

/* What stands after "comm-pid (tgid)" at the bracket of the CPU. */
static bool parse_rest(const char *p, const char *end, struct text_line *out)
{
	const char *t = parse_cpu_time(p, end, out);

	if (!t)
		return false;
	text_parse_info(t, end, out);
	out->kind = LINE_EVENT;
	return true;
}

/* "1d..2.": the CPU, and four to eight flags. */
static bool parse_cpu_flags(const char *p, const char *end, struct text_line *out)
{
	uint64_t cpu;

	p = number(p, end, &cpu);
	if (!p || end - p < 4 || end - p > 8 || cpu >= TEXT_CPU_MAX)
		return false;
	out->cpu = (uint32_t)cpu;
	text_parse_flags(p, end, out);
	return true;
}

static const char *word_start(const char *p, const char *end)
{
	while (end > p && end[-1] != ' ')
		end--;
	return end;
}

static const char *before_blanks(const char *p, const char *end)
{
	while (end > p && end[-1] == ' ')
		end--;
	return end;
}

/* Columns before the event's name take some 80 bytes; what a longer line holds further on is not taken for them. */
#define COLUMNS_MAX 512

static const char *columns_end(const char *p, const char *end)
{
	return end - p > COLUMNS_MAX ? p + COLUMNS_MAX : end;
}

/*
 *     bash-57        1d..2. 12808us+: sys_exit: NR 257 = 3
 *     bash-57        1d..2.    2: sys_exit: NR 257 = 3
 *
 * The latency format: CPU and flags are one word; times are microseconds from the first event on, with a mark of the delay
 * after them, or ticks.
 */
static bool parse_latency(const char *p, const char *end, struct text_line *out)
{
	const char *stop = columns_end(p, end);

	for (const char *colon = p; (colon = memchr(colon, ':', (size_t)(stop - colon))); colon++) {
		bool us = colon - p > 4 && colon[-3] == 'u' && colon[-2] == 's';
		const char *time_end = us ? colon - 3 : colon;
		const char *time = word_start(p, time_end), *flags_end = before_blanks(p, time);
		const char *flags = word_start(p, flags_end);
		uint64_t n;

		if (flags == p || number(time, time_end, &n) != time_end ||
		    !text_parse_task(p, flags, out) || !parse_cpu_flags(flags, flags_end, out))
			continue;
		out->time = us ? n * 1000 : n;
		out->ticks = !us;
		text_parse_info(colon + 1, end, out);
		out->kind = LINE_EVENT;
		return true;
	}
	return false;
}

static bool parse_hex(const char *p, const char *end, uint64_t *v)
{
	const char *start = p;

	for (*v = 0; p < end && isxdigit((unsigned char)*p) && p - start < 16; p++)
		*v = *v << 4 |
		     (digit(*p) ? (uint64_t)(*p - '0') : (uint64_t)((*p | 32) - 'a' + 10));
	return p == end && p > start;
}

/*
 *     bash      57   1 0 00000000 00000001 [00555633] 12.866ms (+0.014ms): sys_exit: NR 72 = 0
 *     comm      pid cpu flags depth  number   time
 *
 * The latency format with option verbose; the time is in microseconds.
 */
static bool parse_verbose(const char *p, const char *end, struct text_line *out)
{
	const char *open = memchr(p, '[', (size_t)(end - p)), *close, *at, *word;
	uint64_t n[5], us;

	close = open ? memchr(open, ']', (size_t)(end - open)) : NULL;
	at = close ? memmem(close, (size_t)(end - close), "ms): ", 5) : NULL;
	if (!at || !parse_hex(open + 1, close, &us))
		return false;
	/* From the right: number, depth, flags, cpu, pid; what is left is the comm. */
	for (int i = 0; i < 5; i++) {
		open = before_blanks(p, open);
		word = word_start(p, open);
		if (i < 2 ? !parse_hex(word, open, &n[i]) : number(word, open, &n[i]) != open)
			return false;
		open = word;
	}
	open = before_blanks(p, open);
	p = blanks(p, open);
	if (p == open || n[3] >= TEXT_CPU_MAX || n[4] > INT32_MAX)
		return false;
	out->comm = (struct words){p, (uint32_t)(open - p)};
	out->pid = (int32_t)n[4];
	out->cpu = (uint32_t)n[3];
	out->flags = (uint8_t)n[2];
	out->preempt = (uint8_t)n[1];
	out->time = us * 1000;
	text_parse_info(at + 5, end, out);
	out->kind = LINE_EVENT;
	return true;
}

void text_parse_line(const char *p, const char *end, struct text_line *out)
{
	const char *b = p, *stop, *task_end;
	uint64_t tgid;

	memset(out, 0, sizeof(*out));
	out->tgid = -1;
	if (end > p && end[-1] == '\r')
		end--;
	if (p < end && *p == '#') {
		out->kind = LINE_COMMENT;
		return;
	}
	if (parse_lost(p, end, out))
		return;
	/* A comm may hold a bracket: take the first one that the rest of the line agrees with. */
	stop = columns_end(p, end);
	while ((b = memchr(b, '[', (size_t)(stop - b)))) {
		task_end = b;
		while (task_end > p && task_end[-1] == ' ')
			task_end--;
		if (task_end > p && task_end[-1] == ')') {
			const char *open = memrchr(p, '(', (size_t)(task_end - p));

			if (open && number(blanks(open + 1, task_end), task_end, &tgid))
				out->tgid = (int32_t)tgid;
			task_end = open ? open : task_end;
		}
		if (text_parse_task(p, task_end, out) && parse_rest(b, end, out))
			return;
		b++;
	}
	if (!parse_latency(p, end, out) && !parse_verbose(p, end, out))
		out->kind = LINE_OTHER;
}

/* ---- key=value ---- */

static bool word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

bool text_next_pair(const char **p, const char *end, struct words *key, struct words *value)
{
	const char *eq = *p;

	while ((eq = memchr(eq, '=', (size_t)(end - eq)))) {
		const char *k = eq, *v = eq + 1;

		while (k > *p && word(k[-1]))
			k--;
		if (k == eq || digit(*k) || v == end || *v == '=') {
			eq++;
			continue;
		}
		while (v < end && *v != ' ' && *v != ',' && *v != ')' && *v != '\n')
			v++;
		if (v > eq + 1) {
			*key = (struct words){k, (uint32_t)(eq - k)};
			*value = (struct words){eq + 1, (uint32_t)(v - eq - 1)};
			*p = v;
			return true;
		}
		eq++;
	}
	return false;
}

bool text_number(struct words s, int64_t *out)
{
	bool minus = s.n > 1 && s.p[0] == '-', hex;
	uint32_t i = minus;
	uint64_t v = 0;

	hex = s.n - i > 2 && s.p[i] == '0' && (s.p[i + 1] | 32) == 'x';
	i += hex ? 2 : 0;
	if (s.n - i < 1 || s.n - i > (hex ? 16 : 18))
		return false;
	for (; i < s.n; i++) {
		char c = s.p[i];

		if (digit(c))
			v = v * (hex ? 16 : 10) + (uint64_t)(c - '0');
		else if (hex && isxdigit((unsigned char)c))
			v = v * 16 + (uint64_t)((c | 32) - 'a' + 10);
		else
			return false;
	}
	*out = minus ? -(int64_t)v : (int64_t)v;
	return true;
}
