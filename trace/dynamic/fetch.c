/* SPDX-License-Identifier: MIT */
/* fetch.c -- arguments of probes: `name=+8($arg1):u32` parsed, fetched in any context, and printed. */
#include "wire/cold.h"
#include "arch/regs.h"
#include "control/str.h"
#include "dynamic/dynamic.h"
#include "wire/copy.h"
#include "wire/div.h"

#define FETCH_STRING_MAX 256u
#define FETCH_TEXT_MAX	 63u   /* of one argument */
#define FETCH_STACK_MAX	 4096u /* of $stackN, and $argN */

static const struct fathom_arch_reg fetch_registers[] = {FATHOM_ARCH_REGS};
static const int8_t fetch_arguments[] = {FATHOM_ARCH_ARGS};
#ifdef FATHOM_ARCH_NO_REGS
#define NR_REGISTERS 0u
#define NR_ARGUMENTS 0u
#else
#define NR_REGISTERS (sizeof(fetch_registers) / sizeof(fetch_registers[0]))
#define NR_ARGUMENTS (sizeof(fetch_arguments) / sizeof(fetch_arguments[0]))
#endif

static const struct {
	const char *name;
	const char *type; /* in the format file */
	uint8_t size, is_signed, form;
} fetch_types[] = {
	{"u8", "u8", 1, 0, 'u'},
	{"u16", "u16", 2, 0, 'u'},
	{"u32", "u32", 4, 0, 'u'},
	{"u64", "u64", 8, 0, 'u'},
	{"s8", "s8", 1, 1, 'd'},
	{"s16", "s16", 2, 1, 'd'},
	{"s32", "s32", 4, 1, 'd'},
	{"s64", "s64", 8, 1, 'd'},
	{"x8", "u8", 1, 0, 'x'},
	{"x16", "u16", 2, 0, 'x'},
	{"x32", "u32", 4, 0, 'x'},
	{"x64", "u64", 8, 0, 'x'},
	{"string", "__data_loc char[]", 4, 1, 's'},
	{"ustring", "__data_loc char[]", 4, 1, 's'},
	{"symbol", sizeof(long) == 8 ? "u64" : "u32", sizeof(long), 0, 'S'},
};
#define NR_TYPES     (sizeof(fetch_types) / sizeof(fetch_types[0]))
#define DEFAULT_TYPE (sizeof(long) == 8 ? "x64" : "x32")

static int fetch_fail(const struct fetch_parser *p, const char *what, size_t at)
{
	return fathom_dynamic_fail(p->who, what, p->s, p->n, at);
}

/* ---- parsing ---- */

static int parse_number(const char *s, size_t n, int64_t *out)
{
	int negative = n && *s == '-';
	uint64_t v;

	s += negative;
	n -= (size_t)negative;
	if (!n || fathom_ctl_number(s, n, 0, &v))
		return -1;
	*out = negative ? -(int64_t)v : (int64_t)v;
	return 0;
}

/* `$name`: of a function what runs there, of an event its fields. */
static int parse_variable(struct fetch_parser *p, struct dynamic_fetch *f, size_t at, size_t n)
{
	const char *s = p->s + at + 1;
	size_t len = n - 1, skip;
	uint64_t v;

	if (p->on) {
		if (!fathom_operand_find(p->on, s, len, &f->field) &&
		    f->field.kind != FATHOM_OPERAND_ARRAY) {
			f->base = FETCH_FIELD;
			return 0;
		}
		return fetch_fail(p, "Attached event does not have this field", p->word);
	}
	if (ctl_is(s, len, "retval")) {
		f->base = FETCH_RETVAL;
		return p->d->kind == DYNAMIC_RETURN
			       ? 0
			       : fetch_fail(p, "$retval is not available on probe", at);
	}
	if (ctl_is(s, len, "comm") || ctl_is(s, len, "COMM")) {
		f->base = FETCH_COMM;
		return 0;
	}
	if (ctl_is(s, len, "stack")) {
		f->base = FETCH_STACK;
		return 0;
	}
	skip = ctl_starts(s, len, "stack");
	if (skip && !fathom_ctl_number(s + skip, len - skip, 10, &v)) {
		if (v > FETCH_STACK_MAX)
			return fetch_fail(p, "Invalid stack number", at);
		f->base = FETCH_REGISTER;
		f->number = v + FATHOM_ARCH_STACK;
		return 0;
	}
	skip = ctl_starts(s, len, "arg");
	if (skip && p->d->kind == DYNAMIC_ENTRY &&
	    !fathom_ctl_number(s + skip, len - skip, 10, &v)) {
		if (!v || v > NR_ARGUMENTS)
			return fetch_fail(p, "Invalid argument number", at);
		f->base = FETCH_REGISTER;
		f->number = (uint64_t)(int64_t)fetch_arguments[v - 1];
		return 0;
	}
	return fetch_fail(p, "Invalid $-variable specified", at);
}

static int parse_register(struct fetch_parser *p, struct dynamic_fetch *f, size_t at, size_t n)
{
	if (p->on)
		return fetch_fail(p, "Invalid $-variable specified", at);
	for (size_t i = 0; i != NR_REGISTERS && p->d->kind == DYNAMIC_ENTRY; i++)
		if (ctl_is(p->s + at + 1, n - 1, fetch_registers[i].name)) {
			f->base = FETCH_REGISTER;
			f->number = (uint64_t)(int64_t)fetch_registers[i].at;
			return 0;
		}
	if (ctl_is(p->s + at + 1, n - 1, "sp")) {
		f->base = FETCH_STACK;
		return 0;
	}
	return fetch_fail(p, "Invalid register name", at);
}

/* `@ADDRESS`, `@SYMBOL[+-offset]`: its memory. */
static int parse_address(struct fetch_parser *p, struct dynamic_fetch *f, size_t at, size_t n)
{
	const char *s = p->s + at + 1;
	size_t len = n - 1, end = 0;
	char name[FATHOM_NAME_MAX + 1];
	int64_t offset = 0;

	f->base = FETCH_NUMBER;
	f->nr_derefs = 1;
	if (len && *s == '+')
		return fetch_fail(p, "File offset is not available with kprobe", at);
	if (len && ctl_digit(*s))
		return fathom_ctl_number(s, len, 0, &f->number)
			       ? fetch_fail(p, "Invalid memory address", at)
			       : 0;
	while (end < len && s[end] != '+' && s[end] != '-')
		end++;
	if (end < len) {
		int plus = s[end] == '+';

		if (parse_number(s + end + plus, len - end - (size_t)plus, &offset))
			return fetch_fail(p, "Invalid memory address", at);
	}
	if (!end || end >= sizeof(name) || !fathom_core.config.lookup)
		return fetch_fail(p, "Invalid memory address", at);
	__builtin_memcpy(name, s, end);
	name[end] = '\0';
	f->number = fathom_core.config.lookup(name);
	if (!f->number)
		return fetch_fail(p, "Invalid memory address", at);
	f->number += (uint64_t)offset;
	return 0;
}

/* `\NUMBER` or `\"text"`. */
static int parse_immediate(struct fetch_parser *p, struct dynamic_fetch *f, size_t at, size_t n)
{
	const char *s = p->s + at + 1;
	int64_t v;

	if (n > 1 && *s == '"') {
		if (n < 3 || s[n - 2] != '"')
			return fetch_fail(p, "String is not closed with '\"'", at + n);
		f->base = FETCH_TEXT;
		f->string = fathom_dynamic_word(p->d, s + 1, n - 3);
		return 0;
	}
	if (parse_number(s, n - 1, &v))
		return fetch_fail(p, "Invalid immediate value", at + 1);
	f->base = FETCH_NUMBER;
	f->number = (uint64_t)v;
	return 0;
}

static int parse_base(struct fetch_parser *p, struct dynamic_fetch *f, size_t at, size_t n)
{
	switch (n ? p->s[at] : 0) {
	case '$': return parse_variable(p, f, at, n);
	case '%': return parse_register(p, f, at, n);
	case '@': return parse_address(p, f, at, n);
	case '\\': return parse_immediate(p, f, at, n);
	default: return fetch_fail(p, "Invalid fetch argument", at);
	}
}

/* Offsets of `+8(-16($arg1))`, from outside in; they are turned round behind. */
static int parse_fetch(struct fetch_parser *p, struct dynamic_fetch *f, size_t at, size_t n)
{
	int32_t offset[FETCH_DEREFS_MAX];
	size_t inner = 0; /* what the outermost is of */
	uint32_t nr = 0;
	int err;

	while (n && (p->s[at] == '+' || p->s[at] == '-')) {
		size_t start = at, sign = p->s[at] == '-', skip = 1, open, close;
		int64_t v;

		if (n > 1 && p->s[at + 1] == 'u')
			skip++;
		open = ctl_find(p->s + at, n, '(');
		if (open == n)
			return fetch_fail(p, "Dereference needs a brace", start);
		if (open <= skip || parse_number(p->s + at + skip, open - skip, &v) ||
		    v != (int32_t)v)
			return fetch_fail(p, "Invalid dereference offset", start);
		close = n;
		while (close > open && p->s[at + close - 1] != ')')
			close--;
		if (close == open || close <= open + 1)
			return fetch_fail(p, "Dereference brace is not closed", at + n);
		if (close < n) /* something behind the brace: Linux drops it with the brace */
			return fetch_fail(p, "Invalid fetch argument", start);
		if (nr == FETCH_DEREFS_MAX)
			return fetch_fail(p, "Dereference is too much nested", inner);
		offset[nr++] = (int32_t)(sign ? -v : v);
		at += open + 1;
		inner = inner ? inner : at;
		n = close - open - 2;
	}
	err = parse_base(p, f, at, n);
	if (err)
		return err;
	if (nr && (f->base == FETCH_COMM || f->base == FETCH_TEXT))
		return fetch_fail(p, "$comm can not be dereferenced", at);
	if (f->nr_derefs + nr > FETCH_DEREFS_MAX)
		return fetch_fail(p, "Dereference is too much nested", inner);
	if (f->nr_derefs) /* that of an address */
		f->deref[0] = 0;
	while (nr)
		f->deref[f->nr_derefs++] = offset[--nr];
	if (f->nr_derefs && !fathom_core.config.peek)
		return fetch_fail(p, "Invalid memory address", at);
	return 0;
}

/* `b<bits>@<shift>/<container>`. */
static int parse_bits(struct dynamic_fetch *f, const char *s, size_t n)
{
	size_t at = ctl_find(s, n, '@'), slash = ctl_find(s, n, '/');
	uint64_t bits, shift, whole;

	if (slash == n || at >= slash || fathom_ctl_number(s + 1, at - 1, 10, &bits) ||
	    fathom_ctl_number(s + at + 1, slash - at - 1, 10, &shift) ||
	    fathom_ctl_number(s + slash + 1, n - slash - 1, 10, &whole))
		return -1;
	if (!bits || (whole != 8 && whole != 16 && whole != 32 && whole != 64) ||
	    bits + shift > whole)
		return -1;
	f->bits = (uint8_t)bits;
	f->shift = (uint8_t)shift;
	f->size = (uint8_t)(whole / 8);
	f->form = 'u';
	return 0;
}

static int is_text(const struct dynamic_fetch *f)
{
	return f->base == FETCH_COMM || f->base == FETCH_TEXT;
}

/* A string in the record of another event. */
static int is_text_field(const struct dynamic_fetch *f)
{
	return f->base == FETCH_FIELD && f->field.kind != FATHOM_OPERAND_NUMBER &&
	       f->field.kind != FATHOM_OPERAND_CPU;
}

/* What follows the colon: the format file's type. */
static int parse_type(struct fetch_parser *p, struct dynamic_fetch *f, size_t arg, size_t at,
		      size_t n, const char **type)
{
	const char *s = at ? p->s + at : is_text(f) || is_text_field(f) ? "string" : DEFAULT_TYPE;
	size_t len, open, i = 0;
	uint64_t count = 0;

	n = at ? n : ctl_len(s);
	open = len = ctl_find(s, n, '[');
	if (open < n) {
		size_t close = open + ctl_find(s + open, n - open, ']');

		if (close == n)
			return fetch_fail(p, "Array is not closed", at + n);
		if (close + 1 < n)
			return fetch_fail(p, "Array has wrong suffix", at + close + 1);
		if (fathom_ctl_number(s + open + 1, n - open - 2, 0, &count) || !count)
			return fetch_fail(p, "Invalid array size", at + open + 1);
		if (count > FETCH_ARRAY_MAX)
			return fetch_fail(p, "Array number is too big", at + open + 1);
	}
	if (len && s[0] == 'b' && ctl_find(s, len, '@') < len) {
		static const char *const containers[] = {"u8", "u16", 0, "u32", 0, 0, 0, "u64"};

		if (parse_bits(f, s, len) || count)
			return fetch_fail(p, "Invalid bitfield", at ? at : arg);
		*type = containers[f->size - 1];
		return 0;
	}
	while (i < NR_TYPES && !ctl_is(s, len, fetch_types[i].name))
		i++;
	if (i == NR_TYPES || (is_text(f) && (fetch_types[i].form != 's' || count)))
		return fetch_fail(p, "Unknown type is specified", at ? at : arg);
	f->size = fetch_types[i].size;
	f->is_signed = fetch_types[i].is_signed;
	f->form = fetch_types[i].form;
	f->count = (uint8_t)count;
	*type = fetch_types[i].type;
	if ((f->form == 's' && !f->nr_derefs && !is_text(f) && f->base != FETCH_FIELD) ||
	    (count && (!f->nr_derefs || f->form == 's')) ||
	    (is_text_field(f) && (f->form != 's' || f->nr_derefs)))
		return fetch_fail(p, "String accepts only memory argument", at ? at : arg);
	return 0;
}

/* `name=`, or argN. */
static int parse_name(struct fetch_parser *p, struct dynamic_fetch *f, size_t at, size_t n,
		      size_t *body)
{
	char number[16];
	struct fathom_text t;
	size_t equals = ctl_find(p->s + at, n, '=');

	*body = at;
	if (equals == n || ctl_find(p->s + at, n, '"') < equals) {
		if (p->on && p->s[at] == '$' && ctl_find(p->s + at, n, ':') == n) {
			f->name = fathom_dynamic_word(p->d, p->s + at + 1, n - 1);
			return 0;
		}
		fathom_text_init(&t, number, sizeof(number));
		fathom_text_str(&t, "arg");
		fathom_text_u64(&t, p->d->nr_args + 1u, 0, ' ');
		f->name = fathom_dynamic_word(p->d, number, t.len);
		return 0;
	}
	if (equals > 32)
		return fetch_fail(p, "Argument name is too long", at);
	if (!equals)
		return fetch_fail(p, "Argument name is not specified", at);
	if (!fathom_dynamic_is_name(p->s + at, equals))
		return fetch_fail(p, "Argument name must follow the same rules as C identifiers",
				  at);
	for (uint32_t i = 0; i < p->d->nr_args; i++)
		if (ctl_is(p->s + at, equals, p->d->arg[i].name))
			return fetch_fail(p, "This argument name is already used", at);
	f->name = fathom_dynamic_word(p->d, p->s + at, equals);
	*body = at + equals + 1;
	return 0;
}

/* Where the type begins: behind the last colon that is in no string. */
static size_t type_colon(const char *s, size_t n)
{
	size_t quote = 0;

	for (size_t i = 0; i < n; i++) {
		quote ^= s[i] == '"';
		if (s[i] == ':' && !quote)
			return i;
	}
	return n;
}

int fathom_fetch_parse(struct fetch_parser *p, size_t at, size_t n)
{
	struct dynamic_event *d = p->d;
	struct dynamic_fetch *f = &d->arg[d->nr_args];
	struct fathom_field *field = &d->field[d->ev.nr_fields];
	size_t body, len, colon;
	const char *type = "";
	int err;

	if (d->nr_args == DYNAMIC_ARGS_MAX)
		return fetch_fail(p, "Event too big (too many fields?)", at);
	p->word = at;
	err = parse_name(p, f, at, n, &body);
	if (err)
		return err;
	len = at + n - body;
	if (!len)
		return fetch_fail(p, "No argument expression", body);
	if (len > FETCH_TEXT_MAX)
		return fetch_fail(p, "Argument expression is too long", body);
	colon = type_colon(p->s + body, len);
	err = parse_fetch(p, f, body, colon);
	if (!err)
		err = parse_type(p, f, body, colon < len ? body + colon + 1 : 0, len - colon - 1,
				 &type);
	if (err)
		return err;
	f->text = fathom_dynamic_word(d, p->s + body, len);
	f->at = (uint16_t)d->fixed;
	d->fixed += f->size * (f->count ? f->count : 1u);
	*field = (struct fathom_field){.type = type,
				       .name = f->name,
				       .offset = f->at,
				       .size = (uint16_t)(f->size * (f->count ? f->count : 1u)),
				       .is_signed = f->is_signed};
	if (f->count) {
		size_t word = d->words.len;

		fathom_text_str(&d->words, type);
		fathom_text_char(&d->words, '[');
		fathom_text_u64(&d->words, f->count, 0, ' ');
		fathom_text_str(&d->words, "]");
		fathom_text_char(&d->words, '\0');
		field->type = d->text + word;
	}
	d->nr_args++;
	d->ev.nr_fields++;
	return 0;
}

/* ---- fetching, in any context ---- */

static int fetch_peek(void *to, uintptr_t from, size_t bytes)
{
	return !fathom_core.config.peek || fathom_core.config.peek(to, from, bytes);
}

/* A register that was saved beside the slot, or a word of the stack above it, which may end. */
static uint64_t fetch_word(const uintptr_t *slot, int64_t at)
{
	uintptr_t v = 0;

	if (!slot)
		return 0;
	if (at < 8)
		return slot[at];
	return fetch_peek(&v, (uintptr_t)(slot + at), sizeof(v)) ? 0 : v;
}

static uint64_t fetch_base(const struct dynamic_fetch *f, const struct fetch_source *from)
{
	switch (f->base) {
	case FETCH_REGISTER: return fetch_word(from->slot, (int64_t)f->number);
	case FETCH_STACK: return from->slot ? (uintptr_t)(from->slot + FATHOM_ARCH_STACK) : 0;
	case FETCH_RETVAL: return from->has_retval ? from->retval : 0;
	case FETCH_NUMBER: return f->number;
	case FETCH_FIELD:
		return f->field.kind == FATHOM_OPERAND_CPU
			       ? fathom_port_cpu()
			       : fathom_operand_number(&f->field, from->record, from->bytes);
	default: return 0;
	}
}

/* The address that the last dereference is of; 0 if one before it failed. */
static uintptr_t fetch_address(const struct dynamic_fetch *f, const struct fetch_source *from)
{
	uintptr_t v = (uintptr_t)fetch_base(f, from);

	for (uint32_t i = 0; i + 1 < f->nr_derefs; i++)
		if (fetch_peek(&v, v + (uintptr_t)f->deref[i], sizeof(v)))
			return 0;
	return f->nr_derefs ? v + (uintptr_t)f->deref[f->nr_derefs - 1] : v;
}

/* A string, with its NUL, into at most `room` bytes (NULL: it is only measured). 0: it cannot be read. */
static uint32_t fetch_string(const struct dynamic_fetch *f, const struct fetch_source *from,
			     char *to, uint32_t room)
{
	char part[32], comm[16];
	const char *s = 0;
	uint32_t n = 0, len = 0;
	uintptr_t at;

	if (f->base == FETCH_COMM) {
		fathom_ctl_comm(fathom_port_task(), comm);
		s = comm;
	} else if (f->base == FETCH_TEXT) {
		s = f->string;
	} else if (is_text_field(f)) {
		if (f->field.kind == FATHOM_OPERAND_COMM) {
			fathom_ctl_comm(fathom_port_task(), comm);
			s = comm;
		} else {
			s = fathom_operand_text(&f->field, from->record, from->bytes, &len);
			len = len < room - 1 ? len : room - 1;
			if (to)
				wire_copy(to, s, len);
			if (to)
				to[len] = '\0';
			return len + 1;
		}
	}
	if (s) {
		for (; n + 1 < room && s[n]; n++)
			if (to)
				to[n] = s[n];
		if (to)
			to[n] = '\0';
		return n + 1;
	}
	at = fetch_address(f, from);
	while (at && n + 1 < room) {
		/* Parts that lie in one page: what follows it may not be there. */
		uint32_t bytes = (uint32_t)(sizeof(part) - at % sizeof(part)), i = 0;

		if (fetch_peek(part, at, bytes))
			return 0;
		for (; i < bytes && part[i] && n + 1 < room; i++, n++)
			if (to)
				to[n] = part[i];
		if (i < bytes)
			break;
		at += bytes;
	}
	if (!at)
		return 0;
	if (to)
		to[n] = '\0';
	return n + 1;
}

static void fetch_put(uint8_t *to, uint64_t v, uint32_t size)
{
	for (uint32_t i = 0; i < size; i++, v >>= 8)
		to[__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? i : size - 1 - i] = (uint8_t)v;
}

uint32_t fathom_fetch_bytes(const struct dynamic_event *d, const struct fetch_source *from)
{
	uint32_t bytes = d->fixed;

	for (uint32_t i = 0; i < d->nr_args; i++)
		if (d->arg[i].form == 's')
			bytes += fetch_string(&d->arg[i], from, 0, FETCH_STRING_MAX);
	return bytes;
}

static void fetch_number(const struct dynamic_fetch *f, const struct fetch_source *from,
			 uint8_t *to)
{
	uint8_t buf[8] = {0};
	uint64_t v;

	if (f->nr_derefs) {
		uintptr_t at = fetch_address(f, from);

		for (uint32_t i = 0; i < (f->count ? f->count : 1u); i++) {
			if (!at || fetch_peek(buf, at + i * f->size, f->size))
				wire_fill(buf, 0, sizeof(buf));
			wire_copy(to + i * f->size, buf, f->size);
		}
		if (!f->bits)
			return;
		v = fetch_get(to, f->size);
	} else {
		v = fetch_base(f, from);
	}
	if (f->bits)
		v = wire_shr(v, f->shift) & wire_shr(~(uint64_t)0, 64u - f->bits);
	fetch_put(to, v, f->size);
}

void fathom_fetch_fill(const struct dynamic_event *d, const struct fetch_source *from,
		       uint8_t *record, uint32_t bytes)
{
	uint32_t end = d->fixed;

	for (uint32_t i = 0; i < d->nr_args; i++) {
		const struct dynamic_fetch *f = &d->arg[i];
		uint32_t n = 0;

		if (f->form != 's') {
			fetch_number(f, from, record + f->at);
			continue;
		}
		if (end < bytes)
			n = fetch_string(f, from, (char *)record + end, bytes - end);
		fetch_put(record + f->at, end | (uint64_t)n << 16, 4);
		end += n;
	}
	if (end < bytes) /* a string became shorter since it was measured */
		wire_fill(record + end, 0, bytes - end);
}
