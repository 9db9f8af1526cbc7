/* SPDX-License-Identifier: MIT */
/* format.c -- parse an event's `format` file and header_page; the text is hostile. */
#include "decode/format.h"

#include <stdlib.h>
#include <string.h>

/* A cursor over one line: [at, end) never leaves the copied text, which is ended by NUL. */
struct format_line {
	char *at;
	char *end;
};

struct parse {
	char *text; /* the copy, cut into strings in place */
	char *at, *end;
	struct format_error *err;
};

static int fail(struct parse *p, const char *at, const char *what)
{
	if (p->err) {
		p->err->offset = (size_t)(at - p->text);
		p->err->what = what;
	}
	return -1;
}

static int next_line(struct parse *p, struct format_line *l)
{
	if (p->at >= p->end)
		return 0;
	l->at = p->at;
	l->end = memchr(p->at, '\n', (size_t)(p->end - p->at));
	if (!l->end)
		l->end = p->end;
	p->at = l->end + 1;
	if (l->end > l->at && l->end[-1] == '\r')
		l->end--;
	while (l->at < l->end && (*l->at == ' ' || *l->at == '\t'))
		l->at++;
	return 1;
}

static int starts(const struct format_line *l, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(l->end - l->at) >= n && !memcmp(l->at, word, n);
}

/* A decimal number, at most `max`, at s; the end in *after. */
static int number(const char *s, const char *end, uint32_t max, uint32_t *v, const char **after)
{
	const char *begin;
	uint64_t n = 0;

	while (s < end && (*s == ' ' || *s == '\t'))
		s++;
	for (begin = s; s < end && *s >= '0' && *s <= '9'; s++) {
		n = n * 10 + (uint64_t)(*s - '0');
		if (n > max)
			return -1;
	}
	if (s == begin)
		return -1;
	*v = (uint32_t)n;
	*after = s;
	return 0;
}

/* The value of `key` in "field:...;\toffset:0;\tsize:2;\tsigned:0;" after `s`. */
static int key_value(const char *s, const char *end, const char *key, uint32_t max, uint32_t *v)
{
	size_t n = strlen(key);
	const char *after;

	for (; s + n < end; s++)
		if (!memcmp(s, key, n) && s[n] == ':' &&
		    (s[-1] == ';' || s[-1] == '\t' || s[-1] == ' '))
			return number(s + n + 1, end, max, v, &after);
	return -1;
}

static int is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static int has_word(const char *s, const char *word)
{
	size_t n = strlen(word);
	const char *begin = s;

	for (; (s = strstr(s, word)); s++)
		if ((s == begin || !is_word(s[-1])) && !is_word(s[n]))
			return 1;
	return 0;
}

static void trim_right(char *begin, char *end)
{
	while (end > begin && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	*end = 0;
}

/* Before the ":4" of "flags:4", if it is there. */
static char *bit_field(char *s, char *end)
{
	char *at = end;

	while (at > s && at[-1] >= '0' && at[-1] <= '9')
		at--;
	return at > s && at < end && at[-1] == ':' ? at - 1 : end;
}

/* "TYPE name[n]" in [s, end): cut into f->type and f->name; *dim is the n text or NULL. */
static int declaration(struct parse *p, char *s, char *end, struct format_field *f,
		       const char **dim)
{
	char *name_end = end, *name;

	*dim = NULL;
	while (s < end && (*s == ' ' || *s == '\t'))
		s++;
	while (name_end > s && (name_end[-1] == ' ' || name_end[-1] == '\t'))
		name_end--;
	name_end = bit_field(s, name_end);
	while (name_end > s && name_end[-1] == ']') {
		int inner = *dim !=
			    NULL; /* of several dimensions none says how many elements there are */

		*--name_end = 0;
		while (name_end > s && *name_end != '[')
			name_end--;
		if (name_end == s)
			return fail(p, s, "a field's [ is missing");
		*dim = inner ? "" : name_end + 1;
	}
	for (name = name_end; name > s && is_word(name[-1]);)
		name--;
	if (name == name_end || name == s)
		return fail(p, s, "a field needs a type and a name");
	/* The name stays at its end; the type is cut where the name begins, which takes at least one character. */
	*name_end = 0;
	f->name = name;
	if (is_word(name[-1]) || name[-1] == 0)
		return fail(p, s, "a field needs a type and a name");
	f->type = s;
	if (name[-1] == ' ' || name[-1] == '\t') {
		trim_right(s, name - 1);
		return 0;
	}
	/* "char *name": move the type one to the left so that its last character stays; the blank before is ours. */
	if (s[-1] != ' ' && s[-1] != '\t' && s[-1] != ':')
		return fail(p, s, "a field's name touches its type");
	memmove(s - 1, s, (size_t)(name - s));
	name[-1] = 0;
	f->type = s - 1;
	return 0;
}

static uint32_t element_size(const char *type)
{
	static const struct {
		const char *word;
		uint32_t size;
	} known[] = {
		{"char", 1},  {"u8", 1},     {"__u8", 1},   {"s8", 1},	   {"__s8", 1},
		{"bool", 1},  {"short", 2},  {"u16", 2},    {"__u16", 2},  {"s16", 2},
		{"__s16", 2}, {"__le16", 2}, {"__be16", 2}, {"u64", 8},	   {"__u64", 8},
		{"s64", 8},   {"__s64", 8},  {"__le64", 8}, {"__be64", 8}, {"u32", 4},
		{"__u32", 4}, {"s32", 4},    {"__s32", 4},  {"__le32", 4}, {"__be32", 4},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (has_word(type, known[i].word))
			return known[i].size;
	if (strstr(type, "long long"))
		return 8;
	if (has_word(type, "long") || strchr(type, '*'))
		return 0;
	return has_word(type, "int") || has_word(type, "unsigned") ? 4 : 0;
}

static void shape(struct format_field *f, const char *dim)
{
	uint32_t n = 0, known = element_size(f->type);
	const char *after;

	if (!strncmp(f->type, "__data_loc", 10))
		f->flags |= FORMAT_DATA_LOC;
	else if (!strncmp(f->type, "__rel_loc", 9))
		f->flags |= FORMAT_REL_LOC;
	else if (strchr(f->type, '*'))
		f->flags |= FORMAT_POINTER;
	if (has_word(f->type, "char") && !(f->flags & FORMAT_POINTER) &&
	    (dim || f->flags & FORMAT_DYNAMIC) && !has_word(f->type, "unsigned"))
		f->flags |= FORMAT_STRING;
	if (has_word(f->type, "long") && !strstr(f->type, "long long"))
		f->flags |= FORMAT_LONG;
	f->nr_elems = 1;
	f->elem_size = f->size;
	if (f->flags & FORMAT_DYNAMIC) {
		f->nr_elems = 0;
		f->elem_size = known						? known
			       : strchr(f->type, '*') || f->flags & FORMAT_LONG ? 8
										: 1;
		return;
	}
	if (!dim)
		return;
	f->flags |= FORMAT_ARRAY;
	if (number(dim, dim + strlen(dim), FORMAT_OFFSET_MAX, &n, &after) || *after)
		n = 0; /* a constant's name: the size decides */
	if (n && f->size % n == 0)
		f->elem_size = f->size / n;
	else
		f->elem_size = known ? known : f->flags & (FORMAT_LONG | FORMAT_POINTER) ? 8 : 1;
	f->nr_elems = f->elem_size ? f->size / f->elem_size : 0;
}

static int field_line(struct parse *p, struct format_line *l, struct format_field *f)
{
	char *colon = memchr(l->at, ':', (size_t)(l->end - l->at));
	char *semi = memchr(l->at, ';', (size_t)(l->end - l->at));
	uint32_t is_signed = 0;
	const char *dim;

	if (!colon || !semi || semi < colon)
		return fail(p, l->at, "expected field:TYPE NAME;");
	if (key_value(semi + 1, l->end, "offset", FORMAT_OFFSET_MAX, &f->offset))
		return fail(p, l->at, "a field's offset is missing or implausible");
	if (key_value(semi + 1, l->end, "size", FORMAT_OFFSET_MAX, &f->size))
		return fail(p, l->at, "a field's size is missing or implausible");
	if (key_value(semi + 1, l->end, "signed", 1, &is_signed))
		is_signed = 0; /* kernels before 2.6.36 do not say */
	if (declaration(p, colon + 1, semi, f, &dim))
		return -1;
	f->flags = is_signed ? FORMAT_SIGNED : 0;
	shape(f, dim);
	if (f->flags & FORMAT_DYNAMIC && f->size != 4)
		return fail(p, l->at, "a __data_loc or __rel_loc field has 4 bytes");
	return 0;
}

static uint32_t count_fields(const char *s, const char *end)
{
	uint32_t n = 0;

	for (; s + 6 <= end; s++)
		n += !memcmp(s, "field:", 6) || !memcmp(s, "field ", 6);
	return n;
}

/* A copy of the text after the struct and the fields, in one block. */
static struct format *block(const char *text, size_t bytes, const char *system, struct parse *p)
{
	uint32_t nr = count_fields(text, text + bytes);
	size_t head = sizeof(struct format) +
		      (nr > FORMAT_FIELDS_MAX ? 0 : nr) * sizeof(struct format_field);
	size_t name = strlen(system ? system : "") + 1;
	struct format *f;

	p->text = (char *)text;
	if (bytes > FORMAT_TEXT_MAX || name > 4096 || nr > FORMAT_FIELDS_MAX) {
		fail(p, text, "the format file is too large or has too many fields");
		return NULL;
	}
	f = calloc(1, head + name + bytes + 1);
	if (!f) {
		fail(p, text, "out of memory");
		return NULL;
	}
	f->fields = (struct format_field *)(f + 1);
	f->system = (char *)f + head;
	memcpy((char *)f + head, system ? system : "", name);
	p->text = (char *)f + head + name;
	memcpy(p->text, text, bytes);
	p->at = p->text;
	p->end = p->text + bytes;
	return f;
}

/* The print fmt is the rest of the text: TP_printk strings may hold line ends only as \n, but be generous. */
static void print_fmt(struct parse *p, struct format_line *l, struct format *f)
{
	char *s = l->at + strlen("print fmt:");

	while (s < p->end && (*s == ' ' || *s == '\t'))
		s++;
	f->print_fmt = s;
	p->at = p->end;
	while (p->end > s && (p->end[-1] == '\n' || p->end[-1] == ' ' || p->end[-1] == '\r'))
		*--p->end = 0;
}

static int head_line(struct parse *p, struct format_line *l, struct format *f, int *has_id)
{
	const char *after;

	if (starts(l, "name:")) {
		f->name = l->at + 5;
		while (*f->name == ' ' || *f->name == '\t')
			f->name++;
		trim_right((char *)f->name, l->end);
	} else if (starts(l, "ID:")) {
		if (number(l->at + 3, l->end, INT32_MAX, &f->id, &after))
			return fail(p, l->at, "the ID is not a number");
		*has_id = 1;
	}
	return 0;
}

static int parse_lines(struct parse *p, struct format *f, int *has_id)
{
	struct format_line l;

	while (next_line(p, &l)) {
		if (starts(&l, "field:") || starts(&l, "field special:")) {
			struct format_field *field = &f->fields[f->nr_fields];

			if (field_line(p, &l, field))
				return -1;
			if (f->nr_common == f->nr_fields && !strncmp(field->name, "common_", 7))
				f->nr_common++;
			f->nr_fields++;
		} else if (starts(&l, "print fmt:")) {
			print_fmt(p, &l, f);
		} else if (head_line(p, &l, f, has_id)) {
			return -1;
		}
	}
	return 0;
}

struct format *format_parse(const char *text, size_t bytes, const char *system,
			    struct format_error *err)
{
	struct parse p = {.err = err};
	struct format *f;
	int has_id = 0;

	if (memchr(text, 0, bytes))
		bytes = strnlen(text, bytes);
	f = block(text, bytes, system, &p);
	if (!f)
		return NULL;
	f->name = "";
	f->print_fmt = "";
	if (parse_lines(&p, f, &has_id))
		goto bad;
	if (!*f->name || !has_id) {
		fail(&p, p.text, "expected `name:` and `ID:`");
		goto bad;
	}
	return f;
bad:
	free(f);
	return NULL;
}

void format_free(struct format *f)
{
	free(f);
}

const struct format_field *format_field(const struct format *f, const char *name)
{
	for (uint32_t i = 0; i < f->nr_fields; i++)
		if (!strcmp(f->fields[i].name, name))
			return &f->fields[i];
	for (uint32_t i = 0; i < f->nr_common; i++)
		if (!strcmp(f->fields[i].name + strlen("common_"), name))
			return &f->fields[i];
	return NULL;
}

int format_parse_page(const char *text, size_t bytes, struct format_page *page,
		      struct format_error *err)
{
	struct parse p = {.err = err};
	struct format *f = block(text, bytes, NULL, &p);
	const struct format_field *time, *commit, *data;
	int rc = -1, has_id;

	if (!f)
		return -1;
	f->name = f->print_fmt = "";
	if (parse_lines(&p, f, &has_id))
		goto out;
	time = format_field(f, "timestamp");
	commit = format_field(f, "commit");
	data = format_field(f, "data");
	if (!time || !commit || !data || time->size != 8 ||
	    (commit->size != 4 && commit->size != 8) ||
	    data->offset < commit->offset + commit->size || data->offset < time->offset + 8 ||
	    data->size < 64) {
		fail(&p, p.text, "expected timestamp, commit and data with possible sizes");
		goto out;
	}
	*page = (struct format_page){time->offset, time->size,	 commit->offset,
				     commit->size, data->offset, data->size};
	rc = 0;
out:
	free(f);
	return rc;
}
