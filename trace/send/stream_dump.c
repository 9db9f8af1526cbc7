/* SPDX-License-Identifier: MIT */
/* stream_dump.c -- the 16-bit stream on a console: BINARY TRANSFER dumps in base64 or base91. */
#include "fathom/stream.h"
#include "ring/stream.h"
#include "wire/crc32.h"
#include "wire/text.h"

/* A line is put together here and written at once, so that other output can only come between lines. */
struct dump_out {
	fathom_stream_write_fn write;
	void *arg;
	int base91;
	uint32_t bits, have; /* bits not written yet */
	struct fathom_text line;
	char buf[WIRE_SEL4_DUMP_LINE + 20u];
};

static void dump_end_line(struct dump_out *o)
{
	fathom_text_bytes(&o->line, "\r\n", 2);
	o->write(o->arg, o->buf, o->line.len);
	o->line.len = 0;
}

static void stream_dump_line(struct dump_out *o, const char *text)
{
	fathom_text_str(&o->line, text);
	dump_end_line(o);
}

static void dump_number(struct dump_out *o, const char *key, uint64_t v)
{
	fathom_text_str(&o->line, key);
	fathom_text_bytes(&o->line, ": ", 2);
	fathom_text_u64(&o->line, v, 0, ' ');
	dump_end_line(o);
}

static void dump_text(struct dump_out *o, const char *key, const char *text)
{
	fathom_text_str(&o->line, key);
	fathom_text_bytes(&o->line, ": ", 2);
	stream_dump_line(o, text);
}

/* ---- bytes as text ---- */

static void dump_digit(struct dump_out *o, char c)
{
	fathom_text_char(&o->line, c);
	if (o->line.len == WIRE_SEL4_DUMP_LINE)
		dump_end_line(o);
}

static char dump_digit64(uint32_t v)
{
	return "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[v & 63u];
}

static void dump_pair91(struct dump_out *o, uint32_t v)
{
	dump_digit(o, WIRE_SEL4_BASE91_DIGITS[v % 91u]);
	dump_digit(o, WIRE_SEL4_BASE91_DIGITS[v / 91u]);
}

/* base64 takes six bits at a time from the top, base91 thirteen or fourteen from the bottom. */
static void dump_byte(struct dump_out *o, uint32_t byte)
{
	if (!o->base91) {
		o->bits = o->bits << 8 | byte;
		for (o->have += 8; o->have >= 6; o->have -= 6)
			dump_digit(o, dump_digit64(o->bits >> (o->have - 6)));
		return;
	}
	o->bits |= byte << o->have;
	o->have += 8;
	if (o->have > 13) {
		uint32_t v = o->bits & 8191u, n = 13;

		if (v <= 88) {
			v = o->bits & 16383u;
			n = 14;
		}
		o->bits >>= n;
		o->have -= n;
		dump_pair91(o, v);
	}
}

/* What is left of the last byte, and the end of the line. */
static void stream_dump_flush(struct dump_out *o)
{
	if (o->have && !o->base91) {
		dump_digit(o, dump_digit64(o->bits << (6u - o->have)));
		for (uint32_t n = o->have; n < 6; n += 2)
			dump_digit(o, '=');
	} else if (o->have && (o->have > 7 || o->bits > 90)) {
		dump_pair91(o, o->bits);
	} else if (o->have) {
		dump_digit(o, WIRE_SEL4_BASE91_DIGITS[o->bits]);
	}
	o->bits = o->have = 0;
	if (o->line.len)
		dump_end_line(o);
}

static void dump_bytes(struct dump_out *o, const uint8_t *p, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		dump_byte(o, p[i]);
	stream_dump_flush(o);
}

/* ---- the parts of a dump ---- */

static const char *dump_reason(enum wire_sel4_reason reason)
{
	switch (reason) {
	case WIRE_SEL4_REASON_FINALIZE: return "FINALIZE";
	case WIRE_SEL4_REASON_FULL: return "STORAGE_FULL";
	case WIRE_SEL4_REASON_FAULT: return "FAULT";
	case WIRE_SEL4_REASON_REQUEST: return "REQUEST";
	default: return "UNKNOWN";
	}
}

static uint32_t dump_functions(void)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < fathom_stream.nr_slots; i++)
		nr += fathom_stream.dict[i] != 0;
	return nr;
}

static void dump_header(struct dump_out *o, uint32_t cpu, enum wire_sel4_reason reason)
{
	struct fathom_stream_stats st = {
		0}; /* seL4 compiles all in one file and cannot see that the CPU is there */
	uint64_t lost;

	fathom_stream_stats(cpu, &st);
	lost = st.full + st.nested + st.no_index;
	dump_text(o, "TYPE", "FTRACE_STREAM");
	dump_number(o, "VERSION", 3);
	dump_number(o, "TOTAL_ENTRIES", st.block_words + fathom_stream.cpu[cpu].nr);
	dump_number(o, "TOTAL_LOGGED", st.words);
	dump_number(o, "BLOCKS", st.blocks);
	dump_number(o, "DICT_SIZE", dump_functions());
	dump_number(o, "TOTAL_COMPRESSED", st.packed_bytes);
	dump_text(o, "OVERFLOW", lost || st.overwritten ? "YES" : "NO");
	dump_text(o, "STORAGE_FULL", st.storage_full ? "YES" : "NO");
	dump_text(o, "DUMP_REASON", dump_reason(reason));
	dump_number(o, "DUMP_REASON_CODE", (uint64_t)reason);
	dump_number(o, "OVERFLOW_EVENTS", lost);
	dump_number(o, "CPU", cpu);
	if (fathom_stream.clock_hz)
		dump_number(o, "CLOCK_HZ", fathom_stream.clock_hz);
	if (fathom_stream.flags & FATHOM_STREAM_TASK_STACKS)
		dump_text(o, "STACKS", "THREAD");
	stream_dump_line(o, WIRE_SEL4_DUMP_RULE);
}

static void dump_dictionary(struct dump_out *o)
{
	for (uint32_t i = 0; i < fathom_stream.nr_slots; i++) {
		if (!fathom_stream.dict[i])
			continue;
		fathom_text_u64(&o->line, WIRE_SEL4_FUNC_FIRST + i, 0, ' ');
		fathom_text_char(&o->line, ':');
		fathom_text_hex(&o->line, fathom_stream.dict[i], 0, ' ');
		dump_end_line(o);
	}
	stream_dump_line(o, WIRE_SEL4_DUMP_RULE);
}

/* The checksum is of the words, which are there only in compressed form: each block is decoded for it. */
static uint32_t dump_blocks(struct dump_out *o, const struct stream_cpu *c)
{
	uint32_t at = c->oldest, crc = 0;

	for (uint32_t i = 0; i < c->stats.blocks; i++) {
		const struct stream_block *b = fathom_stream_next(c, &at);
		const uint8_t *packed = (const uint8_t *)(b + 1);

		fathom_lz4_unpack(packed, b->packed, fathom_stream.scratch,
				  fathom_stream.work_words * 2);
		crc = fathom_crc32(crc, fathom_stream.scratch, b->words * 2);
		fathom_text_str(&o->line, "BLOCK:");
		fathom_text_u64(&o->line, i, 0, ' ');
		fathom_text_char(&o->line, ':');
		fathom_text_u64(&o->line, b->packed, 0, ' ');
		fathom_text_char(&o->line, ':');
		fathom_text_u64(&o->line, b->words * 2, 0, ' ');
		dump_end_line(o);
		dump_bytes(o, packed, b->packed);
	}
	return crc;
}

static void dump_cpu(struct dump_out *o, uint32_t cpu, enum wire_sel4_reason reason)
{
	struct stream_cpu *c = &fathom_stream.cpu[cpu];
	uint32_t crc;

	fathom_stream_settle(c);
	stream_dump_line(o, o->base91 ? WIRE_SEL4_DUMP91_START : WIRE_SEL4_DUMP_START);
	dump_header(o, cpu, reason);
	dump_dictionary(o);
	crc = dump_blocks(o, c);
	if (c->nr) {
		fathom_text_str(&o->line, "TAIL_RAW_ENTRIES:");
		fathom_text_u64(&o->line, c->nr, 0, ' ');
		dump_end_line(o);
		crc = fathom_crc32(crc, c->work, c->nr * 2);
		dump_bytes(o, (const uint8_t *)c->work, c->nr * 2);
	}
	stream_dump_line(o, WIRE_SEL4_DUMP_RULE);
	fathom_text_str(&o->line, "CHECKSUM: ");
	fathom_text_hex(&o->line, crc, 8, '0');
	dump_end_line(o);
	stream_dump_line(o, o->base91 ? WIRE_SEL4_DUMP91_END : WIRE_SEL4_DUMP_END);
}

void fathom_stream_dump(fathom_stream_write_fn write, void *arg, enum wire_sel4_reason reason,
			enum fathom_stream_form form)
{
	struct dump_out o = {.write = write, .arg = arg, .base91 = form == FATHOM_STREAM_BASE91};

	fathom_stream_stop();
	fathom_text_init(&o.line, o.buf, sizeof(o.buf));
	for (uint32_t cpu = 0; cpu < fathom_stream.nr_cpus; cpu++) {
		if (fathom_stream.cpu[cpu].stats.storage_full)
			stream_dump_line(&o, "FTRACE: Storage full");
		dump_cpu(&o, cpu, reason);
	}
}
