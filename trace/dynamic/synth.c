/* SPDX-License-Identifier: MIT */
/* synth.c -- synthetic events: described by a line of text, made by actions of histograms (control/hist_match.c). */
#include "wire/cold.h"
#include "control/str.h"
#include "dynamic/dynamic.h"

#define SYNTH_TEXT_MAX 256u /* of char[n] */

static const struct {
	const char *name;
	uint8_t size;
	const char *format;
} synth_types[] = {
	{"s64", 8, "%lld"},
	{"u64", 8, "%llu"},
	{"s32", 4, "%d"},
	{"u32", 4, "%u"},
	{"s16", 2, "%d"},
	{"u16", 2, "%u"},
	{"s8", 1, "%d"},
	{"u8", 1, "%u"},
	{"char", 1, "%d"},
	{"unsigned char", 1, "%u"},
	{"int", 4, "%d"},
	{"unsigned int", 4, "%u"},
	{"long", sizeof(long), "%ld"},
	{"unsigned long", sizeof(long), "%lu"},
	{"bool", 1, "%d"},
	{"pid_t", 4, "%d"},
	{"gfp_t", 4, "%x"},
};
#define SYNTH_TYPES (sizeof(synth_types) / sizeof(synth_types[0]))

struct synth_parser {
	const char *s; /* the command */
	size_t n;
	struct dynamic_event *d;
	uint32_t offset;
};

static int synth_fail(const struct synth_parser *p, const char *what, size_t at)
{
	return fathom_dynamic_fail("synthetic_events", what, p->s, p->n, at);
}

static const char *field_format(const struct fathom_field *f)
{
	for (size_t i = 0; i < SYNTH_TYPES; i++)
		if (ctl_same(f->type, synth_types[i].name))
			return synth_types[i].format;
	return "%s";
}

/* ---- records as text: as Linux prints them, without the sign of what is smaller than 32 bits ---- */

static void synth_print_field(const struct fathom_field *f, struct fathom_print *p)
{
	const uint8_t *at = (const uint8_t *)p->record + f->offset;
	const char *format = field_format(f);
	uint32_t room = f->size, n = 0, word;
	uint64_t v;

	if ((uint32_t)f->offset + f->size > p->bytes)
		return;
	if (format[1] == 's') {
		if (f->type[0] == '_') {
			__builtin_memcpy(&word, at, 4);
			room = word >> 16;
			at = (const uint8_t *)p->record + (word & 0xffff);
			if ((word & 0xffff) + room > p->bytes)
				return;
		}
		while (n < room && at[n])
			n++;
		fathom_text_bytes(p->out, (const char *)at, n);
		return;
	}
	v = fetch_get(at, f->size);
	if (format[1] == 'x')
		fathom_text_hex(p->out, v, 0, ' ');
	else if (f->is_signed)
		fathom_text_s64(p->out, fetch_signed(v, f->size), 0, ' ');
	else
		fathom_text_u64(p->out, v, 0, ' ');
}

static void synth_print(struct fathom_print *p)
{
	const struct dynamic_event *d = fathom_dynamic_of(p->record);

	for (uint32_t i = 0; d && i < d->ev.nr_fields; i++) {
		if (i)
			fathom_text_char(p->out, ' ');
		fathom_text_str(p->out, d->field[i].name);
		fathom_text_char(p->out, '=');
		synth_print_field(&d->field[i], p);
	}
}

/* ---- the command ---- */

/* The size of `char[n]`; 0 of `char[]`, -1 of anything else in brackets. */
static int synth_text_size(const char *s, size_t n)
{
	uint64_t v;

	if (n < 2 || s[0] != '[' || s[n - 1] != ']' || n > 5)
		return -1;
	if (n == 2)
		return 0;
	return fathom_ctl_number(s + 1, n - 2, 0, &v) || v > SYNTH_TEXT_MAX || !v ? -1 : (int)v;
}

/* `type name` of a number or `char name[n]`: its type and size. */
static int synth_type(struct synth_parser *p, struct fathom_field *f, size_t type, size_t type_len,
		      size_t name, size_t array, size_t array_len)
{
	char full[48];
	struct fathom_text t;
	int size;

	fathom_text_init(&t, full, sizeof(full));
	if (array_len && ctl_is(p->s + type, type_len, "char")) {
		size = synth_text_size(p->s + array, array_len);
		if (size < 0)
			return synth_fail(p, "Invalid array specification", name);
		fathom_text_str(&t, size ? "char" : "__data_loc char");
		fathom_text_bytes(&t, p->s + array, array_len);
		f->size = size ? (uint16_t)size : 8;
		f->is_signed = 1;
		f->type = fathom_dynamic_word(p->d, full, t.len);
		return 0;
	}
	for (size_t i = 0, at = 0; i < type_len; i++) { /* one blank after `unsigned` */
		char c = p->s[type + i];

		if (ctl_space(c) && at && ctl_space(full[at - 1]))
			continue;
		fathom_text_char(&t, ctl_space(c) ? ' ' : c);
		at = t.len;
	}
	for (size_t i = 0; i < SYNTH_TYPES && !array_len; i++)
		if (ctl_is(full, t.len, synth_types[i].name)) {
			f->size = synth_types[i].size;
			f->is_signed =
				synth_types[i].name[0] != 'u' && synth_types[i].name[0] != 'g';
			f->type = synth_types[i].name;
			return 0;
		}
	return synth_fail(p, "Invalid type", type);
}

/* The field that begins at *at, which is moved behind it. `end`: of what stands before the semicolon. */
static int synth_field(struct synth_parser *p, size_t *at, size_t end)
{
	struct fathom_field *f = &p->d->field[p->d->ev.nr_fields];
	size_t type = *at, type_len = fathom_dynamic_next(p->s, end, &type), name, name_len, len;
	int err;

	if (p->d->ev.nr_fields == DYNAMIC_FIELDS_MAX)
		return synth_fail(p, "Too many fields", 0);
	name = type + type_len;
	name_len = fathom_dynamic_next(p->s, end, &name);
	if (ctl_is(p->s + type, type_len, "unsigned")) {
		size_t after = name + name_len, after_len = fathom_dynamic_next(p->s, end, &after);

		if (!after_len)
			return synth_fail(p, "Incomplete type", type);
		type_len = name + name_len - type;
		name = after;
		name_len = after_len;
	}
	if (!name_len)
		return synth_fail(p, "Invalid field", type);
	len = ctl_find(p->s + name, name_len, '[');
	if (!fathom_dynamic_is_name(p->s + name, len))
		return synth_fail(p, "Illegal name", name);
	err = synth_type(p, f, type, type_len, name, name + len, name_len - len);
	if (err)
		return err;
	f->name = fathom_dynamic_word(p->d, p->s + name, len);
	f->offset = (uint16_t)p->offset;
	p->offset += f->size > 8 ? (f->size + 7u) & ~7u : 8;
	p->d->ev.nr_fields++;
	*at = name + name_len;
	return 0;
}

static int synth_fields(struct synth_parser *p, size_t at)
{
	while (at < p->n) {
		size_t end = at + ctl_find(p->s + at, p->n - at, ';');
		size_t next = at;

		while (fathom_dynamic_next(p->s, end, &next)) {
			int err = synth_field(p, &next, end);

			if (err)
				return err;
		}
		at = end + 1;
	}
	return p->d->ev.nr_fields
		       ? 0
		       : synth_fail(p, "Command must be of the form: <name> field[;field] ...", 0);
}

static const char *synth_print_fmt(struct dynamic_event *d)
{
	size_t at = d->words.len;
	struct fathom_text *t = &d->words;

	fathom_text_char(t, '"');
	for (uint32_t i = 0; i < d->ev.nr_fields; i++) {
		fathom_text_str(t, i ? ", " : "");
		fathom_text_str(t, d->field[i].name);
		fathom_text_char(t, '=');
		fathom_text_str(t, field_format(&d->field[i]));
	}
	fathom_text_char(t, '"');
	for (uint32_t i = 0; i < d->ev.nr_fields; i++) {
		int dynamic = d->field[i].type[0] == '_';

		fathom_text_str(t, dynamic ? ", __get_str(" : ", REC->");
		fathom_text_str(t, d->field[i].name);
		fathom_text_str(t, dynamic ? ")" : "");
	}
	fathom_text_char(t, '\0');
	return d->text + at;
}

/* How many words stand before the first semicolon, from `at`. */
static uint32_t synth_words(const char *s, size_t n, size_t at)
{
	size_t end = at + ctl_find(s + at, n - at, ';'), len;
	uint32_t words = 0;

	while ((len = fathom_dynamic_next(s, end, &at))) {
		at += len;
		words++;
	}
	return words;
}

int fathom_synth_create(const char *s, size_t n, int dynamic)
{
	struct synth_parser p = {.s = s, .n = n, .offset = sizeof(struct wire_common)};
	size_t name = dynamic ? 2 : 0, end = name, slash;
	int err;

	while (end < n && !ctl_space(s[end]))
		end++;
	slash = ctl_find(s + name, n - name, '/');
	if (dynamic && end < n && slash < n - name) {
		if (!ctl_starts(s + name, n - name, "synthetic/"))
			return synth_fail(&p,
					  "Command must be of the form: s or -:[synthetic/]<name> "
					  "field[;field] ...",
					  0);
		name += slash + 1;
	}
	if (end == n || synth_words(s, n, name) < 3)
		return synth_fail(&p, "Command must be of the form: <name> field[;field] ...", 0);
	if (!fathom_dynamic_is_name(s + name, end - name) || end - name > FATHOM_NAME_MAX)
		return synth_fail(&p, "Illegal name", name);
	p.d = fathom_dynamic_new(DYNAMIC_SYNTH);
	if (!p.d)
		return -FATHOM_ENOMEM;
	p.d->ev.system = "synthetic";
	p.d->ev.name = fathom_dynamic_word(p.d, s + name, end - name);
	if (fathom_event_find("synthetic", p.d->ev.name)) {
		synth_fail(&p, "Event already exists", name);
		err = -FATHOM_EEXIST;
	} else {
		err = synth_fields(&p, end);
	}
	if (err) {
		fathom_pool_put(p.d);
		return err;
	}
	p.d->ev.print_fmt = synth_print_fmt(p.d);
	p.d->ev.print = synth_print;
	return fathom_dynamic_add(p.d);
}

void fathom_synth_show(const struct dynamic_event *d, struct fathom_text *t)
{
	fathom_text_str(t, d->ev.name);
	fathom_text_char(t, '\t');
	for (uint32_t i = 0; i < d->ev.nr_fields; i++) {
		const char *type = d->field[i].type;

		fathom_text_str(t, i ? "; " : "");
		fathom_text_str(t, type[0] == '_' ? "char[]" : type);
		fathom_text_char(t, ' ');
		fathom_text_str(t, d->field[i].name);
	}
	fathom_text_char(t, '\n');
}
