/* SPDX-License-Identifier: MIT */
/* kernel_linux.c -- records that the kernel does not print by their print fmt: probes, synthetic events, blk, system calls. */
#include "view/kernel.h"
#include "base/bytes.h"
#include "decode/blk.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- probes ---- */

enum {
	PROBE_IP,     /* __probe_ip, or __probe_func of a return probe */
	PROBE_RETURN, /* __probe_ret_ip */
};

static bool is_kernel(const struct kernel_view *k, uint64_t addr)
{
	return addr >> (k->lookup.env.long_bytes == 4 ? 31 : 63);
}

/* Code of the kernel by name; of a process as a number. */
static void put_place(struct kernel_view *k, uint64_t addr, bool offset)
{
	uint32_t options = k->view.options;

	if (!is_kernel(k, addr)) {
		out_printf(&k->out, "0x%llx", (unsigned long long)addr);
		return;
	}
	k->view.options &= ~FATHOM_TEXT_SYM_OFFSET;
	k->view.options |= offset ? FATHOM_TEXT_SYM_OFFSET : 0;
	kernel_symbol(k, addr);
	k->view.options = options;
}

/* The arguments: the print fmt's text after the place that it begins with. */
static void put_arguments(struct kernel_view *k, const struct kernel_event *e)
{
	struct expr_record r = kernel_record(k);
	size_t from = out_len(&k->out);
	char *start, *close;

	printfmt_run(e->fmt, &r, &k->out);
	start = k->out.base + from;
	close = out_len(&k->out) > from && *start == '('
			? memchr(start, ')', (size_t)(k->out.at - start))
			: NULL;
	if (!close)
		return;
	memmove(start, close + 1, (size_t)(k->out.at - close - 1));
	k->out.at -= close + 1 - start;
}

void kernel_print_probe(struct kernel_view *k, const struct kernel_event *e)
{
	out_printf(&k->out, "%s: (", e->schema->name);
	if (e->field[PROBE_RETURN]) {
		put_place(k, kernel_number(k, e->field[PROBE_RETURN]), true);
		out_str(&k->out, " <- ");
		put_place(k, kernel_number(k, e->field[PROBE_IP]), false);
	} else {
		put_place(k, kernel_number(k, e->field[PROBE_IP]), true);
	}
	out_char(&k->out, ')');
	put_arguments(k, e);
	out_char(&k->out, '\n');
}

/* Fields divided by blanks; the print fmt, which is for other readers, has commas. */
void kernel_print_synthetic(struct kernel_view *k, const struct kernel_event *e)
{
	struct expr_record r = kernel_record(k);
	char *at, *found, comma[128];
	size_t from;

	out_printf(&k->out, "%s: ", e->schema->name);
	from = out_len(&k->out);
	printfmt_run(e->fmt, &r, &k->out);
	at = k->out.base + from;
	for (uint32_t i = e->format->nr_common + 1; i < e->format->nr_fields; i++) {
		size_t n =
			(size_t)snprintf(comma, sizeof(comma), ", %s=", e->format->fields[i].name);

		found = n < sizeof(comma) ? memmem(at, (size_t)(k->out.at - at), comma, n) : NULL;
		if (!found)
			continue;
		memmove(found, found + 1, (size_t)(k->out.at - found - 1));
		k->out.at--;
		at = found + 1;
	}
	out_char(&k->out, '\n');
}

/* ---- option fields ---- */

static void put_bytes(struct kernel_view *k, const struct value *v)
{
	for (uint32_t i = 0; i < v->len; i++)
		out_printf(&k->out, i ? ",%02x" : "%02x", (uint8_t)v->s[i]);
}

static void put_text(struct kernel_view *k, const char *s, size_t room)
{
	out_bytes(&k->out, s, strnlen(s, room));
}

/* A number as the kernel writes it here: an address in its text by name, a byte in quotes if it can be read. */
static void put_number(struct kernel_view *k, const struct format_field *f)
{
	unsigned long long v = kernel_number(k, f);
	const struct lookup_symbol *s;

	if (f->size == 8 && v >= k->text && v < k->text_end &&
	    (s = lookup_symbol(&k->lookup, v))->name) {
		out_printf(&k->out, "%s+0x%llx/0x%llx (%d)", s->name, (unsigned long long)s->offset,
			   (unsigned long long)s->size, (int)v);
		return;
	}
	if (f->size == 1 && isprint((unsigned char)v))
		out_printf(&k->out, "'%c'", (int)(unsigned char)v);
	switch (f->size) {
	case 1: out_printf(&k->out, "(%u)", (unsigned)(unsigned char)v); break;
	case 2: out_printf(&k->out, "0x%x (%d)", (unsigned)(v & 0xffff), (int)(v & 0xffff)); break;
	case 4: out_printf(&k->out, "0x%x (%d)", (unsigned)v, (int)(unsigned)v); break;
	case 8: out_printf(&k->out, "0x%llx (%lld)", v, (long long)v); break;
	default: out_str(&k->out, "<INVALID-SIZE>");
	}
}

/* "sched_switch: prev_comm=sh prev_pid=0x1f (31) ...": as print_event_fields() of Linux 6.18 does. */
void kernel_print_by_field(struct kernel_view *k, const struct kernel_event *e)
{
	struct expr_record r = kernel_record(k);

	if (!strcmp(e->schema->system,
		    "ftrace")) { /* Linux does not find the fields of its own types */
		out_printf(&k->out, "UNKNOWN TYPE %u\n", k->event.type);
		return;
	}
	out_printf(&k->out, "%s:", e->schema->name);
	for (uint32_t i = e->format->nr_common; i < e->format->nr_fields; i++) {
		const struct format_field *f = &e->format->fields[i];

		out_printf(&k->out, " %s=", f->name);
		if (f->offset > k->event.size || f->size > k->event.size - f->offset) {
			out_str(&k->out, "<OVERFLOW>");
		} else if (f->flags & FORMAT_DYNAMIC) {
			struct value v =
				expr_dynamic(&r, f->offset, (f->flags & FORMAT_REL_LOC) != 0);

			if (f->flags & FORMAT_STRING)
				put_text(k, v.s, v.len);
			else
				put_bytes(k, &v);
		} else if (f->flags & FORMAT_STRING) {
			put_text(k, (const char *)k->data + f->offset, f->size);
		} else {
			put_number(k, f);
		}
	}
	out_char(&k->out, '\n');
}

/* ---- blk: a record of its own, without a format file ---- */

/* Linux gives it the number after user_stack's, and no format file. */
bool kernel_is_blk(const struct kernel_view *k, uint32_t type, uint32_t size)
{
	return type == k->blk && size >= WIRE_BLK_FIXED;
}

void kernel_print_blk(struct kernel_view *k)
{
	struct fathom_text_blk b;
	struct fathom_text t = kernel_text(k, 512 + 3 * (size_t)k->event.size);

	blk_take(&k->event, k->source->big_endian, &b);
	b.comm = fathom_text_comm(k->event.pid, tasks_comm(k->source->tasks, k->event.pid));
	fathom_text_blk(&t, &b,
			(k->blk_classic ? FATHOM_BLK_CLASSIC : 0) |
				(k->view.options & FATHOM_TEXT_VERBOSE ? FATHOM_BLK_WORDS : 0));
	kernel_text_end(k, &t);
}

/* ---- system calls ---- */

/* Since 6.19 what a pointer pointed at is kept as __NAME_val after the arguments. */
static const struct format_field *kept_value(const struct kernel_event *e, const char *name)
{
	char kept[80];

	snprintf(kept, sizeof(kept), "__%s_val", name);
	return format_field(e->format, kept);
}

static void put_kept(struct kernel_view *k, const struct value *v, bool binary, uint64_t whole)
{
	uint32_t printable = 0;

	if (!binary) {
		out_str(&k->out, " \"");
		out_bytes(&k->out, v->s, strnlen(v->s, v->len));
		out_char(&k->out, '"');
		return;
	}
	out_str(&k->out, " (");
	for (uint32_t i = 0; i < v->len; i++) {
		out_printf(&k->out, "%s%02x", i ? ":" : "", (uint8_t)v->s[i]);
		printable += isprint((unsigned char)v->s[i]) != 0;
	}
	out_str(&k->out, v->len < whole ? ", ...)" : ")");
	if (!printable)
		return;
	out_str(&k->out, " \"");
	for (uint32_t i = 0; i < v->len; i++)
		out_char(&k->out, isprint((unsigned char)v->s[i]) ? v->s[i] : '.');
	out_char(&k->out, '"');
}

/* Is it kept as bytes with a length, or as a string? The print fmt says: an array, or "%s" of a string. */
static bool is_binary(const struct kernel_event *e, const struct format_field *kept)
{
	char array[120];

	snprintf(array, sizeof(array), "__print_dynamic_array(%s,", kept->name);
	return strstr(e->format->print_fmt, array) != NULL;
}

static void put_argument(struct kernel_view *k, const struct kernel_event *e, uint32_t i)
{
	const struct format_field *f = &e->format->fields[i], *kept = kept_value(e, f->name);
	struct expr_record r = kernel_record(k);
	unsigned long long v = kernel_number(k, f);

	if (k->view.options & FATHOM_TEXT_VERBOSE)
		out_printf(&k->out, "%s ", f->type);
	/* Newer kernels write 0x where it makes a difference. */
	out_printf(&k->out, k->lookup.env.kernel >= 6018 && v > 9 ? "%s: 0x%llx" : "%s: %llx",
		   f->name, v);
	if (kept) {
		struct value text =
			expr_dynamic(&r, kept->offset, (kept->flags & FORMAT_REL_LOC) != 0);
		uint64_t whole = i + 1 < e->format->nr_fields
					 ? kernel_number(k, &e->format->fields[i + 1])
					 : 0;

		put_kept(k, &text, is_binary(e, kept), whole);
	}
}

#define O_CREAT_FLAG 0x40u

/* openat has a form of its own: flags by name, and a mode only if it creates. */
static bool put_openat(struct kernel_view *k, const struct kernel_event *e)
{
	const struct format_field *dfd = format_field(e->format, "dfd"),
				  *name = format_field(e->format, "filename"),
				  *flags = format_field(e->format, "flags"),
				  *kept = format_field(e->format, "__filename_val");
	struct expr_record r = kernel_record(k);
	size_t from;
	char *start, *at;

	if (strcmp(e->schema->name, "sys_enter_openat") || !dfd || !name || !flags || !kept ||
	    !e->fmt || printfmt_error(e->fmt) || k->view.options & FATHOM_TEXT_VERBOSE)
		return false;
	out_printf(&k->out, "dfd: %llu, filename: %llu", (unsigned long long)kernel_number(k, dfd),
		   (unsigned long long)kernel_number(k, name));
	/* The print fmt's text from the string on is the same but for the mode. */
	from = out_len(&k->out);
	printfmt_run(e->fmt, &r, &k->out);
	start = k->out.base + from;
	at = memmem(start, (size_t)(k->out.at - start), " \"", 2);
	if (at) {
		memmove(start, at, (size_t)(k->out.at - at));
		k->out.at -= at - start;
	}
	at = memmem(start, (size_t)(k->out.at - start), ", mode: ", 8);
	if (at && !(kernel_number(k, flags) & O_CREAT_FLAG))
		k->out.at = at;
	return true;
}

/* sys_enter_openat prints as sys_openat(dfd: ..., ...), its exit as sys_openat -> 0x3. */
void kernel_print_syscall(struct kernel_view *k, const struct kernel_event *e)
{
	bool first = true, done;

	out_printf(&k->out, "sys_%s(", e->schema->name + strlen("sys_enter_"));
	done = put_openat(k, e);
	for (uint32_t i = e->format->nr_common; !done && i < e->format->nr_fields; i++) {
		const struct format_field *f = &e->format->fields[i];

		if (!strncmp(f->name, "__", 2)) /* __syscall_nr, and what pointers pointed at */
			continue;
		out_str(&k->out, first ? "" : ", ");
		put_argument(k, e, i);
		first = false;
	}
	out_str(&k->out, ")\n");
}
