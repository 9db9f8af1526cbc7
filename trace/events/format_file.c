/* SPDX-License-Identifier: MIT */
/* format_file.c -- an event's `format` file, byte for byte what Linux prints for the same definition. */
#include "events/registry.h"
#include "wire/cold.h"
#include "fathom/object.h"
#include "fathom/inside/print.h"

static const struct fathom_field format_common[] = {
	{"unsigned short", "common_type", 0, 2, 0, 0},
	{"unsigned char", "common_flags", 2, 1, 0, 0},
	{"unsigned char", "common_preempt_count", 3, 1, 0, 0},
	{"int", "common_pid", 4, 4, 1, 0},
};

static int format_starts(const char *s, const char *with)
{
	while (*with)
		if (*s++ != *with++)
			return 0;
	return 1;
}

static int format_contains(const char *s, const char *what)
{
	for (; *s; s++)
		if (format_starts(s, what))
			return 1;
	return 0;
}

static int format_is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static int format_equal(const char *s, size_t bytes, const char *name)
{
	size_t i = 0;

	for (; i < bytes && name[i]; i++)
		if (s[i] != name[i])
			return 0;
	return i == bytes && !name[i];
}

/* The value that TRACE_DEFINE_ENUM or _SIZEOF gave a name; of the event's own system only, as in Linux. */
static const struct fathom_enum *format_enum(const char *system, const char *s, size_t bytes)
{
	for (const struct fathom_object *o = NULL; (o = fathom_object_next(o));)
		for (const struct fathom_enum *const *e = o->enums;
		     (uintptr_t)e < (uintptr_t)o->enums_end; e++)
			if (format_equal(s, bytes, (*e)->name) &&
			    format_equal((*e)->system, fathom_strlen((*e)->system), system))
				return *e;
	return NULL;
}

/* Bytes of the name at s that may have a value: a word, or `sizeof(...)`. A number is passed over whole. */
static size_t format_name_bytes(const char *s)
{
	size_t n = 0;

	while (format_is_word(s[n]))
		n++;
	if (n == 6 && format_starts(s, "sizeof(")) {
		while (s[n] && s[n] != ')')
			n++;
		n += s[n] == ')';
	}
	return n;
}

/* Text with the names of enums replaced by their values, but inside of quotes and behind `->` or `.`. */
static void format_resolved(struct fathom_text *out, const char *system, const char *s)
{
	int quoted = 0;
	char before = 0;

	while (*s) {
		const struct fathom_enum *e = NULL;
		size_t n = quoted ? 0 : format_name_bytes(s);

		if (!n) {
			if (*s == '\\' && quoted && s[1])
				fathom_text_char(out, *s++);
			else if (*s == '"')
				quoted = !quoted;
			before = *s;
			fathom_text_char(out, *s++);
			continue;
		}
		if (before != '>' && before != '.')
			e = format_enum(system, s, n);
		if (e)
			fathom_text_s64(out, e->value, 0, ' ');
		else
			fathom_text_bytes(out, s, n);
		before = s[n - 1];
		s += n;
	}
}

/* fathom_text_printf() would bring all of printf to a target that prints nothing else. */
static void format_named(struct fathom_text *out, const char *name, uint32_t v)
{
	fathom_text_str(out, name);
	fathom_text_s64(out, v, 0, ' ');
}

/* `char[16]` is printed as `char comm[16]`; a __data_loc type keeps its brackets. */
static void format_field(struct fathom_text *out, const char *system, const struct fathom_field *f)
{
	const char *type = f->type;
	size_t n = 0;

	fathom_text_str(out, "\tfield:");
	if (format_starts(type, "__data_loc") || format_starts(type, "__rel_loc"))
		n = fathom_strlen(type);
	while (type[n] && type[n] != '[')
		n++;
	fathom_text_bytes(out, type, n);
	fathom_text_char(out, ' ');
	fathom_text_str(out, f->name);
	format_resolved(out, system, type + n);
	format_named(out, ";\toffset:", f->offset);
	format_named(out, ";\tsize:", f->size);
	format_named(out, ";\tsigned:", f->is_signed);
	fathom_text_str(out, ";\n");
}

void fathom_event_format(const struct fathom_event *ev, struct fathom_text *out)
{
	fathom_text_str(out, "name: ");
	fathom_text_str(out, ev->name);
	format_named(out, "\nID: ", ev->id);
	fathom_text_str(out, "\nformat:\n");
	for (uint32_t i = 0; i < sizeof(format_common) / sizeof(format_common[0]); i++)
		format_field(out, "", &format_common[i]);
	fathom_text_char(out, '\n');
	for (uint32_t i = 0; i < ev->nr_fields; i++)
		format_field(out, ev->system, &ev->fields[i]);
	fathom_text_str(out, "\nprint fmt: ");
	format_resolved(out, ev->system, ev->print_fmt);
	fathom_text_char(out, '\n');
}

enum fathom_field_kind fathom_field_kind(const struct fathom_field *f)
{
	int is_char = format_contains(f->type, "char");

	if (f->hint != FATHOM_FIELD_OTHER)
		return (enum fathom_field_kind)f->hint;
	if (format_starts(f->type, "__data_loc") && is_char)
		return FATHOM_FIELD_DYN_STRING;
	if (format_starts(f->type, "__rel_loc") && is_char)
		return FATHOM_FIELD_REL_STRING;
	if (is_char && format_contains(f->type, "["))
		return FATHOM_FIELD_STRING;
	if (format_equal(f->type, fathom_strlen(f->type), "char *") ||
	    format_equal(f->type, fathom_strlen(f->type), "const char *"))
		return FATHOM_FIELD_PTR_STRING;
	return FATHOM_FIELD_OTHER;
}

void fathom_event_print(const struct fathom_event *ev, const void *record, uint32_t bytes,
			struct fathom_text *out, struct fathom_text *tmp)
{
	struct fathom_print p = {.out = out, .tmp = tmp, .record = record, .bytes = bytes};

	tmp->len = 0;
	tmp->cut = 0;
	if (ev->print)
		ev->print(&p);
}
